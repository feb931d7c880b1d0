package files

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/tenonhq/tenon/internal/linediff"
)

const (
	maxPlace = 12       // lines shown of a place in the file
	maxShown = 4 << 10  // bytes after which no further one is shown
	maxGuess = 20 << 20 // maximum work of the search for a similar line, and of the comparison of its neighbors, in pairs of compared bytes
)

// errNoMatch is wrapped by errors about text that is not in a file.
var errNoMatch = errors.New("text not found")

// withNumber is a line with the number that read puts before it.
var withNumber = regexp.MustCompile(`(?m)^\s*\d+: `)

// notLocated returns the error for an oldString that is not in the file, with the most similar place.
func notLocated(name string, m *matching) error {
	var b strings.Builder
	fmt.Fprintf(&b, "oldString is not in %q", name)
	if lines := linediff.Count(m.old); len(withNumber.FindAllStringIndex(m.old, -1)) == lines && lines > 0 {
		b.WriteString(". Its lines begin with numbers: omit the \"N: \" that read adds")
	}
	b.WriteString(closest(m.raw.lines, m.asked))
	return fmt.Errorf("%w: %s", errNoMatch, b.String())
}

// closest describes the place in a file that is most similar to the searched lines: where a line resembles the longest of them, and most of the
// others are equal. It shows the file from a little before the first line that differs.
func closest(file, asked []string) string {
	lines, want := inForm(file, strings.TrimSpace), inForm(asked, strings.TrimSpace)
	longest := 0
	for k, text := range want {
		if len(text) > len(want[longest]) {
			longest = k
		}
	}
	best, budget, compared := place{score: 0.5}, maxGuess, 0
	for i, text := range lines {
		score := 0.0
		if text == want[longest] {
			score = 1
		} else if budget -= len(text) * len(want[longest]); budget >= 0 {
			score = similarity(text, want[longest])
		}
		if score <= 0.5 || text == "" {
			continue
		}
		if compared += len(want) * len(text); compared > maxGuess && best.score > 0.5 {
			break // the file repeats one line
		}
		p := place{first: max(i-longest, 0)}
		for k, text := range want[:min(len(want), len(lines)-p.first)] {
			if lines[p.first+k] == text {
				p.n++
			}
		}
		if p.score = score + float64(p.n); p.score > best.score {
			best = p
		}
	}
	if best.score == 0.5 {
		return ". Nothing in the file is similar; read the file again"
	}
	first := best.first // line that differs
	for first < len(lines) && first-best.first < len(want) && lines[first] == want[first-best.first] {
		first++
	}
	differs := fmt.Sprintf("line %d differs", first+1)
	if first == len(lines) {
		differs = fmt.Sprintf("the file ends after line %d", first)
	}
	return fmt.Sprintf(". The nearest place is line %d: %d of %d lines match; %s. The file there:%s", best.first+1, best.n, len(want),
		differs, numbered(file, max(first-1, 1), maxPlace))
}

// numbered returns n lines of a file from number first on, but at most maxPlace, as read shows them.
func numbered(lines []string, first, n int) string {
	var b strings.Builder
	for i := first; i < first+min(n, maxPlace) && i <= len(lines) && b.Len() < maxShown; i++ {
		fmt.Fprintf(&b, "\n%d: %s", i, showLine(i, []byte(lines[i-1])))
	}
	return b.String()
}
