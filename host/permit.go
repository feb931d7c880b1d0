package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/sdk"
)

// asks holds what waits for the user: permission requests and questions. Safe for use from many goroutines.
type asks struct {
	mu          sync.Mutex
	permissions map[string]*pendingPermission
	questions   map[string]*pendingQuestion
}

type pendingPermission struct {
	request sdk.PermissionRequest
	final   bool // an administrator's rule asks: no approval answers it
	reply   chan permissionReply
}

type permissionReply struct {
	reply   sdk.Reply
	message string
}

func newAsks() *asks {
	return &asks{permissions: map[string]*pendingPermission{}, questions: map[string]*pendingQuestion{}}
}

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
	d := t.Rules.DecideRequest(asked(&r, tool, o))
	if d.Action == sdk.ActionDeny {
		return &sdk.Refusal{By: "rule", Reason: denied(&r, d)}
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
	} else if granted, err := h.isApproved(ctx, &r); granted || err != nil {
		return err
	}
	// A model that runs in circles, or wants out of the sandbox, is what nobody watches for in an automatic run: only a rule lets it.
	hidden := r.Verbatim != "" && t.Rules.NamesOthers(r.Permission)
	if h.opts.AutoApprove && !sdk.Deliberate(r.Permission) && !d.Final && !hidden {
		return nil
	}
	if !h.opts.Interactive {
		if d.Final {
			return t.unanswered(&r, d)
		}
		return t.headless(&r)
	}
	return t.askUser(ctx, r, d.Final)
}

// askedBy returns the metadata of a request with who else than the model asks: the template of a command, or a plugin. Clients show
// that as the host's word, so what a tool says there itself is dropped.
func askedBy(metadata sdk.Object, template, plugin string) sdk.Object {
	out := sdk.Object{}
	maps.Copy(out, metadata)
	delete(out, "template")
	delete(out, "plugin")
	delete(out, "guarded")
	switch {
	case template != "":
		out["template"] = template
	case plugin != "":
		out["plugin"] = plugin
	}
	return out
}

// asked returns the request as rules see it.
func asked(r *sdk.PermissionRequest, tool string, o sdk.Origin) *permission.Request {
	q := permission.RequestOf(r)
	q.Tool, q.Sources = tool, permission.SourcesOf(o)
	return q
}

// denied says what a rule denied.
func denied(r *sdk.PermissionRequest, d permission.Decision) string {
	key, what := r.Permission, several(r.Patterns)
	if d.Rule.Permission != "*" && d.Rule.Permission != key {
		what += " (" + d.Rule.Permission + " " + d.Rule.Pattern + ")"
	}
	return fmt.Sprintf("permission %q is denied for %q%s", key, what, origin(d.Rule))
}

func origin(r sdk.PermissionRule) string {
	if r.Origin == "" {
		return ""
	}
	return " by the rule at " + r.Origin
}

// gate asks the plugins. Their answer holds for this call alone.
func (t *turn) gate(ctx context.Context, r *sdk.PermissionRequest) (hooks.GateResult, error) {
	if !t.g.Engine.Has(sdk.PointPermissionAsk) {
		return hooks.GateResult{}, nil
	}
	subject := ""
	if r.Tool != nil {
		subject = r.Tool.CallID
	}
	result, err := t.g.Engine.Gate(ctx, sdk.PointPermissionAsk, hooks.Scope{Ledger: t.ledger, Subject: subject}, r)
	if err != nil {
		return result, t.stopBy(err)
	}
	return result, nil
}

// headless refuses what would have to be asked and says how to allow it.
func (t *turn) headless(r *sdk.PermissionRequest) error {
	if r.Verbatim != "" {
		remedy := `, or allow every command with --auto or the rule {"permission": {` + quoted(r.Permission) + `: {"*": "allow"}}}`
		if t.Rules.NamesOthers(r.Permission) {
			remedy = "; --auto does not allow it while a rule denies or asks for a command by name, which it could hide"
		}
		return &sdk.Refusal{By: "headless", Reason: fmt.Sprintf(
			"permission %q for %q requires an answer, and no user is present: it holds %s; use simple commands without that%s",
			r.Permission, several(r.Patterns), r.Verbatim, remedy)}
	}
	flag := "--auto, or with "
	if sdk.Deliberate(r.Permission) {
		flag = "" // which the flag does not allow
	}
	return &sdk.Refusal{By: "headless", Reason: fmt.Sprintf(
		"permission %q for %q must be asked for, and nobody is there to answer; allow it with %s%s in tenon.json",
		r.Permission, several(r.Patterns), flag, t.missing(r))}
}

