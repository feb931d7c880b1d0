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

// Score returns how well a text matches a pattern, and false if it does not contain the characters of the pattern in this order. Case
// counts only if the pattern has a capital letter. An empty pattern matches everything.
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

// Filter returns the texts that match a pattern, the best first, as indexes into the list. Equally good ones stay in order.
func Filter(pattern string, count int, text func(int) string) []int {
	type found struct{ index, score int }
	var all []found
	for i := range count {
		if score, ok := Score(pattern, text(i)); ok {
			all = append(all, found{i, score})
		}
	}
	if pattern != "" {
		slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(b.score, a.score) })
	}
	out := make([]int, len(all))
	for i, f := range all {
		out[i] = f.index
	}
	return out
}
