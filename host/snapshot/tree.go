package snapshot

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Tree is a state of a project's files.
type Tree struct {
	Hash    string // git's name of the tree of all recorded files
	LeftOut []Path // files that are too large, too many, not readable, or replaced by a pipe, socket or device; directories that are not readable

	root *node
}

// Change is the change of one file, or of a directory that is or was empty.
type Change struct {
	Path   Path  `json:"path"`
	Before Entry `json:"before"`
	After  Entry `json:"after"`
}

// node is the state of a directory. It never changes after it was made, so states can share equal nodes. state.go encodes its fields.
type node struct {
	Stamp      stamp
	Settled    bool // as long as the stamp stays the same, so do the names
	Unreadable bool // its contents are unknown

	Gitignore dirEntry // its list of ignored names, by absolute name; empty name: none
	Excludes  dirEntry // info/exclude of a repository
	Rules     string   // identifies the contents of all lists that apply here

	Entries []dirEntry // sorted by name
	Hash    string     // git's name of the tree
}

// nothing is a directory that does not exist.
var nothing = &node{}

// dirEntry is a name in a directory: a file, symbolic link or directory, possibly ignored by git, or something else, such as a pipe.
type dirEntry struct {
	Name    string
	Dir     bool
	Ignored bool   // nothing else is known
	Stamp   stamp  // of a file
	Settled bool   // as long as the stamp stays the same, so does the content
	Hash    string // git's name of the content of a file; empty: the file is left out
	Node    *node  // of a directory
}

// known reports whether the entry has a state that can be restored.
func (e *dirEntry) known() bool { return e.Node != nil || e.Hash != "" }

// state returns the state of a known entry.
func (e *dirEntry) state() Entry {
	if e.Dir {
		return Entry{Mode: kindDir}
	}
	return Entry{Mode: e.Stamp.Mode, Hash: e.Hash}
}

// find returns the entry with the name; nil if there is none.
func (n *node) find(name string) *dirEntry {
	if n == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(n.Entries, name, func(e dirEntry, name string) int { return strings.Compare(e.Name, name) })
	if !ok {
		return nil
	}
	return &n.Entries[i]
}

// repository reports whether the directory is a repository. Ignore rules from above do not apply in it.
func (n *node) repository() bool { return n.find(".git") != nil }

// encode returns the content of git's tree of the directory.
func (n *node) encode() ([]byte, error) {
	type line struct{ order, mode, name, hash string }
	var lines []line
	for _, e := range n.Entries {
		switch {
		case e.Node != nil && !e.Node.Unreadable:
			lines = append(lines, line{e.Name + "/", "40000", e.Name, e.Node.Hash})
		case e.Hash == "":
		case e.Stamp.kind() == kindLink:
			lines = append(lines, line{e.Name, "120000", e.Name, e.Hash})
		case e.Stamp.Mode&0o100 != 0:
			lines = append(lines, line{e.Name, "100755", e.Name, e.Hash})
		default:
			lines = append(lines, line{e.Name, "100644", e.Name, e.Hash})
		}
	}
	slices.SortFunc(lines, func(a, b line) int { return strings.Compare(a.order, b.order) })
	var out bytes.Buffer
	for _, l := range lines {
		hash, err := hex.DecodeString(l.hash)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "%s %s\x00%s", l.mode, l.name, hash)
	}
	return out.Bytes(), nil
}

// Entry returns the state of a file; false if it is unknown, because the file was ignored, left out, git's own or outside of the project, or
// because only a name in another case exists, which some systems treat as the same.
func (t *Tree) Entry(p Path) (Entry, bool) {
	if !filepath.IsLocal(filepath.FromSlash(string(p))) {
		return Entry{}, false
	}
	return t.lookup(p, func(dir *node, name string) bool {
		return slices.ContainsFunc(dir.Entries, func(e dirEntry) bool { return strings.EqualFold(e.Name, name) })
	})
}

// lookup does the work of Entry. other reports whether a directory contains a missing name in another case.
func (t *Tree) lookup(p Path, other func(dir *node, name string) bool) (Entry, bool) {
	names := strings.Split(string(p), "/")
	dir := t.root
	for i, name := range names {
		e := dir.find(name)
		missing := Entry{Above: len(names) - 1 - i}
		switch {
		case strings.EqualFold(name, ".git"):
			return Entry{}, false
		case e == nil:
			return missing, !dir.Unreadable && !other(dir, name)
		case missing.Above > 0 && e.Stamp.kind() != 0: // a file
			return missing, true
		case !e.known():
			return Entry{}, false
		case missing.Above == 0:
			return e.state(), true
		}
		dir = e.Node
	}
	return Entry{}, false
}

// Changes returns the differences between two states, sorted by path. Files left out or ignored in one of them are not included, because
// their state is unknown. A repository in the project that was created or removed is not included either: its files may not have been changed by
// the session.
func (*Repo) Changes(before, after *Tree) []Change {
	exact := func(*node, string) bool { return false } // the names come from the states, so their case is right
	var out []Change
	var compare func(path string, a, b *node)
	compare = func(path string, a, b *node) {
		if a == b || path != "" && a.repository() != b.repository() {
			return
		}
		for _, name := range names(a, b) {
			x, y := a.find(name), b.find(name)
			was, wasKnown := before.lookup(Path(path+name), exact)
			is, known := after.lookup(Path(path+name), exact)
			if x.filled() {
				was = Entry{}
			}
			if y.filled() {
				is = Entry{}
			}
			if wasKnown && known && !was.Same(is) && (x.node() == nil || y.node() == nil) {
				out = append(out, Change{Path: Path(path + name), Before: was, After: is})
			}
			compare(path+name+"/", x.node(), y.node())
		}
	}
	compare("", before.root, after.root)
	slices.SortFunc(out, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// filled reports whether the entry is a directory that is not empty. Such a directory is created and
// removed with its files.
func (e *dirEntry) filled() bool {
	return e.node() != nil && (len(e.Node.Entries) > 0 || e.Node.Unreadable)
}

// node returns the directory's content; nil without one.
func (e *dirEntry) node() *node {
	if e == nil {
		return nil
	}
	return e.Node
}

// names returns the names in two directories, each once.
func names(list ...*node) []string {
	var out []string
	for _, n := range list {
		if n != nil {
			for _, e := range n.Entries {
				out = append(out, e.Name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
