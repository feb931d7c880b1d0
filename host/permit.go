package host

import (
	"cmp"
	"context"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/sdk"
)

// permit decides a permission request: the rules, then the gates at permission.ask, then the user. Nil
// means granted; a refusal is a *sdk.Refusal. What a rule denies, nobody allows.
// o is where the tool comes from.
func (t *turn) permit(ctx context.Context, r sdk.PermissionRequest, tool string, o sdk.Origin) error {
	h := t.h
	r.ID = h.ids.New(sdk.PrefixPermission)
	if r.Metadata == nil {
		r.Metadata = sdk.Object{}
	}
	if r.Always == nil {
		r.Always = []string{}
	}
	d := t.Rules.DecideRequest(permission.Asked(&r, tool, o))
	if d.Action == sdk.ActionDeny {
		return &sdk.Refusal{By: "rule", Reason: permission.Denied(&r, d)}
	}
	if d.Guarded != "" {
		r.Metadata["guarded"] = d.Guarded
	}
	gate, err := t.gate(ctx, &r)
	if err != nil {
		return err
	}
	switch gate.Verdict {
	case sdk.VerdictAllow:
		if !d.Final && r.Permission != sdk.PermissionUnconfined || d.Action == sdk.ActionAllow {
			return nil
		}
	case sdk.VerdictDeny, sdk.VerdictHalt:
		return &sdk.Refusal{By: "plugin " + gate.Plugin, Reason: gate.Reason, Halt: gate.Verdict == sdk.VerdictHalt}
	case sdk.VerdictAsk:
		d.Action = sdk.ActionAsk
	}
	if d.Action == sdk.ActionAllow {
		return nil
	}
	if d.Final || d.Implied || r.Verbatim != "" {
		r.Always = []string{} // it would not count
	} else if granted, err := h.approved(ctx, &r); granted || err != nil {
		return err
	}
	// A model that runs in circles, or wants out of the sandbox, is what nobody watches for in an automatic run: only a rule lets it.
	hidden := r.Verbatim != "" && t.Rules.NamesOthers(r.Permission)
	if h.opts.AutoApprove && !sdk.Deliberate(r.Permission) && !d.Final && !hidden {
		return nil
	}
	if !h.opts.Interactive {
		if d.Final {
			return permission.Unanswered(&r, d, &t.Agent)
		}
		return t.Rules.Headless(&r)
	}
	describe(r.Metadata, tool, o)
	return h.asks.Permission(ctx, r, d.Final, !t.g.Config.Experimental.ContinueLoopOnDeny, t.tell)
}

// describe adds to the metadata of a request which tool asks, and of which MCP server it is.
func describe(metadata sdk.Object, tool string, o sdk.Origin) {
	if tool != "" {
		metadata["tool"] = tool
	}
	if o.Server != "" {
		metadata["server"] = o.Server
	}
}

// approved reports whether the user allowed the request before, in this session or in the project.
func (h *Host) approved(ctx context.Context, r *sdk.PermissionRequest) (bool, error) {
	root, err := h.rootOf(ctx, r.SessionID)
	if err != nil {
		return false, err
	}
	if h.approvals.Covers(root, r) {
		return true, nil
	}
	return h.approvals.Cover(ctx, r)
}

// rootOf returns the session at the top of a subagent's session.
func (h *Host) rootOf(ctx context.Context, session string) (string, error) {
	for {
		s, err := h.Session(ctx, session)
		if err != nil || s.ParentID == "" {
			return session, err
		}
		session = s.ParentID
	}
}

// gate asks the plugins. Their answer holds for this call alone.
func (t *turn) gate(ctx context.Context, r *sdk.PermissionRequest) (hooks.GateResult, error) {
	scope := hooks.Scope{Ledger: t.ledger}
	if r.Tool != nil {
		scope.Subject = r.Tool.CallID
	}
	result, err := t.g.Engine.Gate(ctx, sdk.PointPermissionAsk, scope, r)
	if err != nil {
		return result, t.stopBy(err)
	}
	return result, nil
}

// tell publishes an event once everything before it is durable.
func (t *turn) tell(e sdk.Event) { t.c.Journal.Put(nil, e) }

// question asks the user questions.
func (t *turn) question(ctx context.Context, r sdk.QuestionRequest) ([][]string, error) {
	if !t.h.opts.Interactive {
		return nil, sdk.ErrHeadless
	}
	r.ID = t.h.ids.New(sdk.PrefixQuestion)
	return t.h.asks.Question(ctx, r, t.tell)
}

