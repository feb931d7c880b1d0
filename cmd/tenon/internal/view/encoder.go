package view

import (
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
)

// NewEncoder returns the encoder of all JSON that is printed. HTML characters stay as they are. Characters that control a terminal or
// change the direction of writing are written as \uXXXX, which has the same meaning.
func NewEncoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(Escaper{w})
	enc.SetEscapeHTML(false)
	return enc
}

// escapeBuffer is the size in bytes of the blocks that Escaper writes.
const escapeBuffer = 64 << 10

// Escaper writes JSON with escapes for characters that do not show. Each Write must end at the end of a character.
type Escaper struct{ Writer io.Writer }

// Write returns the length of data unless the writer behind fails.
func (e Escaper) Write(data []byte) (int, error) {
	var out []byte
	start := 0
	flush := func(end int) error {
		if out = append(out, data[start:end]...); len(out) == 0 {
			return nil
		}
		_, err := e.Writer.Write(out)
		out, start = out[:0], end
		return err
	}
	for i := 0; i < len(data); {
		r, size := rune(data[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(data[i:])
		}
		if r != '\n' && r != '\t' && terminal.Controls(r) {
			out = appendUnicode(append(out, data[start:i]...), r)
			start = i + size
		}
		if i += size; len(out)+i-start >= escapeBuffer {
			if err := flush(i); err != nil {
				return start, err
			}
		}
	}
	if err := flush(len(data)); err != nil {
		return start, err
	}
	return len(data), nil
}

// appendUnicode appends a character as JSON escapes it.
func appendUnicode(out []byte, r rune) []byte {
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return fmt.Appendf(out, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(out, `\u%04x`, r)
}
