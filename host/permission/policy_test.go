package permission_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

var update = flag.Bool("update", false, "write testdata/policy.txt")

// TestPolicyDecisions compares the decision about one request, for every combination of rules of an agent, of the configuration and of a
// session, with the recorded ones.
//
// A line of the file is a kind of agent, whether the repository is approved and whether its rules count; then one letter for each
// combination of rules: a allow, k ask, d deny; a capital letter if approvals and flags do not answer.
func TestPolicyDecisions(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	for _, agent := range []string{"own", "strict", "third party"} {
		for _, approved := range []bool{false, true} {
			for _, own := range []bool{false, true} {
				p := policyOf(approved)
				fmt.Fprintf(&got, "%s approved=%t own=%t\n", agent, approved, own)
				decisions(&got, p, agent, own)
			}
		}
	}
	if *update {
		if err := os.WriteFile("testdata/policy.txt", []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/policy.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines, recorded := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
	if len(lines) != len(recorded) {
		t.Fatalf("%d lines, want %d", len(lines), len(recorded))
	}
	for i, line := range lines {
		if line != recorded[i] {
			t.Errorf("line %d:\n%s\nwant\n%s", i+1, line, recorded[i])
		}
	}
}

// decisions writes the decisions of a policy, a line for each pair of rules of the agent and the session.
func decisions(out *strings.Builder, p *permission.Policy, agent string, own bool) {
	lists := ruleLists()
	for _, agents := range lists {
		for _, session := range lists[:4] {
			for _, general := range lists {
				for _, named := range lists {
					rules := p.Rules(permission.Sources{
						Agent: agents, General: general, Named: named, Session: session, Strict: agent == "strict", ThirdParty: agent == "third party",
					}, own)
					d := rules.DecideRequest(&permission.Request{Permission: "touch", Patterns: []string{"a.md"}})
					letter := map[sdk.Action]string{sdk.ActionAllow: "a", sdk.ActionAsk: "k", sdk.ActionDeny: "d"}[d.Action]
					if d.Final {
						letter = strings.ToUpper(letter)
					}
					out.WriteString(letter)
				}
			}
			out.WriteByte('\n')
		}
	}
}

// ruleLists returns lists of rules by the user and by files of the repository.
func ruleLists() []sdk.PermissionRules {
	rule := func(action sdk.Action, origin string) sdk.PermissionRule {
		return sdk.PermissionRule{Permission: "touch", Pattern: "*", Action: action, Origin: origin}
	}
	const user, repository = "/home/u/.config/tenon/tenon.json:3", "/project/tenon.json:5"
	return []sdk.PermissionRules{
		nil, {rule(sdk.ActionAllow, user)}, {rule(sdk.ActionAsk, user)}, {rule(sdk.ActionDeny, user)},
		{rule(sdk.ActionAllow, repository)}, {rule(sdk.ActionAsk, repository)}, {rule(sdk.ActionDeny, repository)},
		{rule(sdk.ActionDeny, user), rule(sdk.ActionAllow, repository)}, {rule(sdk.ActionDeny, repository), rule(sdk.ActionAsk, user)},
	}
}

// policyOf returns the policy of a project whose repository the user approved or did not.
func policyOf(approved bool) *permission.Policy {
	return &permission.Policy{
		Project: sdk.Project{Home: "/home/u"},
		Managed: sdk.PermissionRules{{Permission: "other", Pattern: "*", Action: sdk.ActionDeny}},
		Trust: func(origin, _ string) permission.Trust {
			return permission.Trust{Repository: strings.HasPrefix(origin, "/project/"), Approved: approved}
		},
	}
}

// TestAbsolutePatterns compares absolute patterns with the absolute paths of the project's files, also with a home directory above.
func TestAbsolutePatterns(t *testing.T) {
	t.Parallel()
	p := permission.Policy{
		Project: sdk.Project{Home: "/home/u", Worktree: "/home/u/app"}, Managed: rules("edit", "/home/u/app/deploy/*", "deny"),
	}
	of := p.Rules(permission.Sources{General: rules(
		"read", "~/app/keys/*", "deny", "read", "/home/*/app/keys/public", "ask", "edit", "*", "allow", "bash", "/home/u/app/run *", "deny",
	)}, false)
	for _, c := range []struct {
		permission, pattern string
		want                sdk.Action
	}{
		{"read", "keys/a", deny}, {"read", "keys/public", ask}, {"read", "main.go", allow}, {"read", "/home/u/app2/keys/a", allow},
		{"edit", "deploy/x", deny}, {"edit", "main.go", allow}, {"edit", "/deploy/x", allow}, {"bash", "run x", ask},
	} {
		d := of.Decide(c.permission, c.pattern)
		if d.Action != c.want {
			t.Errorf("Decide(%s, %s) = %s, want %s", c.permission, c.pattern, d.Action, c.want)
		}
		if steps := of.Explain(c.permission, c.pattern); d.Matched && !slices.ContainsFunc(steps, func(s permission.Step) bool { return s.Wins }) {
			t.Errorf("Explain(%s, %s) = %+v, want the rule that decides", c.permission, c.pattern, steps)
		}
	}
	if !of.DeniesByName("read", "keys/a") || of.DeniesByName("read", "main.go") {
		t.Error("DeniesByName knows no absolute pattern, or too many")
	}
	p = permission.Policy{Project: sdk.Project{Home: "/home/u", Worktree: "/home/u/.claude/app"}}
	of = p.Rules(permission.Sources{General: rules("*", "~/.claude/app/*", "allow")}, false)
	for pattern, want := range map[string]sdk.Action{"main.go": allow, ".claude/settings.json": ask} {
		if d := of.Decide("edit", pattern); d.Action != want {
			t.Errorf("Decide(edit, %s) in a project below a guarded directory = %s, want %s", pattern, d.Action, want)
		}
	}
	dir := projectfs.Real(t.TempDir())
	if err := os.Symlink(dir, filepath.Join(dir, "home")); err != nil {
		t.Skip(err)
	}
	p = permission.Policy{Project: sdk.Project{Home: filepath.Join(dir, "home"), Worktree: filepath.Join(dir, "app")}}
	of = p.Rules(permission.Sources{General: rules("read", "~/app/keys/*", "deny")}, false)
	if d := of.Decide("read", "keys/a"); d.Action != deny {
		t.Errorf("with a link as home directory: %s, want %s", d.Action, deny)
	}
}

// TestAskAll: everything that the rules do not deny is asked about, and no denial is lifted.
func TestAskAll(t *testing.T) {
	t.Parallel()
	p := permission.Policy{Managed: rules("webfetch", "*", "deny")}
	for _, strict := range []bool{false, true} {
		of := p.Rules(permission.Sources{
			Agent: rules("bash", "rm *", "deny"), General: rules("bash", "*", "allow", "edit", "*", "deny"), Strict: strict,
		}, false)
		all := of.AskAll("the template")
		for permission, pattern := range map[string]string{"bash": "rm x", "edit": "a", "webfetch": "https://a", "read": "b"} {
			want := ask
			if of.Decide(permission, pattern).Action == deny {
				want = deny
			}
			if got := all.Decide(permission, pattern); got.Action != want || want == ask && !got.Final {
				t.Errorf("%s %s, strict %v: %+v, want %s", permission, pattern, strict, got, want)
			}
		}
	}
}
