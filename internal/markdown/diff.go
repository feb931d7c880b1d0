package markdown

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/visible"
)

// Kind is the kind of a line of a unified diff.
type Kind int

// The kinds of lines. KindFile is a line with the name of a file.
const (
	KindOther Kind = iota
	KindAdded
	KindRemoved
	KindHunk
	KindFile
)

// DiffReader finds the kinds of lines, one after another. The head of a hunk says how many lines follow, because --- x is a removed line
// within a hunk and the name of a file elsewhere.
type DiffReader struct {
	removed, added int // lines of the hunk that may follow
	old, fresh     int // numbers of the next lines in the old and the new file
}

// hunkHead matches the head of a hunk: its first lines, and the numbers of its lines unless they are 1.
var hunkHead = lazyregexp.New(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// Line returns the kind of the next line.
func (d *DiffReader) Line(line string) Kind {
	switch {
	case strings.HasPrefix(line, "-") && (d.removed > 0 || !strings.HasPrefix(line, "--- ")):
		d.removed, d.old = d.removed-1, d.old+1
		return KindRemoved
	case strings.HasPrefix(line, "+") && (d.added > 0 || !strings.HasPrefix(line, "+++ ")):
		d.added, d.fresh = d.added-1, d.fresh+1
		return KindAdded
	case line == "", strings.HasPrefix(line, " "):
		d.removed, d.added, d.old, d.fresh = d.removed-1, d.added-1, d.old+1, d.fresh+1
		return KindOther
	case strings.HasPrefix(line, `\`): // no newline at the end of the file
		return KindOther
	}
	*d = DiffReader{}
	switch {
	case strings.HasPrefix(line, "@@"):
		if m := hunkHead().FindStringSubmatch(line); m != nil {
			*d = DiffReader{removed: count(m[2]), added: count(m[4]), old: count(m[1]), fresh: count(m[3])}
		}
		return KindHunk
	case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "diff "):
		return KindFile
	}
	return KindOther
}

// count returns the number of lines in the head of a hunk; it is omitted if it is 1.
func count(text string) int {
	if text == "" {
		return 1
	}
	n, _ := strconv.Atoi(text)
	return n
}

// Diff returns the painted lines of a unified diff. It expands tabs, but does not break lines.
func (s *Style) Diff(diff string) []string {
	lines := strings.Split(strings.TrimRight(visible.Text(diff), "\n"), "\n")
	var reader DiffReader
	for i, line := range lines {
		line = detab(line)
		lines[i] = paint(s.diffLook(reader.Line(line)), line)
	}
	return lines
}

// Change returns the painted lines of a unified diff of one file, with line numbers instead of its name and the heads of hunks. Other
// diffs, such as one with two names, look as in Diff.
func (s *Style) Change(diff string) []string {
	names, hunks, _ := strings.Cut(visible.Text(diff), "\n@@ ")
	name, second, _ := strings.Cut(strings.TrimPrefix(names, "--- "), "\n")
	if hunks == "" || second != "+++ "+name || strings.Contains(hunks, "\n+++ ") {
		return s.Diff(diff)
	}
	var out []string
	var reader DiffReader
	for line := range strings.SplitSeq("@@ "+strings.TrimRight(hunks, "\n"), "\n") {
		before := reader
		kind, number := reader.Line(line), ""
		switch {
		case kind == KindHunk && before.fresh == 0: // the first one
			continue
		case kind == KindHunk:
			line = "…"
		case before.fresh > 0 && reader.fresh > before.fresh:
			number = strconv.Itoa(before.fresh)
		case before.old > 0 && reader.old > before.old:
			number = strconv.Itoa(before.old)
		}
		out = append(out, paint(s.diffLook(kind), fmt.Sprintf("%4s %s", number, detab(line))))
	}
	return out
}

// diffLook returns the look of a line of a diff.
func (s *Style) diffLook(kind Kind) string {
	return [...]string{KindOther: "", KindAdded: s.Added, KindRemoved: s.Removed, KindHunk: s.Hunk, KindFile: s.File}[kind]
}
