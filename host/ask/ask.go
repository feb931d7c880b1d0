package ask

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/internal/pause"
	"github.com/tenonhq/tenon/sdk"
)

// sink receives the events of one answer.
type sink interface {
	take(sdk.StreamEvent) error
	// end is called when the stream ended, with its error, and returns the error of the answer.
	end(err error) error
}

// exchange is a request and its answer. Both are made again for each attempt.
type exchange struct {
	build func(context.Context) (*sdk.ModelRequest, error) // runs the hooks
	sink  func() sink
	// retries bounds the attempts after the first; nil: as configured.
	retries *int
	// waits is called before the wait for the next attempt, with the number of the failed one, from 1. It returns what to call after the wait.
	waits func(try int, wait time.Duration, err error) (over func())
}

// ask sends the request of an exchange, and again after errors that may pass (model.RetryDelay). If the request does not fit the model's
// context, the error is of model.ClassOverflow.
func (s *Setup) ask(ctx context.Context, q exchange) error {
	cfg := s.Generation.Config.Retry
	if q.retries != nil {
		cfg.Max = q.retries
	}
	for try := 1; ; try++ {
		textOnly := s.Model.TextOnly() // another request may change it while this one runs
		req, err := q.build(ctx)
		if err != nil {
			return err
		}
		sent := len(req.Messages)
		withoutReasoning(req, int(s.NoReasoning.Load()))
		out := q.sink()
		err = out.end(s.Model.Stream(ctx, req, out.take))
		var wait time.Duration
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case int64(sent) > s.NoReasoning.Load() && model.RefusesReasoning(err): // Claude refuses it after each change of the system prompt or the tools
			s.NoReasoning.Store(int64(sent))
		case !textOnly && model.RefusesFiles(err) && hasFiles(req): // or every later request of the session would be refused
			s.Model.SetTextOnly()
		case err == nil || model.Classify(err) != model.ClassRetry:
			return err
		case model.Unreachable(err) && !s.Model.Answered():
			return err // a wrong address, rather than a server that restarts
		default:
			var final error
			if wait, final = model.RetryDelay(cfg, err, try-1); final != nil {
				return final
			}
		}
		over := q.waits(try, wait, err)
		if err := pause.For(ctx, wait); err != nil {
			return err
		}
		over()
	}
}

func hasFiles(req *sdk.ModelRequest) bool {
	file := func(c sdk.ModelContent) bool { return c.Type == sdk.ContentFile || len(c.Files) > 0 }
	return slices.ContainsFunc(req.Messages, func(m sdk.ModelMessage) bool { return slices.ContainsFunc(m.Content, file) })
}

// withoutReasoning removes the reasoning of the first n messages, and the provider's metadata. Later ones are answers to the current
// credentials, and some servers demand their reasoning.
func withoutReasoning(req *sdk.ModelRequest, n int) {
	for i := range min(n, len(req.Messages)) {
		var kept []sdk.ModelContent // the content itself is shared
		for _, c := range req.Messages[i].Content {
			c.Metadata = nil
			if c.Type != sdk.ContentReasoning {
				kept = append(kept, c)
			}
		}
		req.Messages[i].Content = kept
	}
	req.Messages = slices.DeleteFunc(req.Messages, func(m sdk.ModelMessage) bool { return len(m.Content) == 0 })
}

// separateAnswer is the answer to AskSeparately.
type separateAnswer struct {
	Text   strings.Builder
	Reason string
	tokens sdk.Tokens
	calls  []*separateCall
}

// separateCall is a tool call of a separateAnswer while it streams.
type separateCall struct {
	block, id, tool string
	args            strings.Builder
}

func (a *separateAnswer) take(e sdk.StreamEvent) error {
	switch e.Type {
	case sdk.StreamText:
		a.Text.WriteString(e.Text)
	case sdk.StreamToolCall:
		at := slices.IndexFunc(a.calls, func(c *separateCall) bool { return c.block == e.ID })
		if at < 0 {
			if at = len(a.calls); at == maxToolCalls {
				return fmt.Errorf("more than %d tool calls in one answer", maxToolCalls)
			}
			a.calls = append(a.calls, &separateCall{block: e.ID, id: cmp.Or(e.CallID, fmt.Sprintf("call_%d", at+1)), tool: e.Tool})
		}
		a.calls[at].args.WriteString(e.Text)
	case sdk.StreamFinish:
		a.Reason, a.tokens = e.Reason, e.Tokens
	}
	return nil
}

func (a *separateAnswer) end(err error) error { return err }

// Calls returns the tool calls of the answer.
func (a *separateAnswer) Calls() ([]sdk.SampleCall, error) {
	var out []sdk.SampleCall
	for _, c := range a.calls {
		args := json.RawMessage(cmp.Or(strings.TrimSpace(c.args.String()), "{}"))
		if args[0] != '{' || !json.Valid(args) {
			return nil, fmt.Errorf("the model called %q with arguments that are not a JSON object", c.tool)
		}
		out = append(out, sdk.SampleCall{ID: c.id, Tool: c.tool, Args: args})
	}
	return out, nil
}

// separateRetries bounds the retries of AskSeparately.
const separateRetries = 2

// AskSeparately sends a request that is not a step of the turn, such as for a title. It adds the cost to the session, but does not store the
// answer.
func (s *Setup) AskSeparately(ctx context.Context, c *live.Conversation, user *sdk.UserMessage, messages []sdk.MessageWithParts, l *hooks.Ledger, request func() *sdk.ModelRequest) (*separateAnswer, error) {
	var a *separateAnswer
	err := s.ask(ctx, exchange{
		build: func(ctx context.Context) (*sdk.ModelRequest, error) {
			req := request()
			return req, s.Transform(ctx, req, user, 0, messages, l, nil)
		},
		sink:    func() sink { a = &separateAnswer{}; return a },
		retries: new(separateRetries),
		waits:   func(int, time.Duration, error) func() { return func() {} },
	})
	if err != nil {
		return nil, err
	}
	account(c, s.Model, a.tokens)
	return a, nil
}

// account adds the cost of an answer to the session.
func account(c *live.Conversation, m *model.Model, tokens sdk.Tokens) {
	cost := model.StepCost(&m.Model, tokens)
	c.UpdateSession(func(s *sdk.Session) {
		s.Cost += cost
		s.Tokens = s.Tokens.Add(tokens)
	})
}

// StoreLedger stores the ledger of a request, without secrets, with the message that it led to.
func StoreLedger(c *live.Conversation, set *generation.Set, messageID string, purpose sdk.Purpose, l *hooks.Ledger) {
	entries := l.Entries()
	for i := range entries {
		entries[i].Error, entries[i].Reason = set.Hide(entries[i].Error), set.Hide(entries[i].Reason)
	}
	data, err := json.Marshal(entries)
	if err != nil || len(entries) == 0 { // strings and numbers always encode
		return
	}
	c.Journal.Put([]store.Op{store.PutLedger{MessageID: messageID, Purpose: purpose, Entries: data}})
}
