package pins

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/filelock"
	"github.com/tenonhq/tenon/plugins/trust"
)

// kept is the number of earlier states of a lock file.
const kept = 10

const (
	historyDir = "generations"
	// lockTimeout is the maximum wait for another process that changes a lock file.
	lockTimeout = 30 * time.Second
)

// ErrNoHistory is returned by Rollback without an earlier state.
var ErrNoHistory = errors.New("no earlier state")

// History changes lock files and keeps their earlier states. Safe for use from many processes.
type History struct {
	Dir string // plugins/ of the user's data directory
}

// Change replaces the lock file at path by the result of f, which receives its present content. The state before becomes the newest
// stored one. If f returns an error or the content does not change, nothing is written. Renaming the lock file is the only switch: a
// process that is killed leaves the old state or the new one.
func (h History) Change(ctx context.Context, path string, f func(*File) (*File, error)) error {
	return h.locked(ctx, func() error {
		old, err := h.Read(path)
		if err != nil {
			return err
		}
		changed, err := f(old)
		if err != nil || bytes.Equal(old.Encode(), changed.Encode()) {
			return err
		}
		// Keep the previous state first, in case the file was not written by Change, and the new state after the switch, so that Digests
		// names its contents. If the process is killed in between, a state is stored twice, which Rollback skips, or not at all.
		if err := h.keep(path, old); err != nil {
			return err
		}
		if err := changed.write(path); err != nil {
			return err
		}
		return h.keep(path, changed)
	})
}

// Rollback replaces the lock file by the newest earlier state that differs from it, and returns both.
func (h History) Rollback(ctx context.Context, path string) (from, to *File, err error) {
	err = h.locked(ctx, func() error {
		if from, err = h.Read(path); err != nil {
			return err
		}
		list, err := h.states(path)
		if err != nil {
			return err
		}
		for at, n := range slices.Backward(list) {
			if to, err = h.Read(h.file(path, n)); err != nil {
				return err
			}
			if bytes.Equal(to.Encode(), from.Encode()) {
				continue
			}
			for _, present := range list[at+1:] { // remove later states first, so that the next Rollback finds an earlier state
				if err := os.Remove(h.file(path, present)); err != nil {
					return err
				}
			}
			return to.write(path)
		}
		return fmt.Errorf("%w of %s", ErrNoHistory, path)
	})
	return from, to, err
}

// Digests returns the contents that any stored state of any lock file names. They must not be deleted. A state that is damaged, or was
// written by a newer version, names none: Rollback does not return to it.
func (h History) Digests() (map[trust.Digest]bool, error) {
	out := map[trust.Digest]bool{}
	files, err := fs.Glob(os.DirFS(h.Dir), historyDir+"/*/*.json")
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		f, err := h.Read(filepath.Join(h.Dir, filepath.FromSlash(name)))
		if errors.Is(err, ErrFile) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, p := range f.Plugins {
			out[p.Digest] = true
		}
	}
	return out, nil
}

// keep stores a state as the newest one, unless it is that already, and deletes the oldest ones.
func (h History) keep(path string, f *File) error {
	list, err := h.states(path)
	if err != nil {
		return err
	}
	last := 0
	if len(list) > 0 {
		last = list[len(list)-1]
		if newest, err := Read(h.file(path, last)); err == nil && bytes.Equal(newest.Encode(), f.Encode()) {
			return nil
		}
	}
	err = atomicfile.Write(h.file(path, last+1), f.Encode(), atomicfile.Options{MakeDirs: 0o700, Sync: true})
	for i := 0; err == nil && i <= len(list)-kept; i++ {
		err = os.Remove(h.file(path, list[i]))
	}
	return err
}

// states returns the numbers of the stored states of a lock file, ascending.
func (h History) states(path string) ([]int, error) {
	entries, err := os.ReadDir(h.dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []int
	for _, e := range entries {
		if n, err := strconv.Atoi(strings.TrimSuffix(e.Name(), ".json")); err == nil && n > 0 {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, err
}

func (h History) dir(path string) string {
	return filepath.Join(h.Dir, historyDir, fmt.Sprintf("%.8x", sha256.Sum256([]byte(path))))
}

func (h History) file(path string, n int) string {
	return filepath.Join(h.dir(path), strconv.Itoa(n)+".json")
}

// locked runs f while no other process changes lock files.
func (h History) locked(ctx context.Context, f func() error) error {
	return filelock.Do(ctx, filepath.Join(h.Dir, "install.lock"), lockTimeout, f)
}

// madeDir has a file for each pin whose content this machine made, with the digest of the content.
const madeDir = "made"

// Read reads a lock file as the function Read does, and adds the digests of contents that this machine made from their pins. Such a
// plugin has no digest before it is fetched.
func (h History) Read(path string) (*File, error) {
	f, err := Read(path)
	if err != nil {
		return nil, err
	}
	for i := range f.Plugins {
		p := &f.Plugins[i]
		if !p.Local {
			continue
		}
		data, err := os.ReadFile(h.madeFile(p))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if d := trust.Digest(strings.TrimSpace(string(data))); d.Valid() {
			p.Digest = d
		}
	}
	return f, nil
}

// Made records the digest of content that this machine made from its pin. It ignores other plugins.
func (h History) Made(p Plugin) error {
	if !p.Local {
		return nil
	}
	return atomicfile.Write(h.madeFile(&p), []byte(string(p.Digest)+"\n"), atomicfile.Options{MakeDirs: 0o700, Sync: true})
}

// madeFile returns the file for a pin on this platform.
func (h History) madeFile(p *Plugin) string {
	sum := sha256.Sum256(append(p.content(), runtime.GOOS+"/"+runtime.GOARCH...))
	return filepath.Join(h.Dir, madeDir, fmt.Sprintf("%.16x", sum))
}

// Same reports whether two plugins have the same content. For content that each machine makes, the pins decide.
func (p *Plugin) Same(o *Plugin) bool {
	if !p.Local && !o.Local {
		return p.Digest == o.Digest
	}
	return bytes.Equal(p.content(), o.content())
}

// content returns the fields of a pin that determine its content. Signer and Platforms do not: the policy of a machine decides about the
// signer, and Manifest about the variant of each platform.
func (p *Plugin) content() []byte {
	pin := p.Pin
	pin.Signer, pin.Platforms = "", nil
	data, _ := json.Marshal(pin) // text and JSON that was valid before
	return data
}
