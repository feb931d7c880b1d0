// Package node tracks which process owns a session. An open store is a node. While it owns sessions, it holds an operating system lock
// on its own file, so the death of the process frees them immediately, without a clock.
package node

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/tenonhq/tenon/host/store"
)

const lockSuffix = ".lock"

// Node is an open store as an owner of sessions. It is live while it holds the lock on its file, which the operating system releases when the
// process ends for any reason.
//
// Locks are taken, and files of dead nodes removed, only in a write transaction of the database, so never at the same time. Lives and Company may
// be called at any time.
type Node struct {
	ID   string // random, never reused
	dir  string
	lock *flock.Flock // nil until the first session is claimed
}

// New returns a node that is not live. dir holds the files of all nodes of the store; it is created when needed (mode 0700).
func New(dir string) *Node {
	return &Node{ID: rand.Text(), dir: dir}
}

// file returns the path of the lock of a node.
func (n *Node) file(id string) string { return filepath.Join(n.dir, id+lockSuffix) }

// Hold makes the node live. The caller is in a write transaction.
func (n *Node) Hold() error {
	if n.lock != nil {
		return nil
	}
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		return err
	}
	lock := flock.New(n.file(n.ID), flock.SetFlag(os.O_CREATE|os.O_RDWR))
	ok, err := lock.TryLock()
	if err == nil && !ok { // Company of another process is looking at it
		err = errors.New("fresh lock file is locked: " + n.file(n.ID))
	}
	if err != nil {
		return err
	}
	n.lock = lock
	for _, id := range n.others() {
		if !n.Lives(id) {
			_ = os.Remove(n.file(id)) // the next node retries
		}
	}
	return nil
}

// Held returns the identifier if the node is live, otherwise an empty text. The caller is in a write transaction.
func (n *Node) Held() string {
	if n.lock == nil {
		return ""
	}
	return n.ID
}

// others returns the identifiers of the nodes with a file.
func (n *Node) others() (ids []string) {
	entries, _ := os.ReadDir(n.dir) // fails if no node has created the directory
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), lockSuffix); ok && id != n.ID {
			ids = append(ids, id)
		}
	}
	return ids
}

// Lives reports whether the node is this one or a live one. The empty identifier is dead.
func (n *Node) Lives(id string) bool {
	if id == "" || id == n.ID {
		return id != ""
	}
	// A shared lock, so that two simultaneous callers do not mistake each other for the owner.
	lock := flock.New(n.file(id), flock.SetFlag(os.O_RDONLY))
	ok, err := lock.TryRLock()
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) // assumed to be live
	}
	if ok {
		_ = lock.Unlock() // closes the file
	}
	return !ok
}

// Company reports whether other nodes are live.
func (n *Node) Company() bool { return slices.ContainsFunc(n.others(), n.Lives) }

// Drop ends the node, which releases all its sessions. It may be called twice.
func (n *Node) Drop() error {
	if n.lock == nil {
		return nil
	}
	err := n.lock.Unlock()
	n.lock = nil
	if err != nil {
		return err
	}
	if err := os.Remove(n.file(n.ID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// A killed process may seem to be live for another moment: a child that it was starting shares its lock until it executes its program.
const (
	lingerTimeout = 500 * time.Millisecond
	lingerPoll    = 5 * time.Millisecond
)

// Outlast calls f, and retries it for a moment while it returns a *store.OwnedError that names an ended process. The lock still decides whether
// the owner is live: the process may run in another PID namespace.
func Outlast(ctx context.Context, f func() error) error {
	deadline := time.After(lingerTimeout)
	for {
		err := f()
		if owned, ok := errors.AsType[*store.OwnedError](err); !ok || owned.PID == 0 || !gone(owned.PID) {
			return err
		}
		select {
		case <-time.After(lingerPoll):
		case <-deadline:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
