package chat

import (
	"slices"
	"strings"
	"unicode"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
)

// lineEditor edits text of one or more lines with the keys of GNU Readline. It does not depend on a terminal.
type lineEditor struct {
	text   []rune
	pos    int // of the cursor: before text[pos]
	killed []rune

	history  []string // the oldest first
	at       int      // in history; len(history): the user's own text
	own      []rune   // the user's own text while an older one is shown
	search   *historySearch
	complete func(before string) completion // nil: Tab does nothing
	hints    []string                       // possible completions; shown until the next key
}

// historySearch is a search for older texts that contain a word.
type historySearch struct {
	word string
	at   int    // of the text that was found
	was  []rune // the text before the search
}

// completion holds the possible replacements of the end of a text.
type completion struct {
	from    int      // in bytes: text[from:] is replaced
	choices []string // sorted
}

// editResult is the effect of a key other than a change of the text.
type editResult int

const (
	editGoesOn editResult = iota
	editEntered
	editInterrupt
	editEnds
	editSuspend
	editClear // the screen
)

// set replaces the text and moves the cursor to its end.
func (e *lineEditor) set(text string) {
	e.text = []rune(text)
	e.pos = len(e.text)
}

// reset prepares the editor for a new text.
func (e *lineEditor) reset() {
	e.text, e.pos, e.at, e.own, e.search, e.hints = nil, 0, len(e.history), nil, nil, nil
}

// press handles a key.
func (e *lineEditor) press(k key) editResult {
	e.hints = nil
	if e.search != nil && e.searches(k) {
		return editGoesOn
	}
	if !e.moves(k.kind) {
		return e.acts(k)
	}
	return editGoesOn
}

// moves handles a key that moves the cursor or deletes.
func (e *lineEditor) moves(kind keyKind) bool {
	switch kind {
	case keyLeft:
		e.pos = e.before(e.pos)
	case keyRight:
		e.pos = e.after(e.pos)
	case keyHome:
		e.pos = e.lineStart(e.pos)
	case keyEnd:
		e.pos = e.lineEnd(e.pos)
	case keyWordLeft:
		e.pos = e.wordLeft()
	case keyWordRight:
		e.pos = e.wordRight()
	case keyUp:
		e.up()
	case keyDown:
		e.down()
	case keyBackspace:
		e.cut(e.before(e.pos), e.pos, false)
	case keyDelete:
		e.cut(e.pos, e.after(e.pos), false)
	case keyDeleteWordLeft:
		e.cut(e.wordLeft(), e.pos, true)
	case keyDeleteWordRight:
		e.cut(e.pos, e.wordRight(), true)
	case keyDeleteToStart:
		e.cut(e.lineStart(e.pos), e.pos, true)
	case keyDeleteToEnd:
		end := e.lineEnd(e.pos)
		if end == e.pos { // at the end of a line: the line feed
			end = min(end+1, len(e.text))
		}
		e.cut(e.pos, end, true)
	default:
		return false
	}
	return true
}

// acts handles any other key.
func (e *lineEditor) acts(k key) editResult {
	switch k.kind {
	case keyText:
		e.insert(k.text)
	case keyNewline:
		e.insert("\n")
	case keyYank:
		e.insert(string(e.killed))
	case keyTranspose:
		e.transpose()
	case keyTab:
		e.tab()
	case keySearch:
		e.search = &historySearch{at: len(e.history), was: slices.Clone(e.text)}
		if e.at == len(e.history) {
			e.own = e.search.was
		}
	case keyClear:
		return editClear
	case keySuspend:
		return editSuspend
	case keyInterrupt:
		return editInterrupt
	case keyEndOfInput:
		if len(e.text) == 0 {
			return editEnds
		}
		e.cut(e.pos, e.after(e.pos), false)
	case keyEnter:
		return e.enter()
	}
	return editGoesOn
}

// enter ends the text, unless it continues: after a backslash, which becomes a line feed, and inside """.
func (e *lineEditor) enter() editResult {
	text := string(e.text)
	if !unfinished(text) {
		e.pos = len(e.text)
		return editEntered
	}
	e.pos = len(e.text)
	if !opensBlock(text) {
		e.cut(e.pos-1, e.pos, false)
	}
	e.insert("\n")
	return editGoesOn
}

func (e *lineEditor) insert(text string) {
	added := []rune(text)
	e.text = slices.Insert(e.text, e.pos, added...)
	e.pos += len(added)
}

// cut deletes text[from:to]; keep makes it available to keyYank.
func (e *lineEditor) cut(from, to int, keep bool) {
	if keep && from < to {
		e.killed = slices.Clone(e.text[from:to])
	}
	e.text = slices.Delete(e.text, from, to)
	e.pos = from
}

// transpose swaps the two characters before the cursor, or around it.
func (e *lineEditor) transpose() {
	at := e.pos
	if at == len(e.text) {
		at--
	}
	if at < 1 {
		return
	}
	e.text[at-1], e.text[at] = e.text[at], e.text[at-1]
	e.pos = at + 1
}

