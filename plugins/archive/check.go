package archive

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/visible"
)

// ErrUnsafe is returned for archives that are refused. Nothing of them was written.
var ErrUnsafe = errors.New("unsafe content")

// Bounds of an archive. They apply to the data that is read, not to the claims of headers.
const (
	maxEntries = 20_000 // files, directories and links
	maxBytes   = 512 << 20
	maxDepth   = 64   // of directories
	maxName    = 255  // bytes in one path segment: the limit of common file systems
	maxPath    = 2048 // bytes in a path: half of Linux's limit, to leave room for the directory above
	maxTarget  = 4096 // bytes in the target of a link
	// maxFollowed limits the work to follow all links: the bytes of each path on the way, perStep for each, and perWide for each byte of a
	// character after its first, because letters other than ASCII are slow to normalize. It takes about a second.
	maxFollowed = 64 << 20
	perStep     = 64
	perWide     = 20
)

// Kind is the kind of an entry.
type Kind string

// The kinds of entries.
const (
	KindFile Kind = "f"
	KindDir  Kind = "d"
	KindLink Kind = "l"
)

// Entry is a file, directory or link.
type Entry struct {
	Name   string // with slashes, relative, clean
	Kind   Kind
	Exec   bool
	Size   int64
	Sum    string // SHA-256 of a file, in hexadecimal digits
	Target string // of a link
}

// Content is a checked archive.
type Content struct {
	// LeftOut names the entries that Extract does not write, with the reason: links that lead out of the package, and .git.
	LeftOut []string
	prefix  string // the single top folder, with a slash; empty without one
	entries []Entry
	omit    map[string]bool // by name, of links and of .git
}

// written returns the name under which an entry is written.
func (c *Content) written(name string) (string, bool) {
	if c.omit[name] || inGit(name) {
		return "", false
	}
	name, ok := strings.CutPrefix(name+"/", c.prefix)
	name = strings.TrimSuffix(name, "/")
	return name, ok && name != ""
}

// Entries returns the entries that Extract writes, by name.
func (c *Content) Entries() []Entry {
	var out []Entry
	for _, e := range c.entries {
		var ok bool
		if e.Name, ok = c.written(e.Name); ok {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// inGit reports whether a name is a .git directory or in one.
func inGit(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(s string) bool { return strings.EqualFold(s, ".git") })
}

// checker collects the entries of one archive.
type checker struct {
	bytes    int64
	followed int // counts to maxFollowed
	found    []Entry
	seen     map[string]place // by folded name
}

// place is the object at a name: an entry, or a directory that is not listed itself but contains entries.
type place struct {
	Entry
	listed bool
}

func newChecker() *checker { return &checker{seen: map[string]place{}} }

// shown returns a name from an archive for a message.
func shown(name string) string { return visible.Clean(name, 200) }

func unsafe(name, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrUnsafe, shown(name), fmt.Sprintf(format, args...))
}

// add checks an entry and keeps it. A directory may be listed once; the directories above an entry need not be listed.
func (c *checker) add(e Entry) error {
	name, err := clean(e.Name)
	if err == nil && name == "" && e.Kind == KindFile {
		return unsafe(e.Name, "a file without a name")
	}
	if err != nil || name == "" { // the root itself
		return err
	}
	if e.Kind != KindDir && strings.HasSuffix(e.Name, "/") {
		return unsafe(name, "a file or link whose name ends in a slash; some programs make a directory of it")
	}
	e.Name = name
	if e.Kind == KindLink && (len(e.Target) > maxTarget || !utf8.ValidString(e.Target) || strings.ContainsRune(e.Target, 0)) {
		return unsafe(name, "the target of the link is not a path")
	}
	if at, ok := c.seen[projectfs.Fold(name)]; ok && (at.listed || at.Kind != e.Kind || at.Name != name) {
		return unsafe(name, "the same file as %s on some systems; rename one of them", shown(at.Name))
	}
	c.seen[projectfs.Fold(name)] = place{e, true}
	c.found = append(c.found, e)
	if err := c.addAbove(name); err != nil {
		return err
	}
	if len(c.seen) > maxEntries { // including directories that are not listed
		return fmt.Errorf("%w: more than %d entries", ErrUnsafe, maxEntries)
	}
	return nil
}

// addAbove adds the directories above an entry. It refuses those that are something else, or are written in two ways: a/x and A/y.
func (c *checker) addAbove(name string) error {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		at, ok := c.seen[projectfs.Fold(dir)]
		switch {
		case !ok:
			c.seen[projectfs.Fold(dir)] = place{Entry: Entry{Name: dir, Kind: KindDir}}
		case at.Name != dir:
			return unsafe(name, "its directory is also written %s; use one spelling", shown(at.Name))
		case at.Kind != KindDir:
			return unsafe(name, "%s is not a directory", shown(dir))
		default:
			return nil // the directories above it are known, too
		}
	}
	return nil
}

