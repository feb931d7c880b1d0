// Package fuzzy matches texts by a subsequence of their characters.
package fuzzy

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Points for a match. Characters at the start of a word score more than others, and adjacent characters more than scattered ones, so "gr"
// prefers "git-rebase" and "grep" to "merger".
const (
	pointMatch    = 1
	pointStart    = 6
	pointNeighbor = 4
	pointFirst    = 8
)

// Score rates the match of a text with a pattern. ok is false if the text does not contain the characters of the pattern in this
// order. Case counts only if the pattern has a capital letter. An empty pattern matches everything.
func Score(pattern, text string) (score int, ok bool) {
	if strings.ToLower(pattern) == pattern {
		text = strings.ToLower(text)
	}
	at := 0 // end of the previous match
	for _, r := range pattern {
		skipped := strings.IndexRune(text[at:], r)
		if skipped < 0 {
			return 0, false
		}
		start := at + skipped
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		score += pointMatch
		if !unicode.IsLetter(before) && !unicode.IsDigit(before) {
			score += pointStart
		}
		if start == 0 {
			score += pointFirst
		} else if skipped == 0 {
			score += pointNeighbor
		}
		_, size := utf8.DecodeRuneInString(text[start:]) // 1 for a byte that is not UTF-8
		at = start + size
	}
	if strings.Contains(text, pattern) { // the whole pattern scores most
		score += pointFirst + pointNeighbor*utf8.RuneCountInString(pattern)
	}
	return score*8 - min(len(text), 64)/8, true
}

// Filter returns the texts that match a pattern, the best first, as indexes into the list; never nil. Equally good texts keep their order.
func Filter(pattern string, count int, text func(int) string) []int {
	scores, found := make([]int, count), make([]int, 0, count)
	for i := range count {
		score, ok := Score(pattern, text(i))
		if scores[i] = score; ok {
			found = append(found, i)
		}
	}
	if pattern != "" {
		slices.SortStableFunc(found, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	}
	return found
}
