package permission

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// approvalTimeout bounds storing an approval.
const approvalTimeout = 10 * time.Second

// noProject is the identifier of every project without a commit, see sdk.Project: it tells none of them from another.
const noProject = "global"

// ApprovalProject returns the name under which approvals of a project are kept: the project's, where there is a
// repository with a commit, else its directory.
func ApprovalProject(p sdk.Project) string {
	if p.Git && p.ID != "" && p.ID != noProject {
		return p.ID
	}
	return "directory " + p.Worktree
}

// Approvals are the answers "always" of a project. They are read for each decision: what the user revokes counts no longer.
type Approvals struct {
	Store   store.Store
	Project sdk.Project
}

// Keep stores what an answer "always" to a request allows and returns the rules of all approvals; nil when it allows nothing.
func (a *Approvals) Keep(ctx context.Context, r *sdk.PermissionRequest) (*Rules, error) {
	ctx, cancel := context.WithTimeout(ctx, approvalTimeout)
	defer cancel()
	var list []store.Approval
	for _, pattern := range r.Always {
		list = append(list, store.Approval{
			Project: ApprovalProject(a.Project), Permission: r.Permission, Pattern: pattern, Created: live.Now(), Session: r.SessionID,
			Origin: strings.Join(r.Patterns, ", "),
		})
	}
	if len(list) == 0 {
		return nil, nil
	}
	if err := a.Store.Approve(ctx, list); err != nil {
		return nil, fmt.Errorf("keep the approval: %w", err)
	}
	return a.rules(ctx)
}

// rules returns what was allowed for good in this project, by any process.
func (a *Approvals) rules(ctx context.Context) (*Rules, error) {
	list, err := a.Store.Approvals(ctx, ApprovalProject(a.Project))
	if err != nil {
		return nil, fmt.Errorf("read the approvals: %w", err)
	}
	return Compile("", ApprovedRules(list)), nil
}

// ApprovedRules returns approvals as rules. Characters that mean something in a pattern mean it here, too.
func ApprovedRules(list []store.Approval) sdk.PermissionRules {
	rules := make(sdk.PermissionRules, 0, len(list))
	for _, a := range list {
		rules = append(rules, sdk.PermissionRule{
			Permission: a.Permission, Pattern: a.Pattern, Action: sdk.ActionAllow, Origin: fmt.Sprintf("approval %d", a.ID),
		})
	}
	return rules
}

// Cover reports whether an answer "always" covers the request.
func (a *Approvals) Cover(ctx context.Context, r *sdk.PermissionRequest) (bool, error) {
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
