package trust_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

func newStore(t *testing.T) *trust.Store {
	t.Helper()
	return trust.OpenStore(filepath.Join(t.TempDir(), "data", trust.LockFile))
}

func hash(n int) trust.Digest { return trust.Digest(fmt.Sprintf("sha256:%064x", n)) }

func plugin(n int, change func(*trust.Item)) trust.Item {
	i := trust.Item{Kind: trust.KindPlugin, Name: "p", Source: "/p", Digest: hash(n), Version: "1", Request: trust.Request{
		Carrier: sdk.CarrierWASM, Tools: []string{"t"},
		Capabilities: []sdk.Capability{{Name: "http", Scope: []string{"https://a.example", "https://b.example"}}, {Name: "kv"}},
		Hooks:        []trust.Hook{before([]string{"/args/a"}, nil)},
	}}
	if change != nil {
		change(&i)
	}
	return i
}

// TestCheck lists what the store says to an item after plugin(1, nil) was approved.
func TestCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		item    trust.Item
		why     trust.Why // empty: approved
		changes []trust.Change
	}{
		"the same":               {plugin(1, nil), "", nil},
		"asks for less":          {plugin(1, func(i *trust.Item) { i.Request.Tools = nil }), "", nil},
		"another place":          {plugin(1, func(i *trust.Item) { i.Source = "/other" }), trust.WhyNew, nil},
		"another kind":           {plugin(1, func(i *trust.Item) { i.Kind = trust.KindServer }), trust.WhyNew, nil},
		"other content":          {plugin(2, nil), trust.WhyChanged, nil},
		"other content and less": {plugin(2, func(i *trust.Item) { i.Request.Tools = nil }), trust.WhyChanged, []trust.Change{{Kind: "tool", Text: "t"}}},
		"other name": {plugin(1, func(i *trust.Item) { i.Name = "q" }), trust.WhyGrown,
			[]trust.Change{{Added: true, Kind: "name", Text: "q"}, {Kind: "name", Text: "p"}}},
		"one more tool": {plugin(1, func(i *trust.Item) { i.Request.Tools = []string{"t", "u"} }), trust.WhyGrown, []trust.Change{{Added: true, Kind: "tool", Text: "u"}}},
		"a process now": {plugin(2, func(i *trust.Item) { i.Request.Carrier = sdk.CarrierProcess }), trust.WhyGrown, []trust.Change{{Added: true, Kind: "carrier", Text: "process"}, {Kind: "carrier", Text: "wasm"}}},
		"one more capability": {plugin(2, func(i *trust.Item) {
			i.Request.Capabilities = append(i.Request.Capabilities[:2:2], sdk.Capability{Name: "ask"})
		}), trust.WhyGrown, []trust.Change{{Added: true, Kind: "capability", Text: "ask"}}},
		"a wider scope": {plugin(2, func(i *trust.Item) {
			i.Request.Capabilities = []sdk.Capability{{Name: "http", Scope: []string{"https://*.example.com"}}, {Name: "kv"}}
		}), trust.WhyGrown, []trust.Change{{Added: true, Kind: "capability", Text: "http: https://*.example.com"}, {Kind: "capability", Text: "http: https://a.example"}, {Kind: "capability", Text: "http: https://b.example"}}},
		"one more field": {plugin(2, func(i *trust.Item) {
			i.Request.Hooks = []trust.Hook{before([]string{"/args/a", ""}, nil)}
		}), trust.WhyGrown, []trust.Change{{Added: true, Kind: "hook", Text: "tool.execute.before reads everything"}}},
		"changes what it read": {plugin(2, func(i *trust.Item) {
			i.Request.Hooks = []trust.Hook{before(nil, []string{"/args/a"})}
		}), trust.WhyGrown, []trust.Change{{Added: true, Kind: "hook", Text: "tool.execute.before changes /args/a"}, {Kind: "hook", Text: "tool.execute.before reads /args/a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			if err := s.Approve(t.Context(), plugin(1, nil), nil, nil); err != nil {
				t.Fatal(err)
			}
			d, err := s.Check(c.item)
			if err != nil {
				t.Fatal(err)
			}
			if d.Approved != (c.why == "") || d.Why != c.why {
				t.Errorf("approved %v, why %q; want %q", d.Approved, d.Why, c.why)
			}
			if diff := cmp.Diff(c.changes, d.Changes); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if (d.Previous != nil) != (c.why != trust.WhyNew) {
				t.Errorf("previous %+v", d.Previous)
			}
		})
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	grants := []sdk.Capability{{Name: "http", Scope: []string{"https://a.example"}}}
	if list, err := s.Read(); err != nil || len(list) > 0 {
		t.Fatalf("a new store holds %v, %v", list, err)
	}
	if err := s.Approve(t.Context(), plugin(1, nil), grants, nil); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		if info, err := os.Stat(s.Path()); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v; want 0600", info.Mode().Perm(), err)
		}
	}
	if d, err := s.Check(plugin(1, nil)); err != nil || !d.Approved || d.Disabled || !cmp.Equal(d.Grants, grants) {
		t.Errorf("Check = %+v, %v", d, err)
	}
	if err := s.SetEnabled(t.Context(), plugin(1, nil), false, "three failures"); err != nil {
		t.Fatal(err)
	}
	if d, err := s.Check(plugin(1, nil)); err != nil || !d.Approved || !d.Disabled || d.Reason != "three failures" {
		t.Errorf("Check of a disabled plugin = %+v, %v", d, err)
	}
	if err := s.SetEnabled(t.Context(), plugin(1, nil), true, ""); err != nil {
		t.Fatal(err)
	}
	if d, err := s.Check(plugin(1, nil)); err != nil || d.Disabled || d.Reason != "" {
		t.Errorf("Check of an enabled plugin = %+v, %v", d, err)
	}
	// A second approval at the same path replaces the first, unless the content of the first is kept.
	if err := errors.Join(s.Approve(t.Context(), plugin(2, nil), nil, nil), s.Approve(t.Context(), plugin(3, nil), nil, map[trust.Digest]bool{hash(2): true})); err != nil {
		t.Fatal(err)
	}
	for n, approved := range map[int]bool{1: false, 2: true, 3: true} {
		if d, err := s.Check(plugin(n, nil)); err != nil || d.Approved != approved {
			t.Errorf("Check of content %d = %+v, %v", n, d, err)
		}
	}
	// A disabled item stays disabled with any content.
	if err := s.SetEnabled(t.Context(), plugin(4, nil), false, "by the user"); err != nil {
		t.Fatal(err)
	}
	if d, err := s.Check(plugin(5, nil)); err != nil || d.Approved || !d.Disabled || d.Previous.Digest != hash(3) {
		t.Errorf("Check of new content of a disabled plugin = %+v, %v", d, err)
	}
	// Enabling one content does not end the quarantine of another.
	if err := errors.Join(s.Quarantine(t.Context(), plugin(2, nil), "it failed"), s.SetEnabled(t.Context(), plugin(3, nil), true, "")); err != nil {
		t.Fatal(err)
	}
	if d, err := s.Check(plugin(2, nil)); err != nil || d.Disabled || d.Quarantined == "" {
		t.Errorf("Check of content in quarantine = %+v, %v", d, err)
	}
	if err := s.Approve(t.Context(), plugin(2, nil), nil, nil); err != nil {
		t.Fatal(err)
	}
	list, err := s.Read()
	if err != nil || len(list) != 1 || list[0].Digest != hash(2) {
		t.Errorf("entries %+v, %v", list, err)
	}
	// A path can be used like a name, but only for plugins.
	item := plugin(2, nil)
	if _, err := s.Revoke(t.Context(), trust.KindHooks, item.Source); !errors.Is(err, trust.ErrNotFound) {
		t.Errorf("Revoke of hooks in the plugin's place: %v, want ErrNotFound", err)
	}
	if gone, err := s.Revoke(t.Context(), trust.KindPlugin, item.Source); err != nil || len(gone) != 1 {
		t.Errorf("Revoke of a place = %v, %v", gone, err)
	}
	// The name of one content revokes all contents at its path, whatever their names.
	renamed := plugin(3, func(i *trust.Item) { i.Name = "q" })
	if err := errors.Join(s.Approve(t.Context(), renamed, nil, nil), s.Approve(t.Context(), item, nil, map[trust.Digest]bool{hash(3): true})); err != nil {
		t.Fatal(err)
	}
	gone, err := s.Revoke(t.Context(), trust.KindPlugin, "p")
	if err != nil || len(gone) != 2 {
		t.Errorf("Revoke = %v, %v", gone, err)
	}
	if d, err := s.Check(plugin(2, nil)); err != nil || d.Approved || d.Why != trust.WhyNew {
		t.Errorf("Check after Revoke = %+v, %v", d, err)
	}
	if _, err := s.Revoke(t.Context(), trust.KindPlugin, "p"); !errors.Is(err, trust.ErrNotFound) {
		t.Errorf("error %v, want ErrNotFound", err)
	}
	if err := s.SetEnabled(t.Context(), plugin(1, nil), true, ""); !errors.Is(err, trust.ErrNotFound) {
		t.Errorf("error %v, want ErrNotFound", err)
	}
}

