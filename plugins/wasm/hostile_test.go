package wasm_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/plugins/wasm"
	"github.com/tenonhq/tenon/sdk"
)

// A module that names what the rewriter adds, such as the counter of the deadline, is refused before it runs, without an approval too.
func TestCounterCannotBeNamed(t *testing.T) {
	t.Parallel()
	const abi = `(memory (export "memory") 1) (func (export "tenon_abi") (result i32) (i32.const 0x10000)) (func (export "tenon_call") (param i32 i32) (result i32) `
	for name, wat := range map[string]string{
		"set": `(module ` + abi + `(loop $l (global.set 0 (i32.const 0x40000000)) (br $l)) (i32.const 2)))`,
		"set behind its own": `(module (global (mut i32) (i32.const 1)) ` + abi +
			`(loop $l (global.set 1 (i32.const 0x40000000)) (br $l)) (i32.const 2)))`,
		"start":   `(module (func $s (loop $l (global.set 0 (i32.const 0x40000000)) (br $l))) (start $s) ` + abi + `(i32.const 2)))`,
		"exports": `(module (export "counter" (global 0)) ` + abi + `(i32.const 2)))`,
	} {
		code := moduleOf(t, compiler(t, strings.NewReader(wat), "wat.mjs"))
		r := newRuntime(t, wasm.Options{})
		if _, err := r.Describe(t.Context(), remote.Unit{Program: code}); !errors.Is(err, wasm.ErrModule) || !strings.Contains(err.Error(), "global") {
			t.Errorf("%s: Describe = %v, want %v that names the global", name, err, wasm.ErrModule)
		}
		p := started(t, r, remote.Unit{Program: code, Description: sdk.Description{Hooks: gates(1)}}, host{})
		if _, err := ask(t.Context(), p, 0, ""); !errors.Is(err, wasm.ErrModule) {
			t.Errorf("%s: hook = %v, want %v", name, err, wasm.ErrModule)
		}
	}
}

func hostileWASI(t *testing.T, r *wasm.Runtime) sdk.Plugin {
	t.Helper()
	return started(t, r, remote.Unit{Program: module("hostile/wasi.wasm"), Description: sdk.Description{Hooks: gates(6)}}, host{})
}

// Functions of WASI that take long do not pass the deadline, however they are called.
func TestDeadlineInWASI(t *testing.T) { // not beside others: it measures time
	r := newRuntime(t, wasm.Options{CacheDir: t.TempDir()})
	p := hostileWASI(t, r)
	if _, err := ask(t.Context(), p, 5, ""); err != nil {
		t.Fatal(err)
	}
	for n, name := range []string{"poll", "poll through a table", "empty buffers", "path", "clock"} {
		t.Run(name, func(t *testing.T) {
			endsAtDeadline(t, func(ctx context.Context) error {
				_, err := ask(ctx, p, n, name)
				return err
			})
		})
	}
	t.Run("describe", func(t *testing.T) {
		endsAtDeadline(t, func(ctx context.Context) error {
			_, err := r.Describe(ctx, remote.Unit{Program: module("hostile/wasi.wasm")})
			return err
		})
	})
}

// A call of WASI with more than it may work through gets an error number: "d" is 28, EINVAL, "A" is 0.
func TestLimitsOfWASI(t *testing.T) {
	t.Parallel()
	p := hostileWASI(t, newRuntime(t, wasm.Options{}))
	if got, err := ask(t.Context(), p, 5, ""); err != nil || got.Reason != string([]byte{'A' + 28, 'A'}) {
		t.Errorf("the answers of WASI are %q, %v", got.Reason, err)
	}
}

// stuck is a host whose tool calls do not end, whatever their context says.
type stuck struct {
	host
	entered, release chan struct{}
}

func (s stuck) CallTool(context.Context, sdk.ToolRequest) (*sdk.ToolResult, error) {
	close(s.entered)
	<-s.release
	return &sdk.ToolResult{}, nil
}

