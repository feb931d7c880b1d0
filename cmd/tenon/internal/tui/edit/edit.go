// Package edit implements the editor of a prompt: text of any number of lines, with chips that represent long pastes and files.
package edit

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/tenonhq/tenon/host/input"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/visible"
)

// Chip is a part of the text that behaves like one character.
type Chip struct {
	Label string // shown, such as "[Pasted 300 lines]"
	Text  string // replaces the chip in the prompt
	File  string // path of an attached file; Text is then empty
}

// firstChip is the first character that represents a chip. Clean removes this private plane of Unicode from input.
const firstChip = '\U00100000'

// Editor holds a text and the position of the caret. The zero value is an empty editor. Use it from one goroutine.
type Editor struct {
	text   string // with chips as characters from firstChip on
	caret  int    // offset in bytes, at the boundary of a grapheme cluster
	chips  []Chip
	killed string // text last removed with ctrl+k, ctrl+u or ctrl+w
	column int    // target column of up and down; -1: the caret's column
	width  int    // width of the last layout
	method ansi.Method
	rows   []row // last layout; nil: the text has changed
}

// Empty reports whether the text is empty.
func (e *Editor) Empty() bool { return e.text == "" }

// Text returns the prompt with the text of chips in their places, and the paths of the attached files.
func (e *Editor) Text() (text string, files []string) {
	var b strings.Builder
	for _, r := range e.text {
		chip := e.chip(r)
		switch {
		case chip == nil:
			b.WriteRune(r)
		case chip.File != "":
			files = append(files, chip.File)
		default:
			b.WriteString(chip.Text)
		}
	}
	return b.String(), files
}

// Before returns the text before the caret, for completion. Chips are single characters in it.
func (e *Editor) Before() string { return e.text[:e.caret] }

// Set replaces the text and puts the caret at the end. It keeps the chips that ctrl+y may insert again.
func (e *Editor) Set(text string) {
	if !strings.ContainsFunc(e.killed, func(r rune) bool { return r >= firstChip }) {
		e.chips = nil
	}
	e.change(Clean(text), 0)
	e.caret = len(e.text)
}

// Insert inserts text at the caret.
func (e *Editor) Insert(text string) { e.replace(e.caret, e.caret, Clean(text)) }

// InsertChip inserts a chip at the caret.
func (e *Editor) InsertChip(c Chip) {
	e.chips = append(slices.Clip(e.chips), c) // copies of an editor share them
	e.replace(e.caret, e.caret, string(firstChip+rune(len(e.chips)-1)))
}

// Complete replaces the last n bytes before the caret.
func (e *Editor) Complete(n int, text string) { e.replace(e.caret-n, e.caret, Clean(text)) }

// AtStart and AtEnd report whether the caret is in the first or the last row.
func (e *Editor) AtStart() bool { row, _ := e.position(); return row == 0 }

// AtEnd: see AtStart.
func (e *Editor) AtEnd() bool { row, _ := e.position(); return row == len(e.layout())-1 }

// actions lists what keys do. Only up and down keep the target column.
var actions = []struct {
	keys string
	do   func(e *Editor)
}{
	{"left ctrl+b", func(e *Editor) { e.move(e.previous(e.caret)) }},
	{"right ctrl+f", func(e *Editor) { e.move(e.next(e.caret)) }},
	{"alt+b ctrl+left alt+left", func(e *Editor) { e.move(e.wordStart()) }},
	{"alt+f ctrl+right alt+right", func(e *Editor) { e.move(e.wordEnd()) }},
	{"home ctrl+a", func(e *Editor) { e.move(e.lineStart()) }},
	{"end ctrl+e", func(e *Editor) { e.move(e.lineEnd()) }},
	{"up", func(e *Editor) { e.vertical(-1) }},
	{"down", func(e *Editor) { e.vertical(1) }},
	{"backspace ctrl+h shift+backspace", func(e *Editor) { e.replace(e.previous(e.caret), e.caret, "") }},
	{"delete ctrl+d", func(e *Editor) { e.replace(e.caret, e.next(e.caret), "") }},
	{"alt+backspace ctrl+backspace", func(e *Editor) { e.kill(e.wordStart(), e.caret) }},
	{"ctrl+w", func(e *Editor) { // a path as a whole, as in bash
		e.kill(strings.LastIndexAny(strings.TrimRight(e.text[:e.caret], " \n"), " \n")+1, e.caret)
	}},
	{"alt+d ctrl+delete", func(e *Editor) { e.kill(e.caret, e.wordEnd()) }},
	{"ctrl+k", func(e *Editor) { e.kill(e.caret, max(e.lineEnd(), e.next(e.caret))) }},
	{"ctrl+u", func(e *Editor) { e.kill(e.lineStart(), e.caret) }},
	{"ctrl+y", func(e *Editor) { e.replace(e.caret, e.caret, e.killed) }},
	{"ctrl+j shift+enter alt+enter ctrl+enter", func(e *Editor) { e.replace(e.caret, e.caret, "\n") }},
}

