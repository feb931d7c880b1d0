// Package words converts texts and search words for SQLite's full-text index.
package words

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/tenonhq/tenon/host/store"
)

// maxIndexed is the maximum length of the indexed text of a part, in bytes. While it indexes a text, SQLite needs up to five times as much
// memory.
const maxIndexed = 512 << 10

// Of returns a text in the form that is indexed; empty for an empty text.
func Of(text string) string {
	if len(text) > maxIndexed {
		text = strings.ToValidUTF8(text[:maxIndexed], "")
	}
	return apart(text)
}

// apart puts spaces around the characters of scripts that do not separate words, so that each character counts as a word and a search for
// several finds them in a row.
func apart(text string) string {
	if strings.IndexFunc(text, unspaced) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unspaced(r) {
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func unspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer)
}

// Match returns a query of the index for words. It quotes them, so that they contain no operators. Errors: store.ErrSearch.
func Match(words []string) (string, error) {
	var terms []string
	for _, word := range words {
		word = strings.ToValidUTF8(word, " ")
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
			terms = append(terms, `"`+strings.NewReplacer(`"`, `""`, "\x00", " ").Replace(apart(word))+`"`)
		}
	}
	if len(terms) == 0 {
		return "", fmt.Errorf("%w: no word to search for: write words with letters or digits", store.ErrSearch)
	}
	return strings.Join(terms, " AND "), nil
}