// before and after return the previous and the next position of the cursor. Combining marks stay with their character.
func (e *lineEditor) before(pos int) int {
	for pos > 0 {
		if pos--; terminal.RuneWidth(e.text[pos]) > 0 {
			break
		}
	}
	return pos
}

func (e *lineEditor) after(pos int) int {
	for pos < len(e.text) {
		if pos++; pos == len(e.text) || terminal.RuneWidth(e.text[pos]) > 0 {
			break
		}
	}
	return pos
}

func (e *lineEditor) lineStart(pos int) int {
	for pos > 0 && e.text[pos-1] != '\n' {
		pos--
	}
	return pos
}

func (e *lineEditor) lineEnd(pos int) int {
	for pos < len(e.text) && e.text[pos] != '\n' {
		pos++
	}
	return pos
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

func (e *lineEditor) wordLeft() int {
	pos := e.pos
	for pos > 0 && !isWord(e.text[pos-1]) {
		pos--
	}
	for pos > 0 && isWord(e.text[pos-1]) {
		pos--
	}
	return pos
}

func (e *lineEditor) wordRight() int {
	pos := e.pos
	for pos < len(e.text) && !isWord(e.text[pos]) {
		pos++
	}
	for pos < len(e.text) && isWord(e.text[pos]) {
		pos++
	}
	return pos
}

// up moves a line up, from the first line to the older text.
func (e *lineEditor) up() {
	start := e.lineStart(e.pos)
	if start == 0 {
		e.recall(e.at - 1)
		return
	}
	above := e.lineStart(start - 1)
	e.pos = min(above+e.pos-start, start-1)
}

// down moves a line down, from the last line to the newer text.
func (e *lineEditor) down() {
	end := e.lineEnd(e.pos)
	if end == len(e.text) {
		e.recall(e.at + 1)
		return
	}
	e.pos = min(end+1+e.pos-e.lineStart(e.pos), e.lineEnd(end+1))
}

// recall shows a text of the history, or after the latest one the user's own text.
func (e *lineEditor) recall(at int) {
	if at < 0 || at > len(e.history) {
		return
	}
	if e.at == len(e.history) {
		e.own = slices.Clone(e.text)
	}
	if e.at = at; at == len(e.history) {
		e.set(string(e.own))
		return
	}
	e.set(e.history[at])
}

// searches handles a key during a search, and reports whether the key has no other effect.
func (e *lineEditor) searches(k key) bool {
	s := e.search
	switch k.kind {
	case keyText:
		s.word += strings.ReplaceAll(k.text, "\n", " ")
		e.find(min(s.at, len(e.history)-1))
	case keyBackspace:
		if r := []rune(s.word); len(r) > 0 {
			s.word = string(r[:len(r)-1])
			e.find(len(e.history) - 1)
		}
	case keySearch:
		e.find(s.at - 1)
	case keyCancel, keyInterrupt:
		e.set(string(s.was))
		e.search = nil
	default:
		e.search = nil // keep the found text and handle the key
		return false
	}
	return true
}

// find shows the newest text, starting at from, that contains the word. Without a match, nothing changes.
func (e *lineEditor) find(from int) {
	for i := from; i >= 0 && e.search.word != ""; i-- {
		if strings.Contains(e.history[i], e.search.word) {
			e.search.at, e.at = i, i
			e.set(e.history[i])
			return
		}
	}
}

// tab completes the text before the cursor up to the first ambiguity, and then shows the choices.
func (e *lineEditor) tab() {
	if e.complete == nil {
		return
	}
	before := string(e.text[:e.pos])
	c := e.complete(before)
	if len(c.choices) == 0 {
		return
	}
	common := c.choices[0]
	for _, choice := range c.choices[1:] {
		common = commonPrefix(common, choice)
	}
	word := before[c.from:]
	if len(c.choices) > 1 && len(common) <= len(word) {
		e.hints = c.choices
		return
	}
	end := e.pos
	e.pos = len([]rune(before[:c.from]))
	e.text = slices.Delete(e.text, e.pos, end)
	e.insert(common)
	if len(c.choices) == 1 && !strings.HasSuffix(common, "/") {
		e.insert(" ")
	}
}

func commonPrefix(a, b string) string {
	n := 0
	for i, r := range a {
		if !strings.HasPrefix(b[i:], string(r)) {
			break
		}
		n = i + len(string(r))
	}
	return a[:n]
}

// blockMark begins and ends a prompt of several lines.
const blockMark = `"""`

// opensBlock reports whether a text begins with the mark of a block.
func opensBlock(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), blockMark) }

// unfinished reports whether a text continues in the next line: it ends in an odd number of backslashes, or is an open block.
func unfinished(text string) bool {
	if opensBlock(text) {
		inner := strings.TrimPrefix(strings.TrimSpace(text), blockMark)
		return !strings.HasSuffix(inner, blockMark)
	}
	return (len(text)-len(strings.TrimRight(text, `\`)))%2 == 1
}

// composed returns the prompt of a finished text: a block without its marks.
func composed(text string) string {
	if !opensBlock(text) {
		return text
	}
	inner := strings.TrimPrefix(strings.TrimSpace(text), blockMark)
	return strings.Trim(strings.TrimSuffix(inner, blockMark), "\n")
}
