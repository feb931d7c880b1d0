package instructions

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/sources"
	"github.com/tenonhq/tenon/internal/lazyregexp"
)

// The files of Claude Code, see https://code.claude.com/docs/en/memory.

// maxImports is the maximum number of names of files to import.
const maxImports = 100

// imported matches @docs/style.md.
var imported = lazyregexp.New(`(?:^|\s)@([^\s@]+)`)

// importing reports whether a file may import others. AGENTS.md is plain Markdown.
func importing(path string) bool {
	return slices.Contains(names[1], filepath.Base(path)) || strings.Contains(filepath.ToSlash(path), "/.claude/rules/")
}

// imports returns the Markdown files that a text imports. Other files, such as .env, are left to the model's tools and their permissions.
// A project's file imports only files of the project. Each name counts, and so each warning: left is the number of names that may follow.
func (p *Plugin) imports(w *sources.Watch, from, text string, left *int) (files []string) {
	for _, match := range imported().FindAllStringSubmatch(text, -1) {
		path := strings.TrimRight(match[1], ".,;:!?)")
		if !sources.Markdown(path) {
			continue
		}
		if *left--; *left < 0 {
			return files
		}
		if below, ok := strings.CutPrefix(path, "~/"); ok {
			path = filepath.Join(p.Project.Home, below)
		} else if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(from), path)
		}
		if !w.IsProject(from) || w.IsProject(path) {
			files = append(files, path)
		} else {
			p.Log.Warn("import left out: it is outside the project; name it under instructions in your own configuration", "file", from, "import", path)
		}
	}
	return files
}

// rules returns the files in .claude/rules of the directories.
func rules(w *sources.Watch, dirs ...string) (files []string) {
	for _, dir := range dirs {
		files = append(files, w.Tree(filepath.Join(dir, ".claude", "rules"), sources.Markdown)...)
	}
	return files
}
