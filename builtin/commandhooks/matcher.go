package commandhooks

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// matcher selects the tools, agents or sources of an event that a command applies to. The zero value matches everything.
type matcher struct {
	text  string
	names []string       // exact
	re    *regexp.Regexp // instead of names
}

// newMatcher parses a matcher: empty or * for everything, names separated by |, else a regular expression, which matches anywhere
// in a name.
func newMatcher(text string) (matcher, error) {
	m := matcher{text: text}
	switch {
	case m.everything():
		return m, nil
	case !strings.ContainsFunc(text, isPattern):
		for name := range strings.SplitSeq(text, "|") {
			m.names = append(m.names, strings.TrimSpace(name))
		}
		return m, nil
	}
	var err error
	if m.re, err = regexp.Compile(text); err != nil {
		return matcher{}, fmt.Errorf("%q is neither a list of names separated by | nor a Go regular expression (RE2, without look-around): %w", text, err)
	}
	return m, nil
}

// isPattern reports whether a character makes a matcher a regular expression.
func isPattern(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-| ", r)
}

func (m *matcher) everything() bool { return m.text == "" || m.text == "*" }

// any reports whether the matcher matches one of the names.
func (m *matcher) any(names ...string) bool {
	switch {
	case m.everything():
		return true
	case m.re != nil:
		return slices.ContainsFunc(names, m.re.MatchString)
	}
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(m.names, name) })
}
