package files

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/tenonhq/tenon/internal/linediff"
	"github.com/tenonhq/tenon/internal/nearest"
)

// found is the result of searching oldString.
type found struct {
	spans []span
	how   string // the tolerance used; empty for an exact match
}

// locate finds old in text: exactly, else with increasing tolerance, in opencode's order. The first level that finds a place decides.
// Unless all is set, there must be exactly one place. Errors list the places that were found; name is the name of the file.
func locate(name, text, old string, all bool) (found, error) {
	m := &matching{text: text, old: old}
	for i, level := range levels {
		if i == 1 { // the first level, which usually succeeds, needs no lines
			m.split()
			if strings.TrimSpace(old) == "" {
				break // white space that differs is not similar
			}
		}
		spans := level.find(m)
		if len(spans) == 0 {
			continue
		}
		if len(spans) > 1 && (!all || level.likely) {
			return found{}, ambiguous(name, text, spans, level.how)
		}
		for _, s := range spans {
			if level.how != "" && m.tooLarge(s) {
				return found{}, fmt.Errorf("oldString resembles the text at line %d of %q (%s), which is much longer; give the text to replace in full",
					lineOf(text, s.start), name, level.how)
			}
		}
		return found{spans, level.how}, nil
	}
	return found{}, notLocated(name, m)
}

// level is one way to find oldString.
type level struct {
	how    string // for the model: "matched " + how
	find   func(*matching) []span
	likely bool // the result only resembles oldString, so it is never replaced in several places
}

// levels are the ways in their order. opencode's level for a common indentation is part
// of ignoringIndentation, which it can only narrow; its last one repeats the first.
var levels = []level{
	{"", exactly, false},
	{"ignoring indentation", ignoringIndentation, false},
	{"by its first and last line", byAnchors, true},
	{"ignoring the amount of white space and how letters are composed", ignoringSpace, false},
	{"after unescaping", unescaped, false},
	{"without the white space around it", trimmed, false},
	{"by its first and last line and half of those between", byContext, true},
}

// matching is a search for old in text, with data used by several levels.
type matching struct {
	text, old string
	raw       textLines // of text
	asked     []string  // lines of old
	lines     []string  // of text, trimmed
	want      []string  // of old, trimmed
	tail      bool      // old ends with a line break, which is part of the match
	left      int       // of maxCompared
}

// split sets the fields about lines.
func (m *matching) split() {
	m.raw, m.asked = splitLines(m.text), splitLines(m.old).lines
	m.lines, m.want = inForm(m.raw.lines, strings.TrimSpace), inForm(m.asked, strings.TrimSpace)
	m.tail = strings.HasSuffix(m.old, "\n")
}

// block returns the span of n lines from line i, with the last line break if old has one.
func (m *matching) block(i, n int) span {
	s := span{m.raw.starts[i], m.raw.starts[i+n]}
	if !m.tail && strings.HasSuffix(m.text[s.start:s.end], "\n") {
		s.end--
	}
	return s
}

// tooLarge is opencode's guard against replacing far more than intended.
func (m *matching) tooLarge(s span) bool {
	text := m.text[s.start:s.end]
	n, lines := linediff.Count(m.old), linediff.Count(text)
	return lines >= max(n+3, 2*n) || len(text) > max(len(m.old)+500, 4*len(m.old))
}

// equal returns the numbers of the lines at which the lines of old begin, compared in a form; see inForm.
func (m *matching) equal(form func(string) string) []int {
	return slices.Collect(blocks(inForm(m.lines, form), inForm(m.want, form), 0))
}

// blocks returns the spans of the blocks that are as long as old and begin at these lines.
func (m *matching) blocks(at []int) (spans []span) {
	for _, i := range at {
		spans = append(spans, m.block(i, len(m.want)))
	}
	return spans
}

func exactly(m *matching) []span { return occurrences(m.text, m.old) }

func occurrences(text, old string) []span {
	spans := make([]span, 0, strings.Count(text, old)) // may be millions
	for at := 0; ; {
		i := strings.Index(text[at:], old)
		if i < 0 {
			return spans
		}
		spans = append(spans, span{at + i, at + i + len(old)})
		at += i + len(old)
	}
}

// ignoringIndentation compares trimmed lines. Of several places it prefers those
// whose indentation differs by the same amount in every line.
func ignoringIndentation(m *matching) []span {
	all := m.equal(nil)
	shifted := slices.DeleteFunc(slices.Clone(all), func(at int) bool { return !m.shifted(at) })
	if len(shifted) > 0 {
		all = shifted
	}
	return m.blocks(all)
}

