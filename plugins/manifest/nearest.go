package manifest

import (
	"slices"
	"strings"
)

// suggest returns the remedy for a name that is none of the known ones.
func suggest(name string, known []string) string {
	if best := nearest(name, known); best != "" {
		return `did you mean "` + best + `"?`
	}
	if len(known) == 0 {
		return "remove it"
	}
	known = slices.Clone(known)
	slices.Sort(known)
	return "known here: " + strings.Join(known, ", ")
}

// nearest returns the known name that name is most likely a slip of, or "".
func nearest(name string, known []string) string {
	const maxName = 64 // longer is no slip
	if len(name) > maxName {
		return ""
	}
	best, least := "", 1+max(1, len(name)/3)
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance counts the bytes to insert, remove or replace to make b of a.
func distance(a, b string) int {
	last, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
		}
		last, row = row, last
	}
	return last[len(b)]
}
