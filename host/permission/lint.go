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

// Shadowed returns the rules of a list that can never decide, except the defaults, which are meant to be replaced. home is as in Compile.
func Shadowed(home string, list sdk.PermissionRules) []Shadow {
	rules := Compile(home, list).lists[0].rules
	var out []Shadow
	for i, a := range rules {
		if a.Origin == defaultOrigin {
			continue
		}
		for _, b := range rules[i+1:] {
			if namesSource(a.Permission) == namesSource(b.Permission) && covers(&b.permission, a.Permission) && covers(&b.pattern, expandHome(a.Pattern, home)) {
				out = append(out, Shadow{a.PermissionRule, b.PermissionRule})
				break
			}
		}
	}
	return out
}

// covers reports whether w matches everything that the pattern does, tested with examples: wildcards are replaced by several texts.
func covers(w *wildcard, pattern string) bool {
	examples := []string{pattern}
	for _, filling := range [][2]string{{"", "x"}, {"a", "é"}, {"long text/with *", "\n"}} {
		examples = append(examples, strings.ReplaceAll(strings.ReplaceAll(pattern, "*", filling[0]), "?", filling[1]))
	}
	if short, ok := strings.CutSuffix(pattern, " *"); ok {
		examples = append(examples, strings.ReplaceAll(short, "*", "a"))
	}
	return !slices.ContainsFunc(examples, func(e string) bool { return !w.match(normal(e)) })
}
