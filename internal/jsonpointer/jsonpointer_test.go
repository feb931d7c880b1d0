package jsonpointer_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/jsonpointer"
)

func TestCovers(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		fields  []string
		pointer string
		want    bool
	}{
		"nothing declared":    {nil, "/a", false},
		"everything":          {[]string{""}, "/a/b", true},
		"everything, whole":   {[]string{""}, "", true},
		"the field":           {[]string{"/a"}, "/a", true},
		"under the field":     {[]string{"/a"}, "/a/b/0", true},
		"above the field":     {[]string{"/a/b"}, "/a", false},
		"the whole":           {[]string{"/a"}, "", false},
		"beside the field":    {[]string{"/a"}, "/b", false},
		"a name it begins":    {[]string{"/a"}, "/ab", false},
		"any member":          {[]string{"/m/*/text"}, "/m/3/text", true},
		"any member, other":   {[]string{"/m/*/text"}, "/m/3/id", false},
		"any is one":          {[]string{"/m/*/text"}, "/m/text", false},
		"any is one, not two": {[]string{"/m/*/text"}, "/m/1/2/text", false},
		"second field":        {[]string{"/x", "/a"}, "/a", true},
		"escaped":             {[]string{"/a~1b"}, "/a~1b/c", true},
		"escaped is not a /":  {[]string{"/a/b"}, "/a~1b", false},
		"empty name":          {[]string{"/a/"}, "/a/", true},
		"empty name, other":   {[]string{"/a/"}, "/a/b", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := jsonpointer.Covers(c.fields, c.pointer); got != c.want {
				t.Errorf("Covers(%q, %q) = %v, want %v", c.fields, c.pointer, got, c.want)
			}
		})
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	value := map[string]any{"a/b": []any{"x", map[string]any{"": "y"}}, "0": "z"}
	for pointer, want := range map[string]any{
		"/a~1b/0": "x", "/a~1b/1/": "y", "/0": "z", "/a~1b/2": nil, "/a~1b/-1": nil, "/a~1b/x": nil, "/0/0": nil, "/b": nil, "a": nil,
	} {
		if got := jsonpointer.Find(value, pointer); got != want {
			t.Errorf("Find(%q) = %v, want %v", pointer, got, want)
		}
	}
}

func FuzzSplit(f *testing.F) {
	for _, seed := range []string{"", "/", "/a/b", "/a~1b/~0", "/~01", "a", "/a//"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, pointer string) {
		segments, err := jsonpointer.Split(pointer)
		if err != nil {
			if !errors.Is(err, jsonpointer.ErrSyntax) || strings.HasPrefix(pointer, "/") {
				t.Errorf("Split(%q): %v", pointer, err)
			}
			return
		}
		var joined []byte
		for _, s := range segments {
			joined = jsonpointer.Append(joined, s)
		}
		if again, err := jsonpointer.Split(string(joined)); err != nil || !slices.Equal(again, segments) {
			t.Errorf("Split(%q) = %q, %v, want %q as of %q", joined, again, err, segments, pointer)
		}
	})
}
