package process_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/plugins/process"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
)

// An unused plugin has no process.
func TestIdlePluginHasNoProcess(t *testing.T) {
	t.Parallel()
	began := time.Now()
	var all []remote.Unit
	for range 10 {
		spec := guestSpec(t, "plain")
		p := started(t, process.Options{}, spec, nil)
		if len(p.(sdk.Hooker).Hooks()) == 0 || len(p.(sdk.ToolSource).Tools()) == 0 {
			t.Fatal("the plugin contributes nothing")
		}
		all = append(all, spec)
	}
	t.Logf("ten plugins took %s", time.Since(began))
	for _, spec := range all {
		if _, err := os.Stat(spec.DataDir); err == nil {
			t.Error("something was made for a process")
		}
	}
}

// Many calls at once start one process.
func TestOneStart(t *testing.T) {
	t.Parallel()
	p := started(t, process.Options{}, guestSpec(t, "plain"), nil)
	pids := make([]int, 8)
	var calls sync.WaitGroup
	for i := range pids {
		calls.Go(func() { pids[i] = pidOf(t, p) })
	}
	calls.Wait()
	for _, pid := range pids {
		if pid != pids[0] {
			t.Errorf("processes %v", pids)
		}
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T, o process.Options, kind string) (sdk.Plugin, remote.Unit) {
		spec := guestSpec(t, kind)
		p, err := process.New(o).Open(spec)
		if err != nil {
			t.Fatal(err)
		}
		return p, spec
	}
	t.Run("without start", func(t *testing.T) {
		t.Parallel()
		p, _ := open(t, process.Options{}, "plain")
		if err := errors.Join(p.Close(t.Context()), p.Close(t.Context())); err != nil {
			t.Error(err)
		}
	})
	t.Run("call before start", func(t *testing.T) {
		t.Parallel()
		p, _ := open(t, process.Options{}, "plain")
		if _, err := callHook(t, p, "warm"); err == nil {
			t.Error("no error")
		}
	})
	t.Run("lets the plugin close", func(t *testing.T) {
		t.Parallel()
		spec := guestSpec(t, "plain")
		p := started(t, process.Options{}, spec, nil)
		pidOf(t, p)
		if err := errors.Join(p.Close(t.Context()), p.Close(t.Context())); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(spec.DataDir, "closed")); err != nil {
			t.Error(err)
		}
		if _, err := callHook(t, p, "warm"); !errors.Is(err, process.ErrClosed) {
			t.Errorf("a call after Close: %v", err)
		}
	})
	t.Run("does not wait for ever", func(t *testing.T) {
		t.Parallel()
		spec := guestSpec(t, "slowclose")
		p := started(t, process.Options{StopTimeout: 100 * time.Millisecond}, spec, nil)
		pidOf(t, p)
		if err := p.Close(t.Context()); err != nil { // the plugin's own end would take a minute
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(spec.DataDir, "closed")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("it waited for the plugin to end by itself: %v", err)
		}
	})
	t.Run("ends a start under way", func(t *testing.T) {
		t.Parallel()
		p := started(t, process.Options{StartTimeout: time.Minute}, guestSpec(t, "silent"), nil)
		ended := make(chan error)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, err := callHookIn(ctx, t, p, "warm")
			ended <- err
		}()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the call that wanted the start: %v", err)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Run("ends calls under way", func(t *testing.T) {
		t.Parallel()
		p := started(t, process.Options{}, guestSpec(t, "plain"), nil)
		arrived, ended := make(chan string, 1), make(chan error)
		go func() {
			_, err := callTool(t, p, "wait", `{}`, &toolHost{progress: func(title string, _ sdk.Object) { arrived <- title }})
			ended <- err
		}()
		<-arrived
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-ended; err == nil {
			t.Error("the call ended well")
		}
	})
}

// A directory for temporary files that is missing is not the plugin's fault.
func TestNoTemporaryDirectory(t *testing.T) {
	works := os.TempDir()
	for name, o := range map[string]process.Options{
		"unconfined": {RestartDelay: 1, Unconfined: func(string) bool { return true }}, "confined": {RestartDelay: 1},
	} {
		p := started(t, o, guestSpec(t, "plain"), nil)
		for _, missing := range []string{"/nowhere", "/" + strings.Repeat("nowhere", 10)} { // sockets are not made below the longer one
			t.Setenv("TMPDIR", missing)
			for range 7 { // more than a process may end
				if _, err := callHook(t, p, "warm"); err != nil && (!hooks.Blameless(err) || !strings.Contains(err.Error(), "TMPDIR")) {
					t.Fatalf("%s, %s: error %v, which counts against the plugin", name, missing, err)
				}
			}
		}
		t.Setenv("TMPDIR", works)
		if _, err := callHook(t, p, "warm"); err != nil {
			t.Errorf("%s, with a directory again: %v", name, err)
		}
	}
}

// Whatever happens to the process, nothing of it stays in the temporary directory.
func TestLeavesNoFiles(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	empty := func(when string) {
		t.Helper()
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) > 0 {
			t.Errorf("%s: %v, %v", when, entries, err)
		}
	}
	p := started(t, unbounded(), guestSpec(t, "plain"), nil)
	pidOf(t, p)
	if sockets, err := filepath.Glob(filepath.Join(dir, "plugin-dir*")); err != nil || len(sockets) > 0 {
		t.Errorf("once it has started: %v, %v", sockets, err)
	}
	if _, err := callHook(t, p, "exit"); err == nil {
		t.Error("no error")
	}
	pidOf(t, p)
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	empty("after a crash and a close")
	for _, kind := range []string{"garbage", "exit", "deaf", "badstart"} {
		p := started(t, process.Options{}, guestSpec(t, kind), nil)
		if _, err := callHook(t, p, "warm"); !errors.Is(err, process.ErrStart) {
			t.Errorf("%s: %v", kind, err)
		}
		empty(kind)
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	spec := guestSpec(t, "plain")
	spec.Command = []string{filepath.Join(dir, "nothing")}
	p = started(t, process.Options{}, spec, nil)
	if _, err := callHook(t, p, "warm"); !errors.Is(err, process.ErrStart) {
		t.Error(err)
	}
	empty("no such file")
}
