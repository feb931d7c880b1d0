package host

import (
	"context"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/sdk"
)

// permit decides a permission request: the rules, then the gates at permission.ask, then the user. Nil
// means granted; a refusal is a *sdk.Refusal. A deny rule cannot be overridden.
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
	asked := d.Final || d.Implied || r.Verbatim != "" // no approval answers it
	if asked {
		r.Always = []string{}
	} else if granted, err := h.approvals.Cover(ctx, &r); granted || err != nil {
		return err
	}
	// A model that runs in circles, or wants out of the sandbox, has no observer in an automatic run: only a rule allows it.
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
	permission.Describe(&r, tool, o)
	return h.asks.Permission(ctx, r, asked, !t.g.Config.Experimental.ContinueLoopOnDeny, t.tell)
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
