// Package sources finds and reads the text files that users and repositories keep for the agent: agents,
// commands, skills, instructions. It knows which folders to look in and when to look again.
package sources

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/tenonhq/tenon/sdk"
)

// Upward returns from and the directories above it up to and including root, the outermost first. When
// from does not lie below root it is from alone.
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

// ConfigFolders returns the folders that may hold configuration in Markdown, the most general first: the
// user's, then .opencode and .tenon of every directory from the root of the project to where it is worked
// in. What is found later replaces what has the same name.
func ConfigFolders(project sdk.Project) []string {
	folders := []string{project.ConfigDir}
	for _, dir := range Upward(project.Directory, project.Worktree) {
		folders = append(folders, filepath.Join(dir, ".opencode"), filepath.Join(dir, ".tenon"))
	}
	return folders
}

// Shorten returns path relative to the project's directory or to ~ when it lies in one of them.
func Shorten(project sdk.Project, path string) string {
	if rel, err := filepath.Rel(project.Directory, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	if rel, err := filepath.Rel(project.Home, path); err == nil && project.Home != "" && filepath.IsLocal(rel) {
		return "~" + string(os.PathSeparator) + rel
	}
	return path
}
