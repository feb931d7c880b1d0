package host

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/convert"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/sdk"
)

const (
	titleTimeout = 30 * time.Second
	titleTries   = 3
	// titleRunes is how long a title may be; opencode's figure. A longer one is cut and ends in "...".
	titleRunes = 100
	// titleGrace is how long Close waits for a title that is being made.
	titleGrace = 2 * time.Second
)

// thinkTags is reasoning that a model wrote into its text.
var thinkTags = regexp.MustCompile(`(?s)<think>.*?</think>\s*`)

// startTitle makes a title for a new session beside its first step.
func (t *turn) startTitle() {
	s := t.c.SessionCopy()
	if t.step != 1 || t.tries > 0 || t.purpose != sdk.PurposeTurn || !strings.HasPrefix(s.Title, defaultTitle) || t.userMessages() != 1 {
		return
	}
	agent, err := t.g.Agent(sdk.AgentTitle)
	if err != nil {
		return // no plugin contributes one: sessions keep their default titles
	}
	copied := *t // the turn goes on while the title is made
	copied.agent, copied.purpose, copied.ledger, copied.converted = agent, sdk.PurposeTitle, &hooks.Ledger{}, convert.Cache{}
	if !t.h.plugins.Retain(t.g) {
		return // the turn uses it, so it is used
	}
	// Ends with the request, at the latest after titleTimeout; the runner waits before it gives the session up.
	t.r.goBeside(func() {
		defer t.h.plugins.Release(copied.g)
		ctx, cancel := context.WithTimeout(t.h.besideCtx, titleTimeout)
		defer cancel()
		err := copied.makeTitle(ctx)
		switch {
		case errors.Is(err, model.ErrReceiver):
			t.h.log.Warn("no title was made", "err", err)
		case err != nil:
			t.h.log.Debug("no title was made", "session", t.r.session, "err", err)
		}
	})
}

// userMessages counts the messages that a user wrote.
func (t *turn) userMessages() int {
	n := 0
	for _, m := range t.c.Snapshot() {
		if m.Info.Role() != sdk.RoleUser {
			continue
		}
		for _, p := range m.Parts {
			if text, ok := p.(*sdk.TextPart); !ok || !text.Synthetic {
				n++
				break
			}
		}
	}
	return n
}

func (t *turn) makeTitle(ctx context.Context) error {
	var err error
	if t.agent.Model != nil {
		err = t.useModel(ctx, "", false, t.c.SessionCopy())
	} else {
		err = t.useSmallModel(ctx)
	}
	if err != nil {
		return err
	}
	a, err := t.askBeside(ctx, t.firstPrompt(), func() *sdk.ModelRequest {
		return &sdk.ModelRequest{
			Model: t.model.Model, SessionID: t.r.session, Purpose: t.purpose, System: []string{t.agent.Prompt}, Params: t.params(), Headers: t.headers(),
		}
	})
	t.storeLedger(t.user.ID, t.purpose, t.ledger)
	if err != nil {
		return err
	}
	title := cleanTitle(a.text.String())
	t.account(a.tokens, func(s *sdk.Session) {
		if title != "" && strings.HasPrefix(s.Title, defaultTitle) {
			s.Title = title
		}
	})
	return nil
}

// useSmallModel sets the model to the small one that goes with it.
func (t *turn) useSmallModel(ctx context.Context) error {
	small, err := t.g.Models.Small(ctx, t.model.Model)
	if err != nil {
		return err
	}
	return t.useModel(ctx, small.Ref().String(), false, t.c.SessionCopy())
}

// account adds what a request beside the turn cost to the session, and changes it further.
func (t *turn) account(tokens sdk.Tokens, change func(*sdk.Session)) {
	cost := model.StepCost(&t.model.Model, tokens)
	t.c.UpdateSession(func(s *sdk.Session) {
		s.Cost += cost
		s.Tokens = s.Tokens.Add(tokens)
		if change != nil {
			change(s)
		}
	})
}

// asideAnswer is the model's answer to a request beside the turn.
type asideAnswer struct {
	text   strings.Builder
	reason string
	tokens sdk.Tokens
}

func (a *asideAnswer) take(e sdk.StreamEvent) error {
	switch e.Type {
	case sdk.StreamText:
		a.text.WriteString(e.Text)
	case sdk.StreamFinish:
		a.reason, a.tokens = e.Reason, e.Tokens
	}
	return nil
}

// askBeside sends a request beside the turn, with a few tries. Nothing of the answer is stored.
func (t *turn) askBeside(ctx context.Context, messages []sdk.MessageWithParts, request func() *sdk.ModelRequest) (*asideAnswer, error) {
	base := model.DefaultRetryDelay
	if ms := t.g.Config.Retry.DelayMS; ms > 0 {
		base = time.Duration(ms) * time.Millisecond
	}
	for try := 1; ; try++ {
		a := &asideAnswer{}
		req := request()
		if err := t.transformRequest(ctx, req, messages, t.ledger); err != nil {
			return a, err
		}
		err := t.model.Stream(ctx, req, a.take)
		if err == nil || model.Classify(err) != model.ClassRetry || try == titleTries {
			return a, err
		}
		if err := model.Sleep(ctx, model.Backoff(base, try)); err != nil {
			return a, err
		}
	}
}

// firstPrompt returns what the title is made from: the user's words without attachments.
func (t *turn) firstPrompt() []sdk.MessageWithParts {
	var parts sdk.Parts
	for _, p := range t.c.Parts(t.user.ID) {
		if text, ok := p.(*sdk.TextPart); ok && !text.Synthetic && !text.Ignored {
			parts = append(parts, &sdk.TextPart{PartHead: text.PartHead, Text: text.Text})
		}
	}
	return []sdk.MessageWithParts{{Info: live.CopyMessage(t.user), Parts: parts}}
}

// cleanTitle takes the first line with anything in it, without reasoning and quotes.
func cleanTitle(text string) string {
	for line := range strings.Lines(thinkTags.ReplaceAllString(text, "")) {
		line = strings.Trim(strings.TrimSpace(line), `"'#* `)
		if line == "" {
			continue
		}
		if r := []rune(line); len(r) > titleRunes {
			return string(r[:titleRunes-3]) + "..."
		}
		return line
	}
	return ""
}
