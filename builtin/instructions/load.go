package instructions

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/tenonhq/tenon/builtin/internal/sources"
)

// Maximum size of a file and of all files in bytes, so that instructions leave room for the conversation.
const (
	maxFile  = 64 << 10
	maxTotal = 256 << 10
)

// names lists the usual names of instruction files. Only files of the first name that exists are read.
var names = []string{"AGENTS.md", "CLAUDE.md", "CONTEXT.md"}

// load reads all files, the most general first, so that the nearest file comes last.
func (p *Plugin) load(w *sources.Watch) string {
	var out strings.Builder
	for _, path := range p.files(w) {
		data, cut, err := w.ReadFile(path, maxFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			p.Log.Warn("instructions left out", "file", path, "err", err)
			continue
		}
		text := strings.TrimSpace(strings.ToValidUTF8(string(data), "\uFFFD"))
		if text == "" {
			continue
		}
		if out.Len()+len(text) > maxTotal {
			p.Log.Warn("instructions left out: too many", "file", path, "maxBytes", maxTotal)
			continue
		}
		if out.Len() > 0 {
			out.WriteString("\n\n")
		}
		fmt.Fprintf(&out, "Instructions from: %s\n%s", path, text)
		if cut {
			fmt.Fprintf(&out, "\n[cut after %d bytes; read the file for the rest]", maxFile)
		}
	}
	return out.String()
}

// files returns the files to read, each once: the user's, the project's, and the configured ones.
func (p *Plugin) files(w *sources.Watch) []string {
	var files []string
	add := func(paths ...string) {
		for _, path := range paths {
			if !slices.Contains(files, path) {
				files = append(files, path)
			}
		}
	}
	for _, path := range []string{filepath.Join(p.Project.ConfigDir, "AGENTS.md"), filepath.Join(p.Project.Home, ".claude", "CLAUDE.md")} {
		if w.Exists(path) {
			add(path)
			break
		}
	}
	dirs := sources.Upward(p.Project.Directory, p.Project.Worktree)
	for _, name := range names {
		var found []string
		for _, dir := range dirs {
			if path := filepath.Join(dir, name); w.Exists(path) {
				found = append(found, path)
			}
		}
		if len(found) > 0 {
			add(found...)
			break
		}
	}
	for _, entry := range p.extra {
		matched := p.expand(w, entry, dirs)
		if len(matched) == 0 {
			p.Log.Warn("instructions not found", "entry", entry)
		}
		add(matched...)
	}
	return files
}

// expand returns the files that an entry of the configuration matches: absolute, below the home directory, or relative to
// each of dirs.
func (p *Plugin) expand(w *sources.Watch, entry string, dirs []string) []string {
	if rest, ok := strings.CutPrefix(entry, "~/"); ok {
		return glob(w, filepath.Join(p.Project.Home, rest))
	}
	if filepath.IsAbs(entry) {
		return glob(w, entry)
	}
	var files []string
	for _, dir := range dirs {
		files = append(files, glob(w, filepath.Join(dir, entry))...)
	}
	return files
}

func glob(w *sources.Watch, pattern string) []string {
	if !strings.ContainsAny(pattern, "*?[{") {
		if w.Exists(pattern) {
			return []string{pattern}
		}
		return nil
	}
	base, _ := doublestar.SplitPattern(filepath.ToSlash(pattern))
	return slices.DeleteFunc(w.Tree(filepath.FromSlash(base), func(string) bool { return true }), func(path string) bool {
		ok, err := doublestar.PathMatch(pattern, path)
		return err != nil || !ok
	})
}
