package permission_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/sdk"
)

const (
	allow = sdk.ActionAllow
	ask   = sdk.ActionAsk
	deny  = sdk.ActionDeny
)

// rules builds a list from triples of permission, pattern and action.
func rules(triples ...string) sdk.PermissionRules {
	var out sdk.PermissionRules
	for t := range slices.Chunk(triples, 3) {
		out = append(out, sdk.PermissionRule{Permission: t[0], Pattern: t[1], Action: sdk.Action(t[2])})
	}
	return out
}

func TestDecide(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rules               sdk.PermissionRules
		permission, pattern string
		want                sdk.Action
		index               int
	}{
		"no rule":                       {nil, "bash", "ls", ask, -1},
		"no rule matches":               {rules("edit", "*", "allow"), "bash", "ls", ask, -1},
		"one matches":                   {rules("bash", "ls", "allow"), "bash", "ls", allow, 0},
		"the last one wins":             {rules("bash", "*", "deny", "bash", "git *", "allow"), "bash", "git status", allow, 1},
		"not the most exact one":        {rules("bash", "git status", "allow", "bash", "*", "deny"), "bash", "git status", deny, 1},
		"wildcard permission":           {rules("mcp_*", "*", "allow"), "mcp_files", "*", allow, 0},
		"wildcard after name":           {rules("bash", "*", "allow", "*", "*", "deny"), "bash", "ls", deny, 1},
		"name after wildcard":           {rules("*", "*", "deny", "bash", "*", "allow"), "bash", "ls", allow, 1},
		"wildcard between names":        {rules("bash", "a", "allow", "*", "a", "deny", "bash", "b", "allow"), "bash", "a", deny, 1},
		"wildcard that does not match":  {rules("bash", "*", "allow", "mcp_*", "*", "deny"), "bash", "ls", allow, 0},
		"later wildcard, other pattern": {rules("bash", "*", "allow", "*", "b", "deny"), "bash", "a", allow, 0},
		"home":                          {rules("external_directory", "~/notes/*", "allow"), "external_directory", "/home/a/notes/x", allow, 0},
		"home, written out":             {rules("external_directory", "$HOME/notes/*", "allow"), "external_directory", "/home/a/notes/x", allow, 0},
		"home alone":                    {rules("external_directory", "~", "allow"), "external_directory", "/home/a", allow, 0},
		"another user's home":           {rules("external_directory", "~b/*", "allow"), "external_directory", "/home/ab/x", ask, -1},
		"a longer variable":             {rules("external_directory", "$HOMES/*", "allow"), "external_directory", "/home/aS/x", ask, -1},
		"tilde inside":                  {rules("read", "a/~/b", "allow"), "read", "a/~/b", allow, 0},
		"unconfined by everything":      {rules("*", "*", "allow"), "unconfined", "make", ask, -1},
		"unconfined by a wildcard":      {rules("uncon*", "*", "allow", "unconfine?", "*", "allow"), "unconfined", "make", ask, -1},
		"unconfined by bash":            {rules("bash", "*", "allow"), "unconfined", "make", ask, -1},
		"unconfined by its name":        {rules("unconfined", "make", "allow", "*", "*", "allow"), "unconfined", "make", allow, 0},
		"unconfined denied":             {rules("unconfined", "make", "allow", "*", "*", "deny"), "unconfined", "make", deny, 1},
		"unconfined asked":              {rules("unconfined", "make", "allow", "*", "*", "ask"), "unconfined", "make", ask, 1},
		"permission with backslash":     {rules(`a\b`, "*", "allow"), "a/b", "x", allow, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := permission.Compile("/home/a", tt.rules).Decide(tt.permission, tt.pattern)
			if d.Action != tt.want || d.Index != tt.index || d.Matched != (tt.index >= 0) {
				t.Errorf("Decide(%q, %q) = %+v, want %s by rule %d", tt.permission, tt.pattern, d, tt.want, tt.index)
			}
			if d.Matched && d.Rule != tt.rules[tt.index] {
				t.Errorf("rule = %+v, want it as it was written: %+v", d.Rule, tt.rules[tt.index])
			}
		})
	}
}

