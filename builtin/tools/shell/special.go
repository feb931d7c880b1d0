package shell

import (
	"path/filepath"
	"slices"
	"strings"
)

// special judges the commands that have a syntax of their own. It returns where they leave the shell, and false when
// name is none of them.
func (t *tracer) special(inv *invocation) ([]string, bool) {
	dirs := inv.dirs
	switch inv.name {
	case "eval":
		dirs = t.union(dirs, t.scriptOf(inv, inv.args))
	case "command":
		l := readLine(inv.args, "", true)
		if slices.ContainsFunc(l.options, func(o option) bool { return o.is("v V") }) {
			return dirs, true
		}
		dirs = t.union(dirs, t.inner(inv, l.operands, false).any)
	case "env":
		t.env(inv)
	case "xargs":
		t.xargs(inv)
	case "find":
		t.find(inv)
	case "fd", "fdfind":
		t.fd(inv)
	case "git":
		t.git(inv)
	case "go":
		t.golang(inv)
	case "sed", "gsed":
		t.sed(inv)
	case "awk", "gawk", "mawk", "nawk", "original-awk":
		t.awk(inv)
	case "tar", "bsdtar", "gtar":
		t.tar(inv)
	case "history", "hostname", "date", "mount", "sysctl", "ip", "ss", "openssl", "make", "gmake", "curl", "sqlite3", "psql", "mysql", "mariadb":
		return dirs, t.settings(inv)
	case "dd":
		t.dd(inv)
	case "deno", "bun":
		if len(inv.args) > 0 && (!inv.args[0].exact || inv.args[0].text == "eval" || strings.HasPrefix(inv.args[0].text, "-")) {
			t.unjudged(inv.source)
		}
	default:
		return t.builtins(inv)
	}
	return dirs, true
}

// builtins judges commands of the shell itself, and those that take a script.
func (t *tracer) builtins(inv *invocation) ([]string, bool) {
	switch inv.name {
	case "trap":
		l := readLine(inv.args, "", true)
		if len(l.operands) > 1 && l.operands[0].text != "-" {
			t.scriptOf(inv, l.operands[:1])
		}
	case "alias":
		for _, a := range inv.args {
			if _, value, ok := strings.Cut(a.text, "="); ok {
				t.scriptOf(inv, []arg{{word: a.word, text: value, exact: a.exact}})
				t.unjudged(inv.source)
			} else if !a.exact {
				t.unjudged(inv.source)
			}
		}
	case "source", ".":
		if len(inv.args) > 0 && (!inv.args[0].exact || isInput(inv.args[0])) {
			t.unjudged(inv.source)
		}
	case "printf", "read", "mapfile", "readarray", "unset", "wait", "getopts", "test", "[":
		t.names(inv)
	case "watch":
		t.joined(inv, "n interval q equexit s shotsdir")
	case "ssh":
		l := readLine(inv.args, "b c D E e F I i J L l m O o p Q R S W w", true)
		if len(l.operands) > 1 {
			t.scriptOf(inv, l.operands[1:])
		}
	case "script", "su", "runuser", "flock":
		t.withCommand(inv)
	case "parallel":
		l := readLine(inv.args, "j jobs a arg-file S sshlogin", true)
		t.inner(inv, l.operands, true)
	case "npm", "npx", "pnpm", "yarn":
		t.npm(inv)
	default:
		return inv.dirs, false
	}
	return inv.dirs, true
}

// names judges builtins whose arguments can be names of variables: a subscript in one is evaluated, and what it
// substitutes is run.
func (t *tracer) names(inv *invocation) {
	name := false // the next argument is one
	for _, a := range inv.args {
		isOption := strings.HasPrefix(a.text, "-")
		switch {
		case (inv.name == "mapfile" || inv.name == "readarray") && strings.HasPrefix(a.text, "-C"):
			t.unjudged(inv.source)
		case strings.ContainsAny(a.text, "[") && strings.ContainsAny(a.text, "$`") && (name || inv.name == "unset" || inv.name == "read"):
			t.unjudged(inv.source)
		case name && (!a.exact || isDecisive(a.text)), inv.name != "printf" && inv.name != "test" && inv.name != "[" && isDecisive(a.text):
			t.unjudged(inv.source)
		case inv.name == "printf" && a.maybeOption() && a.loose:
			t.unjudged(inv.source)
		case inv.name == "printf" && strings.HasPrefix(a.text, "-v") && len(a.text) > 2:
			t.unjudged(inv.source)
		}
		name = isOption && (a.text == "-v" || a.text == "-R" || a.text == "-p")
		if inv.name == "printf" && !isOption && !name {
			return // the format; what follows is data
		}
	}
}

