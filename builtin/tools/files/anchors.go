package files

import (
	"slices"
)

const (
	// minSimilarity is how alike the lines between two anchors must be on average; opencode's figure.
	minSimilarity = 0.65
	// minLead is how much more alike the best place must be than the next one to be taken alone.
	minLead = 0.1
	// maxCompared bounds the work of a search for anchors in bytes compared with each other.
	maxCompared = 200 << 20
)

// place is a block of lines that may be meant.
type place struct {
	first, n int
	score    float64
}

// byAnchors finds blocks that begin and end as old does, are at most a quarter longer or shorter, and are
// alike in between.
func byAnchors(m *matching) []span {
	n := len(m.want)
	if n < 3 || m.want[0] == "" || m.want[n-1] == "" {
		return nil
	}
	slack := max(1, n/4)
	budget := maxCompared
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
			if score := m.between(i, size, &budget); score > best.score {
				best = place{i, size, score}
			}
		}
		if budget < 0 {
			return nil // too many places to tell them apart
		}
		if best.score >= minSimilarity {
			places = append(places, best)
		}
	}
	return m.best(places)
}

// between returns how alike the lines inside of the block of size lines at i are to those of old: the
// average over the lines of the longer of both.
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
			return 0 // the rest cannot make up for it
		}
	}
	return sum / float64(longest)
}

// byContext finds blocks of the same length that begin and end as old does and have at least half of the
// lines between that are not blank.
func byContext(m *matching) []span {
	n := len(m.want)
	if n < 3 || m.want[0] == "" || m.want[n-1] == "" {
		return nil
	}
	var places []place
	for i := 0; i+n <= len(m.lines); i++ {
		if m.lines[i] != m.want[0] || m.lines[i+n-1] != m.want[n-1] {
			continue
		}
		equal, all := 0, 0
		for k := 1; k < n-1; k++ {
			if m.lines[i+k] == "" && m.want[k] == "" {
				continue
			}
			all++
			if m.lines[i+k] == m.want[k] {
				equal++
			}
		}
		if all == 0 || 2*equal >= all {
			places = append(places, place{i, n, float64(equal) / float64(max(all, 1))})
		}
	}
	return m.best(places)
}

// best returns the span of the place that is clearly the best, or those of all that come near it.
func (m *matching) best(places []place) []span {
	if len(places) == 0 {
		return nil
	}
	top := slices.MaxFunc(places, func(a, b place) int {
		if a.score < b.score {
			return -1
		}
		return 1
	}).score
	var spans []span
	for _, p := range places {
		s := m.block(p.first, p.n)
		if p.score > top-minLead && (len(spans) == 0 || spans[len(spans)-1].end <= s.start) {
			spans = append(spans, s)
		}
	}
	return spans
}

// similarity returns how alike two lines are, from 0 to 1: one minus their edit distance in relation to
// the longer one.
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
