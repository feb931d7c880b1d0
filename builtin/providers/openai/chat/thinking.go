package chat

import "strings"

// thinking separates the reasoning between <think> and </think> at the start of a
// text, for servers that do not. The zero value is ready.
type thinking struct {
	state thinkState
	held  string // text that may be part of a tag
}

type thinkState int

const (
	thinkStart  thinkState = iota // only white space so far
	thinkOpened                   // after <think>, before the first word
	thinkInside
	thinkClosed // after </think>, before the first word
	thinkText   // the answer itself
)

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
	// maxIndent is the maximum size of the white space held back before <think>, in bytes.
	maxIndent = 256
)

// open reports whether reasoning has begun and not ended.
func (t *thinking) open() bool { return t.state == thinkOpened || t.state == thinkInside }

// split returns the reasoning and the text in the delta and the text held back before. The
// reasoning comes first.
func (t *thinking) split(delta string) (reasoning, text string) {
	if t.state == thinkText {
		return "", delta
	}
	rest := t.held + delta
	t.held = ""
	if t.state == thinkStart {
		trimmed := strings.TrimLeft(rest, " \t\r\n")
		if len(rest) < maxIndent && len(trimmed) < len(thinkOpen) && strings.HasPrefix(thinkOpen, trimmed) {
			t.held = rest
			return "", ""
		}
		if !strings.HasPrefix(trimmed, thinkOpen) {
			t.state = thinkText
			return "", rest
		}
		rest = trimmed[len(thinkOpen):]
		t.state = thinkOpened
	}
	if t.open() {
		if reasoning, rest = t.reasoning(rest); t.state != thinkClosed {
			return reasoning, ""
		}
	}
	if rest = strings.TrimLeft(rest, "\r\n"); rest != "" {
		t.state = thinkText
	}
	return reasoning, rest
}

// reasoning returns the reasoning in s and, if it ends there, the text after it.
func (t *thinking) reasoning(s string) (reasoning, rest string) {
	if t.state == thinkOpened {
		s = strings.TrimLeft(s, "\r\n")
	}
	before, after, closed := strings.Cut(s, thinkClose)
	if closed {
		t.state = thinkClosed
		return before, after
	}
	for n := min(len(s), len(thinkClose)-1); n > 0; n-- {
		if strings.HasSuffix(s, thinkClose[:n]) {
			t.held = s[len(s)-n:]
			s = s[:len(s)-n]
			break
		}
	}
	if s != "" {
		t.state = thinkInside
	}
	return s, ""
}

// flush returns the text held back, at the end of the text.
func (t *thinking) flush() (reasoning, text string) {
	held := t.held
	t.held = ""
	if t.open() {
		return held, ""
	}
	return "", held
}