// A program is asked for its requests after its new content was approved. The capabilities that the user withheld from the earlier content
// are still known then.
func TestWithheld(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	kv := []sdk.Capability{{Name: "kv"}}
	program := plugin(2, func(i *trust.Item) { i.Request = trust.Request{Undescribed: true} })
	if err := errors.Join(s.Approve(t.Context(), plugin(1, nil), kv, nil), s.Approve(t.Context(), program, nil, nil)); err != nil {
		t.Fatal(err)
	}
	if d, err := s.Check(plugin(2, nil)); err != nil || d.Approved || !slices.Equal(d.Withheld, []string{"http"}) {
		t.Errorf("Check of the described program = %+v, %v", d, err)
	}
	if d, err := s.Check(plugin(2, func(i *trust.Item) { i.Request.Capabilities = kv })); err != nil || len(d.Withheld) > 0 {
		t.Errorf("Check of one that requests only what was granted = %+v, %v", d, err)
	}
	if err := s.Approve(t.Context(), plugin(2, nil), kv, nil); err != nil {
		t.Fatal(err)
	}
	if list, err := s.Read(); err != nil || len(list) != 1 || list[0].Digest != hash(2) {
		t.Errorf("entries %+v, %v", list, err)
	}
}

// TestGrants lists grants that were not asked for.
func TestGrants(t *testing.T) {
	t.Parallel()
	for name, grant := range map[string]sdk.Capability{
		"another capability": {Name: "secret", Scope: []string{"KEY"}},
		"another host":       {Name: "http", Scope: []string{"https://c.example"}},
		"every host":         {Name: "http", Scope: []string{"*"}},
		"no scope":           {Name: "http"},
	} {
		if err := newStore(t).Approve(t.Context(), plugin(1, nil), []sdk.Capability{grant}, nil); !errors.Is(err, trust.ErrGrant) {
			t.Errorf("%s: error %v, want ErrGrant", name, err)
		}
	}
	unnamable := plugin(1, func(i *trust.Item) { i.Source = "/\xff" }) // would be stored as another path
	if err := newStore(t).Approve(t.Context(), unnamable, nil, nil); !errors.Is(err, trust.ErrGrant) {
		t.Errorf("a path that is not UTF-8: error %v, want ErrGrant", err)
	}
}

