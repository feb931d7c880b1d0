package files

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/internal/linediff"
	"github.com/tenonhq/tenon/sdk"
)

// change is a file before and after a call. The call computes it in memory.
type change struct {
	target
	old     fs.FileInfo // nil if the call found no file
	before  []byte      // nil if the file is too large for memory
	found   string      // identifies the content before the call in the history
	after   []byte
	remove  bool        // the call leaves no file
	mode    fs.FileInfo // moved file from which the mode is taken; nil: the mode of old, or the default
	diff    diff
	written fs.FileInfo // the new file, once it is in place
	report  string      // for the model
}

// compare sets the diff. In a file that is not UTF-8 it refuses new characters outside ASCII: they would be written as UTF-8 among
// the bytes of another encoding. read shows these bytes as U+FFFD, so the model cannot repeat them.
func (c *change) compare(call *sdk.ToolCall) error {
	if !utf8.Valid(c.before) {
		unknown := []byte("\ufffd")
		characters, others := multibyte(c.before)
		after, _ := multibyte(c.after)
		if bytes.Count(c.after, unknown) > bytes.Count(c.before, unknown) || others >= characters && after > characters {
			return fmt.Errorf("%q is not UTF-8: new text must be ASCII and leave the bytes shown as U+FFFD; "+
				"to change others, convert the file (iconv -f ENCODING -t UTF-8), read and change it, and convert it back", c.name)
		}
	}
	c.diff = newDiff(paths.Title(call, c.abs), c.before, c.after)
	return nil
}

// multibyte returns the number of characters that UTF-8 encodes in several bytes, and of bytes that are not UTF-8. Pairs of bytes in other
// encodings can look like such a character, but most do not.
func multibyte(text []byte) (characters, others int) {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case size > 1:
			characters++
		case r == utf8.RuneError:
			others++
		}
		text = text[size:]
	}
	return characters, others
}

// hash identifies the content of the file after the change, once it is in place. It is empty for a deleted file.
func (c *change) hash() string {
	switch {
	case c.remove:
		return ""
	case len(c.after) > maxHashed:
		return statHash(c.written)
	}
	return contentHash(c.after)
}

// maxDiffBytes is the maximum size of a diff in metadata, which is stored with the session.
const maxDiffBytes = 32 << 10

// diff is the difference between two contents of a file.
type diff struct {
	text                 string // unified, cut at maxDiffBytes
	more                 int    // lines that are missing in text
	additions, deletions int    // lines
}

// newDiff compares two contents by lines and ignores line endings. before or after is empty for a created or deleted
// file.
func newDiff(name string, before, after []byte) diff {
	if len(before) == 0 && len(after) > maxDiffBytes {
		return created(name, after)
	}
	return comparison(name, before, after)
}

func comparison(name string, before, after []byte) diff {
	d := linediff.Compare(name, name, diffText(before), diffText(after))
	text, more := cutLines(d.Text, maxDiffBytes)
	return diff{text: text, more: more, additions: d.Additions, deletions: d.Deletions}
}

// created returns the diff of a new file whose content is longer than a diff. It reads only the lines that are shown.
func created(name string, content []byte) diff {
	lines := bytes.Count(content, []byte("\n"))
	d := diff{additions: lines, more: lines}
	if !bytes.HasSuffix(content, []byte("\n")) {
		d.additions++
		d.more += 2 // with the line that says that a newline is missing
	}
	var text strings.Builder
	fmt.Fprintf(&text, "--- %s\n+++ %s\n@@ -0,0 +1,%d @@\n", name, name, d.additions)
	for line := range strings.Lines(diffText(content[:maxDiffBytes])) {
		if !strings.HasSuffix(line, "\n") || text.Len()+1+len(line) > maxDiffBytes {
			break
		}
		text.WriteString("+" + line)
		d.more--
	}
	d.text = text.String()
	return d
}

func diffText(content []byte) string { return strings.ToValidUTF8(toLF(string(content)), "\ufffd") }

// plural returns a count: "1 line", "2 lines".
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// cutLines shortens text to whole lines of at most limit bytes, and returns the number of missing lines.
func cutLines(text string, limit int) (shown string, more int) {
	if len(text) <= limit {
		return text, 0
	}
	end := strings.LastIndexByte(text[:limit], '\n') + 1
	return text[:end], linediff.Count(text[end:])
}