// shifted reports whether the lines from number at are those of old, all indented by the same amount more or less.
func (m *matching) shifted(at int) bool {
	amounts := map[int]bool{}
	for k, want := range m.asked {
		have := m.raw.lines[at+k]
		before, after := indentation(want), indentation(have)
		if want[before:] != have[after:] {
			return false // at the end of the line
		}
		if m.want[k] != "" {
			amounts[after-before] = true
		}
	}
	return len(amounts) <= 1
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// ignoringSpace compares lines with all white space collapsed and letters composed; if none match and old is one line, it searches inside
// lines.
func ignoringSpace(m *matching) []span {
	spans := m.blocks(m.equal(collapse))
	if len(spans) > 0 || len(m.want) != 1 || m.tail || len(m.old)*len(m.text) > maxCompared {
		return spans
	}
	words := strings.Fields(m.old)
	for i, word := range words {
		words[i] = regexp.QuoteMeta(norm.NFC.String(word)) + "|" + regexp.QuoteMeta(norm.NFD.String(word))
	}
	re, err := regexp.Compile("(?:" + strings.Join(words, `)[^\S\n]+(?:`) + ")")
	if err != nil { // old is not UTF-8
		return nil
	}
	for _, loc := range re.FindAllStringIndex(m.text, -1) {
		spans = append(spans, span{loc[0], loc[1]})
	}
	return spans
}

// collapse also composes letters: macOS decomposes them, and models write é as one character.
func collapse(s string) string { return norm.NFC.String(strings.Join(strings.Fields(s), " ")) }

// unescaped removes one level of escapes, which models sometimes add.
func unescaped(m *matching) []span {
	replacer := strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r", `\'`, "'", `\"`, `"`, "\\`", "`", `\\`, `\`, `\$`, "$")
	return occurrences(m.text, replacer.Replace(m.old))
}

func trimmed(m *matching) []span { return occurrences(m.text, strings.TrimSpace(m.old)) }

// ambiguous returns the error for more than one place.
func ambiguous(name, text string, spans []span, how string) error {
	const limit = 10
	var at []string
	for _, s := range spans[:min(len(spans), limit)] {
		at = append(at, fmt.Sprint(lineOf(text, s.start)))
	}
	if len(spans) > limit {
		at = append(at, "…")
	}
	if how != "" {
		how = " (" + how + ")"
	}
	return fmt.Errorf("oldString is in %q %d times%s, at lines %s; add lines around it until it is unique, or set replaceAll",
		name, len(spans), how, strings.Join(at, ", "))
}

const (
	// minSimilarity is the minimum average similarity of the lines between two anchors; opencode's figure.
	minSimilarity = 0.65
	// minLead is the minimum lead of the best place over the next one.
	minLead = 0.1
	// maxCompared is the maximum work of one level, in pairs of compared bytes.
	maxCompared = 200 << 20
	// perLine is the work of comparing any two lines.
	perLine = 50
)

// place is a block of lines that may be the intended one.
type place struct {
	first, n int
	score    float64
}

// byAnchors finds blocks with the first and last line of old and similar lines between them, at most a quarter longer or
// shorter.
func byAnchors(m *matching) []span {
	return m.anchored(max(1, len(m.want)/4), minSimilarity, func(have, want string) (float64, bool) {
		if m.left -= len(have) * len(want); m.left < 0 {
			return 0, true
		}
		return similarity(have, want), true
	})
}

// byContext finds blocks of the same length with the first and last line of old and at least half of its other nonblank
// lines.
func byContext(m *matching) []span {
	return m.anchored(0, 0.5, func(have, want string) (float64, bool) {
		if have == want {
			return 1, have != ""
		}
		return 0, true
	})
}

// lineComparison returns the similarity of two lines, from 0 to 1, and whether they count.
type lineComparison func(have, want string) (score float64, counts bool)

// anchored finds blocks with the first and last line of old that have at most slack lines more or less, and whose inner lines have an average
// similarity of at least least. Of the blocks that begin at one line it takes the most similar one, and of these the best and those almost
// as similar.
func (m *matching) anchored(slack int, least float64, compare lineComparison) (spans []span) {
	n := len(m.want)
	if n < 3 || m.want[0] == "" || m.want[n-1] == "" {
		return nil
	}
	var places []place
	top := 0.0
	m.left = maxCompared
	for i, line := range m.lines {
		best := place{score: -1}
		for size := max(n-slack, 3); line == m.want[0] && size <= n+slack && i+size <= len(m.lines); size++ {
			if m.left--; m.left < 0 {
				return nil // too many places
			}
			if m.lines[i+size-1] != m.want[n-1] {
				continue
			}
			if score := m.between(i, size, least, compare); score >= least && score > best.score {
				best = place{i, size, score}
			}
		}
		if best.n > 0 {
			places, top = append(places, best), max(top, best.score)
		}
	}
	for _, p := range places {
		s := m.block(p.first, p.n)
		if p.score > top-minLead && (len(spans) == 0 || spans[len(spans)-1].end <= s.start) {
			spans = append(spans, s)
		}
	}
	return spans
}

// between returns the average similarity of the inner lines of a block and of old, or less than least. The longer one determines the number of
// lines.
func (m *matching) between(i, size int, least float64, compare lineComparison) float64 {
	have, want := m.lines[i+1:i+size-1], m.want[1:len(m.want)-1]
	longest := max(len(have), len(want))
	missing := float64(longest - min(len(have), len(want)))
	for k := range min(len(have), len(want)) {
		m.left -= perLine
		score, counts := compare(have[k], want[k])
		if !counts {
			longest--
			continue
		}
		if missing += 1 - score; missing > (1-least)*float64(longest) {
			return 0 // the rest cannot compensate
		}
	}
	return 1 - missing/float64(max(longest, 1))
}

// similarity returns the similarity of two lines from 0 to 1: one minus their edit distance divided by
// the longer length.
func similarity(a, b string) float64 {
	if a == b {
		return 1
	}
	return 1 - float64(nearest.Distance(a, b))/float64(max(len(a), len(b)))
}
