// Package words converts texts and search words for SQLite's full-text index.
package words

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/tenonhq/tenon/host/store"
)

// maxIndexed bounds the text of one part that can be found, in bytes from its beginning. SQLite keeps the index of a text in memory, at up
// to five times the size of the text, until the text has been read.
const maxIndexed = 512 << 10

// Of returns the words of a text as the index stores them, of an empty text none.
func Of(text string) string {
	if len(text) > maxIndexed {
		text = strings.ToValidUTF8(text[:maxIndexed], "")
	}
	return apart(text)
}

// apart puts spaces around the characters of scripts that write words without any between them. Each is a word then,
// and several in a row are found like words in a row.
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

// minPrefix is the length of the shortest beginning of a word that can be looked for: shorter ones stand for too many.
const minPrefix = 3

// Match writes words in the language of the index, quoted, so that nothing in them is an operator. It reports whether some are
// beginnings of words. Errors: store.ErrSearch.
func Match(words []string) (match string, prefixes bool, err error) {
	var terms []string
	for _, word := range words {
		w, prefix := strings.CutSuffix(strings.ToValidUTF8(word, " "), "*")
		letters := 0
		for _, r := range w {
			if unicode.IsLetter(r) || unicode.IsNumber(r) {
				letters++
			}
		}
		if letters == 0 {
			continue
		}
		w = `"` + strings.ReplaceAll(strings.ReplaceAll(apart(w), `"`, `""`), "\x00", " ") + `"`
		if prefix {
			if letters < minPrefix {
				return "", false, fmt.Errorf("%w: %q matches too many words: write at least %d letters before the *", store.ErrSearch, word, minPrefix)
			}
			w, prefixes = w+"*", true
		}
		terms = append(terms, w)
	}
	if len(terms) == 0 {
		return "", false, fmt.Errorf("%w: no word to search for: write words with letters or digits", store.ErrSearch)
	}
	return strings.Join(terms, " AND "), prefixes, nil
}
