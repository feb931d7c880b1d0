package chat

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/turn"
)

// keyKind is the function of a key.
type keyKind int

const (
	keyNone keyKind = iota
	keyText         // one character, or what was pasted
	keyEnter
	keyNewline
	keyTab
	keyBackspace
	keyDelete
	keyLeft
	keyRight
	keyUp
	keyDown
	keyHome
	keyEnd
	keyWordLeft
	keyWordRight
	keyDeleteWordLeft
	keyDeleteWordRight
	keyDeleteToStart
	keyDeleteToEnd
	keyYank
	keyTranspose
	keyClear
	keySearch
	keyInterrupt
	keyEndOfInput // Ctrl-D: delete, or the end of input
	keySuspend
	keyCancel
)

// key is one key, or a paste.
type key struct {
	kind keyKind
	text string // of keyText
}

// The marks around pasted text, see https://invisible-island.net/xterm/ctlseqs/ctlseqs.html "Bracketed Paste Mode".
const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// maxSequence is the maximum length of an escape sequence, in bytes. Longer ones are not keys.
const maxSequence = 32

// nextKey decodes the first key of terminal input. n is its length in bytes; 0 means that more input is needed. Unknown sequences are
// keyNone.
func nextKey(b []byte) (k key, n int) {
	switch {
	case len(b) == 0:
		return key{}, 0
	case b[0] == 0x1b:
		return escapeKey(b)
	case b[0] < 0x20 || b[0] == 0x7f:
		return key{kind: controlKeys()[b[0]]}, 1
	case !utf8.FullRune(b):
		return key{}, 0
	}
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError && n == 1 || terminal.Controls(r) {
		return key{}, n
	}
	return key{keyText, string(r)}, n
}

// controlKeys returns the keys of control characters: those of GNU Readline, except that Ctrl-J inserts a line break, as in other
// agents.
func controlKeys() map[byte]keyKind {
	return map[byte]keyKind{
		'\r': keyEnter, '\n': keyNewline, '\t': keyTab, 0x7f: keyBackspace, 0x08: keyBackspace, 0x01: keyHome, 0x02: keyLeft,
		0x03: keyInterrupt, 0x04: keyEndOfInput, 0x05: keyEnd, 0x06: keyRight, 0x07: keyCancel, 0x0b: keyDeleteToEnd, 0x0c: keyClear,
		0x0e: keyDown, 0x10: keyUp, 0x12: keySearch, 0x14: keyTranspose, 0x15: keyDeleteToStart, 0x17: keyDeleteWordLeft,
		0x19: keyYank, 0x1a: keySuspend,
	}
}

// escapeKey decodes a sequence, a key with Alt, or a paste.
func escapeKey(b []byte) (key, int) {
	if len(b) == 1 {
		return key{}, 0 // Esc and a key are that key with Alt
	}
	if begin := []byte(pasteBegin); bytes.HasPrefix(b, begin) {
		end := bytes.Index(b, []byte(pasteEnd))
		switch {
		case end < 0 && len(b) > turn.MaxStdin: // larger than any prompt, or the end mark is missing
			return key{keyText, pasted(string(b[len(begin):]))}, len(b)
		case end < 0:
			return key{}, 0
		}
		return key{keyText, pasted(string(b[len(begin):end]))}, end + len(pasteEnd)
	}
	switch b[1] {
	case '[', 'O':
		return sequenceKey(b)
	case '\r', '\n':
		return key{kind: keyNewline}, 2
	case 'b':
		return key{kind: keyWordLeft}, 2
	case 'f':
		return key{kind: keyWordRight}, 2
	case 'd':
		return key{kind: keyDeleteWordRight}, 2
	case 0x7f, 0x08:
		return key{kind: keyDeleteWordLeft}, 2
	case 0x1b:
		return key{}, 1
	}
	if !utf8.FullRune(b[1:]) {
		return key{}, 0
	}
	_, n := utf8.DecodeRune(b[1:])
	return key{}, 1 + n
}

// sequenceKey decodes ESC [ parameters letter, and ESC O letter, see ECMA-48 "CSI" and xterm's "PC-Style Function Keys".
func sequenceKey(b []byte) (key, int) {
	end := 2
	for end < len(b) && b[end] >= 0x20 && b[end] < 0x40 && end < maxSequence {
		end++
	}
	switch {
	case end == maxSequence:
		return key{}, end
	case end == len(b):
		return key{}, 0
	}
	parameters, final := string(b[2:end]), b[end]
	_, modifier, _ := strings.Cut(parameters, ";")
	jumps := modifier == "5" || modifier == "3" // with Ctrl or Alt
	kinds := map[byte]keyKind{'A': keyUp, 'B': keyDown, 'C': keyRight, 'D': keyLeft, 'H': keyHome, 'F': keyEnd}
	kind := kinds[final]
	switch {
	case jumps && final == 'C':
		kind = keyWordRight
	case jumps && final == 'D':
		kind = keyWordLeft
	case final == '~':
		kind = map[string]keyKind{"1": keyHome, "7": keyHome, "4": keyEnd, "8": keyEnd, "3": keyDelete, "3;5": keyDeleteWordRight}[parameters]
	case final == 'u' && (parameters == "13;2" || parameters == "13;3"): // Shift or Alt with Enter
		kind = keyNewline
	}
	if final < 0x20 { // a control character ends the sequence and is a key itself
		return key{}, end
	}
	return key{kind: kind}, end + 1
}

// pasted returns pasted text for editing: with line feeds and without control characters.
func pasted(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	return strings.Map(func(r rune) rune {
		if terminal.Controls(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}