func TestZeroRulesAsk(t *testing.T) {
	t.Parallel()
	var r permission.Rules
	if d := r.Decide("bash", "ls"); d.Action != ask || d.Matched {
		t.Errorf("decision = %+v, want ask", d)
	}
}

func TestLaterRulesetsWin(t *testing.T) {
	t.Parallel()
	r := permission.Compile("", rules("bash", "*", "deny"), nil, rules("bash", "*", "allow"))
	if d := r.Decide("bash", "ls"); d.Action != allow || d.Index != 1 {
		t.Errorf("decision = %+v, want allow by rule 1", d)
	}
	if diff := cmp.Diff(rules("bash", "*", "deny", "bash", "*", "allow"), r.Rules()); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// The index must give what reading the whole list from the end gives.
func TestDecideLikeReadingFromTheEnd(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	for range 3000 {
		var list sdk.PermissionRules
		for range rnd.IntN(12) {
			list = append(list, rules(pick("a", "b", "*", "a*", "?"), pick("x", "y", "*", "x*", "?y", "x *"), pick("allow", "ask", "deny"))...)
		}
		key, text := pick("a", "b", "ab", "c"), pick("x", "y", "xy", "", "x z")
		want, index := ask, -1
		for i, r := range list {
			if permission.Match(r.Permission, key) && permission.Match(r.Pattern, text) {
				want, index = r.Action, i
			}
		}
		if d := permission.Compile("", list).Decide(key, text); d.Action != want || d.Index != index {
			t.Fatalf("Decide(%q, %q) = %+v, want %s by rule %d of %v", key, text, d, want, index, list)
		}
	}
}

func TestSeveralPatterns(t *testing.T) {
	t.Parallel()
	r := permission.Compile("", rules("bash", "ls*", "allow", "bash", "cat*", "allow", "bash", "rm*", "deny", "bash", "dd*", "deny"))
	tests := map[string]struct {
		patterns []string
		want     sdk.Action
		rule     string
	}{
		"all allowed":          {[]string{"ls", "cat x"}, allow, "cat*"},
		"one unknown":          {[]string{"ls", "make", "cat x"}, ask, ""},
		"one denied":           {[]string{"ls", "make", "rm x", "dd"}, deny, "rm*"},
		"denied after asked":   {[]string{"make", "rm x"}, deny, "rm*"},
		"allowed after asked":  {[]string{"make", "ls"}, ask, ""},
		"nothing asks":         {nil, ask, ""},
		"one":                  {[]string{"ls"}, allow, "ls*"},
		"denied comes at once": {[]string{"dd", "rm"}, deny, "dd*"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := r.DecideAll("bash", tt.patterns)
			if d.Action != tt.want || d.Rule.Pattern != tt.rule {
				t.Errorf("DecideAll(%q) = %+v, want %s by %q", tt.patterns, d, tt.want, tt.rule)
			}
			var actions []sdk.Action
			for _, p := range tt.patterns {
				actions = append(actions, r.Decide("bash", p).Action)
			}
			if got := permission.Combine(actions...); got != tt.want {
				t.Errorf("Combine(%v) = %s, want %s", actions, got, tt.want)
			}
		})
	}
	if got := permission.Combine(allow, "maybe"); got == allow || got == ask {
		t.Errorf("an unknown action became %s", got)
	}
}

// Of the decisions of a subagent and its parents, the strictest applies, whatever the order and depth.
func TestChild(t *testing.T) {
	t.Parallel()
	actions := []sdk.Action{allow, ask, deny}
	for i, grand := range actions {
		for j, parent := range actions {
			for k, own := range actions {
				g, p, c := permission.Compile("", rules("bash", "*", string(grand))), permission.Compile("", rules("bash", "*", string(parent))),
					permission.Compile("", rules("bash", "*", string(own)))
				want := actions[max(i, j, k)]
				for name, r := range map[string]*permission.Rules{
					"from the top": permission.Child(permission.Child(g, p), c), "from the bottom": permission.Child(g, permission.Child(p, c)),
				} {
					d := r.Decide("bash", "ls")
					if d.Action != want || d.Rule.Action != want {
						t.Errorf("%s: %s, %s, %s: %+v, want %s", name, grand, parent, own, d, want)
					}
					if r.Removed("bash") != (want == deny) {
						t.Errorf("%s: %s, %s, %s: removed = %v", name, grand, parent, own, r.Removed("bash"))
					}
				}
				if d := c.Decide("bash", "ls"); d.Action != own {
					t.Errorf("the subagent's own rules changed: %+v", d)
				}
			}
		}
	}
	r := permission.Child(permission.Compile("", nil), permission.Compile("", rules("bash", "*", "allow")))
	if d := r.Decide("bash", "ls"); d.Action != ask || d.Depth != 1 || d.Matched {
		t.Errorf("the parent knows no rule: %+v, want ask", d)
	}
}