// joined judges a command that gives its arguments to a shell as one text.
func (t *tracer) joined(inv *invocation, values string) {
	l := readLine(inv.args, values, true)
	if l.unknown {
		t.unjudged(inv.source)
	}
	t.scriptOf(inv, l.operands)
}

// withCommand judges commands that take a script with -c, or run a shell or a command behind an operand.
func (t *tracer) withCommand(inv *invocation) {
	l := readLine(inv.args, "c command w timeout E conflict-exit-code s shell g group u user I O B T log-in log-out log-io log-timing", inv.name == "flock" || inv.name == "runuser")
	for _, o := range l.options {
		if o.is("c command") && o.value.word != nil {
			t.scriptOf(inv, []arg{o.value})
			if inv.name == "script" {
				t.writes(inv, l.operands, true)
			}
			return
		}
	}
	if inv.name == "flock" && len(l.operands) > 1 {
		t.writes(inv, l.operands[:1], true)
		if l.operands[1].text == "-c" {
			t.scriptOf(inv, l.operands[min(2, len(l.operands)):])
			return
		}
		t.inner(inv, l.operands[1:], false)
		return
	}
	t.unjudged(inv.source)
	if inv.name == "runuser" {
		t.inner(inv, l.operands, false)
	}
}

func (t *tracer) env(inv *invocation) {
	const values = "u C S unset chdir split-string argv0 a"
	l := readLine(inv.args, values, true)
	if l.unknown {
		t.unjudged(inv.source)
	}
	for _, o := range l.options {
		if o.is("S split-string") {
			t.scriptOf(inv, []arg{o.value})
			t.unjudged(inv.source) // its quoting is not the shell's
		}
	}
	rest := inv.args[l.rest:]
	t.inner(inv, rest[t.assignments(inv, rest):], false)
}

func (t *tracer) xargs(inv *invocation) {
	l := readLine(inv.args, "a d E I L n P s arg-file delimiter max-lines max-args max-procs max-chars process-slot-var", true)
	replace := ""
	for _, o := range l.options {
		switch {
		case o.is("process-slot-var"):
			if !o.value.exact || isDecisive(o.value.text) {
				t.unjudged(inv.source)
			}
		case o.is("I"):
			replace = o.value.text
		case o.is("i replace"):
			replace = "{}"
			if o.value.text != "" {
				replace = o.value.text
			}
		}
	}
	if l.unknown {
		t.unjudged(inv.source)
	}
	inv.input = input{}
	if replace == "" {
		t.inner(inv, l.operands, true)
		return
	}
	t.inner(inv, placeholders(l.operands, replace, false), false)
}

// placeholders returns the arguments with what stands for something else unknown.
func placeholders(args []arg, mark string, plain bool) []arg {
	out := slices.Clone(args)
	for i, a := range out {
		if at := strings.Index(a.text, mark); at >= 0 {
			out[i] = arg{word: a.word, text: a.text[:at], plain: plain, loose: !plain && at == 0}
		}
	}
	return out
}

