package gitkeep

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/visible"
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

// Keeper restores the repository of a project and those below it. It is safe for concurrent use.
type Keeper struct {
	project string
	once    sync.Once
	found   []*keeper
	known   sync.Map // repositories that an index listed before the first command, or that a note was about
}

// Of returns the keeper of a project, the same for all callers.
func Of(project string) *Keeper {
	one, _ := shared.LoadOrStore(filepath.Clean(project), &Keeper{project: project})
	return one.(*Keeper)
}

// Enter records the state before a command, even if ctx has ended. The caller calls Leave after the command. The first call searches for
// repositories.
func (k *Keeper) Enter(ctx context.Context) {
	ctx = context.WithoutCancel(ctx) // an incomplete state would be taken for the user's
	for _, one := range k.keepers(ctx) {
		one.Enter(ctx)
	}
}

// Leave compares the state after a command with the one before, and restores changes. If commands overlap, the last Leave does this for all
// of them. ended is false if a process of the command still runs; changes until the end of the turn then count as the command's. It returns
// a message for the user about each change.
func (k *Keeper) Leave(ctx context.Context, ended bool) (notes []string) {
	for _, one := range k.keepers(ctx) {
		notes = append(notes, one.Leave(ctx, ended)...)
	}
	return notes
}

// EndTurn restores the changes of a turn's commands that could not be restored before. Other changes since the last command stay. It returns
// messages for the user about both, and about repositories that were added to an index. While commands run, it restores nothing.
func (k *Keeper) EndTurn(ctx context.Context) (notes []string) {
	for _, one := range k.keepers(ctx) {
		var added []string
		for _, name := range one.listed(ctx) {
			path := filepath.Join(one.worktree, name)
			if _, known := k.known.LoadOrStore(path, true); !known {
				added = append(added, fmt.Sprintf("%s is new in git's index, so git status runs programs that its settings name; if it is not yours, remove it first: git -C %s update-index --force-remove %s",
					one.show(path), visible.Word(one.worktree), visible.Word(name)))
			}
		}
		notes = append(append(notes, one.EndTurn(ctx)...), brief(added)...)
	}
	return notes
}

// listed returns the repositories that the index lists, except those whose settings are compared with the repository's, such as submodules.
func (k *keeper) listed(ctx context.Context) (names []string) {
	own := Directories(k.worktree)
	if len(own) == 0 {
		return nil
	}
	foreign := func(dir string) bool {
		return !slices.ContainsFunc(own, func(own string) bool {
			return dir == own || projectfs.Inside(filepath.Join(own, "modules"), dir) || projectfs.Inside(filepath.Join(own, "worktrees"), dir)
		})
	}
	for _, name := range k.links(ctx, filepath.Join(own[0], "index")) {
		if slices.ContainsFunc(Directories(filepath.Join(k.worktree, name)), foreign) {
			names = append(names, name)
		}
	}
	return names
}

// Links returns the paths of the repositories in an index, which git ls-files --stage -z has listed. To git, an entry of the format 016 is one,
// whatever the lower bits of its mode are, see https://git-scm.com/docs/index-format.
func Links(index string) (names []string) {
	for entry := range strings.SplitSeq(index, "\x00") {
		about, name, _ := strings.Cut(entry, "\t")
		mode, _, _ := strings.Cut(about, " ")
		if bits, err := strconv.ParseUint(mode, 8, 32); err == nil && bits&0o170000 == 0o160000 {
			names = append(names, name)
		}
	}
	return names
}

// links returns the paths that an index lists as repositories, whether or not there is one. It reads the index again only if that changed.
func (k *keeper) links(ctx context.Context, path string) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	is := stampOf(path)
	if is == k.index {
		return k.linked
	}
	out, err := k.git(ctx, k.worktree, "-c", "core.fsmonitor=false", "ls-files", "--stage", "-z")
	k.linked = Links(out)
	if err == nil { // otherwise git is asked again: it may have been too slow
		k.index = is
	}
	return k.linked
}

// keepers returns a keeper for the project's repository and for each below it, so that a repository that git cannot read does not affect
// the others.
func (k *Keeper) keepers(ctx context.Context) []*keeper {
	k.once.Do(func() {
		k.found = k.find()
		for _, one := range k.found {
			for _, name := range one.listed(context.WithoutCancel(ctx)) {
				k.known.Store(filepath.Join(one.worktree, name), true)
			}
		}
	})
	return k.found
}

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
