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
	query = slices.Compact(query)
	texts := make([]toolText, len(tools))
	for i, one := range tools {
		texts[i] = textOfTool(one)
	}
	scores := make([]int, len(tools))
	for _, word := range query {
		hits, n := make([]int, len(tools)), 0
		for i := range texts {
			if hits[i] = texts[i].matches(word); hits[i] > 0 {
				n++
			}
		}
		for i, hit := range hits {
			if hit > 0 { // a word in few tools counts more
				scores[i] += hit * bits.Len(uint(len(tools)/n))
			}
		}
	}
	var order []int
	for i, score := range scores {
		if score > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	out := make([]*Tool, len(order))
	for i, at := range order {
		out[i] = tools[at]
	}
	return out
}

// toolText holds the searched words of a tool.
type toolText struct{ name, parameters, description []string }

func textOfTool(one *Tool) toolText {
	text := toolText{name: wordsOf(one.Def.ID), description: wordsOf(one.Def.Description)}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(one.Def.Parameters, &schema) == nil {
		for name := range schema.Properties {
			text.parameters = append(text.parameters, wordsOf(name)...)
		}
	}
	return text
}

// matches rates how well a word matches the tool: its name counts most, then the names of its parameters, then its description.
func (t *toolText) matches(word string) int {
	return 5*matching(t.name, word) + 2*matching(t.parameters, word) + matching(t.description, word)
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
