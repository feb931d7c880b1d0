package wire

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"github.com/tenonhq/tenon/internal/lazyregexp"
)

var (
	versionAfter  = lazyregexp.New(`claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?:\D|$)`)
	versionBefore = lazyregexp.New(`claude-(\d)(?:[-.](\d))?-[a-z]`)
	versionOfGPT  = lazyregexp.New(`gpt-(\d)(?:\.(\d+))?`)
)

// ClaudeVersion returns 100 times the version in the name of a Claude model, such as 405 for claude-opus-4-5-20251101, or 0.
func ClaudeVersion(name string) int {
	name = strings.ToLower(name)
	return cmp.Or(Version(name, versionAfter()), Version(name, versionBefore()))
}

// GPTVersion returns 100 times the version in the name of a GPT model, or 0. The name must be in lower case.
func GPTVersion(name string) int { return Version(name, versionOfGPT()) }

// Version returns 100 times the version in the name of a model, such as 502 for 5.2, or 0. The groups of the expression are the major and
// the minor version.
func Version(name string, expression *regexp.Regexp) int {
	m := expression.FindStringSubmatch(name)
	if m == nil {
		return 0
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2]) // none is 0
	return 100*major + minor
}
