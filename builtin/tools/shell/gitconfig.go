package shell

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of looking at the configuration of a repository.
const (
	maxGitConfig   = 1 << 20 // bytes of one file; git's own are a few kilobytes
	maxGitSettings = 50      // that are told one by one
	maxGitModules  = 100     // submodules whose configuration is read
)

// gitSetting is one setting of a file in git's format. Section and name are in lower case, as git compares them.
type gitSetting struct{ section, sub, name, value string }

func (s gitSetting) String() string {
	key := s.section + "."
	if s.sub != "" {
		key += s.sub + "."
	}
	return key + s.name + " = " + s.value
}

// gitRepository judges the repository that a command of git finds from a directory. Its configuration can name programs
// that even git status runs. A clone does not bring one, but an unpacked archive does, and so does a bare repository
// in a directory of a clone. What is found is asked for once, whatever the command: the text is the setting and its file.
func (t *tracer) gitRepository(dir string) {
	if t.gitSeen[dir] {
		return
	}
	t.gitSeen[dir] = true
	for {
		if found, valid := gitAt(dir); found != "" {
			t.gitFiles(found, dir)
			if valid {
				return
			}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return
		}
		dir = parent
	}
}

// gitAt returns the git directory that belongs to dir, "" without one, and whether git takes it instead of looking
// further up.
func gitAt(dir string) (found string, valid bool) {
	path := filepath.Join(dir, ".git")
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return path, isGitDirectory(path)
	case err == nil:
		text, ok := strings.CutPrefix(readBounded(path), "gitdir:")
		if !ok {
			return "", false
		}
		return from(dir, strings.TrimSpace(text)), true
	case isGitDirectory(dir): // a bare one
		return dir, true
	}
	return "", false
}

func isGitDirectory(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, "HEAD"))
	return err == nil && isDir(filepath.Join(dir, "objects")) && isDir(filepath.Join(dir, "refs"))
}

// gitFiles judges the files of a git directory that belongs to dir.
func (t *tracer) gitFiles(git, dir string) {
	common := git
	if text := strings.TrimSpace(readBounded(filepath.Join(git, "commondir"))); text != "" {
		common = from(git, text)
	}
	files := []string{filepath.Join(common, "config"), filepath.Join(git, "config.worktree")}
	modules, err := filepath.Glob(filepath.Join(common, "modules", "*", "config"))
	if deeper, err := filepath.Glob(filepath.Join(common, "modules", "*", "*", "config")); err == nil {
		modules = append(modules, deeper...)
	}
	if err == nil {
		files = append(files, modules[:min(len(modules), maxGitModules)]...)
	}
	hooks, n := filepath.Join(common, "hooks"), 0
	for i, file := range files {
		for _, s := range gitSettings(readBounded(file)) {
			if s.section == "core" && s.name == "hookspath" && i < 2 {
				hooks = from(dir, expandHome(s.value, t.home))
			}
			// The configuration of a submodule says where its files are, and so does that of a linked working tree.
			if place := s.section == "core" && s.name == "worktree"; !s.runs() && (!place || i > 1 || git != filepath.Join(dir, ".git") && git != dir) {
				continue
			}
			if n++; n <= maxGitSettings {
				t.unjudged(s.String() + " (" + file + ")")
			}
		}
	}
	if n > maxGitSettings {
		t.unjudged("further settings of " + filepath.Join(common, "config"))
	}
	// The one hook that commands run which only read: they may write the index anew.
	hook := filepath.Join(hooks, "post-index-change")
	if info, err := os.Stat(hook); err == nil && info.Mode()&0o111 != 0 {
		t.unjudged(hook)
	}
}

// readBounded returns the text of a regular file, at most maxGitConfig of it; "" when it cannot be read.
func readBounded(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxGitConfig))
	if err != nil {
		return ""
	}
	return string(text)
}

