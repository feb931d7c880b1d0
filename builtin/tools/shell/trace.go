package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of following a script. One that exceeds them is reported as touching everything.
const (
	maxDirs       = 16 // directories a command may run in
	maxRounds     = 8  // of a loop
	maxStatements = 20000
)

// tracer follows a script through its changes of directory and reports the paths its words may name.
// Where it cannot tell which directory a command runs in, it takes all that are possible.
type tracer struct {
	home   string
	report func(path string, certain bool)
	lang   syntax.LangVariant
	source string // the text that is followed, or the script within it
	funcs  map[string]function
	active map[*syntax.Stmt]bool // functions being followed
	seen   []string              // every directory that was current somewhere
	budget int                   // statements left to look at, against loops within loops
	lost   bool                  // the script exceeded a bound
	ran    bool                  // a command came before that may have removed directories

	found      *scan
	patterns   map[string]bool // texts of found.commands
	plain      map[string]bool // found.plain
	size       int             // bytes of what was added to both
	judged     map[place]bool
	nesting    int             // of scripts and commands within commands
	gitSeen    map[string]bool // directories from which a repository was looked for
	loopValues map[string]bool // variables of loops that only take values which are words and no options
}

// function is a function of the script.
type function struct {
	body   *syntax.Stmt
	source string // the text it stands in
}

// place is a command where it was looked at.
type place struct {
	call *syntax.CallExpr
	dirs string
}

// after is where a statement leaves the shell: ok when it succeeded, any whatever it returned.
type after struct{ ok, any []string }

func same(dirs []string) after { return after{dirs, dirs} }

// trace reports every path that the script may touch when it starts in dir, and adds what its commands do to found. A
// path is certain when the command cannot mean anything else by the word.
func trace(file *syntax.File, text string, lang syntax.LangVariant, dir, home string, found *scan, report func(path string, certain bool)) {
	t := &tracer{
		home: home, report: report, lang: lang, source: text, funcs: map[string]function{}, active: map[*syntax.Stmt]bool{}, seen: []string{dir},
		budget: maxStatements, found: found, patterns: map[string]bool{}, plain: map[string]bool{}, judged: map[place]bool{}, loopValues: map[string]bool{},
		gitSeen: map[string]bool{},
	}
	for _, c := range found.commands {
		t.patterns[c.text] = true
	}
	t.hidden(file)
	t.list(file.Stmts, []string{dir})
	if t.lost {
		report(filepath.VolumeName(dir)+string(filepath.Separator), true)
		t.size = 0
		t.unjudged(text)
	}
}

func (t *tracer) list(stmts []*syntax.Stmt, dirs []string) []string {
	for _, stmt := range stmts {
		dirs = t.stmt(stmt, dirs).any
	}
	return dirs
}

func (t *tracer) stmt(stmt *syntax.Stmt, dirs []string) after {
	if t.budget--; t.budget < 0 {
		t.lost = true
		return same(dirs)
	}
	for _, r := range stmt.Redirs {
		t.redirect(r, dirs)
	}
	if stmt.Cmd == nil {
		return same(dirs)
	}
	out := t.command(stmt, dirs)
	switch {
	case stmt.Background || stmt.Coprocess || stmt.Disown:
		return same(dirs)
	case stmt.Negated:
		return same(out.any)
	}
	return out
}

func (t *tracer) redirect(r *syntax.Redirect, dirs []string) {
	t.redirected(r, dirs)
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		t.inside(r.Word, dirs)
	case syntax.DplIn, syntax.DplOut:
		if word := r.Word.Lit(); word != "-" && strings.Trim(word, "0123456789-") != "" {
			t.word(r.Word, dirs, true)
		}
	default:
		t.word(r.Word, dirs, true)
	}
	if r.Hdoc != nil {
		t.inside(r.Hdoc, dirs)
	}
}

