package source

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/visible"
)

// Build pins the inputs of a Go program: the content of its go.mod and go.sum, without directives that refer to other places.
type Build struct {
	Go      string   `json:"go"`      // language version, such as 1.26
	Require []string `json:"require"` // "module version", each module that is needed
	Sum     []string `json:"sum"`     // lines of go.sum: module, version and h1: digest
}

// goModule matches a module or a package in one, goVersion a version of it, see https://go.dev/ref/mod#module-path.
const (
	goModule  = `[A-Za-z0-9][A-Za-z0-9-]*(?:\.[A-Za-z0-9-]+)+(?:/[A-Za-z0-9_~][A-Za-z0-9_~+-]*(?:\.[A-Za-z0-9_~+-]+)*)*`
	goVersion = `v[0-9][0-9A-Za-z.+-]*`
)

var (
	// goRef parses the text after "go:". The version is a version of the module, a branch or a commit.
	goRef      = formed(Go, "example.com/module/command", `(`+goModule+`)(?:@([0-9A-Za-z][0-9A-Za-z._+/-]*))?`)
	goLanguage = lazyregexp.New(`^1\.[0-9]+(?:\.[0-9]+|rc[0-9]+)?$`)
	goMajor    = lazyregexp.New(`^v[0-9]+$`)
	goRequire  = lazyregexp.New(`^` + goModule + ` ` + goVersion + `$`)
	goSum      = lazyregexp.New(`^` + goModule + ` ` + goVersion + `(?:/go\.mod)? h1:[A-Za-z0-9+/]{43}=$`)
)

// check refuses fields that are not versions, modules or digests.
func (b *Build) check() error {
	if !goLanguage().MatchString(b.Go) {
		return fmt.Errorf("%w: build: %q is not a version of Go", ErrRef, visible.Cut(b.Go, 40, "…"))
	}
	for i, line := range slices.Concat(b.Require, b.Sum) {
		form := goRequire
		if i >= len(b.Require) {
			form = goSum
		}
		if !form().MatchString(line) || strings.Contains(line, "..") {
			return fmt.Errorf("%w: build: %q", ErrRef, visible.Cut(line, 200, "…"))
		}
	}
	return nil
}

// program builds a program from its module. The go command downloads and checks the modules, against the checksum database or the pin,
// and runs none of their code: cgo is off, and a build has no other way to run code.
func (f *Fetcher) program(ctx context.Context, r Ref, out *Fetched, dir string) (err error) {
	work, err := os.MkdirTemp(filepath.Dir(dir), ".go-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, child.RemoveAll(work)) }()
	g, err := f.goTool(ctx, work)
	if err != nil {
		return err
	}
	if out.Build == nil {
		if err := g.resolve(ctx, r); err != nil {
			return err
		}
		if out.Build, err = g.read(ctx); err != nil {
			return err
		}
		out.Local = true
	} else if err := g.write(out.Build); err != nil {
		return err
	}
	f.progress("go: "+r.URL, 0, 0)
	// This downloads missing modules; -mod=readonly keeps go.mod and go.sum unchanged.
	list, err := g.run(ctx, nil, "list", "-mod=readonly", "-deps", "-f", `{{if eq .ImportPath "`+r.URL+`"}}{{.Name}} {{.Module.Version}}{{end}}`, "--", r.URL)
	if err != nil {
		return err
	}
	name, version, _ := strings.Cut(strings.TrimSpace(string(list)), " ")
	if name != "main" {
		return fmt.Errorf("%s is package %s, not a program", r.URL, visible.Clean(name, 100))
	}
	out.Version, out.Path = version, filepath.Join(dir, programName(r.URL))
	g.env["GOPROXY"] = "off"
	_, err = g.run(ctx, []string{work, g.cache, g.builds, dir}, "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-o", out.Path, "--", r.URL)
	return err
}

// programName returns the name of a program: the last part of its package's path that is not a major version.
func programName(pkg string) string {
	name := path.Base(pkg)
	if goMajor().MatchString(name) {
		name = path.Base(path.Dir(pkg))
	}
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return name
}

// goOldest is the language version of a new go.mod; modules may raise it. From this version on, go.mod files list all required modules.
const goOldest = "1.21"

// goTool is the user's go command in a directory that tenon made. Its caches are tenon's: commands of the model can write to the user's.
type goTool struct {
	f      *Fetcher
	work   string
	cache  string // of modules
	builds string // of compiled packages
	env    map[string]string
	limit  time.Duration // of a run that may contact servers: the go command waits forever for a silent server
}

// goSettings are the user's settings that decide where modules come from.
var goSettings = []string{"GOPROXY", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOSUMDB", "GOINSECURE", "GOVCS", "GOAUTH", "GOROOT"}

func (f *Fetcher) goTool(ctx context.Context, work string) (*goTool, error) {
	g := &goTool{f: f, work: work, cache: filepath.Join(f.Cache, "go"), env: map[string]string{"GOTOOLCHAIN": "local"}, limit: 30 * time.Minute}
	g.builds = cmp.Or(f.Builds, filepath.Join(g.cache, "build"))
	if err := errors.Join(os.MkdirAll(g.cache, 0o700), os.MkdirAll(g.builds, 0o700)); err != nil {
		return nil, err
	}
	for _, e := range f.Environ {
		if name, value, _ := strings.Cut(e, "="); slices.Contains(goSettings, name) {
			g.env[name] = value
		}
	}
	data, err := g.run(ctx, nil, append([]string{"env", "-json"}, goSettings...)...)
	if err == nil {
		err = json.Unmarshal(data, &g.env)
	}
	if err != nil {
		return nil, err
	}
	proxies := strings.FieldsFunc(g.env["GOPROXY"], func(r rune) bool { return r == ',' || r == '|' })
	switch {
	case f.Offline:
		proxies = []string{"off"}
	case f.Guarded: // a repository must not choose the servers
		// The go command trims the parts, and its default for an empty list ends with direct.
		proxies = slices.DeleteFunc(proxies, func(s string) bool { return slices.Contains([]string{"", "direct"}, strings.TrimSpace(s)) })
		if len(proxies) == 0 {
			proxies = []string{"off"}
		}
		g.env["GOVCS"], g.env["GONOPROXY"], g.env["GOINSECURE"] = "*:off", "none", ""
	}
	if f.Seed != "" { // missing modules come from the next proxy
		proxies = append([]string{fileProxy(filepath.Join(f.Seed, "go", "mod", "cache", "download"))}, proxies...)
	}
	g.env["GOPROXY"] = strings.Join(proxies, ",")
	maps.Copy(g.env, map[string]string{
		"GOENV": "off", "GOFLAGS": "-modcacherw", "GO111MODULE": "on", "GOWORK": "off", "CGO_ENABLED": "0",
		"GOMODCACHE": filepath.Join(g.cache, "mod"), "GOCACHE": g.builds, "GOPATH": filepath.Join(g.cache, "path"),
		"GOTMPDIR": work, "GOTOOLCHAIN": "local",
	})
	return g, nil
}

// fileProxy returns a directory as an element of GOPROXY, in which commas separate elements.
func fileProxy(dir string) string {
	u := url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(dir), "/")}
	return strings.ReplaceAll(u.String(), ",", "%2C")
}

