package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Limits of a text that is parsed for deny rules. The time for parsing grows with the square of the nesting.
const (
	maxParsed = 32 << 10 // bytes
	maxOpened = 100      // opening characters
)

// parsed records every simple command, written file and outside path that it finds in a text outside the grammar, so that deny rules apply.
// It may miss some, so while a rule names a command, only the user can allow such a text.
func (j *judge) parsed(text string, shell shell) {
	tokens := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`();|&<>{}", r) })
	slices.Sort(tokens)
	for _, token := range slices.Compact(tokens) { // each lookup costs system calls
		_ = j.path(token)
	}
	if shell.grammar {
		j.commandsIn(text, false)
	}
}

// known reports whether a command is a program of the table, some of which run others, or one of the shell's own commands.
func known(words []word) bool {
	p, _, err := programOf(path.Base(words[0].text), words)
	return p != nil || err != nil
}

// commandsIn records every simple command and written file that it finds in a text. maybe says that the text may not be run.
func (j *judge) commandsIn(text string, maybe bool) {
	opened := strings.Count(text, "(") + strings.Count(text, "{") + strings.Count(text, "`") + strings.Count(text, "do") + strings.Count(text, "then")
	if len(text) > maxParsed || opened > maxOpened {
		return
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.CallExpr:
			words := make([]word, len(node.Args))
			for i, w := range node.Args {
				words[i].text = static(w, text)
			}
			for i := range words {
				if i > 0 && maybe && !known(words) { // prose contains the words of commands, too
					break
				}
				j.imply("bash", normal(words[i:]), maybe || i > 0)
			}
		case *syntax.Redirect:
			if node.Word != nil && strings.Contains(node.Op.String(), ">") {
				j.implyFile("edit", static(node.Word, text), maybe)
			}
		}
		return true
	})
}

// static returns a word without its quotes. A word with expansions is returned as it is.
func static(w *syntax.Word, text string) string {
	source := text[min(int(w.Pos().Offset()), len(text)):min(int(w.End().Offset()), len(text))]
	if !strings.ContainsAny(source, "$`<>({") {
		if value, err := expand.Literal(&expand.Config{}, w); err == nil {
			return value
		}
	}
	return source
}
