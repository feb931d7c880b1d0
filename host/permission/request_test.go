package permission_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/sdk"
)

func TestSources(t *testing.T) {
	t.Parallel()
	own := &permission.Request{Permission: "github_issue", Patterns: []string{"*"}, Tool: "github_issue", Sources: permission.SourcesOf(sdk.Origin{Carrier: sdk.CarrierMCP, Plugin: "mcp-github", Server: "github"})}
	edit := &permission.Request{Permission: "edit", Patterns: []string{"a"}, Tool: "github_issue", Sources: own.Sources}
	builtin := &permission.Request{Permission: "edit", Patterns: []string{"a"}, Tool: "edit", Sources: permission.SourcesOf(sdk.Origin{Carrier: sdk.CarrierBuiltin, Plugin: "files"})}
	for name, c := range map[string]struct {
		rules sdk.PermissionRules
		q     *permission.Request
		want  sdk.Action
	}{
		"server allows its tools":          {rules("mcp:github", "*", "allow"), own, allow},
		"by tool":                          {rules("mcp:github", "*", "allow", "mcp:github", "*_issue", "deny"), own, deny},
		"plugin":                           {rules("plugin:mcp-github", "*", "deny"), own, deny},
		"any plugin":                       {rules("*", "*", "allow", "plugin:*", "*", "ask"), own, ask},
		"later rule about the tool":        {rules("mcp:github", "*", "allow", "github_*", "*", "ask"), own, ask},
		"later rule about the server":      {rules("github_*", "*", "ask", "mcp:github", "*", "allow"), own, allow},
		"denied whatever comes later":      {rules("mcp:github", "*", "deny", "*", "*", "allow"), own, deny},
		"does not allow something else":    {rules("mcp:github", "*", "allow"), edit, ask},
		"denies something else":            {rules("*", "*", "allow", "mcp:github", "*", "deny"), edit, deny},
		"another server":                   {rules("*", "*", "allow", "mcp:gitlab", "*", "deny"), own, allow},
		"a rule for all is none about it":  {rules("*", "*", "allow"), own, allow},
		"tenon's own tools have no source": {rules("*", "*", "allow", "plugin:*", "*", "deny"), builtin, allow},
	} {
		if got := permission.Compile("", c.rules).DecideRequest(c.q); got.Action != c.want {
			t.Errorf("%s: %s, want %s", name, got.Action, c.want)
		}
	}
	parent := permission.Compile("", rules("*", "*", "allow", "mcp:github", "*", "deny"))
	if got := permission.Child(parent, permission.Compile("", rules("*", "*", "allow", "mcp:github", "*", "allow"))).DecideRequest(own); got.Action != deny {
		t.Errorf("a subagent: %s, want deny", got.Action)
	}
	// A permission from a source counts below a parent that allows the call, and not below a parent that must ask.
	child := permission.Compile("", rules("*", "*", "ask", "mcp:github", "*", "allow"))
	for action, want := range map[string]sdk.Action{"allow": allow, "ask": ask} {
		if got := permission.Child(permission.Compile("", rules("*", "*", action)), child).DecideRequest(own); got.Action != want {
			t.Errorf("below a parent that says %s: %s, want %s", action, got.Action, want)
		}
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rules, bound sdk.PermissionRules
		want         sdk.Action
		final        bool
	}{
		"denied":      {rules("bash", "*", "allow"), rules("bash", "rm *", "deny"), deny, true},
		"asked":       {rules("bash", "*", "allow"), rules("bash", "rm *", "ask"), ask, true},
		"both ask":    {rules("bash", "*", "ask"), rules("bash", "rm *", "ask"), ask, true},
		"allowed":     {rules("bash", "*", "ask"), rules("bash", "rm *", "allow"), ask, false},
		"not matched": {rules("bash", "*", "allow"), rules("bash", "mv *", "deny"), allow, false},
		"stricter":    {rules("bash", "*", "deny"), rules("bash", "rm *", "ask"), deny, false},
		"its own law": {rules("bash", "*", "allow"), rules("bash", "*", "deny", "bash", "rm *", "allow"), allow, false},
	} {
		r := permission.Compile("", c.rules).Within(permission.Compile("", c.bound))
		for who, r := range map[string]*permission.Rules{"alone": r, "as a child": permission.Child(permission.Compile("", rules("*", "*", "allow")), r), "as a parent": permission.Child(r, permission.Compile("", rules("*", "*", "allow")))} {
			if got := r.Decide("bash", "rm x"); got.Action != c.want || got.Final != c.final {
				t.Errorf("%s, %s: %+v, want %s, final %v", name, who, got, c.want, c.final)
			}
			wins := 0
			for _, s := range r.Explain("bash", "rm x") {
				if s.Wins {
					wins++
				}
			}
			if wins != 1 {
				t.Errorf("%s, %s: %d rules win", name, who, wins)
			}
		}
	}
	if !permission.Compile("", nil).Within(permission.Compile("", rules("bash", "*", "deny"))).Removed("bash") {
		t.Error("a tool that is denied for all is not hidden")
	}
}

