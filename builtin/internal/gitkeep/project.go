package gitkeep

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/internal/projectfs"
)

// Limits of the search for repositories below the working tree.
const (
	maxInner  = 32   // repositories
	maxLevels = 3    // how deep they are
	maxSearch = 2000 // directories
)

// shared contains the *Keeper of each project by its path. If a project had two keepers, one could record another's unrestored changes as the
// state before its own command, and restore them later.
var shared sync.Map

// Keeper restores the repository of a project, those below it, and those that their indexes list. It is safe for concurrent use.
type Keeper struct {
	project string

	mu      sync.Mutex
	list    []*keeper        // the project's first; nil before the first command
	active  int              // number of running commands
	indexes map[string]index // by git directory
}

// index is an index of git with its submodules.
type index struct {
	stamp      stamp
	submodules []string
}

// Of returns the keeper of a project, the same for all callers.
func Of(project string) *Keeper {
	one, _ := shared.LoadOrStore(filepath.Clean(project), &Keeper{project: project, indexes: map[string]index{}})
	return one.(*Keeper)
}

// Enter records the state before a command, even if ctx has ended. The caller calls Leave after the command. The first call searches for
// repositories.
func (k *Keeper) Enter(ctx context.Context) {
	ctx = context.WithoutCancel(ctx) // an incomplete state would be taken for the user's
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.list == nil {
		k.list = k.find()
	}
	k.active++
	for i := 0; i < len(k.list); i++ { // adopted ones, too
		k.list[i].enter(ctx, k.active == 1)
		if k.active == 1 && !k.list[i].owed { // otherwise they may be those of a process that still runs
			k.adopt(ctx, k.list[i], nil)
		}
	}
}

// Leave compares the state after a command with the one before, and restores changes. If commands overlap, the last Leave does this for all
// of them. ended is false if a process of the command still runs; changes until the end of the turn then count as the command's. It returns
// a message for the user about each change.
func (k *Keeper) Leave(ctx context.Context, ended bool) (notes []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.active--
	for _, one := range k.list {
		notes = append(notes, one.leave(ctx, ended, k.active == 0)...)
	}
	if k.active > 0 {
		return notes
	}
	return append(notes, k.adoptAll(ctx)...)
}

// EndTurn restores the changes of a turn's commands that could not be restored before. Other changes since the last command stay. It returns
// messages for the user about both. While commands run, it does nothing.
func (k *Keeper) EndTurn(ctx context.Context) (notes []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.active > 0 || k.list == nil {
		return nil
	}
	for _, one := range k.list {
		notes = append(notes, one.endTurn(ctx)...)
	}
	return append(notes, k.adoptAll(ctx)...)
}

// adoptAll calls adopt after commands.
func (k *Keeper) adoptAll(ctx context.Context) (notes []string) {
	spans := k.list[0].spans
	for i := 0; i < len(k.list) && spans != nil; i++ { // adopted ones, too
		notes = append(notes, k.adopt(ctx, k.list[i], spans)...)
	}
	return notes
}

// adopt adds keepers for repositories at the submodules in the indexes of a keeper's repository, which git status in the project uses. With the times
// in which commands ran, they are repositories of these commands, without settings of the user.
func (k *Keeper) adopt(ctx context.Context, of *keeper, spans []span) (notes []string) {
	for tree, dir := range of.trees() {
		for _, path := range k.submodules(ctx, of, tree, dir) {
			git := filepath.Join(path, ".git")
			known := func(one *keeper) bool {
				return one.worktree == path || one.last != nil && one.last.pointers[git] != pointer{} // restored with that one's
			}
			if stampOf(git) == (stamp{}) || projectfs.Real(path) != path || slices.ContainsFunc(k.list, known) {
				continue // git follows no link to it
			}
			one := &keeper{worktree: path, project: k.project}
			if spans != nil {
				one.last, one.spans = &state{project: k.project}, slices.Clone(spans)
				notes = append(notes, one.restore(ctx)...)
			}
			k.list = append(k.list, one)
		}
	}
	return notes
}

// trees returns the git directories of the repository and its submodules, by their working trees.
func (k *keeper) trees() map[string]string {
	out := map[string]string{}
	for path, p := range k.last.pointers {
		if filepath.Base(path) == ".git" {
			out[filepath.Dir(path)] = p.to
		}
	}
	if len(k.last.dirs) > 0 {
		out[k.worktree] = k.last.dirs[0]
	}
	return out
}

// submodules returns the directories that the index of a working tree lists as submodules.
func (k *Keeper) submodules(ctx context.Context, of *keeper, tree, dir string) []string {
	is := stampOf(filepath.Join(dir, "index"))
	if known, ok := k.indexes[dir]; ok && known.stamp == is {
		return known.submodules
	}
	now := index{stamp: is}
	out, _ := of.git(ctx, tree, "-c", "core.fsmonitor=false", "ls-files", "--sparse", "--stage", "-z") // if git cannot read the index, neither can git status
	for entry := range strings.SplitSeq(out, "\x00") {
		if head, name, _ := strings.Cut(entry, "\t"); strings.HasPrefix(head, "160000 ") {
			now.submodules = append(now.submodules, filepath.Join(tree, name))
		}
	}
	k.indexes[dir] = now
	return now.submodules
}

// find returns a keeper for the project's repository and for each below it, so that a repository that git cannot read does not affect
// the others.
func (k *Keeper) find() []*keeper {
	list := []*keeper{{worktree: k.project, project: k.project}}
	searched := 0
	for level, depth := []string{k.project}, 0; depth < maxLevels; depth++ {
		var next []string
		for _, dir := range level {
			entries, _ := os.ReadDir(dir) // an unreadable directory has no repository that a command can change
			for _, e := range entries {
				if !e.IsDir() || e.Name() == ".git" || e.Name() == "node_modules" || searched == maxSearch || len(list) > maxInner {
					continue
				}
				searched++
				path := filepath.Join(dir, e.Name())
				if stampOf(filepath.Join(path, ".git", "HEAD")) != (stamp{}) {
					list = append(list, &keeper{worktree: path, project: k.project})
				}
				next = append(next, path)
			}
		}
		level = next
	}
	return list
}

// table lists the settings that a command may change.
//
//go:embed harmless.txt
var table string

// Harmless reports whether a setting, whoever wrote it, runs no program, reads no other file and makes git contact no server that the user
// would not see. The key has the form that git prints: section and name in lower case, the part between them unchanged.
func Harmless(key string) bool {
	return listed(key) && !strings.HasSuffix(key, ".promisor") && !strings.HasSuffix(key, ".partialclonefilter") && key != "extensions.partialclone"
}

// listed reports whether a command may change a setting: a harmless one, or a setting of a partial clone, in which git fetches missing
// objects when it reads them.
func listed(key string) bool {
	section, rest, _ := strings.Cut(key, ".")
	name := rest
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		name = rest[i+1:]
		section += ".*"
	}
	_, names, known := strings.Cut(table, "\n"+section+": ")
	names, _, _ = strings.Cut(names, "\n")
	return known && (names == "*" || strings.Contains(" "+names+" ", " "+name+" "))
}