// clean checks a name and returns it without a slash at its end.
func clean(name string) (string, error) {
	switch {
	case !utf8.ValidString(name):
		return "", unsafe(name, "the name is not UTF-8; rename it")
	case visible.Text(name) != name || strings.ContainsAny(name, "\n\t"):
		return "", unsafe(name, "the name contains characters that cannot be shown; rename it")
	case strings.ContainsAny(name, `\:`):
		return "", unsafe(name, `the name has a backslash or a colon; rename it`)
	case strings.HasPrefix(name, "/"):
		return "", unsafe(name, "the path is absolute")
	}
	name = strings.TrimSuffix(name, "/")
	if name == "." || name == "" {
		return "", nil
	}
	name = strings.TrimPrefix(name, "./")
	segments := strings.Split(name, "/")
	if len(name) > maxPath {
		return "", unsafe(name, "a path of more than %d bytes", maxPath)
	}
	if len(segments) > maxDepth {
		return "", unsafe(name, "more than %d levels", maxDepth)
	}
	for _, s := range segments {
		switch {
		case s == "" || s == "." || s == "..":
			return "", unsafe(name, "the path has a segment %q", s)
		case len(s) > maxName:
			return "", unsafe(name, "a segment of the path has more than %d bytes", maxName)
		case strings.HasSuffix(s, ".") || strings.HasSuffix(s, " "):
			return "", unsafe(name, "a segment of the path ends in %q, which Windows drops; rename it", s[len(s)-1:])
		}
	}
	return name, nil
}

// Write counts the bytes of a file as they are read.
func (c *checker) Write(content []byte) (int, error) {
	if c.bytes += int64(len(content)); c.bytes > maxBytes {
		return 0, fmt.Errorf("%w: more than %d MiB of files", ErrUnsafe, maxBytes>>20)
	}
	return len(content), nil
}

// content returns the entries in the form in which they are written. With cut, a single top folder is left out.
func (c *checker) content(cut bool) (*Content, error) {
	out := &Content{entries: c.found, omit: map[string]bool{}}
	if cut {
		out.prefix = c.folder()
	}
	for _, e := range c.found {
		if e.Kind == KindLink && !c.inside(e, out.prefix) {
			out.omit[e.Name] = true
			out.LeftOut = append(out.LeftOut, fmt.Sprintf("%s: a link that leads out of the package, to %s", shown(e.Name), shown(e.Target)))
		}
		if strings.EqualFold(path.Base(e.Name), ".git") {
			out.LeftOut = append(out.LeftOut, e.Name+": git's own files")
		}
	}
	if c.followed > maxFollowed {
		return nil, fmt.Errorf("%w: its links take too long to follow; use fewer, with shorter targets", ErrUnsafe)
	}
	return out, nil
}

// folder returns the single top folder that contains everything, with a slash. Most archives have one:
// package/, name-1.0/.
func (c *checker) folder() string {
	top := ""
	for _, e := range c.found {
		first, _, below := strings.Cut(e.Name, "/")
		if !below && e.Kind != KindDir || top != "" && first != top {
			return ""
		}
		top = first
	}
	if top == "" || strings.HasPrefix(top, ".") || componentFolders[top] {
		return ""
	}
	return top + "/"
}

// componentFolders are folders of parts of plugins. A plugin may consist of one of them, so they do not count as a
// single top folder.
var componentFolders = map[string]bool{"skills": true, "commands": true, "agents": true, "hooks": true}

// inside reports whether a link leads to an entry of the package, without following another link.
func (c *checker) inside(e Entry, prefix string) bool {
	for range 40 { // as many as Linux follows
		if e.Target == "" || path.IsAbs(e.Target) || strings.ContainsAny(e.Target, `\:`) {
			return false
		}
		at := path.Dir(e.Name)
		for segment := range strings.SplitSeq(e.Target, "/") {
			if c.seen[projectfs.Fold(at)].Kind == KindLink {
				return false // the meaning of .. after a link depends on the file system
			}
			at = path.Join(at, segment)
			c.followed += len(at) + perStep + perWide*(len(at)-utf8.RuneCountInString(at))
			if c.followed > maxFollowed || at == ".." || strings.HasPrefix(at, "../") || !strings.HasPrefix(at+"/", prefix) {
				return false
			}
		}
		to := c.seen[projectfs.Fold(at)]
		if to.Kind != KindLink {
			return true
		}
		e = to.Entry
	}
	return false
}
