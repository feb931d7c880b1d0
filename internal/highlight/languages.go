package highlight

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// Language describes how the code of a language looks.
type Language struct {
	Name     string
	comments []string // starts; "~" before one: only after white space
	pairs    []pair
	quotes   []string
	words    map[string]bool
	nocase   bool
}

// pair is the start and end of a comment or a string of several lines.
type pair struct {
	kind       Kind
	start, end string
	escapes    bool // a backslash quotes the next character
}

func (l *Language) kind(word string) Kind {
	if l.nocase {
		word = strings.ToLower(word)
	}
	if l.words[word] {
		return Keyword
	}
	return Text
}

//go:embed languages.txt
var table string

// languages returns the languages by name. The table is read at the first call.
var languages = sync.OnceValue(func() map[string]*Language {
	all := map[string]*Language{}
	var l *Language
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || fields[0] == "#":
		case line[0] != ' ':
			l = &Language{Name: fields[0], words: map[string]bool{}}
			for _, name := range fields {
				all[name] = l
			}
		default:
			l.property(fields[0], fields[1:])
		}
	}
	return all
})

func (l *Language) property(name string, values []string) {
	switch name {
	case "comment":
		l.comments = values
	case "block", "long", "raw":
		p := map[string]pair{"block": {kind: Comment}, "long": {kind: String, escapes: true}, "raw": {kind: String}}[name]
		for marks := range slices.Chunk(values, 2) {
			p.start, p.end = marks[0], marks[1]
			l.pairs = append(l.pairs, p)
		}
	case "string":
		l.quotes = values
	case "words":
		for _, v := range values {
			l.words[v] = true
		}
		l.nocase = l.words["nocase"]
	}
}
