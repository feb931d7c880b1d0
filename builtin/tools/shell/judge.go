package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Patterns of permission bash that are no commands.
const (
	// unjudgedPrefix stands before text of which the effect is not known.
	unjudgedPrefix = "unjudged: "
	// writePrefix stands before the path of a file that is written by what reads otherwise.
	writePrefix = "> "
)

// maxJudged bounds the text that is added for commands within commands, in bytes.
const maxJudged = 1 << 20

// maxNesting bounds scripts within scripts.
const maxNesting = 8

// write is a file that the text writes.
type write struct {
	path  string // absolute, not clean
	named bool   // by a command whose name says so
}

// invocation is a simple command, or the one inside of another.
type invocation struct {
	name   string // without its directory
	args   []arg
	source string
	dirs   []string
	input  input
}

// input is what a command reads when it reads a script from its standard input.
type input struct {
	text  string
	known bool
}

// unjudged adds text of which the effect is not known.
func (t *tracer) unjudged(text string) {
	text = strings.TrimSpace(text)
	c := command{text: unjudgedPrefix + text, always: exact(unjudgedPrefix + text)}
	t.add(c)
}

func (t *tracer) add(c command) {
	if t.patterns[c.text] {
		return
	}
	if t.size += len(c.text); t.size > maxJudged {
		t.lost = true // the whole text is added instead
		return
	}
	t.patterns[c.text] = true
	t.found.commands = append(t.found.commands, c)
}

// text returns the source from one word to another.
func (t *tracer) text(from, to *syntax.Word) string { return slice(t.source, from.Pos(), to.End()) }

// script judges a text that a command runs as a script. It returns where it leaves the shell, if it runs in it.
func (t *tracer) script(text string, dirs []string) []string {
	if t.nesting >= maxNesting {
		t.unjudged(text)
		return dirs
	}
	file, err := parse(text, t.lang)
	if err != nil {
		t.unjudged(text)
		return dirs
	}
	source := t.source
	t.source = text
	t.nesting++
	for _, c := range commands(text, file) {
		t.add(c)
	}
	t.hidden(file)
	out := t.list(file.Stmts, dirs)
	t.nesting--
	t.source = source
	return out
}

// scriptOf judges arguments that are joined to a script.
func (t *tracer) scriptOf(inv *invocation, args []arg) []string {
	words := make([]string, 0, len(args))
	for _, a := range args {
		if !a.exact {
			t.unjudged(inv.source)
			return inv.dirs
		}
		words = append(words, a.text)
	}
	if len(words) == 0 {
		return inv.dirs
	}
	return t.script(strings.Join(words, " "), inv.dirs)
}

// inner judges the command that another one runs. more says that it gets arguments which are not known.
func (t *tracer) inner(inv *invocation, args []arg, more bool) after {
	if len(args) == 0 {
		return same(inv.dirs)
	}
	words := make([]*syntax.Word, 0, len(args))
	for _, a := range args {
		words = append(words, a.word)
	}
	text := t.text(words[0], words[len(words)-1])
	if !changesDirectoryName(args[0].text) {
		t.add(describe(t.source, text, words[0].Pos(), words))
	}
	if more {
		args = append(slices.Clone(args), arg{word: words[len(words)-1], loose: true})
	}
	if t.nesting >= maxNesting {
		t.unjudged(text)
		return same(inv.dirs)
	}
	t.nesting++
	defer func() { t.nesting-- }()
	return t.judge(args, text, inv.dirs, inv.input)
}

// judge looks at a command with all its words.
func (t *tracer) judge(args []arg, source string, dirs []string, in input) after {
	if len(args) == 0 {
		return same(dirs)
	}
	if !args[0].exact {
		t.unjudged(source)
		return same(dirs)
	}
	inv := &invocation{name: path.Base(args[0].text), args: args[1:], source: source, dirs: dirs, input: in}
	t.normalize(inv, args)
	if changesDirectoryName(inv.name) && t.nesting > 0 {
		words := make([]*syntax.Word, 0, len(inv.args))
		for _, a := range inv.args {
			words = append(words, a.word)
		}
		return t.change(inv.name, words, dirs)
	}
	name := inv.name
	if w, ok := wrappers[name]; ok {
		return t.wrapper(inv, w)
	}
	if allowed, ok := interpreters[unversioned(name)]; ok {
		t.interpreter(inv, allowed)
		return same(dirs)
	}
	if shells[name] {
		t.shell(inv)
		return same(dirs)
	}
	if opaque[name] {
		t.unjudged(source)
	}
	if to, ok := t.special(inv); ok {
		return same(to)
	}
	if spec, ok := tools[name]; ok {
		t.tool(inv, spec)
	}
	return same(dirs)
}

