package source_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/source"
)

const commit = "0123456789012345678901234567890123456789"

func TestParse(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("ab", 32)
	for text, want := range map[string]source.Ref{
		"./a":                            {Kind: source.Path, URL: "/base/a"},
		"../a.zip":                       {Kind: source.Path, URL: "/a.zip"},
		".":                              {Kind: source.Path, URL: "/base"},
		"~/x":                            {Kind: source.Path, URL: "/home/x"},
		"/abs/x@1":                       {Kind: source.Path, URL: "/abs/x@1"},
		"github:o/r":                     {Kind: source.Git, URL: "https://github.com/o/r"},
		"github:o/r.git@v1":              {Kind: source.Git, URL: "https://github.com/o/r.git", Version: "v1"},
		"git+https://github.com/o/r.git": {Kind: source.Git, URL: "https://github.com/o/r.git"},
		"github:o/r/a/b@feature/x":       {Kind: source.Git, URL: "https://github.com/o/r", Subdir: "a/b", Version: "feature/x"},
		"github:o/r@v1#" + commit:        {Kind: source.Git, URL: "https://github.com/o/r", Version: "v1", Commit: commit},
		"git+https://h/r.git":            {Kind: source.Git, URL: "https://h/r.git"},
		"git+https://h/r.git//d/e@v1":    {Kind: source.Git, URL: "https://h/r.git", Subdir: "d/e", Version: "v1"},
		"git+ssh://git@h:22/r.git@v1":    {Kind: source.Git, URL: "ssh://git@h:22/r.git", Version: "v1"},
		"git+http://127.0.0.1:80/r":      {Kind: source.Git, URL: "http://127.0.0.1:80/r"},
		"git+https://h/r@pkg@1.0":        {Kind: source.Git, URL: "https://h/r", Version: "pkg@1.0"},
		"git+https://github.com/o/-r//d": {Kind: source.Git, URL: "https://github.com/o/-r", Subdir: "d"},
		"git+file:///tmp/r":              {Kind: source.Git, URL: "file:///tmp/r"},
		"npm:left":                       {Kind: source.NPM, URL: "left"},
		"npm:@s/left@^1.2":               {Kind: source.NPM, URL: "@s/left", Version: "^1.2"},
		"https://h/a.tar.gz":             {Kind: source.Archive, URL: "https://h/a.tar.gz"},
		"https://h/a.wasm#sha256=" + sum: {Kind: source.Archive, URL: "https://h/a.wasm", SHA256: sum},
		"https://h/a.zip?x=1":            {Kind: source.Archive, URL: "https://h/a.zip?x=1"},
		"name@market-place.dev":          {Kind: source.Catalogue, URL: "name", Version: "market-place.dev"},
	} {
		have, err := source.Parse(text, "/base", "/home")
		if err != nil || have != want {
			t.Errorf("Parse(%q) = %+v, %v, want %+v", text, have, err, want)
			continue
		}
		if again, err := source.Parse(have.String(), "/", "/"); err != nil || again != have {
			t.Errorf("Parse(%q) = %+v, %v, want %+v", have.String(), again, err, have)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "name", "name@", "@market", "a@b@c", "a b@market", "a/b@market", "ftp://h/a.zip", "github:o", "github:o/..", "github:-o/r", "github:o/r/../x", "github:o/r@-x", "github:o/r@a..b", "github:o/r@",
		"github:o/r#abc", "github:o/r#" + strings.ToUpper("a"+commit[1:]), "git+https://", "git+https://h", "git+https://h/", "git+https://u:p@h/r", "git+http://h/r",
		"git+https://h/r//../x", "git+ext::sh -c x", "git+ssh://-oProxyCommand=x/r", "git+ftp://h/r", "https://h/a", "https://h/a.zip#x", "https://h/a%2Ezip", "https://h/a.zip#sha256=ab",
		"https://u@h/a.zip", "http://h/a.zip", "https:///a.zip", "https://h.zip", "npm:", "npm:@s", "npm:a/b", "npm:.a", "npm:a b", "npm:a@", "npm:../x", "./a\n", "git+https://h/r@v1\x00",
		"git+file://h/r", "git+https://h/a/../b", "git+https://h/a/%2e%2E/b", "git+https://h/a%2f..%2fb", "git+https://h/./b", "git+ssh://git@h/a/..", "https://h/a/../b.zip", "https://h/a/%2e%2e/b.zip", "https://h/./b.zip",
		"https://ｅvil.example/a.zip", "https://evil。example/a.zip", "https://%EF%BD%85vil.example/a.zip", "git+https://ｅvil.example/r", "oci://ｅvil.example/o/p",
		"git+https://167772161/r", "git+https://0xa.1/r", "https://010.0.0.1/a.zip", "https://10.1./a.zip",
	} {
		if r, err := source.Parse(text, "/base", "/home"); !errors.Is(err, source.ErrRef) {
			t.Errorf("Parse(%q) = %+v, %v, want ErrRef", text, r, err)
		}
	}
}

func TestErrorsHidePasswords(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"git+https://u:secret@h/r", "https://u:secret@h/a.zip", "git+ssh://u:secret@h/r", "ftp://u:secret@h/r"} {
		if _, err := source.Parse(text, "/base", "/home"); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("Parse(%q): %v", text, err)
		}
	}
	for text, want := range map[string]string{"ftp://h/a.zip": `"ftp"`, "git@h:o/r": "git+ssh://"} {
		if _, err := source.Parse(text, "/base", "/home"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v, want %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"./a", "github:o/r/d@v1#" + commit, "git+ssh://git@h/r//d@v", "npm:@s/p@^1", "https://h/a.zip#sha256=" + strings.Repeat("0", 64)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := source.Parse(text, "/base", "/home")
		if err != nil {
			return
		}
		again, err := source.Parse(r.String(), "/base", "/home")
		if err != nil || again != r {
			t.Errorf("Parse(%q) = %+v; again from %q: %+v, %v", text, r, r.String(), again, err)
		}
		if strings.HasPrefix(r.URL, "-") || strings.HasPrefix(r.Version, "-") || strings.Contains(r.Subdir, "..") && strings.Contains("/"+r.Subdir+"/", "/../") {
			t.Errorf("Parse(%q) = %+v", text, r)
		}
	})
}
