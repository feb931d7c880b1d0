package httpx_test

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tenonhq/tenon/internal/httpx"
)

func TestReadAll(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		body io.Reader
		want string
		err  error
	}{
		"fits":            {strings.NewReader("12345"), "12345", nil},
		"too long":        {strings.NewReader("123456"), "", httpx.ErrTooLarge},
		"too long at all": {io.MultiReader(strings.NewReader("123456"), iotest.ErrReader(broken)), "", httpx.ErrTooLarge},
		"broken":          {io.MultiReader(strings.NewReader("123"), iotest.ErrReader(broken)), "", broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := httpx.ReadAll(c.body, 5)
			if string(got) != c.want || !errors.Is(err, c.err) {
				t.Errorf("ReadAll() = %q, %v, want %q, %v", got, err, c.want, c.err)
			}
		})
	}
	if got := httpx.Excerpt(io.MultiReader(strings.NewReader("123"), iotest.ErrReader(broken)), 5); string(got) != "123" {
		t.Errorf("Excerpt() of a broken body = %q", got)
	}
	if got := httpx.Excerpt(strings.NewReader("123456"), 5); string(got) != "12345" {
		t.Errorf("Excerpt() of a long body = %q", got)
	}
}

func TestCheckRedirect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, to string
		hops     int
		want     string
	}{
		"the same":          {"https://a/x", "https://a/y", 1, ""},
		"case and port":     {"https://a/x", "HTTPS://A:443/y", 1, ""},
		"usual port":        {"http://a:80/x", "http://a/y", 1, ""},
		"another host":      {"https://a/x", "https://b/x", 1, "set url to it"},
		"another port":      {"https://a/x", "https://a:8443/x", 1, "https://a:8443"},
		"another scheme":    {"https://a/x", "http://a/x", 1, "another origin"},
		"port, not scheme":  {"https://a:80/x", "http://a/x", 1, "another origin"},
		"the last redirect": {"https://a/x", "https://a/y", 2, ""},
		"too many":          {"https://a/x", "https://a/y", 3, "redirected 3 times"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var via []*http.Request
			for range c.hops {
				via = append(via, &http.Request{URL: parse(t, c.from)})
			}
			err := httpx.CheckRedirect(3, "url")(&http.Request{URL: parse(t, c.to)}, via)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("CheckRedirect() = %v, want %q", err, c.want)
			}
		})
	}
}

func parse(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
