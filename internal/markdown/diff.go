package markdown

import (
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
type DiffReader struct{ removed, added int } // lines of the hunk that may follow

// hunkHead matches the head of a hunk, with the numbers of its lines unless they are 1.
var hunkHead = lazyregexp.New(`^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@`)

// Line returns the kind of the next line.
func (d *DiffReader) Line(line string) Kind {
	switch {
	case strings.HasPrefix(line, "-") && (d.removed > 0 || !strings.HasPrefix(line, "--- ")):
		d.removed--
		return KindRemoved
	case strings.HasPrefix(line, "+") && (d.added > 0 || !strings.HasPrefix(line, "+++ ")):
		d.added--
		return KindAdded
	case line == "", strings.HasPrefix(line, " "):
		d.removed, d.added = d.removed-1, d.added-1
		return KindOther
	case strings.HasPrefix(line, `\`): // no newline at the end of the file
		return KindOther
	}
	*d = DiffReader{}
	switch {
	case strings.HasPrefix(line, "@@"):
		if m := hunkHead().FindStringSubmatch(line); m != nil {
			d.removed, d.added = count(m[1]), count(m[2])
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

// diffLook returns the look of a line of a diff.
func (s *Style) diffLook(kind Kind) string {
	return [...]string{KindOther: "", KindAdded: s.Added, KindRemoved: s.Removed, KindHunk: s.Hunk, KindFile: s.File}[kind]
}
