package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strings"
)

// awkward matches words that comments, strings and pages of this module avoid: each has a plainer form, such as "no user" for "nobody", "again"
// for "anew", "fix" for "mend", "is not a file" for "is no file".
var awkward = regexp.MustCompile(`(?i)\banew\b|\b(?:is|are) no \w+|\b(?:is|are) told\b|\bstands? (?:at|before|behind|in|for|there|on|alone|twice)\b|\bmend\b|\bfor people\b|\bbut for\b|\b(?:no|some)body\b`)

// headless matches a statement that begins with "What", such as "What a rule denies stays denied". A question is fine.
var headless = regexp.MustCompile(`(?:^|[.;:] )What [^?]*$`)

// plain are phrases that awkward matches and that are fine.
var plain = regexp.MustCompile(`(?i)\bno longer\b|\bstands? for\b`)

// Wording forbids awkward words in comments, strings and pages.
func Wording(m *Module) (out []Violation) {
	for _, f := range m.Files {
		if ast.IsGenerated(f.AST) || f.Dir == "internal/archtest" { // which names them
			continue
		}
		f.texts(func(pos token.Pos, text string) {
			if word := awkwardIn(text); word != "" {
				out = append(out, m.at(f, pos, "%q; write it plainly", word))
			}
		})
	}
	for _, p := range m.Pages {
		for i, line := range strings.Split(p.Text, "\n") {
			if word := awkwardIn(line); word != "" {
				out = append(out, Violation{Name: p.Name, Line: i + 1, Message: fmt.Sprintf("%q; write it plainly", word)})
			}
		}
	}
	return out
}

func awkwardIn(line string) string {
	line = plain.ReplaceAllString(line, "")
	if word := awkward.FindString(line); word != "" {
		return word
	}
	return strings.TrimLeft(headless.FindString(line), ".;: ")
}

// texts calls each with every line of a comment and every string of the file.
func (f *File) texts(each func(pos token.Pos, text string)) {
	for _, group := range f.AST.Comments {
		for _, c := range group.List {
			for _, line := range strings.Split(c.Text, "\n") {
				each(c.Pos(), strings.TrimLeft(line, "/* \t"))
			}
		}
	}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			for _, line := range strings.Split(strings.Trim(lit.Value, "\"`"), "\n") {
				each(lit.Pos(), line)
			}
		}
		return true
	})
}
