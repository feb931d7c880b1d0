// Package instructions is the plugin that adds AGENTS.md files, those of Claude Code, and the files listed under "instructions" in the
// configuration, to the system prompt. They are text for the model; nothing in them is run.
package instructions

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/builtin/internal/sources"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// Plugin is the instructions plugin.
type Plugin struct {
	sources.Loader[string]
	read []string // the files that load has read
}

var (
	_ sdk.Plugin = (*Plugin)(nil)
	_ sdk.Hooker = (*Plugin)(nil)
)

// New returns the plugin.
func New() *Plugin { return &Plugin{} }

// Manifest describes the plugin.
func (*Plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{Name: "instructions", Description: "AGENTS.md and other instructions of the user and the project", Carrier: sdk.CarrierBuiltin}
}

// Check reads the files, which a run reads with its first prompt, and logs those that it leaves out. It returns the others.
func Check(project sdk.Project, c *sdk.Config, log *slog.Logger) []string {
	p := New()
	p.Project, p.Config, p.Log = project, c, log
	p.Current(p.load)
	return p.read
}

// Hooks returns the hook that adds the instructions to the system prompt. It rereads the files if one of them has changed.
func (p *Plugin) Hooks() []sdk.Hook {
	return []sdk.Hook{sources.SystemHook("files", func(*sdk.ChatInput) string { return p.Current(p.load) })}
}

// Maximum size of a file and of all files in bytes, so that instructions leave room for the conversation.
const (
	maxFile  = 64 << 10
	maxTotal = 256 << 10
	// maxWarnings limits the warnings about files that are left out: a repository can have thousands.
	maxWarnings = 5
)

// names lists the usual names of instruction files in a directory. Only the files of the first row with an existing file are read.
var names = [][]string{{"AGENTS.md"}, {"CLAUDE.md", filepath.Join(".claude", "CLAUDE.md"), "CLAUDE.local.md"}, {"CONTEXT.md"}}

// load reads all files, the most general first, so that the nearest file comes last. Each file precedes those that it imports.
func (p *Plugin) load(w *sources.Watch) string {
	var out strings.Builder
	p.read = nil
	seen, left := map[string]bool{}, maxImports
	leftOut := 0
	var add func(path string, imports bool)
	add = func(path string, imports bool) {
		if seen[path] {
			return
		}
		seen[path] = true
		text, err := read(w, path)
		if err == nil && out.Len()+len(text) > maxTotal {
			err = fmt.Errorf("too large: all instructions together may have at most %d bytes", maxTotal)
		}
		if err != nil {
			if leftOut++; leftOut <= maxWarnings {
				p.Log.Warn("instructions left out", "file", path, "err", err)
			}
			return
		}
		if text == "" {
			return
		}
		if out.Len() > 0 {
			out.WriteString("\n\n")
		}
		fmt.Fprintf(&out, "Instructions from: %s\n%s", path, text)
		p.read = append(p.read, path)
		if !imports {
			return
		}
		for _, next := range p.imports(w, path, text, &left) {
			add(next, true)
		}
	}
	for _, path := range p.files(w) {
		add(path, importing(path))
	}
	if more := leftOut - maxWarnings; more > 0 {
		p.Log.Warn("further instructions left out", "files", more)
	}
	return out.String()
}

// read returns the text of a file; empty if there is none.
func read(w *sources.Watch, path string) (string, error) {
	data, cut, err := w.ReadFile(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(strings.ToValidUTF8(string(data), "\uFFFD"))
	if cut {
		text += fmt.Sprintf("\n[cut after %d bytes; read the file for the rest]", maxFile)
	}
	return text, nil
}

// files returns the files to read: the user's, the project's, and the configured ones. A file can be listed several times.
func (p *Plugin) files(w *sources.Watch) (files []string) {
	for _, path := range []string{filepath.Join(p.Project.ConfigDir, "AGENTS.md"), filepath.Join(p.Project.Home, ".claude", "CLAUDE.md")} {
		if w.Exists(path) {
			files = append(files, path)
			break
		}
	}
	files = append(files, rules(w, p.Project.Home)...)
	dirs := projectfs.Upward(p.Project.Directory, p.Project.Worktree)
	for _, row := range names {
		var found []string
		for _, dir := range dirs {
			for _, name := range row {
				if path := filepath.Join(dir, name); w.Exists(path) {
					found = append(found, path)
				}
			}
		}
		if len(found) > 0 {
			files = append(files, found...)
			break
		}
	}
	files = append(files, rules(w, dirs...)...)
	for _, entry := range p.Config.Instructions {
		if strings.HasPrefix(entry, "http://") || strings.HasPrefix(entry, "https://") {
			p.Log.Warn("instructions are not fetched from URLs; save the text in a file and list that", "url", entry)
			continue
		}
		pattern, before := projectfs.FromHome(p.Project.Home, entry), len(files)
		places := dirs
		if filepath.IsAbs(pattern) {
			places = []string{""}
		}
		for _, dir := range places {
			files = append(files, glob(w, dir, pattern)...)
		}
		if len(files) == before {
			p.Log.Warn("instructions not found", "entry", entry)
		}
	}
	return files
}

// glob returns the files that a pattern below a directory names. The directory is not part of the pattern: its name may contain brackets.
func glob(w *sources.Watch, dir, pattern string) []string {
	if path := filepath.Join(dir, pattern); w.Exists(path) {
		return []string{path}
	}
	base, names := doublestar.SplitPattern(filepath.ToSlash(pattern))
	base = filepath.Join(dir, filepath.FromSlash(base))
	if !strings.ContainsAny(names, "*?[{") || paths.TooManyBraces(names) {
		return nil
	}
	return slices.DeleteFunc(w.Tree(base, func(string) bool { return true }), func(path string) bool {
		rel, err := filepath.Rel(base, path)
		return err != nil || !doublestar.MatchUnvalidated(names, filepath.ToSlash(rel))
	})
}

// The files of Claude Code, see https://code.claude.com/docs/en/memory.

// maxImports is the maximum number of names of files to import.
const maxImports = 100

// imported matches @docs/style.md.
var imported = lazyregexp.New(`(?:^|\s)@([^\s@]+)`)

// noImports matches blocks of code and comments, whose names are not imported.
var noImports = lazyregexp.New("(?ms)^ *(?:```.*?^ *```|~~~.*?^ *~~~)|<!--.*?-->")

// importing reports whether a file may import others. AGENTS.md is plain Markdown.
func importing(path string) bool {
	return slices.Contains(names[1], filepath.Base(path)) || strings.Contains(filepath.ToSlash(path), "/.claude/rules/")
}

// imports returns the Markdown files that a text imports. Other files, such as .env, are left to the model's tools and their permissions.
// A project's file imports only files of the project. Every name counts towards the limit, so that warnings are limited, too. left is the
// number of remaining names.
func (p *Plugin) imports(w *sources.Watch, from, text string, left *int) (files []string) {
	for _, match := range imported().FindAllStringSubmatch(noImports().ReplaceAllLiteralString(text, ""), -1) {
		path := strings.TrimRight(match[1], ".,;:!?)")
		if !sources.Markdown(path) {
			continue
		}
		if *left--; *left < 0 {
			return files
		}
		path = projectfs.Join(filepath.Dir(from), projectfs.FromHome(p.Project.Home, path))
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