// Close ends although a call does not, with an error that names the plugin.
func TestCloseIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := wasm.New(wasm.Options{})
		grants := []sdk.Capability{{Name: sdk.CapabilityTool, Scope: []string{"again"}}}
		p, err := r.Open(remote.Unit{
			Program: module("nested.wasm"), Description: sdk.Description{Name: "guest", Hooks: gates(1)},
			Grants: grants, Broker: ability.New(ability.Options{Plugin: "guest", Grants: grants}),
		})
		if err != nil {
			t.Fatal(err)
		}
		h := stuck{entered: make(chan struct{}), release: make(chan struct{})}
		if err := p.Start(t.Context(), h); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() {
			_, err := ask(t.Context(), p, 0, "one")
			ended <- err
		}()
		<-h.entered
		start := time.Now()
		if err := p.Close(t.Context()); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `plugin "guest": calls still run`) {
			t.Errorf("Close = %v, want one that names the plugin", err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("Close took %v, want at most 5s", took)
		}
		close(h.release)
		<-ended
		if err := p.Close(t.Context()); err != nil {
			t.Errorf("the second Close = %v", err)
		}
	})
}

// Data segments keep their order where a later one lies before an earlier one.
func TestDataOutOfOrder(t *testing.T) {
	t.Parallel()
	d, err := newRuntime(t, wasm.Options{}).Describe(t.Context(), remote.Unit{Program: module("hostile/data.wasm")})
	if err != nil || d.Name != "dat" || len(d.Hooks) != 1 {
		t.Errorf("Describe = %+v, %v", d, err)
	}
}

// The error of a bad answer shows its beginning.
func TestBadAnswerIsShown(t *testing.T) {
	t.Parallel()
	p := faultPlugin(t, newRuntime(t, wasm.Options{}))
	want := `: "this is {no JSON"`
	if _, err := ask(t.Context(), p, 7, ""); !errors.Is(err, sdk.ErrWire) || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want %s", err, want)
	}
}

// linked makes a project and, outside of it, a directory with a secret to which links in the project lead.
func linked(t *testing.T) (project, private string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project, private = filepath.Join(dir, "project"), filepath.Join(dir, "private", "tenon")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(project, "plain"), 0o700),
		os.MkdirAll(filepath.Join(private, "deep"), 0o700),
		os.WriteFile(filepath.Join(project, "plain", "a.txt"), []byte("plain"), 0o600),
		os.WriteFile(filepath.Join(private, "a.txt"), []byte("the secret"), 0o600),
		os.WriteFile(filepath.Join(private, "deep", "a.txt"), []byte("the secret"), 0o600),
		os.Symlink(private, filepath.Join(project, "docs")),
		os.Symlink("../private", filepath.Join(project, "up")),
		os.Symlink("plain", filepath.Join(project, "inner")),
		os.Symlink(filepath.Join(project, "plain"), filepath.Join(project, "absolute")),
		os.Symlink(filepath.Join(dir, "alias", "plain"), filepath.Join(project, "roundabout")),
		os.Symlink(filepath.Join(project, "plain", "a.txt"), filepath.Join(project, "file")),
		os.Symlink(filepath.Join(project, "docs"), filepath.Join(project, "twice")),
		os.Symlink(project, filepath.Join(dir, "alias")),
		os.Symlink(private, filepath.Join(dir, "shortcut")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return project, private
}

