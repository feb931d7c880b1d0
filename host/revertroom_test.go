package host_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/snapshot"
)

// If a file became a directory, or a directory a file, both undo and redo work.
func TestRevertFileAndDirectory(t *testing.T) {
	t.Parallel()
	clear := func(k *work) {
		if err := os.RemoveAll(k.path("f")); err != nil {
			t.Error(err)
		}
	}
	for name, c := range map[string]struct {
		before []string
		turns  []func(*work)
	}{
		"a file becomes a directory":      {[]string{"f"}, []func(*work){func(k *work) { clear(k); k.write("f/deep/q", "q"); k.write("f/q", "q") }}},
		"a directory becomes a file":      {[]string{"f/q", "f/deep/q"}, []func(*work){func(k *work) { clear(k); k.write("f", "f") }}},
		"a directory goes on in the next": {[]string{"f"}, []func(*work){func(k *work) { clear(k); k.write("f/q", "q") }, func(k *work) { k.remove("f/q"); k.write("f/deep/r", "r") }}},
		"another turn before":             {[]string{"f/q"}, []func(*work){func(k *work) { k.write("g", "g") }, func(k *work) { clear(k); k.write("f", "f") }}},
		"there and back":                  {[]string{"f/q"}, []func(*work){func(k *work) { clear(k); k.write("f", "f") }, func(k *work) { clear(k); k.write("f/z", "z") }}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newWork(t, nil)
			for _, f := range c.before {
				k.write(f, "before")
			}
			before := k.state()
			id := k.session()
			for _, act := range c.turns {
				k.turn(id, k.bash, func() { act(k) })
			}
			after := k.state()
			k.revert(host.RevertOptions{SessionID: id, MessageID: k.messages(id)[0].Info.Head().ID})
			k.is("after the revert", before)
			k.unrevert(id)
			k.is("after unrevert", after)
			for range c.turns {
				k.revert(host.RevertOptions{SessionID: id})
			}
			k.is("after each turn was reverted", before)
			k.unrevert(id)
			k.is("after the second unrevert", after)
		})
	}
}

// Files of other programs stay, even with force, if they are in a directory that would have to be removed.
func TestRevertDirectoryInTheWay(t *testing.T) {
	t.Parallel()
	k := newWork(t, nil)
	k.write("f", "one")
	id := k.session()
	k.turn(id, k.bash, func() { k.remove("f"); k.write("f/q", "q") })
	k.write("f/mine/x", "mine")
	k.write("f/mine/y", "mine")
	before := k.state()
	for _, force := range []bool{false, true} {
		_, err := k.Revert(t.Context(), host.RevertOptions{SessionID: id, Force: force})
		if !errors.Is(err, snapshot.ErrChanged) || !strings.Contains(err.Error(), "f/mine/x, f/mine/y") {
			t.Errorf("Revert() with force %t = %v, want ErrChanged and both files", force, err)
		}
		if errors.As(err, new(*host.TurnError)) { // its remedy is to continue the turn
			t.Errorf("Revert() with force %t = %T, which is the error of a turn", force, err)
		}
		k.is("after the refusal", before)
	}
}

// The same applies to files in a directory that the user put in place of a file that the session changed: force does not empty it.
func TestRevertDirectoryReplacesFile(t *testing.T) {
	t.Parallel()
	k := newWork(t, nil)
	k.write("f", "one")
	start := k.state()
	id := k.session()
	k.turn(id, k.bash, func() { k.write("f", "two") })
	k.remove("f")
	k.write("f/mine", "mine")
	before := k.state()
	_, err := k.Revert(t.Context(), host.RevertOptions{SessionID: id, Force: true})
	if !errors.Is(err, snapshot.ErrChanged) || !strings.Contains(err.Error(), "f/mine") {
		t.Errorf("Revert() = %v, want ErrChanged and the file", err)
	}
	k.is("after the refusal", before)
	k.remove("f/mine")
	k.revert(host.RevertOptions{SessionID: id, Force: true})
	k.is("after the revert", start)
}

// Directories without files give way to a restored file, whatever their names are.
func TestRevertEmptyDirectoryInTheWay(t *testing.T) {
	t.Parallel()
	k := newWork(t, nil)
	k.write("f", "one")
	before := k.state()
	id := k.session()
	k.turn(id, k.bash, func() { k.remove("f") })
	if err := os.MkdirAll(k.path("f/\xff"), 0o755); err != nil {
		t.Skip(err) // the system requires UTF-8
	}
	k.revert(host.RevertOptions{SessionID: id})
	k.is("after the revert", before)
}

// A directory that was moved and replaced by a link is restored, although its files seem to exist behind the link.
func TestRevertBehindLink(t *testing.T) {
	t.Parallel()
	k := newWork(t, nil)
	k.write("f/q", "q")
	before := k.state()
	id := k.session()
	k.turn(id, k.bash, func() {
		if err := errors.Join(os.Mkdir(k.path("g"), 0o755), os.Rename(k.path("f"), k.path("g/f")), os.Symlink("g/f", k.path("f"))); err != nil {
			t.Error(err)
		}
	})
	k.revert(host.RevertOptions{SessionID: id})
	k.is("after the revert", before)
	k.unrevert(id)
	if target, err := os.Readlink(k.path("f")); err != nil || target != "g/f" {
		t.Errorf("after unrevert f is a link to %q, %v, want g/f", target, err)
	}
}