// TestVerbatimWithin checks that a text that is not fully understood asks if an administrator denies a command by
// name, whoever the agent is.
func TestVerbatimWithin(t *testing.T) {
	t.Parallel()
	q := &permission.Request{Permission: "bash", Patterns: []string{"eval x"}, Verbatim: true}
	allowed := rules("bash", "*", "allow")
	for name, managed := range map[string]sdk.PermissionRules{"denied": rules("bash", "rm *", "deny"), "asked": rules("bash", "rm *", "ask"), "edits": rules("edit", "*.md", "deny")} {
		p := permission.Policy{Managed: managed}
		for _, strict := range []bool{false, true} {
			r := p.Rules(permission.Sources{Agent: allowed, General: allowed, Strict: strict}, false)
			if got := r.DecideRequest(q); got.Action != ask {
				t.Errorf("%s, strict %v: %s, want ask", name, strict, got.Action)
			}
			if got := permission.Child(r, permission.Compile("", allowed)).DecideRequest(q); got.Action != ask {
				t.Errorf("%s, subagent, strict %v: %s, want ask", name, strict, got.Action)
			}
		}
	}
}

// TestRemedyForAFile checks that the refusal of a text that a rule allows, and that reads a file, names the rule for the file.
func TestRemedyForAFile(t *testing.T) {
	t.Parallel()
	r := permission.Compile("", append(permission.Defaults(), rules("bash", "*", "allow")...))
	err := r.Headless(&sdk.PermissionRequest{Permission: "bash", Patterns: []string{"(cat .env)"}, Verbatim: "a subshell", Implied: []sdk.ImpliedPermission{{Permission: "read", Pattern: ".env"}}})
	if !strings.Contains(err.Error(), `{"read": {".env": "allow"}}`) {
		t.Errorf("%v", err)
	}
}

// thousand returns 1,000 rules of which none decides early.
func thousand() sdk.PermissionRules {
	var list sdk.PermissionRules
	for i := range 1000 {
		list = append(list, sdk.PermissionRule{Permission: "bash", Pattern: fmt.Sprintf("git command-%d *", i), Action: deny})
	}
	list[0].Pattern = "*"
	return list
}

// BenchmarkDecide1000 decides against 1,000 rules, beside as many comparisons of strings.
func BenchmarkDecide1000(b *testing.B) {
	list := thousand()
	b.Run("rules", func(b *testing.B) {
		r := permission.Compile("", list)
		b.ReportAllocs()
		for b.Loop() {
			r.Decide("bash", "git push --force origin main")
		}
	})
	b.Run("strings", func(b *testing.B) {
		n := 0
		for b.Loop() {
			for i := range list {
				if strings.HasPrefix("git push --force origin main", list[i].Pattern) {
					n++
				}
			}
		}
	})
}

// TestImpliedBelowAParent: a subagent asks for what a command includes if its parent has to ask for it by name.
func TestImpliedBelowAParent(t *testing.T) {
	t.Parallel()
	q := &permission.Request{Permission: "bash", Patterns: []string{"tee secret"}, Implied: []sdk.ImpliedPermission{{Permission: "edit", Pattern: "secret"}}}
	parent := permission.Compile("", rules("bash", "*", "allow", "edit", "*", "ask", "edit", "secret*", "ask"))
	child := permission.Compile("", rules("bash", "*", "allow", "edit", "*", "ask"))
	for name, r := range map[string]*permission.Rules{"the parent": parent, "its subagent": permission.Child(parent, child)} {
		if got := r.DecideRequest(q); got.Action != ask || !got.Implied {
			t.Errorf("%s: %+v, want ask, by the rule about the file", name, got)
		}
	}
}