func TestDeniesByName(t *testing.T) {
	t.Parallel()
	named := rules("read", "keys/*", "deny")
	for name, c := range map[string]struct {
		rules *permission.Rules
		want  bool
	}{
		"by name":                   {permission.Compile("", named), true},
		"everything":                {permission.Compile("", rules("read", "*", "deny")), false},
		"another name":              {permission.Compile("", rules("read", ".*", "deny", "read", "a", "deny")), false},
		"lifted":                    {permission.Compile("", named, rules("read", "*", "allow")), false},
		"then everything":           {permission.Compile("", named, rules("read", "*", "deny")), true},
		"within an agent without":   {permission.Child(permission.Compile("", named), permission.Compile("", rules("read", "*", "deny"))), true},
		"by an administrator":       {permission.Compile("", rules("read", "*", "allow")).Within(permission.Compile("", named)), true},
		"except some":               {permission.Compile("", rules("read", "*", "deny", "read", "keys/a", "allow")), false},
		"another permission's name": {permission.Compile("", rules("edit", "keys/*", "deny")), false},
	} {
		if got := c.rules.DeniesByName("read", "keys/a"); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestRemoved(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rules sdk.PermissionRules
		tool  string
		want  bool
	}{
		"denied":                       {rules("bash", "*", "deny"), "bash", true},
		"denied by wildcard":           {rules("*", "*", "deny"), "bash", true},
		"allowed later":                {rules("*", "*", "deny", "bash", "*", "allow"), "bash", false},
		"some of it allowed later":     {rules("bash", "*", "deny", "bash", "git *", "allow"), "bash", false},
		"some of it denied":            {rules("bash", "rm *", "deny"), "bash", false},
		"denied after a part":          {rules("bash", "git *", "allow", "bash", "*", "deny"), "bash", true},
		"asked":                        {rules("bash", "*", "ask"), "bash", false},
		"no rule":                      {nil, "bash", false},
		"write goes by edit":           {rules("edit", "*", "deny"), "write", true},
		"apply_patch goes by edit":     {rules("edit", "*", "deny"), "apply_patch", true},
		"edit itself":                  {rules("edit", "*", "deny"), "edit", true},
		"a rule for write is ignored":  {rules("write", "*", "deny"), "write", false},
		"another tool's wildcard":      {rules("mcp_*", "*", "deny"), "bash", false},
		"wildcard, then another's key": {rules("*", "*", "deny", "read", "*", "allow"), "bash", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := permission.Compile("", tt.rules).Removed(tt.tool); got != tt.want {
				t.Errorf("Removed(%q) = %v, want %v", tt.tool, got, tt.want)
			}
		})
	}
	both := permission.Compile("", rules("edit", "*", "deny", "bash", "*", "deny"))
	for tool, want := range map[string]bool{"read": false, "write": true, "bash": true, "edit": true} {
		if got := both.Removed(tool); got != want {
			t.Errorf("Removed(%q) = %v, want %v", tool, got, want)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	parent := permission.Compile("", rules("*", "*", "ask", "bash", "git push*", "deny"))
	own := permission.Compile("", rules("bash", "*", "ask", "bash", "git *", "allow", "bash", "rm *", "deny"))
	r := permission.Child(parent, own)
	bounded := permission.Child(permission.Compile("", rules("*", "*", "allow")).Within(permission.Compile("", rules("bash", "git *", "deny"))), own)
	type step struct {
		Pattern      string
		Index, Depth int
		Wins         bool
	}
	tests := map[string][]step{
		"git push": {{"*", 0, 0, false}, {"git *", 1, 0, false}, {"*", 0, 1, false}, {"git push*", 1, 1, true}},
		"rm -rf x": {{"*", 0, 0, false}, {"rm *", 2, 0, true}, {"*", 0, 1, false}},
		"make":     {{"*", 0, 0, true}, {"*", 0, 1, false}},
	}
	check := func(r *permission.Rules, command string, want []step) {
		t.Helper()
		var got []step
		for _, s := range r.Explain("bash", command) {
			got = append(got, step{s.Rule.Pattern, s.Index, s.Depth, s.Wins})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Explain(%q) (-want +got):\n%s", command, diff)
		}
	}
	for command, want := range tests {
		check(r, command, want)
	}
	check(bounded, "git push", []step{{"*", 0, 0, false}, {"git *", 1, 0, false}, {"git *", 0, -1, true}})
	// The rules of a strict agent are themselves within the administrator's.
	bounds := permission.Compile("", rules("*", "*", "allow", "bash", "make*", "ask")).Within(permission.Compile("", rules("bash", "make*", "deny")))
	for _, s := range permission.Compile("", rules("bash", "*", "allow")).Within(bounds).Explain("bash", "make") {
		if s.Wins != (s.Rule.Action == deny) {
			t.Errorf("Explain within two bounds: %+v", s)
		}
	}
	if got := permission.Compile("", rules("read", "*", "allow")).Explain("bash", "ls"); len(got) != 0 {
		t.Errorf("Explain without a match = %v", got)
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	r := permission.Compile("", permission.Defaults())
	tests := map[[2]string]sdk.Action{
		{"read", "src/main.go"}: allow, {"read", ".env"}: ask, {"read", "a/b.env"}: ask, {"read", ".env.local"}: ask, {"read", ".env.example"}: allow,
		{"read", "environment.go"}: allow, {"glob", "**"}: allow, {"grep", "TODO"}: allow, {"list", "."}: allow, {"skill", "x"}: allow, {"todowrite", "*"}: allow,
		{"task", "explore"}: allow, {"question", "*"}: allow,
		{"edit", "a.go"}: ask, {"bash", "ls"}: ask, {"webfetch", "https://example.com"}: ask,
		{sdk.PermissionExternalDirectory, "/etc/*"}: ask, {sdk.PermissionDoomLoop, "bash"}: ask,
		{"files_delete", "*"}: ask, {"anything", "else"}: ask,
	}
	for call, want := range tests {
		d := r.Decide(call[0], call[1])
		if d.Action != want || !d.Matched || d.Rule.Origin == "" {
			t.Errorf("%s %q: %+v, want %s by a rule that says where it is from", call[0], call[1], d, want)
		}
	}
	for _, rule := range permission.Defaults() {
		if rule.Action == deny {
			t.Errorf("a default denies: %+v; what the user may want is asked for", rule)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	var named, wild sdk.PermissionRules
	for i := range 1000 {
		named = append(named, rules("bash", fmt.Sprintf("command-%d *", i), "allow")...)
		wild = append(wild, rules(fmt.Sprintf("server%d_*", i), fmt.Sprintf("*/dir-%d/*.go", i), "allow")...)
	}
	for name, list := range map[string]sdk.PermissionRules{"one key": named, "wildcards": wild, "defaults": permission.Defaults()} {
		r := permission.Compile("/home/a", list)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Decide("bash", "go test ./... -run TestSomething") // matches none: all are read
			}
		})
	}
}

// It runs alone: other tests' allocations would count.
func TestDecideDoesNotAllocate(t *testing.T) {
	r := permission.Compile("/home/a", permission.Defaults(), rules("bash", "git *", "allow", "*", "~/x/*", "deny"))
	if allocs := testing.AllocsPerRun(100, func() { r.Decide("bash", "go test") }); allocs != 0 && runtime.GOOS != "windows" {
		t.Errorf("%v allocations, want none", allocs)
	}
}
