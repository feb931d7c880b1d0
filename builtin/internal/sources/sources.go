// Package sources finds and reads the text files of users and repositories: agents, commands, skills,
// instructions. It knows their folders and notices when a file changes.
package sources

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/tenonhq/tenon/sdk"
)

// Upward returns from and the directories above it up to and including root, the outermost first. If from is not
// below root, it returns from alone.
func Upward(from, root string) []string {
	dirs := []string{from}
	for dir := from; dir != root; {
		parent := filepath.Dir(dir)
		if parent == dir {
			return []string{from}
		}
		dir = parent
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	return dirs
}

// ConfigFolders returns the folders that can contain configuration in Markdown, the most general first: the
// user's, then .opencode and .tenon of every directory from the root of the project to the working directory. A later
// definition replaces an earlier one of the same name.
func ConfigFolders(project sdk.Project) []string {
	folders := []string{project.ConfigDir}
	for _, dir := range Upward(project.Directory, project.Worktree) {
		folders = append(folders, filepath.Join(dir, ".opencode"), filepath.Join(dir, ".tenon"))
	}
	return folders
}

// Shorten returns path relative to the project's directory or to ~ if it is below one of them.
func Shorten(project sdk.Project, path string) string {
	if rel, ok := below(project.Directory, path); ok {
		return filepath.ToSlash(rel)
	}
	if rel, ok := below(project.Home, path); ok {
		return "~" + string(os.PathSeparator) + rel
	}
	return path
}

// Users reports whether a path is in the user's configuration folder.
func Users(project sdk.Project, path string) bool {
	_, ok := below(project.ConfigDir, path)
	return ok
}

func below(dir, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(dir, path)
	return rel, dir != "" && err == nil && filepath.IsLocal(rel)
}

// Replacing returns the origins that a new definition replaces: the origin of the previous one, then those it replaced.
func Replacing(previous string, earlier []string) []string {
	return append([]string{previous}, earlier...)
}
