package permission

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// approvalTimeout bounds storing an approval.
const approvalTimeout = 10 * time.Second

// noProject is the identifier of all projects without a commit, see sdk.Project.
const noProject = "global"

// OfProject is the prefix of permissions under which approvals of a project's files are stored, and "always" answers that hold for one working
// tree. Requests cannot name such a permission.
const OfProject = "project "

// ApprovalProject returns the key of a project's approvals: the project's ID for a repository with a commit, else its directory.
func ApprovalProject(p sdk.Project) string {
	if p.Git && p.ID != "" && p.ID != noProject {
		return p.ID
	}
	return "directory " + p.Worktree
}

const unconfined = OfProject + sdk.PermissionUnconfined

// unconfinedIn is the permission under which approvals for commands outside the sandbox are stored. They hold for one working tree: a fork, or a
// repository whose .git a confined command replaced, can have the same first commit and other programs.
func unconfinedIn(p sdk.Project) string { return unconfined + " in " + p.Worktree }

// Shown returns the permission of a stored approval for users.
func Shown(permission string) string {
	if permission == sdk.PermissionUnconfined {
		return permission + " (by an earlier version, no longer used)"
	}
	return strings.Replace(permission, unconfined, sdk.PermissionUnconfined, 1)
}

// Approvals are the user's approvals in addition to the rules: the "always" answers of a project, and approvals for one session until the
// process ends. The "always" answers are read for each decision, so that a revocation takes effect immediately. Safe for use from many
// goroutines.
type Approvals struct {
	Store   store.Store
	Project sdk.Project
	// Root returns the topmost parent of a subagent's session, else the session itself.
	Root func(ctx context.Context, session string) (string, error)

	mu       sync.Mutex
	sessions map[string]sdk.PermissionRules // by root session
}

// allow allows a permission for patterns in a session and its subagents until the process ends or revoke is called.
func (a *Approvals) allow(session, permission string, patterns ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sessions == nil {
		a.sessions = map[string]sdk.PermissionRules{}
	}
	for _, pattern := range patterns {
		rule := sdk.PermissionRule{Permission: permission, Pattern: pattern, Action: sdk.ActionAllow, Origin: "this session"}
		if !slices.Contains(a.sessions[session], rule) {
			a.sessions[session] = append(a.sessions[session], rule)
		}
	}
}

// revoke reverts allow for a pattern.
func (a *Approvals) revoke(session, permission, pattern string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if rules := a.sessions[session]; len(rules) > 0 {
		a.sessions[session] = slices.DeleteFunc(rules, func(r sdk.PermissionRule) bool { return r.Permission == permission && r.Pattern == pattern })
	}
}

// covers reports whether the approvals of a session cover the request.
func (a *Approvals) covers(session string, r *sdk.PermissionRequest) bool {
	a.mu.Lock()
	rules := slices.Clone(a.sessions[session])
	a.mu.Unlock()
	return Compile("", rules).Approve(r)
}

// Keep stores the approvals that result from an "always" answer to a request, and returns the rules of all approvals.
func (a *Approvals) Keep(ctx context.Context, r *sdk.PermissionRequest) (*Rules, error) {
	ctx, cancel := context.WithTimeout(ctx, approvalTimeout)
	defer cancel()
	if strings.HasPrefix(r.Permission, OfProject) {
		return nil, fmt.Errorf("permission %q is for files of the project, which tenon permission approve approves", r.Permission)
	}
	var list []store.Approval
	permission := r.Permission
	if permission == sdk.PermissionUnconfined {
		permission = unconfinedIn(a.Project)
	}
	for _, pattern := range r.Always {
		list = append(list, store.Approval{
			Project: ApprovalProject(a.Project), Permission: permission, Pattern: pattern, Created: live.Now(), Session: r.SessionID,
			Origin: strings.Join(r.Patterns, ", "),
		})
	}
	if err := a.Store.Approve(ctx, list); err != nil {
		return nil, fmt.Errorf("store the approval: %w", err)
	}
	return a.rules(ctx)
}

// rules returns the permanent approvals in this project, of any process.
func (a *Approvals) rules(ctx context.Context) (*Rules, error) {
	list, err := a.Store.Approvals(ctx, ApprovalProject(a.Project))
	if err != nil {
		return nil, fmt.Errorf("read the approvals: %w", err)
	}
	return Compile("", ApprovedRules(list, a.Project)), nil
}

// ApprovedRules returns approvals as rules for a working tree. Their texts are patterns: * and ? are wildcards.
func ApprovedRules(list []store.Approval, p sdk.Project) sdk.PermissionRules {
	rules := make(sdk.PermissionRules, 0, len(list))
	for _, a := range list {
		switch a.Permission {
		case sdk.PermissionUnconfined:
			continue // stored by an earlier version, without the working tree
		case unconfinedIn(p):
			a.Permission = sdk.PermissionUnconfined
		}
		rules = append(rules, sdk.PermissionRule{
			Permission: a.Permission, Pattern: a.Pattern, Action: sdk.ActionAllow, Origin: fmt.Sprintf("approval %d", a.ID),
		})
	}
	return rules
}

// Cover reports whether the user allowed the request before, in its session or in the project.
func (a *Approvals) Cover(ctx context.Context, r *sdk.PermissionRequest) (bool, error) {
	root, err := a.Root(ctx, r.SessionID)
	if err != nil {
		return false, err
	}
	if a.covers(root, r) {
		return true, nil
	}
	rules, err := a.rules(ctx)
	if err != nil {
		return false, err
	}
	return rules.Approve(r), nil
}

// Approve reports whether the rules of approvals allow all of a request.
func (r *Rules) Approve(q *sdk.PermissionRequest) bool {
	return len(q.Patterns) > 0 && r.DecideAll(q.Permission, q.Patterns).Action == sdk.ActionAllow
}
