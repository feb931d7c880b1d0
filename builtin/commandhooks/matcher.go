package commandhooks

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/lazyregexp"
)

// matcher selects the tools, agents or sources of an event that a command applies to. The zero value matches everything.
type matcher struct {
	text string
	re   *regexp.Regexp // nil: everything
}

// newMatcher parses a matcher: empty or * for everything, names separated by |, else a regular expression, which matches anywhere
// in a name.
func newMatcher(text string) (matcher, error) {
	pattern := text
	switch {
	case text == "" || text == "*":
		return matcher{text: text}, nil
	case !strings.ContainsFunc(text, isPattern):
		pattern = "^(" + spaceAroundBar().ReplaceAllLiteralString(strings.TrimSpace(text), "|") + ")$"
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return matcher{}, fmt.Errorf("%q is neither a list of names separated by | nor a Go regular expression (RE2, without look-around): %w", text, err)
	}
	return matcher{text, re}, nil
}

// spaceAroundBar matches what separates names.
var spaceAroundBar = lazyregexp.New(` *\| *`)

// isPattern reports whether a character makes a matcher a regular expression.
func isPattern(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-| ", r)
}

func (m *matcher) everything() bool { return m.re == nil }

// any reports whether the matcher matches one of the names.
func (m *matcher) any(names ...string) bool {
	return m.everything() || slices.ContainsFunc(names, m.re.MatchString)
}
