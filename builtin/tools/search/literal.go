package search

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxLiterals is the number of alternatives above which searching each one costs more than it saves.
const maxLiterals = 16

// literals is a set of texts; every match of a pattern contains at least one of them. Searching them is
// far cheaper than matching the pattern. The zero value means that no text is known.
type literals struct {
	texts []string // lower case if fold is set; never empty
	fold  bool     // ASCII letters match in both cases
}

// shortest returns the length of the shortest text, a measure of how selective the set is.
func (l literals) shortest() int {
	if len(l.texts) == 0 {
		return 0
	}
	return len(slices.MinFunc(l.texts, func(a, b string) int { return len(a) - len(b) }))
}

// required returns the most selective set for re.
func required(re *syntax.Regexp) literals {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return foldLiteral(re.Rune)
		}
		if strings.ContainsRune(string(re.Rune), utf8.RuneError) {
			return literals{} // also matches bytes that are not UTF-8
		}
		return literals{texts: []string{string(re.Rune)}}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		var best literals
		for _, sub := range re.Sub {
			if l := required(sub); l.shortest() > best.shortest() {
				best = l
			}
		}
		return best
	case syntax.OpAlternate:
		return requiredOfAny(re.Sub)
	}
	return literals{}
}

func requiredOfAny(subs []*syntax.Regexp) literals {
	var all literals
	for _, sub := range subs {
		l := required(sub)
		if len(l.texts) == 0 || len(all.texts) > 0 && l.fold != all.fold {
			return literals{}
		}
		all.fold = l.fold
		all.texts = append(all.texts, l.texts...)
	}
	if len(all.texts) > maxLiterals {
		return literals{}
	}
	return all
}

// foldLiteral returns the longest ASCII piece of a case-insensitive literal. k and s end a piece because they also match the
// Kelvin sign and the long s.
func foldLiteral(runes []rune) literals {
	isPlain := func(r rune) bool { return r < utf8.RuneSelf && !strings.ContainsRune("ksKS", r) }
	best := ""
	for _, piece := range strings.FieldsFunc(string(runes), func(r rune) bool { return !isPlain(r) }) {
		if len(piece) > len(best) {
			best = strings.ToLower(piece)
		}
	}
	if best == "" {
		return literals{}
	}
	return literals{texts: []string{best}, fold: true}
}

// finder searches one text. Only one goroutine may use it.
type finder struct {
	text   string
	fold   bool
	rare   int // the index of the rarest letter in text, if fold is set
	lo, hi byte
}

func newFinder(text string, fold bool) finder {
	f := finder{text: text, fold: fold}
	if !fold {
		return f
	}
	const common = " etaoinshrdlcumwfgypbvkjxqz" // by frequency; anything else is rarer
	rank := -1
	for i := range len(text) {
		r := strings.IndexByte(common, text[i])
		if r < 0 {
			r = len(common)
		}
		if r > rank {
			rank, f.rare = r, i
		}
	}
	f.lo, f.hi = text[f.rare], bytes.ToUpper([]byte{text[f.rare]})[0]
	return f
}

// index returns the index of the text in data, or -1.
func (f *finder) index(data []byte) int {
	if !f.fold {
		return bytes.Index(data, []byte(f.text))
	}
	lo, hi := -1, -1 // the next letter of each case at or after from; len(data) if there is none
	for from := f.rare; from < len(data); {
		if lo < from {
			lo = nextByte(data, from, f.lo)
		}
		if hi < from {
			hi = nextByte(data, from, f.hi)
		}
		at := min(lo, hi)
		if end := at - f.rare + len(f.text); at == len(data) || end > len(data) {
			return -1
		} else if foldEqual(data[at-f.rare:end], f.text) {
			return at - f.rare
		}
		from = at + 1
	}
	return -1
}

func nextByte(data []byte, from int, c byte) int {
	if i := bytes.IndexByte(data[from:], c); i >= 0 {
		return from + i
	}
	return len(data)
}

// foldEqual reports whether data is lower, a text of the same length, in any case.
func foldEqual(data []byte, lower string) bool {
	for i, c := range data {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