func (t *tracer) find(inv *invocation) {
	var roots []arg
	begun := false // the expression has
	for i := 0; i < len(inv.args); i++ {
		a := inv.args[i]
		if a.maybeOption() {
			t.unjudged(inv.source)
			continue
		}
		if !begun && !strings.HasPrefix(a.text, "-") && a.text != "(" && a.text != "!" {
			roots = append(roots, a)
			continue
		}
		begun = begun || !slices.Contains([]string{"-H", "-L", "-P"}, a.text)
		switch a.text {
		case "-exec", "-execdir", "-ok", "-okdir":
			end := i + 1
			for end < len(inv.args) && inv.args[end].text != ";" && (inv.args[end].text != "+" || inv.args[end-1].text != "{}") {
				end++
			}
			t.inner(inv, placeholders(inv.args[i+1:end], "{}", true), false)
			i = end
		case "-delete":
			if len(roots) == 0 {
				roots = []arg{known(nil, ".")}
			}
			t.writes(inv, roots, false)
		case "-fprint", "-fprint0", "-fls", "-fprintf":
			if i+1 < len(inv.args) {
				t.writes(inv, inv.args[i+1:i+2], false)
			}
		}
	}
}

func (t *tracer) fd(inv *invocation) {
	for i, a := range inv.args {
		short := strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "--") && strings.ContainsAny(a.text, "xX")
		if a.maybeOption() {
			t.unjudged(inv.source)
		}
		if short && len(a.text) > 2 || strings.HasPrefix(a.text, "--exec") && strings.Contains(a.text, "=") {
			t.unjudged(inv.source)
		}
		if short || strings.HasPrefix(a.text, "--exec") {
			t.inner(inv, placeholders(inv.args[i+1:], "{", true), true)
			return
		}
	}
}

// tarRuns are options that run something.
const tarRuns = "I use-compress-program F info-script new-volume-script to-command checkpoint-action rsh-command rmt-command"

func (t *tracer) tar(inv *invocation) {
	args := slices.Clone(inv.args)
	if len(args) > 0 && args[0].exact && args[0].text != "" && args[0].text[0] != '-' {
		args[0].text = "-" + args[0].text // the oldest form
	}
	l := readLine(args, "f C b T X H V file directory exclude files-from exclude-from checkpoint-action to-command", false)
	place, file, mode := arg{text: ".", exact: true}, arg{}, byte(0)
	for _, o := range l.options {
		switch {
		case o.is(tarRuns):
			t.unjudged(inv.source)
		case o.is("x extract get"):
			mode = 'x'
		case o.is("c r u A create append update catenate concatenate delete"):
			mode = 'c'
		case o.is("f file"):
			file = o.value
		case o.is("C directory"):
			place = o.value
		case o.is("t list O to-stdout"):
		case o.is("remove-files"):
			t.unjudged(inv.source)
		}
	}
	if l.unknown {
		t.unjudged(inv.source)
	}
	if strings.Contains(file.text, ":") {
		t.unjudged(inv.source) // on another machine, which a remote shell reaches
	}
	switch {
	case mode == 'x':
		t.writes(inv, []arg{place}, false)
	case mode == 'c' && file.word == nil && len(l.operands) > 0: // its name stands behind a cluster
		t.writes(inv, l.operands[:1], false)
	case mode == 'c':
		t.writes(inv, []arg{file}, false)
	}
}

func (t *tracer) dd(inv *invocation) {
	for _, a := range inv.args {
		if to, ok := strings.CutPrefix(a.text, "of="); ok {
			t.writes(inv, []arg{{word: a.word, text: to, exact: a.exact}}, true)
		}
	}
}

// writesMatching notes the files that a pattern stands for now.
func (t *tracer) writesMatching(inv *invocation, a arg) {
	for _, dir := range inv.dirs {
		matches, err := filepath.Glob(from(dir, a.text))
		if err != nil || len(matches) > maxWords {
			t.unjudged(inv.source)
			return
		}
		for _, m := range matches {
			t.wrote([]string{dir}, m, true)
		}
	}
}

// npm judges npm exec and npx, which run a command of a package.
func (t *tracer) npm(inv *invocation) {
	args := inv.args
	if inv.name != "npx" {
		if len(args) == 0 || args[0].text != "exec" && args[0].text != "x" && args[0].text != "dlx" {
			if len(args) > 0 && args[0].maybeOption() {
				t.unjudged(inv.source)
			}
			return
		}
		args = args[1:]
	}
	l := readLine(args, "c call p package w workspace", true)
	for _, o := range l.options {
		if o.is("c call") {
			t.scriptOf(inv, []arg{o.value})
		}
	}
	t.inner(inv, l.operands, false)
}
