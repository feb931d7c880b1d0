package shell

import (
	"path/filepath"
	"slices"
	"strings"
)

// gitOptions returns how many arguments stand before the command of git.
func gitOptions(args []arg) int {
	for i := 0; i < len(args); i++ {
		switch text := args[i].text; {
		case !args[i].exact || !strings.HasPrefix(text, "-"):
			return i
		case slices.Contains([]string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--config-env"}, text):
			i++
		}
	}
	return len(args)
}

// harmlessSettings are settings that may be given with git -c.
var harmlessSettings = []string{"color.", "advice.", "user.", "column.", "i18n.", "diff.renames=", "core.quotepath=", "core.abbrev=", "core.autocrlf=", "init.defaultbranch=", "log.date=", "commit.gpgsign=", "tag.gpgsign=", "safe.directory="}

func (t *tracer) git(inv *invocation) {
	n, dirs := gitOptions(inv.args), inv.dirs
	for i := 0; i < n; i++ {
		a := inv.args[i]
		switch name, _, _ := strings.Cut(a.text, "="); name {
		case "-c":
			if i++; i < n {
				t.gitSetting(inv, inv.args[i])
			}
		case "-C":
			if i++; i < n {
				dirs = t.gitChange(inv, dirs, inv.args[i])
			}
		case "--git-dir", "--work-tree", "--exec-path", "--config-env", "--namespace", "-p", "--paginate":
			t.unjudged(inv.source)
		}
	}
	args := inv.args[n:]
	if len(args) == 0 || len(args) == 1 && args[0].text == "--version" {
		return
	}
	for _, dir := range dirs {
		t.gitRepository(filepath.Clean(dir))
	}
	if !args[0].exact {
		t.unjudged(inv.source)
		return
	}
	for _, a := range args[1:] {
		if a.maybeOption() || strings.HasPrefix(a.text, "ext::") {
			t.unjudged(inv.source)
		}
	}
	t.gitCommand(inv, args[0].text, args[1:])
}

// gitChange returns where -C leads to.
func (t *tracer) gitChange(inv *invocation, dirs []string, to arg) []string {
	if !to.exact {
		t.unjudged(inv.source)
		return dirs
	}
	out := make([]string, 0, len(dirs))
	for _, dir := range dirs {
		out = append(out, from(dir, to.text))
	}
	return out
}

func (t *tracer) gitSetting(inv *invocation, a arg) {
	key, value, _ := strings.Cut(a.text, "=")
	if a.exact && strings.HasPrefix(strings.ToLower(key), "alias.") && strings.HasPrefix(value, "!") {
		t.script(value[1:], inv.dirs)
	}
	lower := strings.ToLower(a.text)
	if !slices.ContainsFunc(harmlessSettings, func(s string) bool { return strings.HasPrefix(lower, s) }) {
		t.unjudged(inv.source)
	}
}

// gitRuns are options by which commands of git run something.
var gitRuns = map[string]string{
	"grep": "O open-files-in-pager", "difftool": "x extcmd", "clone": "u upload-pack c config template", "fetch": "upload-pack", "pull": "upload-pack",
	"ls-remote": "upload-pack exec", "push": "receive-pack exec", "archive": "exec remote", "submodule": "", "commit": "", "send-email": "sendmail-cmd smtp-server",
	"log": "ext-diff", "show": "ext-diff", "diff": "ext-diff", "format-patch": "ext-diff", "merge": "s strategy", "cat-file": "filters textconv",
}

// gitWrites are options by which commands of git write a file.
var gitWrites = map[string]string{
	"diff": "output", "log": "output", "show": "output", "diff-tree": "output", "diff-index": "output", "diff-files": "output", "stash": "output", "whatchanged": "output",
	"reflog": "output", "range-diff": "output", "archive": "o output", "format-patch": "o output-directory output", "bundle": "", "blame": "",
}

func (t *tracer) gitCommand(inv *invocation, name string, args []arg) {
	values := gitWrites[name] + " x exec"
	l := readLine(args, values, false)
	for _, o := range l.options {
		switch {
		case len(o.name) > 2 && o.is("output ext-diff") && !o.is(gitWrites[name]), gitRuns[name] != "" && o.is(gitRuns[name]):
			t.unjudged(inv.source)
		case gitWrites[name] != "" && o.is(gitWrites[name]) && o.value.word != nil:
			t.writes(inv, []arg{o.value}, false)
		case name == "rebase" && o.is("x exec"):
			t.scriptOf(inv, []arg{o.value})
		}
	}
	switch {
	case name == "config" && gitConfigures(args):
		t.unjudged(inv.source)
	case name == "bisect" && len(args) > 1 && args[0].text == "run":
		t.inner(inv, args[1:], false)
	case name == "submodule" && len(args) > 1 && slices.ContainsFunc(args, func(a arg) bool { return a.text == "foreach" }):
		at := slices.IndexFunc(args, func(a arg) bool { return a.text == "foreach" })
		t.scriptOf(inv, readLine(args[at+1:], "", true).operands)
	case name == "filter-branch", name == "filter-repo", name == "daemon", name == "instaweb", name == "web--browse":
		t.unjudged(inv.source)
	}
}

// gitConfigures reports whether a line of git config sets what makes later commands run something, or edits a file that can.
func gitConfigures(args []arg) bool {
	l := readLine(args, "f file blob type t default get get-all get-regexp get-urlmatch", false)
	if slices.ContainsFunc(l.options, func(o option) bool {
		return o.is("e edit rename-section remove-section replace-all add unset unset-all") && (len(o.name) > 2 || o.name == "e")
	}) {
		return true
	}
	operands := l.operands
	if len(operands) > 0 && slices.Contains([]string{"get", "list"}, operands[0].text) || slices.ContainsFunc(l.options, func(o option) bool { return o.name == "l" || o.is("list get") }) {
		return false
	}
	if len(operands) > 0 && operands[0].text == "set" {
		operands = operands[1:]
	}
	if len(operands) < 2 {
		return slices.ContainsFunc(operands, func(a arg) bool { return !a.exact || a.text == "edit" })
	}
	if slices.ContainsFunc(l.options, func(o option) bool { return o.name == "f" || len(o.name) > 1 && o.is("file") }) {
		return true // of any name
	}
	key := strings.ToLower(operands[0].text) + "="
	return !operands[0].exact || !slices.ContainsFunc(harmlessSettings, func(s string) bool { return strings.HasPrefix(key, s) })
}

// goRuns and goWrites are flags of the go command.
var (
	goRuns   = []string{"exec", "toolexec", "vettool", "overlay", "modfile", "C", "c", "fuzz"}
	goWrites = []string{"o", "coverprofile", "cpuprofile", "memprofile", "blockprofile", "mutexprofile", "trace", "outputdir", "test.coverprofile", "pkgdir"}
)

func (t *tracer) golang(inv *invocation) {
	if len(inv.args) > 0 && inv.args[0].text == "env" && slices.ContainsFunc(inv.args, func(a arg) bool { return a.text == "-w" || a.text == "-u" || a.text == "--w" || a.text == "--u" }) {
		t.unjudged(inv.source) // settings of every later command
	}
	for i, a := range inv.args {
		if a.maybeOption() {
			t.unjudged(inv.source)
		}
		if !strings.HasPrefix(a.text, "-") {
			continue
		}
		name, value, has := strings.Cut(strings.TrimLeft(a.text, "-"), "=")
		name = strings.TrimPrefix(name, "test.")
		target := arg{word: a.word, text: value, exact: a.exact}
		if !has && i+1 < len(inv.args) {
			target = inv.args[i+1]
		}
		switch {
		case slices.Contains(goRuns, name), strings.Contains(value+target.text, "-ext"), name == "mod" && target.text != "readonly" && target.text != "vendor":
			t.unjudged(inv.source)
		case slices.Contains(goWrites, name):
			t.writes(inv, []arg{target}, false)
		}
	}
}
