package shell

import (
	"errors"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// command is one simple command of a text.
type command struct {
	text   string // its source, redirections and assignments included
	always string // the pattern that an answer "always" allows; empty: none can be named
}

// maxDepth bounds how deep substitutions may stand within each other: each is a command whose text holds those of all within it.
const maxDepth = 100

var errTooDeep = errors.New("substitutions within substitutions")

// parse reads text as a script of the language. Nothing is run or expanded. errTooDeep when it exceeds maxDepth.
func parse(text string, lang syntax.LangVariant) (*syntax.File, error) {
	file, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(text), "")
	if err == nil && depth(file) > maxDepth {
		return nil, errTooDeep
	}
	return file, err
}

// depth returns how deep substitutions stand within each other.
func depth(file *syntax.File) (deepest int) {
	var open []bool // the nodes around the current one: whether each is a substitution
	now := 0
	syntax.Walk(file, func(node syntax.Node) bool {
		switch node.(type) {
		case nil: // what was opened last is done
			if open[len(open)-1] {
				now--
			}
			open = open[:len(open)-1]
			return true
		case *syntax.CmdSubst, *syntax.ProcSubst:
			now++
			deepest = max(deepest, now)
			open = append(open, true)
		default:
			open = append(open, false)
		}
		return true
	})
	return deepest
}

// commands returns every simple command in the script, wherever it stands: in pipes, lists, loops,
// functions, substitutions and here-documents. Changes of directory are left out, what they touch is
// asked for on its own; a redirection without a command stands for itself.
func commands(text string, file *syntax.File) []command {
	var found []command
	seen := map[string]bool{}
	add := func(c command) {
		if !seen[c.text] {
			seen[c.text] = true
			found = append(found, c)
		}
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		stmt, ok := node.(*syntax.Stmt)
		if !ok {
			return true
		}
		switch cmd := stmt.Cmd.(type) {
		case *syntax.CallExpr:
			if !changesDirectory(cmd) || len(stmt.Redirs) > 0 || len(cmd.Assigns) > 0 {
				add(simple(text, stmt, cmd))
			}
		case *syntax.DeclClause, *syntax.LetClause:
			add(command{text: source(text, stmt), always: exact(source(text, stmt))})
		default:
			// Files that a compound command writes are judged by the tracer.
			if len(stmt.Redirs) > 0 && stmt.Cmd == nil {
				words := slice(text, stmt.Redirs[0].Pos(), lastEnd(stmt))
				add(command{text: words, always: exact(words)})
			}
		}
		return true
	})
	return found
}

// simple describes the command of a statement.
func simple(text string, stmt *syntax.Stmt, call *syntax.CallExpr) command {
	return describe(text, source(text, stmt), stmtStart(stmt), call.Args)
}

// describe describes a command that begins at start in text and has these words.
func describe(text, source string, start syntax.Pos, args []*syntax.Word) command {
	c := command{text: source}
	var words []string
	for _, arg := range args {
		word := arg.Lit()
		if word == "" || strings.ContainsAny(word, "*?[{~\\") {
			break
		}
		words = append(words, word)
	}
	n := prefixWords(words)
	if n == 0 || n > len(words) || slices.ContainsFunc(words[1:n], isFlag) {
		c.always = exact(c.text)
		return c
	}
	prefix := slice(text, start, args[n-1].End())
	if strings.ContainsAny(prefix, "*?") {
		return c
	}
	if strings.ContainsAny(prefix[:1], "<>&0123456789") { // a redirection: what it names belongs to the command
		c.always = exact(c.text)
		return c
	}
	c.always = prefix + " *"
	return c
}

// exact returns the pattern that matches text alone, or nothing when its characters have a meaning in
// patterns.
func exact(text string) string {
	if strings.ContainsAny(text, "*?") {
		return ""
	}
	return text
}

func isFlag(word string) bool { return strings.HasPrefix(word, "-") || strings.HasPrefix(word, "+") }

// changesDirectory reports whether the command is one that only changes the directory.
func changesDirectory(call *syntax.CallExpr) bool {
	return len(call.Args) > 0 && changesDirectoryName(call.Args[0].Lit())
}

func changesDirectoryName(name string) bool { return slices.Contains(directoryCommands, name) }

var directoryCommands = []string{"cd", "pushd", "popd"}

// source returns the text of a simple command with its redirections, without ! before and ; or & after.
func source(text string, stmt *syntax.Stmt) string {
	return slice(text, stmtStart(stmt), lastEnd(stmt))
}

func stmtStart(stmt *syntax.Stmt) syntax.Pos {
	var start syntax.Pos
	if stmt.Cmd != nil {
		start = stmt.Cmd.Pos()
	}
	for _, r := range stmt.Redirs {
		if stmt.Cmd == nil || start.After(r.Pos()) {
			return r.Pos()
		}
	}
	return start
}

func lastEnd(stmt *syntax.Stmt) syntax.Pos {
	var end syntax.Pos
	if stmt.Cmd != nil {
		end = stmt.Cmd.End()
	}
	for _, r := range stmt.Redirs {
		for _, at := range []syntax.Pos{r.Word.End(), r.End()} {
			if stmt.Cmd == nil && !end.IsValid() || at.After(end) {
				end = at
			}
		}
	}
	return end
}

func slice(text string, from, to syntax.Pos) string {
	start := min(int(from.Offset()), len(text))
	end := min(max(int(to.Offset()), start), len(text))
	return strings.TrimSpace(text[start:end])
}