// Key handles a key by its name, such as "ctrl+a", and reports whether the editor knows it. Text is inserted with Insert.
func (e *Editor) Key(name string) bool {
	for _, a := range actions {
		if slices.Contains(strings.Fields(a.keys), name) {
			a.do(e)
			return true
		}
	}
	return false
}

// Type handles a key by its name; any other key inserts its text.
func (e *Editor) Type(name, text string) {
	if !e.Key(name) {
		e.Insert(text)
	}
}

// chip returns the chip of a character, or nil.
func (e *Editor) chip(r rune) *Chip {
	if i := int(r - firstChip); i >= 0 && i < len(e.chips) {
		return &e.chips[i]
	}
	return nil
}

func (e *Editor) move(caret int) { e.caret, e.column = caret, -1 }

func (e *Editor) replace(from, to int, text string) {
	e.change(e.text[:from]+text+e.text[to:], from+len(text))
}

func (e *Editor) change(text string, caret int) {
	e.text, e.rows = text, nil
	e.move(caret)
}

func (e *Editor) kill(from, to int) {
	if from < to {
		e.killed = e.text[from:to]
		e.replace(from, to, "")
	}
}

// next returns the end of the character at an offset.
func (e *Editor) next(at int) int {
	cluster, _ := ansi.FirstGraphemeCluster(e.text[at:], ansi.GraphemeWidth)
	return at + len(cluster)
}

// previous returns the start of the character before an offset.
func (e *Editor) previous(at int) int {
	start := strings.LastIndexByte(e.text[:at], '\n')
	if start == at-1 { // the line break itself
		return max(start, 0)
	}
	start++
	for end := e.next(start); end < at; end = e.next(start) {
		start = end
	}
	return start
}

func (e *Editor) lineStart() int { return strings.LastIndexByte(e.text[:e.caret], '\n') + 1 }

func (e *Editor) lineEnd() int {
	if i := strings.IndexByte(e.text[e.caret:], '\n'); i >= 0 {
		return e.caret + i
	}
	return len(e.text)
}

func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r >= firstChip
}

// wordAt reports whether the character at an offset belongs to a word. Vowel signs and accents are part of the character before them.
func (e *Editor) wordAt(at int) bool {
	first, _ := utf8.DecodeRuneInString(e.text[at:])
	return inWord(first)
}

// wordStart returns the start of the word before the caret.
func (e *Editor) wordStart() int {
	start := 0
	for at, before := 0, false; at < e.caret; at = e.next(at) {
		in := e.wordAt(at)
		if in && !before {
			start = at
		}
		before = in
	}
	return start
}

// wordEnd returns the end of the word after the caret.
func (e *Editor) wordEnd() int {
	at := e.caret
	for at < len(e.text) && !e.wordAt(at) {
		at = e.next(at)
	}
	for at < len(e.text) && e.wordAt(at) {
		at = e.next(at)
	}
	return at
}

// Long reports whether a text is so long that it is handled as a whole: a chip after it was pasted, one step in the history.
func Long(text string) bool {
	return strings.Count(strings.TrimRight(text, "\n"), "\n") >= 8 || len(text) > 1500
}

// Clean removes control characters, and characters that represent chips, from text.
func Clean(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.Map(func(r rune) rune {
		if visible.Controls(r) || r >= firstChip {
			return -1
		}
		return r
	}, text)
}

var imageName = lazyregexp.New(`(?i)\.(?:png|jpe?g|gif|webp)$`)

// IsImage reports whether a file has the name of an image.
func IsImage(path string) bool { return imageName().MatchString(path) }

// betweenImages matches the space between two paths of images.
var betweenImages = lazyregexp.New(`(?i)(\.(?:png|jpe?g|gif|webp)['"]?)\s+(['"]?(?:/|file://))`)

// escaped matches a character that a terminal escaped in the path of a dropped file, such as the space of "image (1).png" and its brackets.
var escaped = lazyregexp.New(`\\(.)`)

// ImagePaths returns the paths of images if the pasted text contains nothing else. Terminals paste the paths of dropped files quoted, escaped or as
// URLs.
func ImagePaths(text string) []string {
	var out []string
	for _, path := range strings.Split(betweenImages().ReplaceAllString(strings.TrimSpace(text), "$1\n$2"), "\n") {
		if path = strings.Trim(path, `'"`); strings.HasPrefix(path, "/") { // on Windows, the backslash separates names
			path = escaped().ReplaceAllString(path, "$1")
		}
		if strings.HasPrefix(path, "file://") {
			path, _ = input.FilePath(path) // empty: an address of another machine
		}
		if !filepath.IsAbs(path) || !IsImage(path) {
			return nil
		}
		out = append(out, path)
	}
	return out
}
