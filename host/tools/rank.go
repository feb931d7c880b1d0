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
func rank(tools []*Tool, query []string) (out []*Tool) {
	slices.Sort(query)
	query = slices.Compact(query)
	all := make([]ranked, len(tools))
	for i, one := range tools {
		all[i] = rankedTool(one)
	}
	for _, word := range query {
		n := 0
		for i := range all {
			if all[i].hit = all[i].matches(word); all[i].hit > 0 {
				n++
			}
		}
		for i := range all {
			all[i].score += all[i].hit * bits.Len(uint(len(tools)/max(n, 1))) // a word in few tools counts more
		}
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(b.score, a.score) })
	for _, r := range all {
		if r.score > 0 {
			out = append(out, r.tool)
		}
	}
	return out
}

// ranked is a tool with its searched words.
type ranked struct {
	tool                          *Tool
	name, parameters, description []string
	hit                           int // for one word of the query
	score                         int
}

func rankedTool(one *Tool) ranked {
	r := ranked{tool: one, name: wordsOf(one.Def.ID), description: wordsOf(one.Def.Description)}
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
