package ability_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/sdk/guest"
)

// Whatever a guest sends, the answer has a known status and is JSON or text, and the network is reached where it was granted alone.
func FuzzDo(f *testing.F) {
	for op, o := range operations() {
		f.Add(op, []byte(o[0]))
	}
	f.Add("http", []byte(`{"url":"https://example.com@evil.example/","headers":{"host":"evil"},"body":{"base64":"AA=="},"timeout":-1}`))
	f.Add("kv.set", []byte(`{"key":"../x","value":{"base64":"!"}}`))
	f.Add("", []byte(nil))
	b := newBroker(f, ability.Options{
		Grants: everything(), Secret: func(name string) (string, bool) { return "s3cret", name == "TOKEN" },
		Limits: ability.Limits{Rate: 1e9, Burst: 1e9, HTTPRate: 1e9, HTTPBurst: 1e9},
	})
	b.Bind(&host{})
	ability.SetNetwork(b, func(host string) []netip.Addr {
		if host != "example.com" {
			panic("looked up " + host)
		}
		return []netip.Addr{netip.MustParseAddr(publicAddr)}
	}, func(_ context.Context, to netip.AddrPort) (net.Conn, error) {
		if to.String() != publicAddr+":443" {
			panic("dialled " + to.String())
		}
		return nil, errors.New("no network")
	})
	f.Fuzz(func(t *testing.T, op string, request []byte) {
		status, answer := b.Do(t.Context(), ability.Caller{SessionID: "s1"}, op, request)
		switch status {
		case guest.StatusOK:
			if !json.Valid(answer) {
				t.Errorf("%q %q = ok %q, which is not JSON", op, request, answer)
			}
		case guest.StatusFailed, guest.StatusDenied, guest.StatusUnknown, guest.StatusLimited:
			if len(answer) == 0 || len(answer) > 4096+len(request)*8 || strings.Contains(string(answer), "mistake") {
				t.Errorf("%q %q = %v %q", op, request, status, answer)
			}
		default:
			t.Errorf("%q %q = %v", op, request, status)
		}
	})
}

// A URL that is accepted means the same to every reader: what was checked is its host and port, in one spelling.
func FuzzParseURL(f *testing.F) {
	for _, seed := range []string{"http://example.com", "https://EXAMPLE.com.:443/a?b#c", "http://[::1]:80/", "http://a@b/", "http://127.1/", "http://0x7f.1", "http://a%2eb/", "http://[::ffff:1.2.3.4]/", "http://1.2.3.4:8080", `http:\\a`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, o, err := ability.ParseURL(text)
		if err != nil {
			return
		}
		again, err := url.Parse(u.String())
		if err != nil {
			t.Fatalf("%q became %q: %v", text, u, err)
		}
		_, second, err := ability.ParseURL(again.String())
		if err != nil || second.String() != o.String() && !strings.HasPrefix(o.String(), second.String()) {
			t.Errorf("%q is %v, and as %q %v, %v", text, o, u, second, err)
		}
		if strings.ToLower(u.Host) != u.Host || u.User != nil || !isASCII(u.Host) {
			t.Errorf("%q became the host %q", text, u.Host)
		}
	})
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

func FuzzCheckAddress(f *testing.F) {
	f.Add("https://*.example.com:8080")
	f.Add("https://*.com")
	f.Fuzz(func(t *testing.T, entry string) {
		if err := ability.CheckAddress(entry); err != nil {
			return
		}
		o, err := ability.ParseGrant(entry)
		if err != nil {
			t.Fatal(err)
		}
		if err := ability.CheckAddress(o.String()); err != nil {
			t.Errorf("%q became %q: %v", entry, o, err)
		}
	})
}

func FuzzParseStore(f *testing.F) {
	f.Add([]byte("tenon-kv 1 \n{}"))
	f.Add([]byte("tenon-kv 1 44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a\n{}"))
	f.Add([]byte("tenon-kv 1 74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b\nnull"))
	f.Fuzz(func(t *testing.T, data []byte) {
		values, err := ability.ParseStore(data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "damaged") {
				t.Errorf("error %v", err)
			}
			return
		}
		if !strings.HasPrefix(string(data), "tenon-kv 1 ") {
			t.Errorf("values %v of %q", values, data)
		}
	})
}
