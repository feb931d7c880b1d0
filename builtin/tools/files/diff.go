package files

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// maxDiffBytes is the maximum size of a diff in metadata, which is stored with the session.
const maxDiffBytes = 32 << 10

// diff is the difference between two contents of a file.
type diff struct {
	text                 string // unified, cut at maxDiffBytes
	additions, deletions int    // lines
}

// newDiff compares two contents by lines and ignores line endings. before or after is empty for a created or deleted
// file.
func newDiff(name string, before, after []byte) (diff, error) {
	if len(before) == 0 && len(after) > maxDiffBytes {
		return created(name, after), nil
	}
	return comparison(name, before, after)
}

func comparison(name string, before, after []byte) (diff, error) {
	old, new := diffText(before), diffText(after)
	edits := udiff.Lines(old, new)
	var d diff
	for _, e := range edits {
		d.deletions += countLines(old[e.Start:e.End])
		d.additions += countLines(e.New)
	}
	text, err := udiff.ToUnified(name, name, old, edits, udiff.DefaultContextLines)
	if err != nil {
		return diff{}, fmt.Errorf("diff of %q: %w", name, err)
	}
	d.text = cutLines(text, maxDiffBytes)
	return d, nil
}

// created returns the diff of a new file whose content is longer than a diff. It reads only the lines that are shown.
func created(name string, content []byte) diff {
	d := diff{additions: bytes.Count(content, []byte("\n"))}
	more := d.additions
	if !bytes.HasSuffix(content, []byte("\n")) {
		d.additions++
		more += 2 // with the line that says that a newline is missing
	}
	var text strings.Builder
	fmt.Fprintf(&text, "--- %s\n+++ %s\n@@ -0,0 +1,%d @@\n", name, name, d.additions)
	for line := range strings.Lines(diffText(content[:maxDiffBytes])) {
		if !strings.HasSuffix(line, "\n") || text.Len()+1+len(line) > maxDiffBytes {
			break
		}
		text.WriteString("+" + line)
		more--
	}
	fmt.Fprintf(&text, "… %d more lines\n", more)
	d.text = text.String()
	return d
}

func diffText(content []byte) string { return strings.ToValidUTF8(toLF(string(content)), "\ufffd") }

func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// plural returns a count: "1 line", "2 lines".
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// cutLines shortens text to whole lines of at most limit bytes and adds the number of missing lines.
func cutLines(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := strings.LastIndexByte(text[:limit], '\n') + 1
	return fmt.Sprintf("%s… %d more lines\n", text[:end], countLines(text[end:]))
}
