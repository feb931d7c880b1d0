package sqlite

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

const lockSuffix = ".lock"

// node is an open Store as an owner of sessions. It lives as long as it holds the lock on its file,
// which the operating system takes back when the process ends, however it ends.
//
// Locks are taken and dead files removed inside a write transaction of the database alone, so these never
// meet. Whether a node lives may be asked at any time.
type node struct {
	id   string // random: an identifier is never used again
	dir  string
	lock *flock.Flock // nil until the first session is claimed
}

func newNode(dir string) node {
	return node{id: rand.Text(), dir: dir}
}

func (n *node) file(id string) string { return filepath.Join(n.dir, id+lockSuffix) }

// hold makes the node live. The caller is in a write transaction.
func (n *node) hold() error {
	if n.lock != nil {
		return nil
	}
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		return err
	}
	lock := flock.New(n.file(n.id), flock.SetFlag(os.O_CREATE|os.O_RDWR))
	ok, err := lock.TryLock()
	if err == nil && !ok {
		err = errors.New("fresh lock file is locked: " + n.file(n.id))
	}
	if err != nil {
		return err
	}
	n.lock = lock
	return n.sweep()
}

// held returns the identifier while the node is live. The caller is in a write transaction.
func (n *node) held() string {
	if n.lock == nil {
		return ""
	}
	return n.id
}

// sweep removes the files of dead nodes. One that cannot be removed now is left to the next who tries.
func (n *node) sweep() error {
	entries, err := os.ReadDir(n.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), lockSuffix)
		if !ok || n.lives(id) {
			continue
		}
		_ = os.Remove(n.file(id))
	}
	return nil
}

// lives reports whether the node is this one or a live one. Nobody, the empty identifier, is dead.
func (n *node) lives(id string) bool {
	if id == "" || id == n.id {
		return id != ""
	}
	// Shared, so that two who ask at the same time do not take each other for the owner.
	lock := flock.New(n.file(id), flock.SetFlag(os.O_RDONLY))
	ok, err := lock.TryRLock()
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) // when in doubt it lives
	}
	if ok {
		_ = lock.Unlock() // closes the file; there is nothing to lose
	}
	return !ok
}

// company reports whether there are other live nodes.
func (n *node) company() bool {
	entries, err := os.ReadDir(n.dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), lockSuffix); ok && id != n.id && n.lives(id) {
			return true
		}
	}
	return false
}

// drop gives up all sessions at once.
func (n *node) drop() error {
	if n.lock == nil {
		return nil
	}
	path := n.lock.Path()
	err := n.lock.Unlock()
	n.lock = nil
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
