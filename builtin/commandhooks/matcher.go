package commandhooks

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// matcher selects the tools, agents or sources of an event that a command applies to. The zero value matches everything.
type matcher struct {
	text string
	re   *regexp.Regexp // nil: everything
}

// newMatcher parses a matcher: empty or * for everything, names separated by | or commas, else a regular expression, which matches anywhere
// in a name.
func newMatcher(text string) (matcher, error) {
	pattern := text
	switch {
	case text == "" || text == "*":
		return matcher{text: text}, nil
	case !notInNames().MatchString(text):
		pattern = "^(" + separator().ReplaceAllLiteralString(strings.TrimSpace(text), "|") + ")$"
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return matcher{}, fmt.Errorf("%q is neither a list of names separated by | nor a Go regular expression (RE2, without look-around): %w", text, err)
	}
	return matcher{text, re}, nil
}

var (
	// notInNames matches a character that makes a matcher a regular expression.
	notInNames = lazyregexp.New(`[^A-Za-z0-9_|, -]`)
	// separator matches a separator of names with the spaces around it.
	separator = lazyregexp.New(` *[|,] *`)
)

func (m *matcher) everything() bool { return m.re == nil }

// any reports whether the matcher matches one of the names.
func (m *matcher) any(names ...string) bool {
	return m.everything() || slices.ContainsFunc(names, m.re.MatchString)
}

// rule is the "if" of a command: a tool with a pattern of its command, file or address, such as Bash(git push:*) or Edit(*.go). It selects too
// many calls rather than too few: a command that runs too often decides by itself.
type rule struct {
	tool     string
	absolute bool           // the pattern of a file begins with / or ~, and may name directories above the project
	text     *regexp.Regexp // nil: matches all
}

func newRule(text string) *rule {
	tool, pattern, _ := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	r := &rule{tool: strings.TrimSuffix(tool, "*"), absolute: pattern != "" && strings.ContainsRune("/~", rune(pattern[0]))}
	if strings.ContainsAny(pattern, "?[{") {
		return r // syntax of other programs
	}
	pattern = strings.TrimSuffix(strings.ReplaceAll(pattern, "**/", ""), ":*")
	for _, start := range []string{"domain:", "~/", "./", "/", "/"} {
		pattern = strings.TrimPrefix(pattern, start)
	}
	begin := "(^|[\\s;&|(/])" // of any command of a line, any directory of a path
	if strings.HasPrefix(pattern, "*") {
		begin = ""
	}
	pieces := strings.FieldsFunc(regexp.QuoteMeta(strings.ReplaceAll(pattern, "*", " ")), unicode.IsSpace)
	r.text = regexp.MustCompile("(?is)" + begin + strings.Join(pieces, ".*"))
	return r
}

// expanded matches commands with words that only the shell knows: variables, substitutions, braces, or a pattern as the name of a program.
var expanded = lazyregexp.New("(?s)[$`]|\\{.*(,|\\.\\.).*\\}|(^|[\n;&|(])\\s*" +
	`((\w+=\S*|[<>]+\s*\S+|sudo|env|exec|command|nohup|time|if|then|elif|else|while|until|do|!|\{)\s+)*[^\s;&|(]*([*?]|\[[^\s\[])`)

// matches reports whether the arguments of a call in the project below root contain the pieces of the pattern in order.
func (r *rule) matches(args sdk.Object, root string) bool {
	command, _ := args["command"].(string)
	file, _ := args["file_path"].(string)
	address, _ := args["url"].(string)
	switch {
	case r.text == nil:
		return true
	case command != "":
		unquoted := strings.NewReplacer("\\\n", "", `\`, "", `"`, "", "'", "").Replace(command)
		return expanded().MatchString(command) || r.text.MatchString(unquoted)
	case file != "":
		for _, full := range []func(string) string{filepath.Clean, projectfs.Real} {
			if projectfs.Remote(file, root) { // a look-up of the file would sign in to the server
				full = filepath.Clean
			}
			name := full(file)
			if !r.absolute {
				name = strings.TrimPrefix(name, full(root)+string(filepath.Separator)) // otherwise a directory above the project, such as src, could match
			}
			if r.text.MatchString(strings.ReplaceAll(name, `\`, "/")) {
				return true
			}
		}
		return false
	}
	return address == "" || r.text.MatchString(address)
}

// selects reports whether the command applies to a call of a tool with these names. args are those of the dialect.
func (e *entry) selects(names []string, args sdk.Object) bool {
	named := func(name string) bool { return strings.HasPrefix(name, e.rule.tool) }
	return e.matcher.any(names...) && (e.rule == nil || slices.ContainsFunc(names, named) && e.rule.matches(args, e.plugin.project.Worktree))
}