// maxNamed bounds the patterns that a refusal names.
const maxNamed = 8

// several joins patterns for people.
func several(patterns []string) string {
	if n := len(patterns) - maxNamed; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(patterns[:maxNamed], ", "), n)
	}
	return strings.Join(patterns, ", ")
}

// missing returns, as it is written in a configuration, the rule that would allow what of the request no rule allows yet.
func (t *turn) missing(r *sdk.PermissionRequest) string {
	key, patterns := r.Permission, []string(nil)
	for _, p := range r.Patterns {
		if t.Rules.Decide(key, p).Action != sdk.ActionAllow && !slices.Contains(patterns, p) {
			patterns = append(patterns, p)
		}
	}
	if len(patterns) == 0 { // a rule asks for what the call includes
		for _, i := range r.Implied {
			if d := t.Rules.Decide(i.Permission, i.Pattern); d.Matched && d.Action == sdk.ActionAsk && d.Rule.Pattern != "*" {
				key, patterns = i.Permission, append(patterns, i.Pattern)
				break
			}
		}
	}
	if len(patterns) == 0 { // a rule asks for the tool, by whoever brings it
		patterns = append(patterns, "*")
	}
	more := ""
	if n := len(patterns) - maxNamed; n > 0 {
		more = fmt.Sprintf(" and the same for %d more", n)
		patterns = patterns[:maxNamed]
	}
	rules := make([]string, 0, len(patterns))
	for _, p := range patterns {
		rules = append(rules, quoted(p)+`: "allow"`)
	}
	return fmt.Sprintf(`the rule {"permission": {%s: {%s}}}%s`, quoted(key), strings.Join(rules, ", "), more)
}

// quoted returns text as JSON writes it.
func quoted(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // <, > and & stay as they are
	_ = e.Encode(text)     // neither a string nor a builder can fail
	return strings.TrimSpace(b.String())
}

// unanswered refuses what must be asked for whatever else is allowed, when nobody is there to answer.
func (t *turn) unanswered(r *sdk.PermissionRequest, d permission.Decision) error {
	if d.Guarded != "" {
		return &sdk.Refusal{By: "headless", Reason: fmt.Sprintf(
			"permission %q for %q must be asked for, because programs run %s by themselves or it steers agents, and nobody is there to answer; allow it with a rule that names it, such as {\"permission\": {\"edit\": {%s: \"allow\"}}} in tenon.json",
			r.Permission, several(r.Patterns), d.Guarded, quoted(guardedPattern(r, d)))}
	}
	remedy := ""
	if t.Agent.Strict {
		remedy = fmt.Sprintf(", or allow it to this agent with a rule under agent.%s.permission in tenon.json", t.Agent.Name)
	}
	return &sdk.Refusal{By: "headless", Reason: fmt.Sprintf(
		"permission %q for %q must be asked for%s, and nobody is there to answer; --auto and other rules do not: run it on a terminal%s",
		r.Permission, strings.Join(r.Patterns, ", "), origin(d.Rule), remedy)}
}

// guardedPattern returns the pattern of a request that a decision about a guarded file is about.
func guardedPattern(r *sdk.PermissionRequest, d permission.Decision) string {
	patterns := slices.Clone(r.Patterns)
	for _, i := range r.Implied {
		patterns = append(patterns, i.Pattern)
	}
	name := strings.ToLower(strings.Trim(d.Guarded, "*"))
	if i := slices.IndexFunc(patterns, func(p string) bool { return strings.Contains(strings.ToLower(p), name) }); i >= 0 {
		return patterns[i]
	}
	return d.Guarded
}

// askUser publishes the request and waits for the answer, for as long as the turn runs.
func (t *turn) askUser(ctx context.Context, r sdk.PermissionRequest, final bool) error {
	a := t.h.asks
	p := &pendingPermission{request: r, final: final, reply: make(chan permissionReply, 1)}
	a.mu.Lock()
	a.permissions[r.ID] = p
	a.mu.Unlock()
	t.c.Journal.Put(nil, sdk.Event{Type: sdk.EventPermissionAsked, Properties: &r})
	var answer permissionReply
	select {
	case answer = <-p.reply:
	case <-ctx.Done():
		a.mu.Lock()
		delete(a.permissions, r.ID)
		a.mu.Unlock()
		answer = permissionReply{reply: sdk.ReplyReject}
	}
	t.c.Journal.Put(nil, sdk.Event{Type: sdk.EventPermissionReplied, Properties: &sdk.PermissionReplied{
		SessionID: r.SessionID, RequestID: r.ID, Reply: answer.reply,
	}})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case answer.reply != sdk.ReplyReject:
		return nil
	case answer.message != "":
		return &sdk.Refusal{By: "user", Reason: answer.message}
	}
	return &sdk.Refusal{By: "user", Reason: fmt.Sprintf("permission %q was rejected", r.Permission), Halt: !t.g.Config.Experimental.ContinueLoopOnDeny}
}