// ReplyPermission answers a permission request. ReplyAlways also allows the request's Always patterns in this project
// from then on, and grants what waits and passes now; ReplyReject rejects all that waits in the same session. With a
// message a rejection goes to the model, without one it ends the turn. Errors: ErrNotFound when nobody waits for it,
// and those of the store, which cannot keep an "always": it counts once then.
func (h *Host) ReplyPermission(id string, reply sdk.Reply, message string) error {
	r, err := h.asks.ReplyPermission(id, reply, message)
	if err != nil || reply != sdk.ReplyAlways {
		return err
	}
	rules, err := h.approvals.Keep(h.ctx, r)
	if rules != nil {
		h.asks.Grant(rules.Approve)
	}
	return err
}

// AllowInSession answers a permission request with yes, and allows its Always patterns in the session and its subagents until the
// host ends. Requests of the session that wait and pass now are granted. Errors: ErrNotFound when the request does not wait.
func (h *Host) AllowInSession(id string) error {
	r, err := h.asks.ReplyPermission(id, sdk.ReplyOnce, "")
	if err != nil {
		return err
	}
	root, err := h.rootOf(h.ctx, r.SessionID)
	if err != nil {
		return err
	}
	h.approvals.Allow(root, r.Permission, r.Always...)
	h.grantWaiting(root)
	return nil
}

// AcceptEdits sets whether files may be edited in a session and its subagents without asking, until the host ends. Files that
// programs run by themselves, and what rules deny, are not affected.
func (h *Host) AcceptEdits(session string, on bool) {
	if !on {
		h.approvals.Revoke(session, "edit", "*")
		return
	}
	h.approvals.Allow(session, "edit", "*")
	h.grantWaiting(session)
}

// grantWaiting grants requests that wait and that are allowed in the session now.
func (h *Host) grantWaiting(root string) {
	h.asks.Grant(func(r *sdk.PermissionRequest) bool {
		owner, err := h.rootOf(h.ctx, r.SessionID)
		return err == nil && owner == root && h.approvals.Covers(root, r)
	})
}

// Permissions lists the requests that wait.
func (h *Host) Permissions() []sdk.PermissionRequest { return h.asks.Permissions() }

// ReplyQuestion answers a question request: for each question the labels chosen or the free text. Nil
// dismisses it. Errors: ErrNotFound when nobody waits for it.
func (h *Host) ReplyQuestion(id string, answers [][]string) error {
	return h.asks.ReplyQuestion(id, answers)
}

// rulesOf returns the permission rules of an agent in a session; with own, without what files of the repository allow.
func (h *Host) rulesOf(g *generation.Set, a *sdk.Agent, s *sdk.Session, own bool) *permission.Rules {
	return h.policy.Rules(permission.Sources{
		Agent: a.Permission, General: g.Config.Permission, Named: g.Config.Agent[a.Name].Permission, Session: s.Permission,
		Strict: a.Strict, ThirdParty: len(a.Permission) > 0 && g.ByThirdParty(a.Name),
	}, own)
}

// rulesIn returns the rules of an agent in a session and, for a subagent's session, within what its
// parent may do.
func (h *Host) rulesIn(ctx context.Context, g *generation.Set, a *sdk.Agent, s *sdk.Session) (*permission.Rules, string, error) {
	return h.rulesUnder(ctx, g, a, s, false)
}

// rulesUnder is rulesIn; with own, without what files of the repository allow.
func (h *Host) rulesUnder(ctx context.Context, g *generation.Set, a *sdk.Agent, s *sdk.Session, own bool) (*permission.Rules, string, error) {
	rules := h.rulesOf(g, a, s, own)
	if s.ParentID == "" {
		return rules, a.Name, nil
	}
	parent, err := h.Session(ctx, s.ParentID)
	if err != nil {
		return nil, "", err
	}
	pa, err := g.Agent(cmp.Or(parent.Agent, sdk.AgentBuild))
	if err != nil {
		return nil, "", err
	}
	parents, path, err := h.rulesUnder(ctx, g, &pa, parent, own)
	if err != nil {
		return nil, "", err
	}
	return permission.Child(parents, rules), path + "/" + a.Name, nil
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
	return h.rulesOf(g, &a, &sdk.Session{}, false), nil
}