// run runs the go command. With write, the command is confined to these directories; otherwise it may contact servers.
func (g *goTool) run(ctx context.Context, write []string, args ...string) ([]byte, error) {
	if write == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, g.limit, fmt.Errorf("%w: go %s did not end within %s", errCut, args[0], g.limit))
		defer cancel()
	}
	t := tool{name: "go", args: args, dir: g.work, env: g.env, write: write}
	if root := g.env["GOROOT"]; root != "" {
		t.helps = []string{filepath.Join(root, "bin", "go")}
	}
	return t.run(ctx, g.f)
}

func (g *goTool) file(name string) string { return filepath.Join(g.work, name) }

// resolve writes go.mod and go.sum for the newest versions, as a user's "go get" does.
func (g *goTool) resolve(ctx context.Context, r Ref) error {
	if err := os.WriteFile(g.file("go.mod"), []byte("module tenon.invalid/build\n\ngo "+goOldest+"\n"), 0o600); err != nil {
		return err
	}
	version := cmp.Or(r.Version, "latest")
	g.f.progress("go: modules of "+r.URL, 0, 0)
	_, err := g.run(ctx, nil, "get", "--", r.URL+"@"+version)
	return err
}

// read returns the pin of the files that resolve wrote.
func (g *goTool) read(ctx context.Context) (*Build, error) {
	data, err := g.run(ctx, nil, "mod", "edit", "-json")
	if err != nil {
		return nil, err
	}
	var mod struct {
		Go      string
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(data, &mod); err != nil {
		return nil, err
	}
	b := &Build{Go: mod.Go}
	for _, m := range mod.Require {
		b.Require = append(b.Require, m.Path+" "+m.Version)
	}
	sum, err := os.ReadFile(g.file("go.sum"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(sum)) {
		b.Sum = append(b.Sum, strings.TrimSpace(line))
	}
	slices.Sort(b.Sum)
	return b, b.check()
}

// write writes the go.mod and go.sum of a pin, which Fetch has checked.
func (g *goTool) write(b *Build) error {
	mod := "module tenon.invalid/build\n\ngo " + b.Go + "\n"
	for _, line := range b.Require {
		mod += "\nrequire " + line + "\n"
	}
	return errors.Join(os.WriteFile(g.file("go.mod"), []byte(mod), 0o600), os.WriteFile(g.file("go.sum"), []byte(strings.Join(b.Sum, "\n")+"\n"), 0o600))
}
