package tui

import (
	"bytes"
	"os"
	"slices"
	"unicode/utf8"

	"github.com/tenonhq/tenon/internal/lazyregexp"
)

// wholeInput reads whole characters and control sequences from a terminal. bubbletea waits 50 ms for the rest of one, but over a slow connection it
// may take longer. Without the rest, a character is lost, a sequence becomes text, and a paste does not end.
type wholeInput struct {
	*os.File
	rest    []byte // beginning of a character or sequence
	before  []byte // end of what Read has returned, which may be the beginning of pasteStart
	pasting bool
}

// Read implements io.Reader. It returns no bytes rather than wait for the rest, since bubbletea can interrupt only its own waiting.
func (w *wholeInput) Read(p []byte) (int, error) {
	n := copy(p, w.rest)
	more, err := w.File.Read(p[n:])
	n += more
	whole := n
	if err == nil {
		whole -= w.unfinished(p[:n])
	}
	w.rest = append(w.rest[:0], p[whole:n]...)
	w.before = append(w.before, p[:whole]...)
	w.before = w.before[max(0, len(w.before)-len(pasteStart)+1):]
	return whole, err
}

// pasteStart and pasteEnd enclose a paste; see https://invisible-island.net/xterm/ctlseqs/ctlseqs.html "Bracketed Paste Mode".
const pasteStart, pasteEnd = "\x1b[200~", "\x1b[201~"

// unfinishedSequence matches a sequence without its last character, but not alt+[.
var unfinishedSequence = lazyregexp.New(`\x1b\[[0-?]{1,64}$`)

// unfinished returns the length of the unfinished character or sequence at the end of p.
func (w *wholeInput) unfinished(p []byte) int {
	all := slices.Concat(w.before, p)
	if start, end := bytes.LastIndex(all, []byte(pasteStart)), bytes.LastIndex(all, []byte(pasteEnd)); start != end {
		w.pasting = start > end
	}
	if at := unfinishedSequence().FindIndex(p); at != nil {
		return len(p) - at[0]
	}
	for n := 1; w.pasting && n < len("\x1b[0"); n++ { // otherwise the keys esc and alt+[
		if bytes.HasSuffix(p, []byte(pasteEnd[:n])) {
			return n
		}
	}
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if last := p[len(p)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return n
			}
			break
		}
	}
	return 0
}