// gitPrograms are the settings whose values are programs, or name files with further settings, by section. See
// https://git-scm.com/docs/git-config.
var gitPrograms = map[string][]string{
	"core": {"fsmonitor", "pager", "editor", "sshcommand", "gitproxy", "askpass", "alternaterefscommand"}, "sequence": {"editor"},
	"diff": {"external", "command", "textconv"}, "difftool": {"cmd", "path"}, "mergetool": {"cmd", "path"}, "guitool": {"cmd"}, "merge": {"driver"},
	"filter": {"clean", "smudge", "process"}, "gpg": {"program", "defaultkeycommand"}, "include": {"path"}, "includeif": {"path"},
	"remote": {"uploadpack", "receivepack", "vcs"}, "trailer": {"command", "cmd"}, "interactive": {"difffilter"}, "browser": {"cmd", "path"},
	"man": {"cmd", "path"}, "web": {"browser"}, "uploadpack": {"packobjectshook"}, "init": {"templatedir"}, "tar": {"command"}, "hook": {"command"},
	"sendemail": {"sendmailcmd", "smtpserver", "tocmd", "cccmd", "headercmd"},
}

// lfs are the filters that git lfs install --local writes.
var lfs = []string{"git-lfs clean -- %f", "git-lfs smudge -- %f", "git-lfs smudge --skip -- %f", "git-lfs filter-process", "git-lfs filter-process --skip"}

// runs reports whether the setting makes git run something.
func (s gitSetting) runs() bool {
	switch strings.ToLower(s.value) {
	case "", "true", "false", "yes", "no", "on", "off", "0", "1":
		return false
	}
	switch {
	case s.section == "alias", s.section == "submodule" && s.name == "update":
		return strings.HasPrefix(s.value, "!")
	case s.section == "pager":
		return true
	case s.section == "credential" && s.name == "helper":
		return strings.ContainsAny(s.value, "!/ ")
	case s.section == "filter" && s.sub == "lfs" && slices.Contains(lfs, s.value):
		return false
	case s.section == "remote" && strings.HasSuffix(s.name, "url"), s.section == "url":
		return strings.HasPrefix(s.value, "ext::") || strings.HasPrefix(s.sub, "ext::")
	}
	return slices.Contains(gitPrograms[s.section], s.name)
}

// gitSettings reads a file in git's format, see https://git-scm.com/docs/git-config#_syntax. Of a text that git refuses it
// returns what it understood: git runs nothing then.
func gitSettings(text string) []gitSetting {
	var out []gitSetting
	var section, sub string
	lines := bufio.NewScanner(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
	lines.Buffer(nil, maxGitConfig+1)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		for strings.HasPrefix(line, "[") {
			var ok bool
			if section, sub, line, ok = gitSection(line); !ok {
				return out
			}
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		for strings.HasSuffix(line, `\`) && lines.Scan() {
			line = strings.TrimSuffix(line, `\`) + lines.Text()
		}
		name, value, assigned := strings.Cut(line, "=")
		if name, _, _ = strings.Cut(name, "#"); !assigned {
			value = "true"
		}
		value = strings.TrimSpace(strings.NewReplacer(`\"`, `"`, `\\`, `\`, `"`, "").Replace(value))
		out = append(out, gitSetting{section, sub, strings.ToLower(strings.TrimSpace(name)), value})
	}
	return out
}

// gitSection reads [section], [section "sub"] or the older [section.sub] at the start of a line.
func gitSection(line string) (section, sub, rest string, ok bool) {
	quoted := false
	for i := 1; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == ']' && !quoted:
			section, sub, _ = strings.Cut(line[1:i], " ")
			if strings.TrimSpace(sub) == "" {
				section, sub, _ = strings.Cut(section, ".")
			}
			sub = strings.NewReplacer(`\"`, `"`, `\\`, `\`, `"`, "").Replace(strings.TrimSpace(sub))
			return strings.ToLower(strings.TrimSpace(section)), sub, strings.TrimSpace(line[i+1:]), true
		}
	}
	return "", "", "", false
}