// normalize notes the command without quotes, directories, assignments and options of git, so that no rule against
// it misses it for the way it is written.
func (t *tracer) normalize(inv *invocation, args []arg) {
	words := []string{inv.name}
	rest := args[1:]
	if inv.name == "git" {
		rest = rest[gitOptions(rest):]
	}
	for _, a := range rest {
		if a.text == "" && !a.exact {
			words = append(words, t.text(a.word, a.word))
			continue
		}
		words = append(words, a.text)
	}
	plain := strings.Join(words, " ")
	if t.plain[plain] {
		return
	}
	if t.size += len(plain); t.size > maxJudged {
		t.lost = true
		return
	}
	t.plain[plain] = true
	t.found.plain = append(t.found.plain, plain)
}

// unversioned takes a version off a name: python3.11.
func unversioned(name string) string {
	if name == "python2" || name == "python3" || name == "pypy3" {
		return name
	}
	return strings.TrimRight(name, "0123456789.")
}

// tool judges a command whose options are known.
func (t *tracer) tool(inv *invocation, spec tool) {
	l := readLine(inv.args, spec.values, spec.stop)
	if l.unknown && (spec.writes != "" || spec.runs != "") {
		t.unjudged(inv.source)
	}
	t.options(inv, l, spec)
	operands := l.operands[min(spec.skip, len(l.operands)):]
	if slices.ContainsFunc(l.options, func(o option) bool { return spec.place != "" && o.is(spec.place) }) {
		t.writes(inv, operands, false)
	}
	switch spec.target {
	case targetAll:
		t.writes(inv, operands, spec.named)
	case targetLast:
		if n := len(operands); n > 0 {
			t.into(inv, operands[:n-1], operands[n-1])
		}
	case targetSecond:
		if len(operands) > 1 {
			t.writes(inv, operands[1:2], spec.named)
		}
	case targetPlace:
		t.writes(inv, []arg{known(nil, ".")}, spec.named)
	}
	if inv.name == "mv" && len(operands) > 1 {
		t.into(inv, operands[:len(operands)-1], operands[len(operands)-1])
	}
	if inv.name == "rsync" && slices.ContainsFunc(operands, func(a arg) bool { return strings.Contains(a.text, ":") }) {
		t.unjudged(inv.source)
	}
}

// options judges the options of a line that write or run something.
func (t *tracer) options(inv *invocation, l line, spec tool) {
	for _, o := range l.options {
		switch {
		case spec.runs != "" && o.is(spec.runs):
			t.unjudged(inv.source)
		case spec.writes != "" && o.is(spec.writes) && o.value.word != nil:
			t.writes(inv, []arg{o.value}, spec.named)
		case spec.writes != "" && o.is(spec.writes):
			t.unjudged(inv.source)
		}
	}
}

// into notes the files that appear at target, or in it when it is a directory.
func (t *tracer) into(inv *invocation, sources []arg, target arg) {
	t.writes(inv, []arg{target}, true)
	for _, s := range sources {
		if s.exact && target.exact {
			t.writes(inv, []arg{known(target.word, strings.TrimSuffix(target.text, "/")+"/"+path.Base(s.text))}, true)
		}
	}
}

// writes notes files that are written. One that is not known cannot be judged.
func (t *tracer) writes(inv *invocation, targets []arg, named bool) {
	for _, a := range targets {
		if a.glob && named && !a.exact {
			t.writesMatching(inv, a)
			continue
		}
		if !a.exact {
			t.unjudged(inv.source)
			continue
		}
		t.wrote(inv.dirs, a.text, named)
	}
}

func (t *tracer) wrote(dirs []string, text string, named bool) {
	if text == "" || text == "-" {
		return
	}
	for _, dir := range dirs {
		w := write{from(dir, text), named}
		if !isDevice(path.Clean(w.path)) && !slices.Contains(t.found.writes, w) {
			t.found.writes = append(t.found.writes, w)
		}
	}
}

