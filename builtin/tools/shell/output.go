package shell

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/tenonhq/tenon/internal/lazyregexp"
)

// Limits of the stored output: its beginning and its end. The host shortens it further for the conversation.
const (
	headBytes = 512 << 10
	tailBytes = 512 << 10
	liveBytes = 30000 // shown while the command runs, as in opencode
)

// output keeps the beginning and the end of the text written to it, in bounded memory. It is safe for concurrent use; the zero value is
// ready.
type output struct {
	mu    sync.Mutex
	text  []byte // at most headBytes+2*tailBytes
	left  int    // bytes that were left out after the first headBytes
	grown bool   // since the last call of news
}

// Write never fails.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text, o.grown = append(o.text, p...), true
	if len(o.text) > headBytes+2*tailBytes {
		tail := o.text[len(o.text)-tailBytes:]
		o.left += len(o.text) - headBytes - tailBytes
		o.text = append(o.text[:headBytes], tail...)
	}
	return len(p), nil
}

// settled returns a text without the states of progress bars, which programs write over in a line again and again. A state is left out if the
// next one differs only in numbers and signs, so other texts stay, such as an error between two states, or a file with CR at the ends of lines.
// A state has a percent sign, a rate, or a symbol as in bars and spinners.
func settled(text string) string {
	if !strings.Contains(text, "\r") {
		return text // faster
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		body := strings.TrimRight(line, "\r\n")
		last, left := "", 0 // the words of the last kept text
		var kept []string
		for _, state := range strings.Split(body, "\r") {
			words := wordsOf(state)
			switch {
			case strings.TrimSpace(state) == "": // clears the line
				continue
			case words != "" && words == last && (strings.Contains(state, "%") || strings.Contains(state, "/s") || strings.ContainsFunc(state, isSymbol)):
				left++
				kept = kept[:len(kept)-1]
			}
			kept, last = append(kept, state), words
		}
		if left >= 5 {
			line = fmt.Sprintf("[%d earlier texts of this line left out] ", left) + strings.Join(kept, "\r") + line[len(body):]
		}
		b.WriteString(line)
	}
	return b.String()
}

// isSymbol reports whether a character is one of those of bars and spinners.
func isSymbol(r rune) bool { return r >= '\u2000' && unicode.IsSymbol(r) }

// wordsOf returns the letters and percent signs of a text.
func wordsOf(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || r == '%' {
			return r
		}
		return -1
	}, text)
}

// news returns the end of the text, at most n bytes of it, and whether it has grown since the last call.
func (o *output) news(n int) (end string, grown bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.grown {
		return "", false
	}
	o.grown = false
	return o.end(n), true
}

// String returns the text. If its middle is missing, a line says how much.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	left := o.missing()
	if left == 0 {
		return readable(o.text)
	}
	return readable(o.text[:headBytes]) + fmt.Sprintf("\n\n[... %d bytes left out ...]\n\n", left) + readable(o.text[len(o.text)-tailBytes:])
}

// missing returns the number of bytes that String leaves out. o.mu must be held, or the command have ended.
func (o *output) missing() int { return o.left + max(0, len(o.text)-headBytes-tailBytes) }

// last returns the end of the text, at most n bytes of it.
func (o *output) last(n int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.end(n)
}

// end is last while o.mu is held. If there are several lines, it begins with a whole one, below a line that shows that others are missing.
func (o *output) end(n int) string {
	text := o.text[max(0, len(o.text)-n):]
	if at := bytes.IndexByte(text, '\n') + 1; len(text) < len(o.text) && 0 < at && at < len(text) {
		return "…\n" + readable(text[at:])
	}
	for len(text) > 0 && len(text) < len(o.text) && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return readable(text)
}

// sequence matches what a program writes to change colors, move a terminal's cursor, or mark a link.
var sequence = lazyregexp.New(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[()][0-9A-B])`)

// readable leaves out sequences for terminals, and replaces invalid UTF-8, and NUL, which some servers refuse, with U+FFFD.
func readable(text []byte) string {
	if bytes.IndexByte(text, '\x1b') >= 0 {
		text = sequence().ReplaceAll(text, nil)
	}
	return strings.ReplaceAll(strings.ToValidUTF8(string(text), "\uFFFD"), "\x00", "\uFFFD")
}
