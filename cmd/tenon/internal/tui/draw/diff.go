package draw

import (
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
)

// WrapDiff breaks lines of a diff, each painted in one look. It keeps every character, so that spaces cannot hide the text after them.
func WrapDiff(lines []string, width int) []string {
	var out []string
	for _, line := range lines {
		plain := terminal.StripSGR(line)
		before, after, _ := strings.Cut(line, plain)
		for i, part := range breakLines(plain, max(width-2, 4)) {
			if i > 0 {
				part = "  " + part
			}
			out = append(out, before+part+after)
		}
	}
	return out
}

// SplitDiff returns a unified diff in two columns, old and new.
func SplitDiff(k *Theme, diff string, width int) []string {
	half := max(8, (width-3)/2)
	var out, old, fresh []string
	flush := func() {
		for i := range max(len(old), len(fresh)) {
			var left, right []string
			if i < len(old) {
				left = WrapDiff(old[i:i+1], half)
			}
			if i < len(fresh) {
				right = WrapDiff(fresh[i:i+1], half)
			}
			for row := range max(len(left), len(right)) {
				out = append(out, Pad(at(left, row), half)+Paint(k.Faint, " │ ")+at(right, row))
			}
		}
		old, fresh = nil, nil
	}
	for _, text := range k.Text.Diff(diff) {
		switch plain := terminal.StripSGR(text); {
		case strings.HasPrefix(plain, "--- "), strings.HasPrefix(plain, "+++ "), strings.HasPrefix(plain, "@@"), strings.HasPrefix(plain, "diff "):
			flush()
			out = append(out, WrapDiff([]string{text}, width)...)
		case strings.HasPrefix(plain, "-"):
			if len(fresh) > 0 {
				flush()
			}
			old = append(old, text)
		case strings.HasPrefix(plain, "+"):
			fresh = append(fresh, text)
		default:
			flush()
			old, fresh = []string{text}, []string{text}
			flush()
		}
	}
	flush()
	return out
}

// at returns a line, or "" after the last one.
func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}
