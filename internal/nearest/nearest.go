// Package nearest suggests the correct name for a misspelled one.
package nearest

import (
	"slices"
	"strings"
)

// Remedy returns the remedy for an unknown name.
func Remedy(name string, known []string) string {
	if best := Name(name, known); best != "" {
		return `did you mean "` + best + `"?`
	}
	if len(known) == 0 {
		return "remove it"
	}
	known = slices.Clone(known)
	slices.Sort(known)
	return "known here: " + strings.Join(known, ", ")
}

// Name returns the known name that was probably meant, or "".
func Name(name string, known []string) string {
	const maxName = 64 // longer names are not compared: the distance costs the product of the lengths
	if len(name) > maxName {
		return ""
	}
	best, bestDistance := "", 1+max(1, len(name)/3)
	for _, k := range known {
		d := Distance(strings.ToLower(name), strings.ToLower(k))
		if d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}

// Slip reports whether a name differs from the known one by at most one mistake: a wrong, missing or additional letter, or two swapped ones.
func Slip(name, known string) bool {
	return len(name) <= len(known)+1 && Distance(strings.ToLower(name), strings.ToLower(known)) <= 1
}

// Distance returns the Levenshtein distance of a and b in bytes, except that swapping two neighbors counts as one change.
func Distance(a, b string) int {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	rows := make([]int, 3*(len(b)+1))
	before, last, row := rows[:len(b)+1], rows[len(b)+1:2*len(b)+2], rows[2*len(b)+2:]
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
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
