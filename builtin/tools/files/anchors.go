package files

import (
	"cmp"
	"slices"
)

const (
	// minSimilarity is the minimum average similarity of the lines between two anchors; opencode's figure.
	minSimilarity = 0.65
	// minLead is the minimum lead of the best place over the next one.
	minLead = 0.1
	// maxCompared is the maximum work of a search for anchors, in pairs of compared bytes.
	maxCompared = 200 << 20
)

// place is a block of lines that may be the intended one.
type place struct {
	first, n int
	score    float64
}

// byAnchors finds blocks with the first and last line of old and similar lines between them, at most a quarter longer or
// shorter.
func byAnchors(m *matching) []span {
	budget := maxCompared
	spans := m.anchored(max(1, len(m.want)/4), func(i, size int) (float64, bool) {
		score := m.between(i, size, &budget)
		return score, score >= minSimilarity
	})
	if budget < 0 {
		return nil // too many places
	}
	return spans
}

// byContext finds blocks of the same length with the first and last line of old and at least half of its other nonblank
// lines.
func byContext(m *matching) []span {
	return m.anchored(0, func(i, size int) (float64, bool) {
		equal, all := 0, 0
		for k := 1; k < size-1; k++ {
			if m.lines[i+k] == "" && m.want[k] == "" {
				continue
			}
			all++
			if m.lines[i+k] == m.want[k] {
				equal++
			}
		}
		return float64(equal) / float64(max(all, 1)), 2*equal >= all
	})
}

// anchored finds blocks with the first and last line of old that have at most slack lines more or less and that score accepts. Of the
// blocks that begin at one line it takes the one with the highest score.
func (m *matching) anchored(slack int, score func(i, size int) (float64, bool)) []span {
	n := len(m.want)
	if n < 3 || m.want[0] == "" || m.want[n-1] == "" {
		return nil
	}
	var places []place
	for i := range m.lines {
		if m.lines[i] != m.want[0] {
			continue
		}
		best := place{score: -1}
		for size := max(n-slack, 3); size <= n+slack && i+size <= len(m.lines); size++ {
			if m.lines[i+size-1] != m.want[n-1] {
				continue
			}
			if s, ok := score(i, size); ok && s > best.score {
				best = place{i, size, s}
			}
		}
		if best.n > 0 {
			places = append(places, best)
		}
	}
	return m.best(places)
}

// between returns the average similarity of the inner lines of a block and of old. The longer one determines the number of lines.
func (m *matching) between(i, size int, budget *int) float64 {
	have, want := m.lines[i+1:i+size-1], m.want[1:len(m.want)-1]
	longest := max(len(have), len(want))
	sum := 0.0
	for k := range min(len(have), len(want)) {
		*budget -= len(have[k])*len(want[k]) + 1
		if *budget < 0 {
			return 0
		}
		sum += similarity(have[k], want[k])
		if sum+float64(longest-k-1) < minSimilarity*float64(longest) {
			return 0 // the rest cannot compensate
		}
	}
	return sum / float64(longest)
}

// best returns the spans of the best place and of all places with a similar score.
func (m *matching) best(places []place) []span {
	if len(places) == 0 {
		return nil
	}
	top := slices.MaxFunc(places, func(a, b place) int { return cmp.Compare(a.score, b.score) }).score
	var spans []span
	for _, p := range places {
		s := m.block(p.first, p.n)
		if p.score > top-minLead && (len(spans) == 0 || spans[len(spans)-1].end <= s.start) {
			spans = append(spans, s)
		}
	}
	return spans
}

// similarity returns the similarity of two lines from 0 to 1: one minus their edit distance divided by
// the longer length.
func similarity(a, b string) float64 {
	longest := max(len(a), len(b))
	if a == b {
		return 1
	}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return 1 - float64(distance(a, b))/float64(longest)
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			above := row[j+1]
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(diagonal+cost, above+1, row[j]+1)
			diagonal = above
		}
	}
	return row[len(b)]
}