// TestBadLockFile checks that a file which cannot be read is an error that says what to do, and stays as it is.
func TestBadLockFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ content, want string }{
		"empty":         {"", "not readable"},
		"cut off":       {`{"version": 1, "entries": [{"na`, "not readable"},
		"newer":         {`{"version": 3, "rules": []}`, "its version is 3"},
		"no version":    {`{"entries": []}`, "its version is 0"},
		"unknown field": {`{"version": 1, "entries": [], "allow": "*"}`, "not readable"},
		"no digest":     {`{"version": 1, "entries": [{"kind": "plugin", "name": "p", "source": "/p", "digest": "*"}]}`, "not complete"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			mkdir(t, filepath.Dir(s.Path()))
			write(t, s.Path(), c.content)
			_, err := s.Read()
			approved := s.Approve(t.Context(), plugin(1, nil), nil, nil)
			for _, err := range []error{err, approved} {
				if !errors.Is(err, trust.ErrLockFile) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), s.Path()) {
					t.Errorf("error %v, want one that names the file and has %q", err, c.want)
				}
			}
			if got, err := os.ReadFile(s.Path()); string(got) != c.content {
				t.Errorf("the file is %q now, %v", got, err)
			}
		})
	}
}

func TestLockFileThatOthersWrite(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // without such modes
	}
	s := newStore(t)
	if err := s.Approve(t.Context(), plugin(1, nil), nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.Path(), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(); !errors.Is(err, trust.ErrLockFile) || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("error %v, want one that says chmod 600", err)
	}
}

