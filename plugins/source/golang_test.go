package source_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/plugins/source"
	"github.com/tenonhq/tenon/plugins/source/sourcetest"
)

// TestGo builds a program of a module, and again from its pin without the proxy.
func TestGo(t *testing.T) {
	t.Parallel()
	proxy := t.TempDir()
	sourcetest.AddModule(t, proxy, "example.com/dep", "v1.0.0", map[string]string{"go.mod": "module example.com/dep\n\ngo 1.21\n", "dep.go": "package dep\n\nconst Text = \"one\"\n"})
	sourcetest.AddModule(t, proxy, "example.com/tools", "v1.2.3", map[string]string{
		"go.mod":         "module example.com/tools\n\ngo 1.21\n\nrequire example.com/dep v1.0.0\n",
		"cmd/say/say.go": "package main\n\nimport \"example.com/dep\"\n\nfunc main() { println(dep.Text) }\n",
		"cmd/say/cgo.go": "//go:build cgo\n\npackage main\n\nimport \"C\"\n",
		"lib/lib.go":     "package lib\n",
	})
	f := fetcher(t)
	f.Environ, f.Builds = sourcetest.GoEnviron(proxy), sourcetest.GoBuilds(t)
	say := func(out *source.Fetched, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		text, err := exec.CommandContext(t.Context(), out.Path).CombinedOutput()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	out, _, err := fetch(t, f, "go:example.com/tools/cmd/say", nil)
	if have := say(out, err); have != "one" || out.Version != "v1.2.3" || !out.Local || len(out.Build.Sum) != 4 {
		t.Errorf("%q, %+v %+v", have, out, out.Build)
	}
	// A later version of a dependency changes nothing for the pin.
	sourcetest.AddModule(t, proxy, "example.com/dep", "v1.1.0", map[string]string{"go.mod": "module example.com/dep\n\ngo 1.21\n", "dep.go": "package dep\n\nconst Text = \"two\"\n"})
	f.Offline = true
	again, _, err := fetch(t, f, "go:example.com/tools/cmd/say", &out.Pin)
	if have := say(again, err); have != "one" {
		t.Errorf("from the pin: %q", have)
	}
	f.Offline = false
	pin := out.Pin
	pin.Build = &source.Build{Go: "1.21", Require: out.Build.Require, Sum: []string{
		"example.com/dep v1.0.0 h1:" + strings.Repeat("A", 43) + "=", "example.com/dep v1.0.0/go.mod h1:" + strings.Repeat("A", 43) + "=",
		"example.com/tools v1.2.3 h1:" + strings.Repeat("A", 43) + "=", "example.com/tools v1.2.3/go.mod h1:" + strings.Repeat("A", 43) + "=",
	}}
	if out, _, err := fetch(t, f, "go:example.com/tools/cmd/say", &pin); err == nil || !strings.Contains(err.Error(), "checksum mismatch") {
		t.Errorf("other digests: %+v, %v", out, err)
	}
	for ref, want := range map[string]string{
		"go:example.com/tools/lib": "not a program", "go:example.com/none/cmd": "example.com/none", "go:example.com/tools/cmd/say@v9.9.9": "v9.9.9",
	} {
		if _, files, err := fetch(t, f, ref, nil); err == nil || !strings.Contains(err.Error(), want) || len(files) > 0 {
			t.Errorf("%s: %v, %v", ref, files, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(out.Path)), ".go-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if runtime.GOOS == "windows" && filepath.Ext(out.Path) != ".exe" {
		t.Error(out.Path)
	}
}

// TestGoSilent: a proxy that never answers does not keep the fetch for ever.
func TestGoSilent(t *testing.T) {
	t.Parallel()
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(silent.Close)
	f := fetcher(t)
	f.Environ = append(sourcetest.GoEnviron(t.TempDir()), "GOPROXY="+silent.URL)
	if err := f.GoGet(t.Context(), t.TempDir(), "example.com/m", 100*time.Millisecond); !source.OfServer(err) {
		t.Errorf("GoGet() = %v", err)
	}
}

// TestGoGuarded: without a proxy of the user, nothing is fetched for a repository.
func TestGoGuarded(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"direct", "direct, direct| ", "off"} {
		f := fetcher(t)
		f.Environ, f.Guarded = append(os.Environ(), "GOPROXY="+setting), true
		if have, err := f.GoProxy(t.Context(), t.TempDir()); err != nil || have != "off" {
			t.Errorf("GOPROXY=%s: %q, %v, want off", setting, have, err)
		}
	}
}

// TestGoSeedNames: the name of a project's directory adds no element to GOPROXY, and any name can be used.
func TestGoSeedNames(t *testing.T) {
	t.Parallel()
	f := fetcher(t)
	f.Environ, f.Guarded = append(os.Environ(), "GOPROXY=direct"), true
	f.Seed = filepath.Join(t.TempDir(), "a,direct|b #%")
	have, err := f.GoProxy(t.Context(), t.TempDir())
	seed, rest, _ := strings.Cut(have, ",")
	u, parseErr := url.Parse(seed)
	if err := errors.Join(err, parseErr); err != nil {
		t.Fatal(err)
	}
	if want := filepath.ToSlash(filepath.Join(f.Seed, "go", "mod", "cache", "download")); u.Scheme != "file" || !strings.HasSuffix(u.Path, want) || rest != "off" || strings.Contains(seed, "|") {
		t.Errorf("GOPROXY is %q, want the directory %q, then off", have, want)
	}
}

// TestGoPinRefused: a lock file is a stranger's text, and its fields become lines of go.mod and go.sum.
func TestGoPinRefused(t *testing.T) {
	t.Parallel()
	good := source.Build{Go: "1.21", Require: []string{"example.com/a v1.0.0"}, Sum: []string{"example.com/a v1.0.0 h1:" + strings.Repeat("A", 43) + "="}}
	r, err := source.Parse("go:example.com/a", "/", "/")
	if err != nil {
		t.Fatal(err)
	}
	if err := (source.Pin{Local: true, Build: &good}).Check(r); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*source.Build){
		"language": func(b *source.Build) { b.Go = "1.21\nreplace example.com/a => ../" },
		"require":  func(b *source.Build) { b.Require = []string{"example.com/a v1.0.0\nreplace example.com/a => ../"} },
		"replace":  func(b *source.Build) { b.Require = []string{"example.com/a => ../a"} },
		"path":     func(b *source.Build) { b.Require = []string{"../a v1.0.0"} },
		"sum":      func(b *source.Build) { b.Sum = []string{"example.com/a v1.0.0 h1:x"} },
	} {
		b := good
		change(&b)
		if err := (source.Pin{Local: true, Build: &b}).Check(r); !errors.Is(err, source.ErrRef) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{"go:cmd", "go:fmt", "go:example.com/../x", "go:-x.com/a", "go:example.com/a@", "go:example.com/a@-x", "go:example.com/a b"} {
		if r, err := source.Parse(text, "/", "/"); err == nil {
			t.Errorf("%s: %+v", text, r)
		}
	}
}
