package snapshot

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
)

// Tree is a state of a project's files.
type Tree struct {
	Hash    string // git's name of the state, as a tree of all files that are kept
	LeftOut []Path // files that are too large, too many or not readable, and directories that are not readable

	root  *node
	inner map[string]*Tree // of repositories inside of the project, by path with a slash at the end
}

// Change is the change of one file, or of a directory that is or was empty.
type Change struct {
	Path   Path  `json:"path"`
	Before Entry `json:"before"`
	After  Entry `json:"after"`
}

// node is the state of a directory. It is never changed after it was made, so states share equal nodes. state.go writes its exported fields.
type node struct {
	Stamp   stamp
	Rules   stamp // of the list of ignored files in it; zero: there is none
	Settled bool  // as long as the stamps stay the same, so do the names
	Opaque  opacity

	Files   []file
	Dirs    []folder
	Ignored []entry
	Others  int // names that are neither file, link nor directory

	Hash string // git's name of the tree; empty: no file is kept below it
	Left int    // files and directories below it that are left out
}

// opacity is the reason why the contents of a directory are unknown.
type opacity uint8

const (
	notOpaque  opacity = iota
	repository         // it has its own states
	unreadable
)

// file is a file or a symbolic link. The lists of a node are sorted by name.
type file struct {
	Name    string
	Stamp   stamp
	Settled bool   // as long as the stamp stays the same, so does the content
	Hash    string // git's name of the content; empty: it is left out
	doubt   bool   // during a scan: the content has to be looked at
}

type folder struct {
	Name string
	Node *node
}

// entry is a name in a directory. Patterns of ignored names may hold for directories alone.
type entry struct {
	Name string
	Dir  bool
}

func (f file) title() string   { return f.Name }
func (d folder) title() string { return d.Name }
func (n entry) title() string  { return n.Name }

// named are the values of a node's lists, which are sorted by name.
type named interface{ title() string }

// lookup returns the value with the name, or nil.
func lookup[T named](list []T, name string) *T {
	i, ok := slices.BinarySearchFunc(list, name, func(x T, name string) int { return strings.Compare(x.title(), name) })
	if !ok {
		return nil
	}
	return &list[i]
}

func byName[T named](a, b T) int { return strings.Compare(a.title(), b.title()) }

// child returns the directory of that name, or nil.
func (n *node) child(name string) *node {
	if d := lookup(n.Dirs, name); d != nil {
		return d.Node
	}
	return nil
}

func (f *file) entry() Entry { return Entry{Mode: f.Stamp.Mode, Hash: f.Hash} }

// bare reports whether there is nothing in the directory.
func (n *node) bare() bool {
	return n.Opaque == notOpaque && len(n.Files)+len(n.Dirs)+len(n.Ignored)+n.Others == 0
}

// ignores reports whether the directory has something of that name that git ignores.
func (n *node) ignores(name string) bool { return lookup(n.Ignored, name) != nil }

// encode returns the directory as git writes a tree, see https://git-scm.com/book/en/v2/Git-Internals-Git-Objects.
func (n *node) encode() ([]byte, error) {
	type line struct{ mode, name, order, hash string }
	lines := make([]line, 0, len(n.Files)+len(n.Dirs))
	for _, f := range n.Files {
		mode := "100644"
		switch {
		case f.Hash == "":
			continue
		case f.Stamp.kind() == kindLink:
			mode = "120000"
		case f.Stamp.Mode&0o100 != 0:
			mode = "100755"
		}
		lines = append(lines, line{mode, f.Name, f.Name, f.Hash})
	}
	for _, d := range n.Dirs {
		if d.Node.Hash != "" {
			lines = append(lines, line{"40000", d.Name, d.Name + "/", d.Node.Hash}) // git sorts directories as if they ended so
		}
	}
	slices.SortFunc(lines, func(a, b line) int { return strings.Compare(a.order, b.order) })
	var b bytes.Buffer
	for _, l := range lines {
		raw, err := hex.DecodeString(l.hash)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", l.name, err)
		}
		b.WriteString(l.mode + " " + l.name + "\x00")
		b.Write(raw)
	}
	return b.Bytes(), nil
}

// countLeft sets Left.
func (n *node) countLeft() {
	n.Left = 0
	if n.Opaque == unreadable {
		n.Left = 1
	}
	for i := range n.Files {
		if n.Files[i].Hash == "" {
			n.Left++
		}
	}
	for i := range n.Dirs {
		n.Left += n.Dirs[i].Node.Left
	}
}

// leftOut lists the files and directories that are left out.
func (n *node) leftOut(path string) []Path {
	var out []Path
	if n.Left == 0 {
		return nil
	}
	if n.Opaque == unreadable {
		return []Path{Path(path)}
	}
	for _, f := range n.Files {
		if f.Hash == "" {
			out = append(out, Path(path+f.Name))
		}
	}
	for _, d := range n.Dirs {
		out = append(out, d.Node.leftOut(path+d.Name+"/")...)
	}
	return out
}

