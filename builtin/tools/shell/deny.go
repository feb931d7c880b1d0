package shell

import (
	"fmt"
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

// parsed records every simple command, named file and outside path that it finds in a text outside the grammar, so that deny rules apply.
// It may miss some, so while a rule names a command, only the user can allow such a text.
func (j *judge) parsed(text string, shell shell) {
	tokens := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`();|&<>{}", r) })
	slices.Sort(tokens)
	for _, token := range slices.Compact(tokens) { // each lookup costs system calls
		_ = j.path(token)
	}
	if shell.grammar {
		_ = j.commandsIn(text, false) // it has no bound of words: the text asks anyway
	}
}

// known reports whether a command is a program of the table, some of which run others, or one of the shell's own commands.
func known(words []word) bool {
	p, _, err := programOf(path.Base(words[0].text), words)
	return p != nil || err != nil
}

// commandsIn records every simple command and written file that it finds in a text. maybe says that the text may not be run. It returns an error
// if too many words of such texts may begin a command.
func (j *judge) commandsIn(text string, maybe bool) (err error) {
	opened := strings.Count(text, "(") + strings.Count(text, "{") + strings.Count(text, "`") + strings.Count(text, "do") + strings.Count(text, "then")
	if len(text) > maxParsed || opened > maxOpened {
		return nil
	}
	file, problem := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if problem != nil {
		return nil
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.CallExpr:
			words := make([]word, len(node.Args))
			for i, w := range node.Args {
				if words[i] = static(w, text); i > 0 {
					j.mayRead(words[i], maybe)
				}
			}
			judged := len(words)
			if maybe && judged > 1 && !known(words) { // prose contains the words of commands, too
				judged = 1
			}
			if maybe {
				if j.within += judged; j.within > maxWords {
					err = fmt.Errorf("more than %d words in texts for other programs", maxWords)
					return false
				}
			}
			for i := range judged {
				j.imply("bash", normal(words[i:]), maybe || i > 0)
			}
		case *syntax.WordIter:
			for _, w := range node.Items {
				j.mayRead(static(w, text), maybe)
			}
		case *syntax.Redirect:
			if node.Word == nil {
				break
			}
			if name := static(node.Word, text); strings.Contains(node.Op.String(), ">") {
				j.implyFile("edit", name.text, maybe)
			} else {
				j.mayRead(name, maybe)
			}
		}
		return true
	})
	return err
}

// mayRead applies rules for reading to the files that a word names or matches.
func (j *judge) mayRead(w word, maybe bool) {
	expanded, _ := j.expand(w) // a rule that denies a file by name makes a text with other patterns ask anyway
	for _, name := range expanded {
		j.reads(name, maybe)
	}
}

// static returns a word without its quotes. The text of a word with expansions is as it is written.
func static(w *syntax.Word, text string) word {
	source := text[min(int(w.Pos().Offset()), len(text)):min(int(w.End().Offset()), len(text))]
	if read, rest, err := readWord(source); err == nil && rest == "" {
		return read
	}
	if !strings.ContainsAny(source, "$`<>({") {
		if value, err := expand.Literal(&expand.Config{}, w); err == nil {
			return word{text: value}
		}
	}
	return word{text: source}
}
