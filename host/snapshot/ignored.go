package snapshot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/internal/gitignore"
	"github.com/tenonhq/tenon/internal/projectfs"
)

// maxList is the maximum size of a list of ignored names, in bytes: each line costs memory, and time for each name. A larger list has no rules,
// as in git, whose limit is 100 MiB.
const maxList = 4 << 20

// errList is the error of a .gitignore that is a pipe or a device.
var errList = errors.New(".gitignore is not a file")

// rules decide which names in a directory are ignored. The lists are read again only if a name has to be judged.
type rules struct {
	id    string // identifies the contents and locations of the lists
	above *rules // nil at the top of a repository
	list  func() gitignore.Rules
}

// noRules hold at the top of a repository.
func noRules() *rules { return &rules{list: func() gitignore.Rules { return nil }} }

// add returns the rules with those of a list in the directory dir.
func (r *rules) add(dir string, list dirEntry) *rules {
	return &rules{id: hashOf("rules", []byte(r.id+list.Hash+dir)), above: r, list: sync.OnceValue(func() gitignore.Rules {
		content, err := projectfs.ReadRegular(list.Name, maxList)
		if err != nil { // it was deleted meanwhile; the next scan notices that
			return nil
		}
		return gitignore.Rules(nil).Add(dir, content)
	})}
}

// ignored reports whether the rules ignore a path: the lowest list with a matching rule decides.
func (r *rules) ignored(path string, isDir bool) bool {
	for ; r != nil; r = r.above {
		if applies, ignored := r.list().Match(path, isDir); applies {
			return ignored
		}
	}
	return false
}

// rules returns the rules that hold in the directory, and notes its lists in the result.
func (v *visit) rules(above *rules) (here *rules, err error) {
	here = above
	if v.n.repository() {
		here = noRules()
		if name, is := excludes(v.name); name != "" {
			v.n.Excludes = v.list(name, is, v.was.Excludes)
			here = here.add(v.path, v.n.Excludes)
		}
	}
	if e := v.n.find(".gitignore"); e == nil || e.Dir {
		return here, nil
	}
	is, err := v.look.stamp(".gitignore")
	switch {
	case err != nil:
		return here, ignoreMissing(err)
	case is.kind() == 0:
		return nil, fmt.Errorf("%s%w", v.name, errList)
	case is.kind() == kindFile: // git follows no link
		v.n.Gitignore = v.list(v.name+".gitignore", is, v.was.Gitignore)
		here = here.add(v.path, v.n.Gitignore)
	}
	return here, nil
}

// list returns what is known about a list of ignored names. A list that cannot be read has no rules, as in git.
func (v *visit) list(name string, is stamp, was dirEntry) dirEntry {
	if was.Name == name && was.Settled && was.Stamp == is {
		return was
	}
	content, err := projectfs.ReadRegular(name, maxList)
	if err != nil {
		return dirEntry{}
	}
	return dirEntry{Name: name, Stamp: is, Settled: is.settled(v.begun), Hash: hashOf(objectBlob, content)}
}

// excludes returns the user's list of ignored files (info/exclude) of the repository with the working tree dir, and its stamp. The name is empty
// if the list is not a file.
func excludes(dir string) (name string, s stamp) {
	git := filepath.Join(dir, ".git")
	if content, err := projectfs.ReadRegular(git, maxPointer); err == nil { // a worktree or a submodule
		git = projectfs.Pointed(dir, strings.TrimPrefix(string(content), "gitdir: "))
		if common, err := projectfs.ReadRegular(filepath.Join(git, "commondir"), maxPointer); err == nil {
			git = projectfs.Pointed(git, string(common))
		}
	}
	name = filepath.Join(git, "info", "exclude")
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() { // git would wait for a writer of a pipe
		return "", stamp{}
	}
	return name, stampOf(info)
}

// maxPointer is git's own limit for a file .git, in bytes.
const maxPointer = 1 << 20
