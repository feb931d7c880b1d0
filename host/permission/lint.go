package permission

import (
	"slices"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// Shadow is a rule that can never decide, because a later rule matches everything that it does.
type Shadow struct {
	Rule, By sdk.PermissionRule
}

// Shadowed returns the rules of a list that can never decide, except the defaults, which are meant to be replaced. home and worktree are as in
// Policy.
func Shadowed(home, worktree string, list sdk.PermissionRules) []Shadow {
	rules := Compile(home, list).inProject(home, worktree).lists[0].rules
	var out []Shadow
	for i, a := range rules {
		if a.Origin == defaultOrigin {
			continue
		}
		for _, b := range rules[i+1:] {
			fits := func(text string) bool { return b.fits(a.permission.pattern, a.request(a.permission.pattern, text)) }
			if namesSource(a.Permission) == namesSource(b.Permission) && covers(a.Permission, b.permission.match) && covers(expandHome(a.Pattern, home), fits) {
				out = append(out, Shadow{a.PermissionRule, b.PermissionRule})
				break
			}
		}
	}
	return out
}

// covers reports whether match is true for everything that the pattern matches, tested with examples: wildcards are replaced by several texts.
func covers(pattern string, match func(string) bool) bool {
	examples := []string{pattern}
	for _, filling := range [][2]string{{"", "x"}, {"a", "é"}, {"long text/with *", "\n"}, {"/", "x"}} {
		examples = append(examples, strings.ReplaceAll(strings.ReplaceAll(pattern, "*", filling[0]), "?", filling[1]))
	}
	if short, ok := strings.CutSuffix(pattern, " *"); ok {
		examples = append(examples, strings.ReplaceAll(short, "*", "a"))
	}
	return !slices.ContainsFunc(examples, func(e string) bool { return !match(normal(e)) })
}
