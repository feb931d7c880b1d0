package plugins_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/builtin/commandhooks"
	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// files are the content of a directory: "-> target" makes a link, "+x" at the start an executable, a name that ends in / a directory.
type files map[string]string

func (f files) writeTo(t testing.TB, dir string) string {
	t.Helper()
	mkdir(t, dir)
	for name, content := range f {
		path := filepath.Join(dir, filepath.FromSlash(name))
		mkdir(t, filepath.Dir(path))
		if strings.HasSuffix(name, "/") {
			mkdir(t, path)
			continue
		}
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			if err := os.Symlink(target, path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		mode := os.FileMode(0o644)
		if rest, ok := strings.CutPrefix(content, "+x"); ok {
			content, mode = rest, 0o755
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func mkdir(t testing.TB, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

// carrier replaces a real one: it opens bundles and notes what it was asked to run.
type carrier struct {
	mu       sync.Mutex
	describe string // what a plugin says of itself
	opened   []remote.Unit
	asked    []remote.Unit
	starts   func() // waits until the program has started
	make     func(u remote.Unit) sdk.Plugin
}

func (c *carrier) Describe(_ context.Context, u remote.Unit) (sdk.Description, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, u)
	if c.starts != nil {
		c.starts()
	}
	if c.describe == "" {
		return sdk.Description{}, errors.New("it crashed")
	}
	var d sdk.Description
	return d, json.Unmarshal([]byte(c.describe), &d)
}

func (c *carrier) Open(u remote.Unit) (sdk.Plugin, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened = append(c.opened, u)
	if c.make != nil {
		return c.make(u), nil
	}
	return &sdk.Bundle{Info: sdk.Manifest{Name: u.Description.Name, Carrier: sdk.Carrier(u.Description.Runtime.Type)}}, nil
}

// ran reports how often anything was run.
func (c *carrier) ran() int { return len(c.opened) + len(c.asked) }

// place is a machine with a user, a project and carriers.
type place struct {
	t       testing.TB
	root    string
	options plugins.Options
	wasm    *carrier
	process *carrier
}

func newPlace(t testing.TB) *place {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, root: root, wasm: &carrier{}, process: &carrier{}}
	p.options = plugins.Options{
		Project: sdk.Project{
			Directory: p.path("project/sub"), Worktree: p.path("project"), Home: p.path("home"), ConfigDir: p.path("config"), DataDir: p.path("data"), Git: true,
		},
		CacheDir: p.path("cache"),
		Openers:  map[sdk.Carrier]remote.Opener{sdk.CarrierWASM: p.wasm, sdk.CarrierProcess: p.process},
		Hooks: func(file, root string, data []byte) (lines, warnings []string, err error) {
			return commandhooks.Commands(commandhooks.Source{Where: file, Root: root, Data: data})
		},
		Environ: []string{"PATH=/bin", "TOKEN=t0ken", "OTHER=secret"},
	}
	for _, dir := range []string{"project/sub", "home", "config", "data"} {
		mkdir(t, p.path(dir))
	}
	t.Cleanup(func() {
		if err := child.RemoveAll(p.path("data/plugins/store")); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *place) path(rel string) string { return filepath.Join(p.root, filepath.FromSlash(rel)) }

func (p *place) write(rel string, f files) string {
	p.t.Helper()
	return f.writeTo(p.t, p.path(rel))
}

func (p *place) load() *plugins.Loaded {
	p.t.Helper()
	loaded, err := plugins.New(p.options).Load(context.Background())
	if err != nil {
		p.t.Fatal(err)
	}
	return loaded
}

// approve approves everything that waits, with all it asks for, and loads again, as often as something new is asked.
func (p *place) approve() *plugins.Loaded {
	p.t.Helper()
	for {
		l := plugins.New(p.options)
		loaded, err := l.Load(context.Background())
		if err != nil {
			p.t.Fatal(err)
		}
		waiting := pending(loaded)
		if len(waiting) == 0 {
			return loaded
		}
		for _, i := range waiting {
			if err := l.Approve(context.Background(), i, i.Request.Capabilities); err != nil {
				p.t.Fatalf("approve %s: %v", i.Name, err)
			}
		}
	}
}

// item returns the only item with the name.
func (p *place) item(l *plugins.Loaded, name string) *plugins.Item {
	p.t.Helper()
	var found *plugins.Item
	for _, i := range l.Items {
		if i.Name == name {
			if found != nil {
				p.t.Fatalf("there are two items named %s", name)
			}
			found = i
		}
	}
	if found == nil {
		p.t.Fatalf("item %s not found: %s", name, states(l))
	}
	return found
}

// pending returns the items that await approval.
func pending(l *plugins.Loaded) (out []*plugins.Item) {
	for _, i := range l.Items {
		if i.State == plugins.StatePending {
			out = append(out, i)
		}
	}
	return out
}

// states sums up what became of the items.
func states(l *plugins.Loaded) string {
	var out []string
	for _, i := range l.Items {
		s := i.Name + " " + string(i.State)
		if i.Err != nil {
			s += " (" + i.Err.Error() + ")"
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

// running returns what the host would run.
func running(l *plugins.Loaded) (out []sdk.Plugin) {
	for _, i := range l.Items {
		if i.Plugin != nil {
			out = append(out, i.Plugin)
		}
	}
	return out
}

func names(l *plugins.Loaded) string {
	var out []string
	for _, p := range running(l) {
		out = append(out, p.Manifest().Name)
	}
	return strings.Join(out, " ")
}

// manifestOf is a plugin.json.
func manifestOf(name, extension string) string {
	if extension != "" {
		extension = `, "extensions": {"io.github.tenonhq": ` + extension + `}`
	}
	return `{"$schema": "` + manifest.PluginSchema + `", "name": "` + name + `"` + extension + `}`
}

const (
	wasmRuntime = `"runtime": {"type": "wasm", "module": "./p.wasm"}`
	oneHook     = `"hooks": [{"point": "tool.execute.before", "reads": ["/args/path"], "writes": ["/args/path"]}]`
)

// wasmPackage is a package with one hook and, if more is not empty, further fields.
func wasmPackage(name, more string) files {
	if more != "" {
		more = ", " + more
	}
	return files{"plugin.json": manifestOf(name, `{`+wasmRuntime+`, `+oneHook+more+`}`), "p.wasm": "\x00asm of " + name}
}
