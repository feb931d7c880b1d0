package search

import (
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

// lowerASCII returns a copy of data in buf, with ASCII letters in lower case.
func lowerASCII(buf, data []byte) []byte {
	buf = append(buf[:0], data...)
	for i, c := range buf {
		if 'A' <= c && c <= 'Z' {
			buf[i] = c + 'a' - 'A'
		}
	}
	return buf
}
