package archtest

import (
	_ "embed" // the exceptions
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// awkward matches words that comments, strings and pages of this module avoid: each has a plainer form, such as "no user" for "nobody", "again"
// for "anew", "fix" for "mend", "is not a file" for "is no file".
var awkward = regexp.MustCompile(`(?i)\banew\b|\b(?:is|are) no \w+|\b(?:is|are) told\b|\bstands? (?:at|before|behind|in|for|there|on|alone|twice)\b|\bmend\b|\bfor people\b|\bbut for\b|\b(?:no|some)body\b`)

// headless matches a statement that begins with "What", such as "What a rule denies stays denied". A question is fine.
var headless = regexp.MustCompile(`(?:^|[.;:] )What [^?]*$`)

// plain are phrases that awkward matches and that are fine.
var plain = regexp.MustCompile(`(?i)\bno longer\b|\bstands? for\b`)

// wordingDebt lists files with awkward words and how many each has, one a line. Fewer are fine; a file without any leaves the list. To rename
// files, run go test ./internal/archtest -run Wording -update, and check that the sum did not grow.
//
//go:embed wording.txt
var wordingDebt string

// Wording forbids awkward words, except in the files of wording.txt.
func Wording(m *Module) []Violation { return m.overDebt(m.awkward(), debts()) }

// Debts returns the content of wording.txt that the module needs.
func Debts(m *Module) string {
	var out strings.Builder
	found := m.awkward()
	for _, name := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintln(&out, name, len(found[name]))
	}
	return out.String()
}

// awkward returns the awkward words of each file and page.
func (m *Module) awkward() map[string][]Violation {
	found := map[string][]Violation{}
	for _, f := range m.Files {
		if ast.IsGenerated(f.AST) || f.Dir == "internal/archtest" { // which names them
			continue
		}
		f.texts(func(pos token.Pos, text string) {
			if word := awkwardIn(text); word != "" {
				found[f.Name] = append(found[f.Name], m.at(f, pos, "%q; write it plainly", word))
			}
		})
	}
	for _, p := range m.Pages {
		for i, line := range strings.Split(p.Text, "\n") {
			if word := awkwardIn(line); word != "" {
				found[p.Name] = append(found[p.Name], Violation{Name: p.Name, Line: i + 1, Message: fmt.Sprintf("%q; write it plainly", word)})
			}
		}
	}
	return found
}

// overDebt returns the violations of files with more than they may have, and files that need no line in the list.
func (m *Module) overDebt(found map[string][]Violation, debt map[string]int) (out []Violation) {
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if len(found[name]) > debt[name] {
			out = append(out, found[name]...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(debt)) {
		if len(found[name]) == 0 && m.hasText(name) {
			out = append(out, Violation{Name: "internal/archtest/wording.txt", Message: name + " has no awkward words left; remove its line"})
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

// debts returns the number of awkward words that each file of wording.txt may have.
func debts() map[string]int {
	out := map[string]int{}
	for line := range strings.Lines(wordingDebt) {
		name, count, _ := strings.Cut(strings.TrimSpace(line), " ")
		out[name], _ = strconv.Atoi(count) // zero in a bad line
	}
	delete(out, "")
	return out
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

// hasText reports whether the module has the file or page.
func (m *Module) hasText(name string) bool {
	return slices.ContainsFunc(m.Files, func(f *File) bool { return f.Name == name }) ||
		slices.ContainsFunc(m.Pages, func(p Page) bool { return p.Name == name })
}
