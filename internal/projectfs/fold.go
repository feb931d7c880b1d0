package projectfs

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// ignored removes the characters in names that the older file system of macOS ignores.
var ignored = strings.NewReplacer("\u200c", "", "\u200d", "", "\u200e", "", "\u200f", "", "\u202a", "", "\u202b", "", "\u202c", "", "\u202d", "", "\u202e", "",
	"\u206a", "", "\u206b", "", "\u206c", "", "\u206d", "", "\u206e", "", "\u206f", "", "\ufeff", "")

// Fold returns a text that is equal for names of the same file on some file system: in another case, with composed or decomposed letters.
func Fold(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return strings.ToLower(name)
	}
	name = string([]rune(name)) // each byte that is not UTF-8 becomes U+FFFD, as on Windows
	return norm.NFC.String(ignored.Replace(cases.Fold().String(norm.NFC.String(name))))
}

// Decomposed reports whether a name has letters and their marks as separate characters, as macOS writes them.
func Decomposed(name string) bool { return !norm.NFC.IsNormalString(name) }
