package input

import (
	"strconv"
	"strings"

	"github.com/tenonhq/tenon/internal/lazyregexp"
)

// The syntax of templates is opencode's, see https://opencode.ai/docs/commands.
var (
	// templateShell is a shell command whose output takes its place.
	templateShell = lazyregexp.New("!`([^`]+)`")
	// placeholder is replaced by arguments, unless it is a number of several digits.
	placeholder = lazyregexp.New(`\$(ARGUMENTS|[0-9]+)`)
	// argument is one of the words of the arguments: a mention of an attached image, a text in quotes, or a word between those.
	argument = lazyregexp.New(`(?i)\[Image\s+\d+\]|"[^"]*"|'[^']*'|[^\s"']+`)
	// plainArguments matches arguments in which no character has a special meaning to a shell, quoted or
	// not; words are separated by spaces.
	plainArguments = lazyregexp.New(`^[A-Za-z0-9_./:@%+=, -]*$`)
)

// ShellCommands returns the shell commands of a command's template as they are written: !`…`.
func ShellCommands(template string) []string { return templateShell().FindAllString(template, -1) }

// pieceKind is the kind of a piece of a filled template.
type pieceKind int

const (
	pieceTemplate pieceKind = iota // literal text of the template
	pieceArgument                  // text of the user
	pieceShell                     // a shell command and, once it ran, its output
)

// piece is a part of a filled template.
type piece struct {
	kind pieceKind
	text string // of a shell command: the command that runs
	// output takes the place of a shell command.
	output string
}

// fillTemplate puts arguments into a template. $ARGUMENTS stands for all of them, $1 to $9 for one each; the highest used number takes the
// rest. Without placeholders, the arguments follow the template after a blank line. Arguments are not parsed again: they add neither
// placeholders nor shell commands. Without shell, !`…` is ordinary text.
func fillTemplate(template, arguments string, shell bool) []piece {
	f := filler{arguments: arguments, words: splitArguments(arguments)}
	for _, m := range placeholder().FindAllStringSubmatch(template, -1) {
		if n := placeNumber(m[1]); n > 0 || m[1] == "ARGUMENTS" {
			f.used, f.highest = true, max(f.highest, n)
		}
	}
	at := 0
	if shell {
		for _, m := range templateShell().FindAllStringSubmatchIndex(template, -1) {
			f.text(template[at:m[0]])
			f.pieces = append(f.pieces, piece{kind: pieceShell, text: f.shell(template[m[2]:m[3]])})
			at = m[1]
		}
	}
	f.text(template[at:])
	if !f.used && strings.TrimSpace(arguments) != "" {
		f.pieces = append(f.pieces, piece{text: "\n\n"}, piece{kind: pieceArgument, text: arguments})
	}
	return f.pieces
}

// filler fills one template.
type filler struct {
	arguments string
	words     []string
	highest   int  // number that the template uses
	used      bool // the template contains a placeholder
	pieces    []piece
}

// placeNumber returns the number of a placeholder from 1 to 9, else 0.
func placeNumber(name string) int {
	if n, err := strconv.Atoi(name); err == nil && len(name) == 1 {
		return n
	}
	return 0
}

// value returns the value of the placeholder $n.
func (f *filler) value(n int) string {
	switch {
	case n > len(f.words):
		return ""
	case n == f.highest:
		return strings.Join(f.words[n-1:], " ")
	}
	return f.words[n-1]
}

// text adds a text of the template.
func (f *filler) text(text string) {
	at := 0
	for _, m := range placeholder().FindAllStringSubmatchIndex(text, -1) {
		name := text[m[2]:m[3]]
		value := f.arguments
		if n := placeNumber(name); n > 0 {
			value = f.value(n)
		} else if name != "ARGUMENTS" {
			continue
		}
		f.pieces = append(f.pieces, piece{text: text[at:m[0]]}, piece{kind: pieceArgument, text: value})
		at = m[1]
	}
	f.pieces = append(f.pieces, piece{text: text[at:]})
}

// shell returns a shell command with the arguments, which can never become code in it. Arguments without special characters of a shell
// replace the placeholders, so that the user sees the command that runs. Others become the positional parameters of the shell, in a line
// before the command; the placeholders stay and refer to them.
func (f *filler) shell(command string) string {
	if !placeholder().MatchString(command) {
		return command
	}
	plain := plainArguments().MatchString(strings.Join(f.words, " "))
	filled := placeholder().ReplaceAllStringFunc(command, func(place string) string {
		n := placeNumber(place[1:])
		switch {
		case n > 0 && plain:
			return f.value(n)
		case n > 0 || place != "$ARGUMENTS":
			return place
		case plain:
			return strings.Join(f.words, " ")
		}
		return "$*"
	})
	if plain {
		return filled
	}
	set := "set --"
	for n := 1; n <= len(f.words) && (f.highest == 0 || n <= f.highest); n++ {
		set += " '" + strings.ReplaceAll(f.value(n), "'", `'\''`) + "'"
	}
	return set + "\n" + filled
}

// Author is the author of a template.
type Author int

// The authors of templates.
const (
	AuthorUser       Author = iota
	AuthorRepository        // its mentions reach no further than the project: no server is asked about them
	AuthorPlugin            // its mentions are text
)

// joinPieces returns the prompt, and the ranges of it that the user did not write: the output of shell commands and, depending on its author,
// the literal text of the template.
func joinPieces(pieces []piece, by Author) (text string, foreign spans) {
	var out strings.Builder
	for _, p := range pieces {
		start, content := out.Len(), p.text
		if p.kind == pieceShell {
			content = p.output
		}
		out.WriteString(content)
		written := [2]int{start, out.Len()}
		switch {
		case p.kind == pieceShell, p.kind == pieceTemplate && by == AuthorPlugin:
			foreign.closed = append(foreign.closed, written)
		case p.kind == pieceTemplate && by == AuthorRepository:
			foreign.confined = append(foreign.confined, written)
		}
	}
	return out.String(), foreign
}

// splitArguments returns the words of arguments, without the quotes around them.
func splitArguments(s string) []string {
	words := argument().FindAllString(s, -1)
	for i, word := range words {
		if strings.ContainsAny(word[:1], `"'`) {
			words[i] = word[1 : len(word)-1]
		}
	}
	return words
}
