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

// Bounds, so that instructions leave room for the conversation.
const (
	maxFile  = 64 << 10
	maxTotal = 256 << 10
)

// names are the files that projects keep instructions in; those of the first name that is found count.
var names = []string{"AGENTS.md", "CLAUDE.md", "CONTEXT.md"}

// load reads all files, the most general first, so that the nearest has the last word.
func (p *Plugin) load() string {
	var out strings.Builder
	for _, path := range p.files() {
		data, cut, err := p.watch.ReadFile(path, maxFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			p.log.Warn("instructions left out", "file", path, "err", err)
			continue
		}
		text := strings.TrimSpace(strings.ToValidUTF8(string(data), "\uFFFD"))
		if text == "" {
			continue
		}
		if out.Len()+len(text) > maxTotal {
			p.log.Warn("instructions left out: there are too many", "file", path, "maxBytes", maxTotal)
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

// files returns the files to read, each once: the user's, the project's, those of the configuration.
func (p *Plugin) files() []string {
	var files []string
	add := func(paths ...string) {
		for _, path := range paths {
			if !slices.Contains(files, path) {
				files = append(files, path)
			}
		}
	}
	for _, path := range []string{filepath.Join(p.project.ConfigDir, "AGENTS.md"), filepath.Join(p.project.Home, ".claude", "CLAUDE.md")} {
		if p.watch.Exists(path) {
			add(path)
			break
		}
	}
	dirs := sources.Upward(p.project.Directory, p.project.Worktree)
	for _, name := range names {
		var found []string
		for _, dir := range dirs {
			if path := filepath.Join(dir, name); p.watch.Exists(path) {
				found = append(found, path)
			}
		}
		if len(found) > 0 {
			add(found...)
			break
		}
	}
	for _, entry := range p.extra {
		matched := p.expand(entry, dirs)
		if len(matched) == 0 {
			p.log.Warn("instructions not found", "entry", entry)
		}
		add(matched...)
	}
	return files
}

// expand returns the files that an entry of the configuration names: absolute, below the home directory,
// or relative to any directory of the project above the one it is worked in.
func (p *Plugin) expand(entry string, dirs []string) []string {
	if rest, ok := strings.CutPrefix(entry, "~/"); ok {
		return p.glob(filepath.Join(p.project.Home, rest))
	}
	if filepath.IsAbs(entry) {
		return p.glob(entry)
	}
	var files []string
	for _, dir := range dirs {
		files = append(files, p.glob(filepath.Join(dir, entry))...)
	}
	return files
}

func (p *Plugin) glob(pattern string) []string {
	if !strings.ContainsAny(pattern, "*?[{") {
		if p.watch.Exists(pattern) {
			return []string{pattern}
		}
		return nil
	}
	base, _ := doublestar.SplitPattern(filepath.ToSlash(pattern))
	return slices.DeleteFunc(p.watch.Tree(filepath.FromSlash(base), func(string) bool { return true }), func(path string) bool {
		ok, err := doublestar.PathMatch(pattern, path)
		return err != nil || !ok
	})
}
