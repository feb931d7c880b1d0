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
	Hash    string // git's name of the state, as a tree of all files that are kept
	LeftOut []Path // files that are too large, too many or not readable, and directories that are not readable

	root *node
}

// Change is the change of one file, or of a directory that is or was empty.
type Change struct {
	Path   Path  `json:"path"`
	Before Entry `json:"before"`
	After  Entry `json:"after"`
}

// node is the state of a directory. It is never changed after it was made, so states share equal nodes. state.go writes its exported fields.
type node struct {
	Stamp      stamp
	Rules      stamp // of the list of ignored files in it; zero: there is none
	Settled    bool  // as long as the stamps stay the same, so do the names
	Repo       bool  // a repository: the lists of ignored files above do not count in it
	Excludes   stamp // of the list info/exclude, which is not among the files
	Unreadable bool  // its contents are unknown

	Entries []entry // sorted by name
	Hash    string  // git's name of the tree; empty: no file is kept below it
	Left    int     // files and directories below it that are left out
}

// entry is a name in a directory: a file or symbolic link, a directory, either of them if git ignores it, or something else, such as a pipe.
type entry struct {
	Name    string
	Dir     bool   // patterns of ignored names may hold for directories alone
	Ignored bool   // nothing else is known
	Stamp   stamp  // of a file
	Settled bool   // as long as the stamp stays the same, so does the content
	Hash    string // git's name of the content of a file; empty: it is left out
	Node    *node  // of a directory; nil: it is new, or was deleted during the scan
	doubt   bool   // during a scan: the content has to be looked at
}

func (e *entry) isFile() bool { return e.Stamp.Mode != 0 }

// isDir reports whether the entry is a directory that is not ignored.
func (e *entry) isDir() bool { return e.Dir && !e.Ignored }

func byName(a, b entry) int { return strings.Compare(a.Name, b.Name) }

// find returns the entry with the name, or absent.
func (n *node) find(name string) *entry {
	i, ok := slices.BinarySearchFunc(n.Entries, name, func(e entry, name string) int { return strings.Compare(e.Name, name) })
	if !ok {
		return absent
	}
	return &n.Entries[i]
}

// bare reports whether there is nothing in the directory.
func (n *node) bare() bool {
	return !n.Unreadable && !n.Repo && len(n.Entries) == 0
}

// encode returns the directory as git writes a tree, see https://git-scm.com/book/en/v2/Git-Internals-Git-Objects.
func (n *node) encode() ([]byte, error) {
	order := func(e entry) string {
		if e.isDir() {
			return e.Name + "/" // git sorts directories as if they ended so
		}
		return e.Name
	}
	var b bytes.Buffer
	for _, e := range slices.SortedFunc(slices.Values(n.Entries), func(a, b entry) int { return strings.Compare(order(a), order(b)) }) {
		mode, hash := "100644", e.Hash
		switch {
		case e.isDir():
			mode, hash = "40000", e.Node.Hash
		case e.Stamp.kind() == kindLink:
			mode = "120000"
		case e.Stamp.Mode&0o100 != 0:
			mode = "100755"
		}
		if hash == "" {
			continue
		}
		raw, err := hex.DecodeString(hash)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", e.Name, err)
		}
		b.WriteString(mode + " " + e.Name + "\x00")
		b.Write(raw)
	}
	return b.Bytes(), nil
}

// countLeft sets Left.
func (n *node) countLeft() {
	n.Left = 0
	if n.Unreadable {
		n.Left = 1
	}
	for i := range n.Entries {
		switch e := &n.Entries[i]; {
		case e.isDir():
			n.Left += e.Node.Left
		case e.leftOut():
			n.Left++
		}
	}
}

// leftOut reports whether the entry is a file whose content is not kept.
func (e *entry) leftOut() bool { return e.isFile() && e.Hash == "" }

// leftOut lists the files and directories that are left out.
func (n *node) leftOut(path string) []Path {
	var out []Path
	if n.Left == 0 {
		return nil
	}
	if n.Unreadable {
		return []Path{Path(path)}
	}
	for _, e := range n.Entries {
		switch {
		case e.isDir():
			out = append(out, e.Node.leftOut(path+e.Name+"/")...)
		case e.leftOut():
			out = append(out, Path(path+e.Name))
		}
	}
	return out
}

// Entry returns the state of a file; false if it is unknown, because the file was ignored, left out, git's own or outside of the project.
func (t *Tree) Entry(p Path) (Entry, bool) {
	n, rest := t.root, string(p)
	for filepath.IsLocal(filepath.FromSlash(rest)) && !n.Unreadable {
		name, below, deeper := strings.Cut(rest, "/")
		e := n.find(name)
		switch missing := (Entry{Above: strings.Count(rest, "/")}); {
		case e == absent || e.isFile() && deeper:
			return missing, !n.spelled(name)
		case !e.isDir():
			return e.state(0), e.isFile() && e.Hash != ""
		case !deeper:
			return Entry{Mode: kindDir}, true
		}
		n, rest = e.Node, below
	}
	return Entry{}, false
}

// spelled reports whether the directory has the name in another case, which is the same name on some systems, or the name is that of git's own
// directory.
func (n *node) spelled(name string) bool {
	another := func(e entry) bool { return e.Name != name && strings.EqualFold(e.Name, name) }
	return strings.EqualFold(name, ".git") || slices.ContainsFunc(n.Entries, another)
}

// Changes returns the differences between two states, sorted by path. Files left out or ignored in one of them are not included, because their
// state is unknown. A repository that was created or removed is not included either: its files may not have been changed by the session.
func (*Repo) Changes(before, after *Tree) []Change {
	var out []Change
	compare(&out, "", before.root, after.root, 0, 0)
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return out
}

// nothing is a directory that does not exist, absent a name that does not exist.
var (
	nothing = &node{}
	absent  = &entry{}
)

// compare adds the differences in a directory. The numbers count the missing directories of its path, including itself.
func compare(out *[]Change, path string, before, after *node, goneBefore, goneAfter int) {
	if before == after || before.Unreadable || after.Unreadable || before.Repo != after.Repo {
		return
	}
	for _, name := range names(before, after) {
		at, b, a := path+name, before.find(name), after.find(name)
		if b.Ignored || a.Ignored {
			continue
		}
		was, is := b.state(goneBefore), a.state(goneAfter)
		if known := !b.leftOut() && !a.leftOut(); known && !(b.isDir() && a.isDir()) && !was.Same(is) {
			*out = append(*out, Change{Path: Path(at), Before: was, After: is})
		}
		if b.isDir() || a.isDir() {
			compare(out, at+"/", cmp.Or(b.Node, nothing), cmp.Or(a.Node, nothing), b.below(goneBefore), a.below(goneAfter))
		}
	}
}

// state returns the state of an entry as a file. A directory that is not empty counts as a missing file; gone is the number of missing
// directories above that.
func (e *entry) state(gone int) Entry {
	switch {
	case e.isFile():
		return Entry{Mode: e.Stamp.Mode, Hash: e.Hash}
	case e.isDir() && e.Node.bare():
		return Entry{Mode: kindDir}
	}
	return Entry{Above: gone}
}

// below adds the entry to a number of missing directories, unless it is a directory.
func (e *entry) below(gone int) int {
	if e.isDir() {
		return gone
	}
	return gone + 1
}

// names returns the names in two directories.
func names(a, b *node) []string {
	var out []string
	for _, n := range []*node{a, b} {
		for i := range n.Entries {
			out = append(out, n.Entries[i].Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
