package wasm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/plugins/remote"
)

// scope is a granted directory.
type scope struct {
	path  string // as granted; in mounts, absolute
	write bool

	// The directory is opened below base, so that links cannot lead out of it.
	base, rest string
	own        bool // the plugin's data directory, or below it
}

// root is a granted directory that is open.
type root struct {
	scope
	dir *os.Root
}

// open opens the granted directories, once.
func (s *system) open() ([]root, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened {
		return s.roots, nil
	}
	for _, m := range s.mounts() {
		dir, err := s.openScope(m)
		if err != nil {
			s.closeRoots()
			return nil, fmt.Errorf("grant of the directory %s: %w", m.path, err)
		}
		s.roots = append(s.roots, root{m, dir})
	}
	s.opened = true
	return s.roots, nil
}

// mounts returns each granted directory once, writable if any grant permits writing.
func (s *system) mounts() []scope {
	var out []scope
	for _, g := range s.scopes {
		m, ok := s.located(g)
		if !ok {
			continue // the entry refers to no directory
		}
		at := slices.IndexFunc(out, func(o scope) bool { return o.path == m.path })
		if at < 0 {
			out = append(out, m)
			continue
		}
		out[at].write = out[at].write || g.write
	}
	return out
}

// located returns the scope with its absolute path. Directories inside of the project or of the plugin's data are opened below these.
func (s *system) located(g scope) (scope, bool) {
	g.base, g.rest, g.own = remote.Locate(g.path, s.project, s.dataDir)
	g.path = filepath.Join(g.base, g.rest)
	if rest, err := filepath.Rel(s.project.Worktree, g.path); err == nil && filepath.IsLocal(rest) && !g.own {
		g.base, g.rest = filepath.Clean(s.project.Worktree), rest
	}
	return g, g.base != ""
}

// openScope opens one directory.
func (s *system) openScope(m scope) (*os.Root, error) {
	if m.own {
		if err := os.MkdirAll(m.base, 0o700); err != nil {
			return nil, err
		}
	}
	dir, err := os.OpenRoot(m.base)
	if err != nil {
		return nil, err
	}
	if m.rest != "" && m.rest != "." {
		base := dir
		defer base.Close()
		rest := m.rest
		if real, err := filepath.Rel(projectfs.Real(m.base), projectfs.Real(m.path)); err == nil && filepath.IsLocal(real) {
			rest = real // os.Root refuses absolute links, even if they stay inside
		}
		if dir, err = base.OpenRoot(rest); err != nil {
			return nil, fmt.Errorf("%w; links that lead out of %s are not followed", err, m.base)
		}
	}
	if m.own {
		return dir, nil
	}
	if err := s.apart(dir, m.path); err != nil {
		_ = dir.Close() // nothing was written
		return nil, err
	}
	return dir, nil
}

// apart returns an error if an open directory contains one of tenon's directories, or is inside of one. It compares files, not names.
func (s *system) apart(dir *os.Root, path string) error {
	info, err := dir.Stat(".")
	if err != nil {
		return err
	}
	real := projectfs.Real(path)
	if now, err := os.Stat(real); err != nil || !os.SameFile(now, info) {
		return errors.New("it was replaced while it was opened")
	}
	if own := remote.Private(real, s.project, s.files); own != "" {
		return fmt.Errorf("it contains tenon's own %s or is inside it; plugins have no access to that", own)
	}
	return nil
}

// guestPath returns the path of a directory in the guest: the host's path.
func guestPath(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return path
}

// close closes the directories.
func (s *system) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeRoots()
}

func (s *system) closeRoots() {
	for _, r := range s.roots {
		_ = r.dir.Close() // nothing was written through it
	}
	s.roots = nil
}
