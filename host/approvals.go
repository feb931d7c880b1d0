package host

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/permission"
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

// approve stores what an answer "always" allows, and grants what waits and passes now.
func (h *Host) approve(r *sdk.PermissionRequest) error {
	ctx, cancel := context.WithTimeout(h.ctx, approvalTimeout)
	defer cancel()
	var list []store.Approval
	for _, pattern := range r.Always {
		list = append(list, store.Approval{
			Project: ApprovalProject(h.opts.Project), Permission: r.Permission, Pattern: pattern, Created: live.Now(), Session: r.SessionID,
			Origin: strings.Join(r.Patterns, ", "),
		})
	}
	if len(list) == 0 {
		return nil
	}
	if err := h.opts.Store.Approve(ctx, list); err != nil {
		return fmt.Errorf("keep the approval: %w", err)
	}
	rules, err := h.approvals(ctx)
	if err != nil {
		return err
	}
	a := h.asks
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, other := range a.permissions {
		if !other.final && approvedBy(rules, &other.request) {
			a.settle(other, permissionReply{reply: sdk.ReplyOnce})
		}
	}
	return nil
}

// approvals returns what was allowed for good in this project, by any process. It is read for each decision: what the
// user takes back counts no longer.
func (h *Host) approvals(ctx context.Context) (*permission.Rules, error) {
	list, err := h.opts.Store.Approvals(ctx, ApprovalProject(h.opts.Project))
	if err != nil {
		return nil, fmt.Errorf("read the approvals: %w", err)
	}
	return permission.Compile("", ApprovedRules(list)), nil
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

// isApproved reports whether an answer "always" covers the request.
func (h *Host) isApproved(ctx context.Context, r *sdk.PermissionRequest) (bool, error) {
	rules, err := h.approvals(ctx)
	if err != nil {
		return false, err
	}
	return approvedBy(rules, r), nil
}

func approvedBy(rules *permission.Rules, r *sdk.PermissionRequest) bool {
	return len(r.Patterns) > 0 && rules.DecideAll(r.Permission, r.Patterns).Action == sdk.ActionAllow
}

// Rules returns the permission rules that hold for an agent in a new session. Empty means the default agent. Errors:
// ErrNotFound.
func (h *Host) Rules(agent string) (*permission.Rules, error) {
	g := h.plugins.Acquire()
	if g == nil {
		return nil, ErrClosed
	}
	defer h.plugins.Release(g)
	a, err := g.Agent(cmp.Or(agent, sdk.AgentBuild))
	if err != nil {
		return nil, err
	}
	return h.rulesOf(g, &a, &sdk.Session{}), nil
}