// ReplyPermission answers a permission request. ReplyAlways also allows the request's Always patterns in this project
// from then on, and grants what waits and passes now; ReplyReject rejects all that waits in the same session. With a
// message a rejection goes to the model, without one it ends the turn. Errors: ErrNotFound when nobody waits for it,
// and those of the store, which cannot keep an "always": it counts once then.
func (h *Host) ReplyPermission(id string, reply sdk.Reply, message string) error {
	switch reply {
	case sdk.ReplyOnce, sdk.ReplyAlways, sdk.ReplyReject:
	default:
		return fmt.Errorf("reply %q: want once, always or reject", reply)
	}
	p := h.asks.answer(id, permissionReply{reply, message})
	if p == nil {
		return fmt.Errorf("permission request %q: %w", id, ErrNotFound)
	}
	if reply == sdk.ReplyAlways {
		return h.approve(&p.request)
	}
	return nil
}

// answer settles a request, and with a rejection those of its session; nil when it does not wait.
func (a *asks) answer(id string, r permissionReply) *pendingPermission {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.permissions[id]
	if p == nil {
		return nil
	}
	a.settle(p, r)
	if r.reply != sdk.ReplyReject {
		return p
	}
	for _, other := range a.permissions {
		if other.request.SessionID == p.request.SessionID {
			a.settle(other, permissionReply{reply: sdk.ReplyReject})
		}
	}
	return p
}

// Permissions lists the requests that wait.
func (h *Host) Permissions() []sdk.PermissionRequest {
	h.asks.mu.Lock()
	defer h.asks.mu.Unlock()
	out := make([]sdk.PermissionRequest, 0, len(h.asks.permissions))
	for _, p := range h.asks.permissions {
		out = append(out, p.request)
	}
	return out
}

// settle answers a request; a.mu is held.
func (a *asks) settle(p *pendingPermission, r permissionReply) {
	delete(a.permissions, p.request.ID)
	p.reply <- r
}

type pendingQuestion struct {
	request sdk.QuestionRequest
	answers chan [][]string // nil answers: dismissed
}

// question publishes questions and waits for the answers.
func (h *Host) question(ctx context.Context, t *turn, r sdk.QuestionRequest) ([][]string, error) {
	if !h.opts.Interactive {
		return nil, sdk.ErrHeadless
	}
	r.ID = h.ids.New(sdk.PrefixQuestion)
	q := &pendingQuestion{request: r, answers: make(chan [][]string, 1)}
	h.asks.mu.Lock()
	h.asks.questions[r.ID] = q
	h.asks.mu.Unlock()
	t.c.Journal.Put(nil, sdk.Event{Type: sdk.EventQuestionAsked, Properties: &r})
	var answers [][]string
	select {
	case answers = <-q.answers:
	case <-ctx.Done():
		h.asks.mu.Lock()
		delete(h.asks.questions, r.ID)
		h.asks.mu.Unlock()
	}
	reply := &sdk.QuestionReplied{SessionID: r.SessionID, RequestID: r.ID, Answers: answers}
	if answers == nil {
		t.c.Journal.Put(nil, sdk.Event{Type: sdk.EventQuestionRejected, Properties: reply})
		return nil, errors.Join(ctx.Err(), &sdk.Refusal{By: "user", Reason: "the question was dismissed"})
	}
	t.c.Journal.Put(nil, sdk.Event{Type: sdk.EventQuestionReplied, Properties: reply})
	return answers, nil
}

// ReplyQuestion answers a question request: for each question the labels chosen or the free text. Nil
// dismisses it. Errors: ErrNotFound when nobody waits for it.
func (h *Host) ReplyQuestion(id string, answers [][]string) error {
	h.asks.mu.Lock()
	defer h.asks.mu.Unlock()
	q := h.asks.questions[id]
	if q == nil {
		return fmt.Errorf("question %q: %w", id, ErrNotFound)
	}
	if answers != nil && len(answers) != len(q.request.Questions) {
		return fmt.Errorf("question %q: %d answers for %d questions", id, len(answers), len(q.request.Questions))
	}
	delete(h.asks.questions, id)
	q.answers <- answers
	return nil
}
