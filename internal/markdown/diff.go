package markdown

import (
	"strings"

	"github.com/tenonhq/tenon/internal/visible"
)

// Diff returns the painted lines of a unified diff. It expands tabs, but does not break lines.
func (s *Style) Diff(diff string) []string {
	lines := strings.Split(strings.TrimRight(visible.Text(diff), "\n"), "\n")
	for i, line := range lines {
		line = detab(line)
		lines[i] = paint(s.diffLook(line), line)
	}
	return lines
}

// diffLook returns the look of a line of a diff.
func (s *Style) diffLook(line string) string {
	switch {
	case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "diff "):
		return s.File
	case strings.HasPrefix(line, "+"):
		return s.Added
	case strings.HasPrefix(line, "-"):
		return s.Removed
	case strings.HasPrefix(line, "@@"):
		return s.Hunk
	}
	return ""
}
