//go:build unix

package edit_test

import (
	"slices"
	"testing"

	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/edit"
)

func TestPastedImages(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"/a/b.png":                                 {"/a/b.png"},
		" '/a/my cat.PNG'\n":                       {"/a/my cat.PNG"},
		`/a/my\ cat.png `:                          {"/a/my cat.png"},
		`/a/image\ \(1\)\ \&\ \[2\].png`:           {"/a/image (1) & [2].png"},
		"/a/my cat.png":                            {"/a/my cat.png"},
		"/a/b.png /a/c.jpg /d/e.gif":               {"/a/b.png", "/a/c.jpg", "/d/e.gif"},
		"'/a/my cat.png' '/a/c.jpeg'":              {"/a/my cat.png", "/a/c.jpeg"},
		"file:///a/my%20cat.png\r\nfile:///c.webp": {"/a/my cat.png", "/c.webp"},
		"/a/b.png /a/c.txt":                        nil,
		"file://elsewhere/a.png":                   nil,
		"look at /a/b.png":                         nil,
	} {
		if have := edit.ImagePaths(text); !slices.Equal(have, want) {
			t.Errorf("%q: %q, want %q", text, have, want)
		}
	}
}
