// Package linediff compares texts by lines. Only this package uses the library.
package linediff

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// maxLines is the maximum number of lines of both texts together that are compared, without equal ones at the beginning and the end. It takes
// 150 MB in the worst case.
const maxLines = 600_000

// Diff is the difference between two texts.
type Diff struct {
	Text                 string // unified; empty for equal texts
	Additions, Deletions int    // lines
}

// Compare returns the difference. It does not compare the lines of texts that have too many, and says so.
func Compare(oldName, newName, old, new string) (d Diff) {
	start, end := 0, 0
	if Count(old)+Count(new) > maxLines {
		start, end = equal(old, new)
	}
	before, after := old[start:len(old)-end], new[start:len(new)-end]
	if b, a := Count(before), Count(after); b+a > maxLines {
		return Diff{fmt.Sprintf("Files %s and %s differ; too many lines to compare: %d and %d\n", oldName, newName, b, a), a, b}
	}
	edits := udiff.Lines(before, after)
	for i := range edits {
		e := &edits[i]
		e.Start, e.End = e.Start+start, e.End+start
		d.Deletions += Count(old[e.Start:e.End])
		d.Additions += Count(e.New)
	}
	d.Text, _ = udiff.ToUnified(oldName, newName, old, edits, udiff.DefaultContextLines) // the edits are consistent
	return d
}

// equal returns the lengths of the whole lines that both texts begin and end with.
func equal(old, new string) (start, end int) {
	n := min(len(old), len(new))
	for start < n && old[start] == new[start] {
		start++
	}
	start = strings.LastIndexByte(old[:start], '\n') + 1
	for end < n-start && old[len(old)-1-end] == new[len(new)-1-end] {
		end++
	}
	_, lines, _ := strings.Cut(old[len(old)-end:], "\n") // the first line may differ at its beginning
	return start, len(lines)
}

// Count returns the number of lines. The last one may lack its newline.
func Count(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}
