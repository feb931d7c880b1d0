// Package linediff compares texts by lines. Only this package uses the library.
package linediff

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// maxLines is the maximum number of lines of both texts together that are compared. It takes 150 MB in the worst case.
const maxLines = 600_000

// Diff is the difference between two texts.
type Diff struct {
	Text                 string // unified; empty for equal texts
	Additions, Deletions int    // lines
}

// Compare returns the difference. It does not compare the lines of texts that have too many, and says so.
func Compare(oldName, newName, old, new string) (d Diff) {
	if old == new {
		return d
	}
	if before, after := Count(old), Count(new); before+after > maxLines {
		return Diff{fmt.Sprintf("Files %s and %s differ; too many lines to compare: %d and %d\n", oldName, newName, before, after), after, before}
	}
	edits := udiff.Lines(old, new)
	for _, e := range edits {
		d.Deletions += Count(old[e.Start:e.End])
		d.Additions += Count(e.New)
	}
	d.Text, _ = udiff.ToUnified(oldName, newName, old, edits, udiff.DefaultContextLines) // the edits are consistent
	return d
}

// Count returns the number of lines. The last one may lack its newline.
func Count(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}
