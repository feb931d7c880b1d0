package projectfs

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// alike replaces letters that macOS takes for others, and the characters in names that its older file system ignores.
var alike = strings.NewReplacer("ß", "ss", "ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st",
	"\u200c", "", "\u200d", "", "\u200e", "", "\u200f", "", "\u202a", "", "\u202b", "", "\u202c", "", "\u202d", "", "\u202e", "",
	"\u206a", "", "\u206b", "", "\u206c", "", "\u206d", "", "\u206e", "", "\u206f", "", "\ufeff", "")

// Fold returns a text that is equal for names of the same file on some file system: in another case, with composed or decomposed letters.
func Fold(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return strings.ToLower(name)
	}
	return norm.NFC.String(alike.Replace(strings.ToLower(strings.ToUpper(norm.NFC.String(name)))))
}
