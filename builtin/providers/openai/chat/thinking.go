package chat

import "strings"

// thinking separates the reasoning between <think> and </think> at the start of a text, for servers that do not separate
// it. The zero value is ready.
type thinking struct {
	state   thinkState
	held    string // text that may be part of a tag
	between bool   // the previous token was a tag: line ends after it are dropped
}

type thinkState int

const (
	thinkStart  thinkState = iota // only white space so far
	thinkInside                   // after <think>
	thinkText                     // the answer itself
)

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
	// maxIndent is the maximum size of the white space held back before <think>, in bytes.
	maxIndent = 256
)

// open reports whether reasoning has begun and not ended.
func (t *thinking) open() bool { return t.state == thinkInside }

// split returns the reasoning and the text in the delta and the text held back before. The
// reasoning comes first.
func (t *thinking) split(delta string) (reasoning, text string) {
	rest := t.held + delta
	t.held = ""
	if t.state == thinkStart {
		trimmed := strings.TrimLeft(rest, " \t\r\n")
		after, opened := strings.CutPrefix(trimmed, thinkOpen)
		switch {
		case opened:
			t.state, t.between, rest = thinkInside, true, after
		case len(rest) < maxIndent && strings.HasPrefix(thinkOpen, trimmed):
			t.held = rest
			return "", ""
		default:
			t.state = thinkText
		}
	}
	if t.state == thinkText {
		return "", t.words(rest)
	}
	inside, after, closed := strings.Cut(rest, thinkClose)
	if !closed {
		for n := min(len(inside), len(thinkClose)-1); n > 0 && t.held == ""; n-- {
			if before, ok := strings.CutSuffix(inside, thinkClose[:n]); ok {
				inside, t.held = before, thinkClose[:n]
			}
		}
		return t.words(inside), ""
	}
	reasoning = t.words(inside)
	t.state, t.between = thinkText, true
	return reasoning, t.words(after)
}

// words leaves out the line ends after a tag.
func (t *thinking) words(s string) string {
	if t.between {
		s = strings.TrimLeft(s, "\r\n")
		t.between = s == ""
	}
	return s
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