// A granted directory that is a link out of the project is not opened, and neither is a directory of tenon
// under any name.
func TestGrantedDirectories(t *testing.T) {
	t.Parallel()
	project, private := linked(t)
	outer := filepath.Dir(project)
	data := filepath.Join(private, "data")
	for name, c := range map[string]struct {
		scope, file string
		want        string // the answer, or a part of the error
	}{
		"plain":                 {"$PROJECT/plain", project + "/plain/a.txt", "plain"},
		"whole project":         {"$PROJECT", project + "/plain/a.txt", "plain"},
		"a link inside":         {"$PROJECT/inner", project + "/inner/a.txt", "plain"},
		"absolute link inside":  {"$PROJECT/absolute", project + "/absolute/a.txt", "plain"},
		"roundabout":            {"$PROJECT/roundabout", project + "/roundabout/a.txt", "plain"},
		"followed in a grant":   {"$PROJECT", project + "/absolute/a.txt", "plain"},
		"a file in a grant":     {"$PROJECT", project + "/file", "plain"},
		"around in a grant":     {"$PROJECT", project + "/roundabout/a.txt", "plain"},
		"out of a grant":        {"$PROJECT", project + "/docs/a.txt", "error: "},
		"twice out of a grant":  {"$PROJECT", project + "/twice/a.txt", "error: "},
		"beside the grant":      {"$PROJECT/plain", project + "/absolute/a.txt", "error: "},
		"a link out, twice":     {"$PROJECT/twice", project + "/twice/a.txt", "are not followed"},
		"absolute":              {project + "/plain", project + "/plain/a.txt", "plain"},
		"by another name":       {outer + "/alias/plain", outer + "/alias/plain/a.txt", "plain"},
		"its own data":          {"$DATA", data + "/a.txt", "error: "},
		"a link out":            {"$PROJECT/docs", project + "/docs/a.txt", "are not followed"},
		"a relative link out":   {"$PROJECT/up/tenon", project + "/up/tenon/a.txt", "are not followed"},
		"an absolute link out":  {project + "/docs", project + "/docs/a.txt", "are not followed"},
		"missing":               {"$PROJECT/none", project + "/none/a.txt", "grant of the directory"},
		"tenon's own":           {private, private + "/a.txt", "tenon's own"},
		"below tenon's own":     {private + "/deep", private + "/deep/a.txt", "tenon's own"},
		"above tenon's own":     {outer, private + "/a.txt", "tenon's own"},
		"everything":            {"/", private + "/a.txt", "tenon's own"},
		"tenon's own by a link": {outer + "/shortcut", outer + "/shortcut/a.txt", "tenon's own"},
		"up from its own data":  {"$DATA/..", private + "/a.txt", "are not followed"},
	} {
		p := escapist(t, remote.Unit{
			DataDir: data, Grants: []sdk.Capability{{Name: sdk.CapabilityWrite, Scope: []string{c.scope}}},
		}, host{project: sdk.Project{Worktree: project, CacheDir: filepath.Join(outer, "none", "cache"), DataDir: private}})
		got := attempt(t, p, "read", c.file)
		if !strings.Contains(got, c.want) || strings.Contains(got, "the secret") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Everything done through a link with an absolute target happens inside of the granted directory; what is done to the link itself is.
func TestThroughAbsoluteLinks(t *testing.T) {
	t.Parallel()
	project, _ := linked(t)
	p := escapist(t, remote.Unit{Grants: []sdk.Capability{{Name: sdk.CapabilityWrite, Scope: []string{"$PROJECT"}}}}, host{project: sdk.Project{Worktree: project}})
	in := func(name string) string { return filepath.Join(project, name) }
	for _, c := range []struct {
		what string
		args []string
		fail bool
	}{
		{"write", []string{in("absolute/new")}, false},
		{"stat", []string{in("absolute/new")}, false},
		{"mkdir", []string{in("roundabout/dir")}, false},
		{"rename", []string{in("absolute/new"), in("roundabout/dir/new")}, false},
		{"rename", []string{in("absolute/a.txt"), in("docs/a.txt")}, true},
		{"remove", []string{in("twice/deep/a.txt")}, true},
		{"remove", []string{in("file")}, false},
	} {
		if got := attempt(t, p, c.what, c.args...); strings.HasPrefix(got, "error: ") != c.fail {
			t.Errorf("%s %q: %q, want an error: %v", c.what, c.args, got, c.fail)
		}
	}
	for name, want := range map[string]bool{"plain/dir/new": true, "plain/a.txt": true, "docs/deep/a.txt": true, "plain/new": false, "file": false} {
		if _, err := os.Lstat(in(name)); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", name, err, want)
		}
	}
}

// A project that is above tenon's own directories, as a home directory is, is not granted.
func TestProjectAboveTenon(t *testing.T) {
	t.Parallel()
	project, private := linked(t)
	for name, own := range map[string]string{"exists": private, "does not exist yet": filepath.Join(filepath.Dir(private), "later", "tenon")} {
		p := escapist(t, remote.Unit{
			Grants: []sdk.Capability{{Name: sdk.CapabilityRead, Scope: []string{"$PROJECT"}}},
		}, host{project: sdk.Project{Worktree: filepath.Dir(project), CacheDir: own}})
		if got := attempt(t, p, "read", fmt.Sprint(private, "/a.txt")); !strings.Contains(got, "tenon's own") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
