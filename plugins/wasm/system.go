package wasm

import (
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/sys"

	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
)

// system is the part of the system that a plugin can access through WASI: its grants.
type system struct {
	clock   bool
	env     [][2]string
	scopes  []scope
	dataDir string
	files   []string // of the user's configuration

	project sdk.Project // set by Start, before there are instances

	mu     sync.Mutex
	opened bool // roots is set
	roots  []root
}

func newSystem(u *remote.Unit) *system {
	out := &system{dataDir: u.DataDir, files: u.ConfigFiles}
	for _, g := range u.Grants {
		switch g.Name {
		case sdk.CapabilityClock:
			out.clock = true
		case sdk.CapabilityEnv:
			for _, name := range g.Scope {
				if value, ok := u.Env[name]; ok {
					out.env = append(out.env, [2]string{name, value})
				}
			}
		case sdk.CapabilityRead, sdk.CapabilityWrite:
			for _, path := range g.Scope {
				out.scopes = append(out.scopes, scope{path: path, write: g.Name == sdk.CapabilityWrite})
			}
		}
	}
	return out
}

// config returns the configuration of an instance.
func (s *system) config(p *plugin, g *guard) (wazero.ModuleConfig, error) {
	// Unnamed modules can have several instances.
	c := wazero.NewModuleConfig().WithName("").WithStartFunctions(exportInitialize).WithRandSource(random{g}).
		WithStdout(newOutputLog(p, g)).WithStderr(newOutputLog(p, g))
	for _, e := range s.env {
		c = c.WithEnv(e[0], e[1])
	}
	c = c.WithNanosleep(g.sleep)
	if s.clock {
		c = c.WithSysWalltime().WithSysNanotime()
	} else {
		c = c.WithNanotime(stopwatch(time.Now()), stopwatchStep)
	}
	roots, err := s.open()
	if err != nil || len(roots) == 0 {
		return c, err
	}
	files := wazero.NewFSConfig()
	for _, r := range roots {
		extended, ok := files.(sysfs.FSConfig)
		if !ok {
			return nil, errors.New("this version of wazero does not accept file systems")
		}
		files = extended.WithSysFSMount(&rootFS{root: r.dir, path: r.path, write: r.write, guard: g}, guestPath(r.path))
	}
	return c.WithFSConfig(files), nil
}

// stopwatchStep is the resolution of the time for a guest without a clock, in nanoseconds. It is too coarse for side channels.
const stopwatchStep = sys.ClockResolution(time.Millisecond)

// stopwatch returns the monotonic time for an instance without a clock: the time since its creation. The time of day stays hidden. The time must
// advance, because Go's garbage collector paces itself by it.
func stopwatch(start time.Time) sys.Nanotime {
	return func() int64 { return int64(time.Since(start).Truncate(time.Duration(stopwatchStep))) }
}

// sleep blocks a guest, at most until its call ends.
func (g *guard) sleep(ns int64) {
	if ns <= 0 || g.current == nil {
		return
	}
	select {
	case <-time.After(time.Duration(ns)):
	case <-g.current.Done():
	case <-g.current.plugin.active.Life().Done():
	}
}

// random returns random numbers for a guest, in portions.
type random struct{ *guard }

// Read fills at most maxPortion bytes of p.
func (r random) Read(p []byte) (int, error) {
	if r.expired() {
		return 0, r.current.fault
	}
	return rand.Read(p[:min(len(p), maxPortion)])
}
