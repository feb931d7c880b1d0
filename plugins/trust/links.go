package trust

import (
	"path"
	"strings"
)

// maxLinks is the maximum number of links on a path, as on Linux.
const maxLinks = 40

// markOutside marks the links that lead out of the tree. It uses only the tree, so later changes of the file system do not matter.
func (t *Tree) markOutside() {
	links := map[string]string{}
	for _, e := range t.entries {
		if e.kind == kindLink {
			links[e.path] = e.target
		}
	}
	for i := range t.entries {
		if e := &t.entries[i]; e.kind == kindLink && !staysInside(links, e.path) {
			e.kind = kindOut
		}
	}
}

// staysInside follows a path through the links of a tree. A dangling path stays inside, a cyclic one does not.
func staysInside(links map[string]string, name string) bool {
	at, rest := ".", strings.Split(name, "/")
	for followed := 0; len(rest) > 0; {
		segment := rest[0]
		rest = rest[1:]
		switch segment {
		case "", ".":
			continue
		case "..":
			if at == "." {
				return false
			}
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, segment)
		target, isLink := links[next]
		if !isLink {
			at = next
			continue
		}
		if followed++; followed > maxLinks || rooted(target) {
			return false
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return true
}

// rooted reports a target that does not start at its link: an absolute path of any system.
func rooted(target string) bool {
	return strings.HasPrefix(target, "/") || strings.HasPrefix(target, `\`) || len(target) > 1 && target[1] == ':'
}
