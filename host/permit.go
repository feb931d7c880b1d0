package host

import (
	"context"
	"strings"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// maxAskReason is the maximum size in bytes of a plugin's name and reason in a question to the user.
const maxAskReason = 500

// permit judges a permission request: the rules, then the gates at permission.ask, then stored approvals, then the user. It returns nil if
// the request is granted, or a *sdk.Refusal. A deny rule cannot be overridden. tool is the tool that requests permission; empty if a plugin
// does. o is the origin of the tool or the plugin.
func (s *step) permit(ctx context.Context, r sdk.PermissionRequest, tool string, o sdk.Origin) error {
	h := s.host
	r.ID = h.ids.New(sdk.PrefixPermission)
	if r.Always == nil {
		r.Always = []string{}
	}
	d := s.judge(&r, tool, o)
	if d.Action == sdk.ActionDeny {
		return &sdk.Refusal{By: "rule", Reason: permission.Denied(&r, d)}
	}
	if d.Guarded != "" {
		r.Metadata["guarded"] = d.Guarded
	}
	gate, err := s.gate(ctx, &r)
	if err != nil {
		return err
	}
	switch gate.Verdict {
	case sdk.VerdictAllow:
		if !d.Final && r.Permission != sdk.PermissionUnconfined || d.Action == sdk.ActionAllow {
			return permission.Granted(h.log, &r, "plugin "+gate.Plugin, gate.Reason)
		}
	case sdk.VerdictDeny, sdk.VerdictHalt:
		return &sdk.Refusal{By: "plugin " + gate.Plugin, Reason: gate.Reason, Halt: gate.Verdict == sdk.VerdictHalt}
	case sdk.VerdictAsk:
		d.Action = sdk.ActionAsk
		r.Metadata["asks"] = visible.Cut(strings.TrimSuffix(gate.Plugin+": "+gate.Reason, ": "), maxAskReason, "…")
	}
	if d.Action == sdk.ActionAllow {
		return permission.Granted(h.log, &r, "rule "+d.Rule.Pattern, d.Rule.Origin)
	}
	if r.Agreed != nil && *r.Agreed && !d.Final && !d.Implied && gate.Verdict != sdk.VerdictAsk {
		return permission.Granted(h.log, &r, "the user", "an earlier question of this call")
	}
	alwaysAsk := d.AlwaysAsks(&r)
	if alwaysAsk {
		r.Always = []string{}
	} else if granted, err := h.approvals.Cover(ctx, &r); granted {
		return permission.Granted(h.log, &r, "an approval", "this session or project")
	} else if err != nil {
		return err
	}
	// No user watches an automatic run: repeated calls and leaving the sandbox (sdk.Deliberate) are allowed only by a rule.
	hidden := r.Verbatim != "" && s.Rules.NamesOthers(r.Permission)
	if h.opts.AutoApprove && !sdk.Deliberate(r.Permission) && !d.Final && !hidden {
		return permission.Granted(h.log, &r, "--auto", "the command line")
	}
	if !h.opts.Interactive {
		if d.Final {
			return permission.Unanswered(&r, d, &s.Agent)
		}
		return s.Rules.Headless(&r)
	}
	permission.Describe(&r, tool, o)
	return permission.AskPermission(ctx, h.Asks, r, alwaysAsk, !s.gen.Config.Experimental.ContinueLoopOnDeny, s.publish)
}

// judge judges a permission request by the rules.
func (s *step) judge(r *sdk.PermissionRequest, tool string, o sdk.Origin) permission.Decision {
	q := permission.RequestOf(r)
	q.Tool, q.Sources = tool, permission.SourcesOf(o)
	return s.Rules.DecideRequest(q)
}

// gate runs the hooks at permission.ask. Their answer applies to this request only.
func (s *step) gate(ctx context.Context, r *sdk.PermissionRequest) (hooks.Result, error) {
	scope := hooks.Scope{Ledger: s.ledger}
	if r.Tool != nil {
		scope.Subject = r.Tool.CallID
	}
	result, err := s.gen.Engine.Gate(ctx, sdk.PointPermissionAsk, scope, r)
	return result, s.halt(err)
}

// publish publishes an event once everything before it is durable.
func (s *step) publish(e sdk.Event) { s.conv.Journal.Put(nil, e) }

// question asks the user questions.
func (s *step) question(ctx context.Context, r sdk.QuestionRequest) ([][]string, error) {
	if !s.host.opts.Interactive {
		return nil, sdk.ErrHeadless
	}
	r.ID = s.host.ids.New(sdk.PrefixQuestion)
	return permission.AskQuestions(ctx, s.host.Asks, r, s.publish)
}
