package tools

import (
	"cmp"
	"encoding/json"
	"math/bits"
	"slices"
	"strings"
	"unicode"
)

// rank returns the tools that contain words of the query, the best first.
func rank(tools []*Tool, query []string) []*Tool {
	slices.Sort(query)
	all := make([]ranked, len(tools))
	for i, one := range tools {
		all[i] = rankedTool(one)
	}
	scores := map[*Tool]int{}
	for _, word := range slices.Compact(query) {
		hits := map[*Tool]int{}
		for i := range all {
			if hit := all[i].matches(word); hit > 0 {
				hits[tools[i]] = hit
			}
		}
		for one, hit := range hits {
			scores[one] += hit * bits.Len(uint(len(tools)/len(hits))) // a word in few tools counts more
		}
	}
	out := slices.DeleteFunc(slices.Clone(tools), func(one *Tool) bool { return scores[one] == 0 })
	slices.SortStableFunc(out, func(a, b *Tool) int { return cmp.Compare(scores[b], scores[a]) })
	return out
}

// ranked has the searched words of a tool.
type ranked struct{ name, parameters, description []string }

func rankedTool(one *Tool) ranked {
	r := ranked{name: wordsOf(one.Def.ID), description: wordsOf(one.Def.Description)}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(one.Def.Parameters, &schema) == nil {
		for name := range schema.Properties {
			r.parameters = append(r.parameters, wordsOf(name)...)
		}
	}
	return r
}

// matches rates how well a word matches the tool: its name counts most, then the names of its parameters, then its description.
func (r *ranked) matches(word string) int {
	return 5*matching(r.name, word) + 2*matching(r.parameters, word) + matching(r.description, word)
}

// matching returns 2 when the word is among the words, 1 when one of them begins with it, else 0.
func matching(words []string, word string) int {
	best := 0
	for _, w := range words {
		if w == word {
			return 2
		}
		if len(word) > 2 && strings.HasPrefix(w, word) {
			best = 1
		}
	}
	return best
}

// wordsOf splits a text into its words in lower case, createIssue and create_issue into two.
func wordsOf(text string) []string {
	var spaced strings.Builder
	var last rune
	for _, r := range text {
		if unicode.IsUpper(r) && unicode.IsLower(last) {
			spaced.WriteByte(' ')
		}
		spaced.WriteRune(unicode.ToLower(r))
		last = r
	}
	return strings.FieldsFunc(spaced.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