// Entry returns the state of a file; false if it is unknown, because the file was ignored, left out, git's own or outside of the project.
func (t *Tree) Entry(p Path) (Entry, bool) {
	n, at, rest := t.root, "", string(p)
	for filepath.IsLocal(filepath.FromSlash(rest)) && n.Opaque == notOpaque {
		name, below, deeper := strings.Cut(rest, "/")
		d, f := n.child(name), lookup(n.Files, name)
		switch {
		case d != nil && !deeper:
			return Entry{Mode: kindDir}, true
		case d != nil && d.Opaque == repository:
			if inner := t.inner[at+name+"/"]; inner != nil {
				return inner.Entry(Path(below))
			}
			return Entry{}, false
		case d != nil:
			n, at, rest = d, at+name+"/", below
			continue
		case f != nil && !deeper:
			return f.entry(), f.Hash != ""
		}
		return Entry{Above: strings.Count(rest, "/")}, n.lacks(name)
	}
	return Entry{}, false
}

// lacks reports whether the directory has no file or directory of that name. On systems that do not distinguish case, another spelling is the
// same name.
func (n *node) lacks(name string) bool {
	return !strings.EqualFold(name, ".git") && n.Others == 0 && !n.ignores(name) &&
		!spelled(n.Files, name) && !spelled(n.Dirs, name) && !spelled(n.Ignored, name)
}

// spelled reports whether the list has the name in another case.
func spelled[T named](list []T, name string) bool {
	return slices.ContainsFunc(list, func(x T) bool { return x.title() != name && strings.EqualFold(x.title(), name) })
}

// Changes returns the differences between two states, sorted by path. Files left out or ignored in one of them are not included, because their
// state is unknown.
func (r *Repo) Changes(before, after *Tree) []Change {
	var out []Change
	compare(&out, "", before.root, after.root, 0, 0)
	for name, then := range before.inner {
		now := after.inner[name]
		if now == nil { // the repository was removed: its files may not have been changed by the session
			continue
		}
		for _, c := range r.repoAt(name).Changes(then, now) {
			c.Path = Path(name) + c.Path
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return out
}

// nothing is a directory that does not exist.
var nothing = &node{}

// compare adds the differences in a directory. The numbers count the missing directories of its path, including itself.
func compare(out *[]Change, path string, before, after *node, goneBefore, goneAfter int) {
	if before == after || before.Opaque != notOpaque || after.Opaque != notOpaque {
		return
	}
	for b, a := range pairs(before.Files, after.Files) {
		name := ""
		was, is := Entry{Above: goneBefore}, Entry{Above: goneAfter}
		if b != nil {
			name, was = b.Name, b.entry()
		}
		if a != nil {
			name, is = a.Name, a.entry()
		}
		// An empty directory of that name is not a file, but still an entry.
		if d := before.child(name); b == nil && d != nil && d.bare() {
			was = Entry{Mode: kindDir}
		}
		if d := after.child(name); a == nil && d != nil && d.bare() {
			is = Entry{Mode: kindDir}
		}
		unknown := b != nil && b.Hash == "" || a != nil && a.Hash == "" || before.ignores(name) || after.ignores(name)
		if !unknown && !was.Same(is) {
			*out = append(*out, Change{Path: Path(path + name), Before: was, After: is})
		}
	}
	for b, a := range pairs(before.Dirs, after.Dirs) {
		switch {
		case b == nil && before.ignores(a.Name), a == nil && after.ignores(b.Name):
		case b == nil:
			at := path + a.Name
			if a.Node.bare() && lookup(before.Files, a.Name) == nil {
				*out = append(*out, Change{Path: Path(at), Before: Entry{Above: goneBefore}, After: Entry{Mode: kindDir}})
			}
			compare(out, at+"/", nothing, a.Node, goneBefore+1, goneAfter)
		case a == nil:
			at := path + b.Name
			if b.Node.bare() && lookup(after.Files, b.Name) == nil {
				*out = append(*out, Change{Path: Path(at), Before: Entry{Mode: kindDir}, After: Entry{Above: goneAfter}})
			}
			compare(out, at+"/", b.Node, nothing, goneBefore, goneAfter+1)
		default:
			compare(out, path+a.Name+"/", b.Node, a.Node, goneBefore, goneAfter)
		}
	}
}

// pairs iterates over two sorted lists in parallel; nil means that one of them does not have the name.
func pairs[T named](a, b []T) iter.Seq2[*T, *T] {
	return func(yield func(*T, *T) bool) {
		for len(a) > 0 || len(b) > 0 {
			var x, y *T
			order := 0
			switch {
			case len(a) == 0:
				order = 1
			case len(b) == 0:
				order = -1
			default:
				order = byName(a[0], b[0])
			}
			if order <= 0 {
				x, a = &a[0], a[1:]
			}
			if order >= 0 {
				y, b = &b[0], b[1:]
			}
			if !yield(x, y) {
				return
			}
		}
	}
}
