package files

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxPlaces  = 3        // similar places shown to the model
	maxShown   = 120      // bytes of a line shown around the first difference
	maxRepeats = 20       // counted occurrences of one line in the searched text
	maxGuess   = 20 << 20 // maximum work of the search for one similar line, in pairs of compared bytes
)

// errNoMatch is wrapped by errors about text that is not in a file.
var errNoMatch = errors.New("text not found")

// numbered is a line with the number that read puts before it.
var numbered = regexp.MustCompile(`(?m)^\s*\d+: `)

// notLocated returns the error for an oldString that is not in the file, with the most similar places
// and their first differences.
func notLocated(name string, m *matching) error {
	var b strings.Builder
	fmt.Fprintf(&b, "oldString is not in %q", name)
	if lines := countLines(m.old); len(numbered.FindAllStringIndex(m.old, -1)) == lines && lines > 0 {
		b.WriteString(". Its lines begin with numbers: omit the \"N: \" that read adds")
	}
	b.WriteString(nearest(m.raw.lines, splitLines(m.old).lines))
	return fmt.Errorf("%w: %s", errNoMatch, b.String())
}

// nearest describes the places in a file that are most similar to the searched lines.
func nearest(file, asked []string) string {
	lines, want := inForm(file, strings.TrimSpace), inForm(asked, strings.TrimSpace)
	places := vote(lines, want)
	if len(places) == 0 {
		places = guess(lines, want)
	}
	if len(places) == 0 {
		return ". Nothing in the file is similar; read the file again"
	}
	var b strings.Builder
	b.WriteString(". The nearest places:")
	for _, p := range places {
		fmt.Fprintf(&b, "\nline %d: %d of %d lines match; %s", p.first+1, p.n, len(want), firstDifference(file[p.first:], asked, p.first+1))
	}
	return b.String()
}

// firstDifference describes the first difference between the searched lines and lines of the file, of which the first one has the number.
func firstDifference(lines, asked []string, number int) string {
	for k, want := range asked {
		if k >= len(lines) {
			return fmt.Sprintf("the file ends before line %d", number+k)
		}
		if lines[k] != want {
			at := commonPrefix(lines[k], want)
			return fmt.Sprintf("line %d differs:\n  file:  %s\n  asked: %s", number+k, excerpt(lines[k], at), excerpt(want, at))
		}
	}
	return "the lines match, but line breaks or the end differ"
}

// vote returns the offsets at which most lines of want equal lines of the file.
func vote(lines, want []string) []place {
	at := map[string][]int{}
	for k, text := range want {
		if utf8.RuneCountInString(text) > 2 && len(at[text]) < maxRepeats { // not brackets alone
			at[text] = append(at[text], k)
		}
	}
	votes := map[int]int{}
	for i, text := range lines {
		for _, k := range at[text] {
			if i-k >= -len(want)/2 {
				votes[i-k]++
			}
		}
	}
	places := make([]place, 0, len(votes))
	for first, n := range votes {
		places = append(places, place{first: max(first, 0), n: n})
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.first, b.first)) })
	return places[:min(len(places), maxPlaces)]
}

// guess returns the line that is most similar to the longest line of want, if any is similar. want has at least one line.
func guess(lines, want []string) []place {
	longest := 0
	for k, text := range want {
		if len(text) > len(want[longest]) {
			longest = k
		}
	}
	best := place{score: 0.5}
	budget := maxGuess
	for i, text := range lines {
		if budget -= len(text) * len(want[longest]); budget < 0 {
			break
		}
		if score := similarity(text, want[longest]); text != "" && score > best.score {
			best = place{first: max(i-longest, 0), n: 0, score: score}
		}
	}
	if best.score == 0.5 {
		return nil
	}
	return []place{best}
}

func commonPrefix(a, b string) int {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return i
}

// excerpt returns the part of a line around the byte at, in quotes, which show its white space.
func excerpt(s string, at int) string {
	start, end := max(at-maxShown/2, 0), min(at+maxShown, len(s))
	text := strconv.Quote(s[min(start, end):end])
	if start > 0 {
		text = "…" + text
	}
	if end < len(s) {
		text += "…"
	}
	return text
}