func (t *tracer) command(stmt *syntax.Stmt, dirs []string) after {
	switch cmd := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		return t.call(cmd, stmt, dirs)
	case *syntax.BinaryCmd:
		return t.binary(cmd, dirs)
	case *syntax.Block:
		return same(t.list(cmd.Stmts, dirs))
	case *syntax.Subshell:
		t.list(cmd.Stmts, dirs)
		return same(dirs)
	case *syntax.IfClause:
		return same(t.branch(cmd, dirs))
	case *syntax.WhileClause:
		return same(t.loop(dirs, func(dirs []string) []string { return t.list(cmd.Do, t.list(cmd.Cond, dirs)) }))
	case *syntax.ForClause:
		t.inside(cmd.Loop, dirs)
		return same(t.loop(dirs, func(dirs []string) []string { return t.list(cmd.Do, dirs) }))
	case *syntax.CaseClause:
		out := dirs
		t.inside(cmd.Word, dirs)
		for _, item := range cmd.Items {
			out = t.union(out, t.list(item.Stmts, dirs))
		}
		return same(out)
	case *syntax.FuncDecl:
		if cmd.Name != nil {
			t.funcs[cmd.Name.Value] = function{cmd.Body, t.source}
		}
		t.stmt(cmd.Body, dirs)
		return same(dirs)
	case *syntax.TimeClause:
		if cmd.Stmt == nil {
			return same(dirs)
		}
		return t.stmt(cmd.Stmt, dirs)
	}
	t.inside(stmt.Cmd, dirs)
	return same(dirs)
}

func (t *tracer) binary(cmd *syntax.BinaryCmd, dirs []string) after {
	switch cmd.Op {
	case syntax.AndStmt:
		x := t.stmt(cmd.X, dirs)
		y := t.stmt(cmd.Y, x.ok)
		return after{y.ok, t.union(x.any, y.any)}
	case syntax.OrStmt:
		x := t.stmt(cmd.X, dirs)
		y := t.stmt(cmd.Y, x.any)
		return after{t.union(x.ok, y.ok), t.union(x.any, y.any)}
	}
	t.stmt(cmd.X, dirs) // the sides of a pipe are subshells
	t.stmt(cmd.Y, dirs)
	return same(dirs)
}

func (t *tracer) branch(cmd *syntax.IfClause, dirs []string) []string {
	cond := t.list(cmd.Cond, dirs)
	out := t.union(cond, t.list(cmd.Then, cond))
	if cmd.Else != nil {
		out = t.union(out, t.branch(cmd.Else, cond))
	}
	return out
}

// loop follows a body until it leads nowhere new.
func (t *tracer) loop(dirs []string, body func([]string) []string) []string {
	for range maxRounds {
		next := t.union(dirs, body(dirs))
		if len(next) == len(dirs) {
			return dirs
		}
		dirs = next
	}
	t.lost = true
	return dirs
}

func (t *tracer) call(call *syntax.CallExpr, stmt *syntax.Stmt, dirs []string) after {
	for _, assign := range call.Assigns {
		t.inside(assign, dirs)
	}
	if len(call.Args) == 0 {
		return same(dirs)
	}
	name := call.Args[0].Lit()
	t.parts(call.Args[0], dirs)
	judged := t.look(call, stmt, dirs)
	if f := t.funcs[name]; f.body != nil && !t.active[f.body] {
		t.active[f.body] = true
		defer delete(t.active, f.body)
		for _, arg := range call.Args[1:] {
			t.word(arg, dirs, false)
		}
		source := t.source
		defer func() { t.source = source }()
		t.source = f.source
		return t.stmt(f.body, dirs)
	}
	if changesDirectory(call) {
		return t.change(name, call.Args[1:], dirs)
	}
	for _, arg := range call.Args[1:] {
		t.word(arg, dirs, slices.Contains(fileCommands, filepath.Base(name)))
	}
	t.ran = true
	return judged
}

// look judges what a command does.
func (t *tracer) look(call *syntax.CallExpr, stmt *syntax.Stmt, dirs []string) after {
	key := place{call, strings.Join(dirs, "\x00")}
	if t.judged[key] {
		return same(dirs)
	}
	t.judged[key] = true
	return t.judge(t.args(call.Args, dirs[0]), source(t.source, stmt), dirs, t.inputOf(stmt, dirs))
}

// inputOf returns the script that a statement gives to its command.
func (t *tracer) inputOf(stmt *syntax.Stmt, dirs []string) input {
	var in input
	for _, r := range stmt.Redirs {
		word := r.Hdoc
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			if word == nil {
				word = &syntax.Word{}
			}
		case syntax.WordHdoc:
			word = r.Word
		case syntax.RdrIn, syntax.DplIn, syntax.RdrInOut:
			in = input{}
			continue
		default:
			continue
		}
		in = input{known: true}
		for _, part := range word.Parts {
			text, exact := hereText(part, r, t.home, dirs[0])
			if !exact {
				return input{}
			}
			in.text += text
		}
	}
	return in
}

