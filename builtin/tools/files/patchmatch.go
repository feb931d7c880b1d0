package files

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// patched applies the hunks to the content of the file name. If the last line has no line break, it still
// has none afterwards. note says where a hunk did not match exactly.
func patched(name string, content []byte, hunks []hunk) (after []byte, note string, err error) {
	doc := newDocument(content)
	doc.complete()
	f := &patchFile{textLines: splitLines(doc.text), name: name}
	var all []replacement
	for i, h := range hunks {
		at, err := f.find(i+1, h)
		// Often empty lines at the end are not lines of the file but separate two parts of the patch.
		for tries := 3; err != nil && tries > 0 && len(h.lines) > 0 && h.lines[len(h.lines)-1] == (hunkLine{' ', ""}); tries-- {
			h.lines = h.lines[:len(h.lines)-1]
			if again, found := f.find(i+1, h); found == nil {
				at, err = again, nil
			}
		}
		if err != nil {
			return nil, "", err
		}
		for i, line := range h.old() {
			if note == "" && forms[1](line) != forms[1](f.lines[at+i]) {
				note = fmt.Sprintf(" (line %d was matched ignoring indentation or typography, and the new lines were not adapted; check them)", at+i+1)
			}
		}
		all = append(all, f.replace(at, h)...)
	}
	return doc.apply(all), note, nil
}

// patchFile is a file in which hunks are searched from top to bottom.
type patchFile struct {
	textLines
	name   string
	next   int         // the line after the last hunk
	formed [4][]string // the lines in each of forms, computed on first use
}

// find returns the line at which hunk number n applies.
func (f *patchFile) find(n int, h hunk) (int, error) {
	from := f.next
	for _, context := range h.context {
		at := f.heading(context, from)
		if at < 0 {
			return 0, f.missing(n, from, f.heading(context, 0), []string{context}, "the line after @@ is")
		}
		from = at + 1
	}
	old := h.old()
	if len(old) == 0 && (h.atEnd || len(h.context) == 0) {
		return len(f.lines), nil
	}
	if len(old) == 0 {
		return from, nil
	}
	starts := []int{from}
	if h.atEnd {
		starts = []int{max(len(f.lines)-len(old), from), from}
	}
	if len(h.context) > 0 {
		starts = append(starts, from-1) // the hunk repeats the line after @@
	}
	for _, start := range starts {
		if at := f.seek(old, start); at >= 0 {
			return at, nil
		}
	}
	return 0, f.missing(n, from, f.seek(old, 0), old, "its unchanged and removed lines are")
}

// heading returns the first line at or after from that is the text after @@, or begins with it, or -1. Models write only the name: @@ func Total.
func (f *patchFile) heading(text string, from int) int {
	if at := f.seek([]string{text}, from); at >= 0 {
		return at
	}
	text = strings.TrimSpace(text)
	for i := from; i < len(f.lines); i++ {
		rest, begins := strings.CutPrefix(strings.TrimSpace(f.lines[i]), text)
		if begins && (strings.IndexFunc(rest, inWord) != 0 || strings.TrimRightFunc(text, inWord) == text) {
			return i
		}
	}
	return -1
}

func inWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// replace returns the replacements for a hunk that applies at a line, and lets the next search begin after the
// hunk. Unchanged lines keep the file's text.
func (f *patchFile) replace(at int, h hunk) []replacement {
	var all []replacement
	for lines := h.lines; len(lines) > 0; {
		if lines[0].kind == ' ' {
			lines = lines[1:]
			at++
			continue
		}
		var text strings.Builder
		from := at
		for ; len(lines) > 0 && lines[0].kind != ' '; lines = lines[1:] {
			if lines[0].kind == '-' {
				at++
			} else {
				text.WriteString(lines[0].text + "\n")
			}
		}
		all = append(all, replacement{span{f.starts[from], f.starts[at]}, text.String()})
	}
	f.next = at
	return all
}

// forms are the forms in which lines are compared, strict ones first.
var forms = [4]func(string) string{nil, func(s string) string { return strings.TrimRight(s, " \t\r") }, strings.TrimSpace, plain}

// seek returns the first line at or after from where the lines match, compared less and less strictly, or -1.
func (f *patchFile) seek(want []string, from int) int {
	for i, form := range forms {
		if f.formed[i] == nil {
			f.formed[i] = inForm(f.lines, form)
		}
		for at := range blocks(f.formed[i], inForm(want, form), from) {
			return at
		}
	}
	return -1
}

// plain replaces typographic characters by plain ones, and composes letters: models and editors mix them up.
func plain(s string) string {
	return norm.NFC.String(strings.TrimSpace(strings.Map(func(r rune) rune {
		switch r {
		case '‐', '‑', '‒', '–', '—', '―', '−':
			return '-'
		case '‘', '’', '‚', '‛':
			return '\''
		case '“', '”', '„', '‟':
			return '"'
		case '\u00a0', '\u2002', '\u2003', '\u2004', '\u2005', '\u2006', '\u2007', '\u2008', '\u2009', '\u200a', '\u202f', '\u205f', '\u3000':
			return ' '
		}
		return r
	}, s)))
}

// missing returns the error for a hunk with lines that are not in the file after line from. at is their line in the whole file, or -1.
func (f *patchFile) missing(n, from, at int, want []string, what string) error {
	text := fmt.Sprintf("hunk %d of %q does not apply: %s not in the file", n, f.name, what)
	if at >= 0 {
		return fmt.Errorf("%w: %s after line %d, but at line %d. Put the hunks in the order of the file, and do not repeat lines of the previous hunk; the line after @@ must be above the hunk",
			errNoMatch, text, from, at+1)
	}
	const limit = 6
	text += ". Expected:\n  " + strings.Join(want[:min(len(want), limit)], "\n  ")
	if len(want) > limit {
		text += fmt.Sprintf("\n  … %d more", len(want)-limit)
	}
	return fmt.Errorf("%w: %s\n%s", errNoMatch, text,
		strings.TrimPrefix(closest(f.lines, want), ". "))
}