// wrapper judges the command behind another one.
func (t *tracer) wrapper(inv *invocation, spec tool) after {
	args := inv.args
	for {
		l := readLine(args, spec.values, true)
		if l.unknown {
			t.unjudged(inv.source)
		}
		t.options(inv, l, spec)
		args = args[min(l.rest, len(args)):]
		n := t.assignments(inv, args)
		args = args[n:]
		if n == 0 {
			break
		}
	}
	args = args[min(spec.skip, len(args)):]
	if inv.name == "nice" && len(args) > 0 && strings.Trim(args[0].text, "-+0123456789") == "" {
		args = args[1:]
	}
	if len(args) > 0 && args[0].maybeOption() {
		t.unjudged(inv.source)
	}
	out := t.inner(inv, args, false)
	if inv.name == "builtin" || inv.name == "exec" {
		return out
	}
	return same(inv.dirs)
}

// assignments judges NAME=value arguments at the start and returns how many there are.
func (t *tracer) assignments(inv *invocation, args []arg) int {
	for i, a := range args {
		name, _, ok := strings.Cut(a.text, "=")
		if !ok || strings.HasPrefix(name, "-") {
			return i
		}
		if isDecisive(name) {
			t.unjudged(inv.source)
		}
	}
	return len(args)
}

func isDecisive(name string) bool {
	name = strings.TrimSuffix(name, "+")
	return decisive[name] || slices.ContainsFunc(decisivePrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// interpreter judges a command that runs code of another language. A script file is named by the command's text.
func (t *tracer) interpreter(inv *invocation, allowed string) {
	for i, a := range inv.args {
		if !a.exact && a.maybeOption() || a.text == "-" || isInput(a) {
			break
		}
		if !strings.HasPrefix(a.text, "-") {
			return
		}
		name := strings.TrimLeft(a.text, "-")
		if i == 0 && len(inv.args) == 1 && (name == "version" || name == "help" || name == "V" || name == "v") {
			return
		}
		if strings.HasPrefix(inv.name, "py") && name == "m" || (option{name: name}).is(allowed) && allowed != "" {
			if name == "m" || name == "test" {
				return
			}
			continue
		}
		break
	}
	t.unjudged(inv.source)
}

// isInput reports whether the argument names what a command reads anyway, or what another one writes.
func isInput(a arg) bool {
	if strings.HasPrefix(a.text, "/dev/") || strings.HasPrefix(a.text, "/proc/") {
		return true
	}
	for _, part := range a.word.Parts {
		if _, ok := part.(*syntax.ProcSubst); ok {
			return true
		}
	}
	return false
}

// shell judges a shell: its command, its input, or a script file, which the command's text names.
func (t *tracer) shell(inv *invocation) {
	if inv.name == "zsh" {
		t.unjudged(inv.source) // its language is another one
	}
	args := inv.args
	command, stdin := false, false
	for len(args) > 0 {
		a := args[0]
		if a.maybeOption() {
			t.unjudged(inv.source)
			return
		}
		if a.exact && (a.text == "--" || a.text == "-") {
			args = args[1:]
			break
		}
		if len(a.text) < 2 || a.text[0] != '-' && a.text[0] != '+' {
			break
		}
		args = args[1:]
		switch {
		case strings.HasPrefix(a.text, "--"):
			if a.text == "--rcfile" || a.text == "--init-file" {
				t.unjudged(inv.source)
			}
		case !a.exact:
			t.unjudged(inv.source)
		default:
			command = command || strings.Contains(a.text, "c")
			stdin = stdin || strings.Contains(a.text, "s")
			if strings.Contains(a.text, "i") {
				t.unjudged(inv.source) // reads the user's files
			}
			args = args[min(strings.Count(a.text, "o")+strings.Count(a.text, "O"), len(args)):]
		}
	}
	switch {
	case command && len(args) > 0:
		t.scriptOf(inv, args[:1])
	case command:
		t.unjudged(inv.source)
	case len(args) == 0 || stdin:
		if len(inv.args) == 1 && (inv.args[0].text == "--version" || inv.args[0].text == "--help") {
			return
		}
		if inv.input.known {
			t.script(inv.input.text, inv.dirs)
			return
		}
		t.unjudged(inv.source)
	case !args[0].exact || isInput(args[0]):
		t.unjudged(inv.source)
	}
}