// hereText returns a part of a here-document, in which quotes mean nothing.
func hereText(part syntax.WordPart, r *syntax.Redirect, home, dir string) (string, bool) {
	lit, ok := part.(*syntax.Lit)
	if !ok || r.Op == syntax.WordHdoc {
		return literalPart(part, home, dir, false)
	}
	if r.Word.Lit() == "" { // quoted: the text is as it stands
		return lit.Value, true
	}
	return unescape(&syntax.DblQuoted{Parts: []syntax.WordPart{lit}}), !strings.Contains(lit.Value, "\\\"")
}

// fileCommands are commands whose arguments are paths or flags.
var fileCommands = []string{
	"cat", "chgrp", "chmod", "chown", "cp", "dd", "du", "head", "install", "less", "link", "ln", "ls", "mkdir", "mkfifo", "more", "mv",
	"rm", "rmdir", "shred", "stat", "tail", "tar", "tee", "touch", "tree", "truncate", "unlink", "unzip", "zip",
}

// change follows cd, pushd and popd.
func (t *tracer) change(name string, args []*syntax.Word, dirs []string) after {
	target := ""
	for _, arg := range args {
		t.parts(arg, dirs)
		lit := literalOf(arg, t.home, dirs[0])
		if !lit.exact {
			t.word(arg, dirs, true)
			return same(t.union(t.seen, dirs))
		}
		if lit.text == "-" || isFlag(lit.text) && name != "cd" {
			return same(t.union(t.seen, dirs))
		}
		if !isFlag(lit.text) {
			target = lit.text
			break
		}
	}
	switch {
	case name != "cd" && target == "": // back to somewhere on the stack
		return same(t.union(t.seen, dirs))
	case target == "":
		target = t.home
	}
	var to []string
	certain := !t.ran
	for _, dir := range dirs {
		path := from(dir, target)
		t.report(path, true)
		to = t.union(to, []string{filepath.Clean(path)}) // as cd does it: .. is the directory it came from
		certain = certain && isDir(path)
	}
	t.seen = t.union(t.seen, to)
	if certain {
		return same(to)
	}
	return after{to, t.union(dirs, to)}
}

// inside reports the words below a node and follows the statements below it.
func (t *tracer) inside(node syntax.Node, dirs []string) {
	syntax.Walk(node, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.CmdSubst:
			t.list(node.Stmts, dirs)
			return false
		case *syntax.ProcSubst:
			t.list(node.Stmts, dirs)
			return false
		case *syntax.Stmt:
			t.stmt(node, dirs)
			return false
		case *syntax.Word:
			t.paths(node, dirs, false)
		}
		return true
	})
}

// word reports an argument and follows the substitutions in it.
func (t *tracer) word(word *syntax.Word, dirs []string, certain bool) {
	t.paths(word, dirs, certain)
	t.parts(word, dirs)
}

func (t *tracer) parts(word *syntax.Word, dirs []string) {
	for _, part := range word.Parts {
		t.inside(part, dirs)
	}
}

func (t *tracer) paths(word *syntax.Word, dirs []string, certain bool) {
	for _, dir := range dirs {
		for _, path := range pathsIn(literalOf(word, t.home, dir), t.home) {
			t.report(from(dir, path), certain)
		}
	}
}

// from returns path as seen from dir. It keeps .. as they are, behind a link they lead elsewhere.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	if volume := filepath.VolumeName(dir); volume != "" && strings.HasPrefix(path, "/") {
		// On Windows, bash writes c:\x as /c/x.
		if len(path) > 1 && (len(path) == 2 || path[2] == '/') {
			volume, path = path[1:2]+":", path[2:]
		}
		return volume + `\` + filepath.FromSlash(strings.TrimPrefix(path, "/"))
	}
	return strings.TrimSuffix(dir, string(filepath.Separator)) + string(filepath.Separator) + path
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (t *tracer) union(a, b []string) []string {
	out := slices.Clone(a)
	for _, dir := range b {
		switch {
		case slices.Contains(out, dir):
		case len(out) == maxDirs:
			t.lost = true
		default:
			out = append(out, dir)
		}
	}
	return out
}