// TestWritersAtTheSameTime lets many writers, each with a store of its own as processes have it, approve at the same time.
func TestWritersAtTheSameTime(t *testing.T) {
	t.Parallel()
	path := newStore(t).Path()
	const writers, each = 8, 5
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			s := trust.OpenStore(path)
			for n := range each {
				i := plugin(1, func(i *trust.Item) { i.Source = "/" + strconv.Itoa(w) + "/" + strconv.Itoa(n) })
				if err := s.Approve(t.Context(), i, nil, nil); err != nil {
					t.Error(err)
				}
				if _, err := s.Read(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if list, err := trust.OpenStore(path).Read(); err != nil || len(list) != writers*each {
		t.Errorf("%d entries, %v; want %d", len(list), err, writers*each)
	}
}

func TestDefinition(t *testing.T) {
	t.Parallel()
	dir := files{"check.sh": "+x1", "x/server.js": "1", "out": "-> /etc/passwd"}.write(t)
	local := func(words ...string) []string { return trust.LocalFiles(dir, dir, words) }
	if got := local("sh", "-c", `"./check.sh" --all && node x/server.js; cat out ../other`); len(got) != 2 {
		t.Errorf("LocalFiles = %q, want check.sh and server.js", got)
	}
	type definition struct {
		trust.Item
		Content any
		Files   []string
	}
	item := func(change func(*definition)) trust.Digest {
		d := definition{
			Item: trust.Item{Kind: trust.KindServer, Name: "s", Source: filepath.Join(dir, ".mcp.json")}, Files: local("./check.sh"),
			Content: map[string]any{"command": "./check.sh", "args": []any{1.0, "a"}},
		}
		if change != nil {
			change(&d)
		}
		i, err := trust.NewItem(t.Context(), d.Item, d.Content, d.Files)
		if err != nil {
			t.Fatal(err)
		}
		return i.Digest
	}
	want := item(nil)
	if got := item(func(d *definition) {
		d.Content = struct {
			Command string `json:"command"`
			Args    []any  `json:"args"`
		}{"./check.sh", []any{1, "a"}}
	}); got != want {
		t.Error("the order of fields counts")
	}
	for name, change := range map[string]func(*definition){
		"content":         func(d *definition) { d.Content = map[string]any{"command": "./check.sh"} },
		"name":            func(d *definition) { d.Name = "t" },
		"kind":            func(d *definition) { d.Kind = trust.KindHooks },
		"without files":   func(d *definition) { d.Files = nil },
		"name and digest": func(d *definition) { d.Name = "s\" 1" },
	} {
		if item(change) == want {
			t.Errorf("%s: the digest is the same", name)
		}
	}
	write(t, filepath.Join(dir, "check.sh"), "2")
	if item(nil) == want {
		t.Error("the script it runs was exchanged, and the digest is the same")
	}
	if _, err := trust.NewItem(t.Context(), trust.Item{Kind: trust.KindHooks}, func() {}, nil); err == nil {
		t.Error("content that is not JSON is accepted")
	}
}

func FuzzLockFile(f *testing.F) {
	f.Add([]byte(`{"version": 1, "entries": [{"kind": "plugin", "name": "p", "source": "/p", "digest": "sha256:` + strings.Repeat("0", 64) + `"}]}`))
	f.Add([]byte(`{"version": 9}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "tenon.lock")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := trust.OpenStore(path).Read()
		if err != nil && !errors.Is(err, trust.ErrLockFile) {
			t.Errorf("error %v does not wrap ErrLockFile", err)
		}
		for _, e := range list {
			if len(e.Digest) != len(hash(0)) {
				t.Errorf("entry with digest %q", e.Digest)
			}
		}
	})
}

// before is a hook at tool.execute.before.
func before(reads, writes []string) trust.Hook {
	return trust.Hook{HookDescription: sdk.HookDescription{Point: string(sdk.PointToolBefore), Name: "tool.execute.before", Reads: reads, Writes: writes}}
}
