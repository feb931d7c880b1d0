package host

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/tenonhq/tenon/hooks"
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
	s := t.c.sessionCopy()
	if t.step != 1 || t.tries > 0 || t.purpose != sdk.PurposeTurn || !strings.HasPrefix(s.Title, defaultTitle) || t.userMessages() != 1 {
		return
	}
	agent, err := t.h.agent(t.g, sdk.AgentTitle)
	if err != nil {
		return // no plugin contributes one: sessions keep their default titles
	}
	copied := *t // the turn goes on while the title is made
	copied.agent, copied.purpose, copied.ledger, copied.converted = agent, sdk.PurposeTitle, &hooks.Ledger{}, converted{}
	// Ends with the request, at the latest after titleTimeout; the runner waits before it gives the session up.
	t.r.goBeside(func() {
		ctx, cancel := context.WithTimeout(t.h.besideCtx, titleTimeout)
		defer cancel()
		if err := copied.makeTitle(ctx); err != nil {
			t.h.log.Debug("no title was made", "session", t.r.session, "err", err)
		}
	})
}

// userMessages counts the messages that a user wrote.
func (t *turn) userMessages() int {
	n := 0
	for _, m := range t.c.snapshot() {
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
	name := ""
	if t.agent.Model != nil {
		name = t.agent.Model.String()
	} else {
		small, err := t.g.models.small(ctx, t.model)
		if err != nil {
			return err
		}
		name = small.Ref().String()
	}
	if err := t.useModel(ctx, name, t.c.sessionCopy()); err != nil {
		return err
	}
	var text string
	var tokens sdk.Tokens
	err := t.askBeside(ctx, func(e sdk.StreamEvent) {
		switch e.Type {
		case sdk.StreamText:
			text += e.Text
		case sdk.StreamFinish:
			tokens = e.Tokens
		}
	})
	t.storeLedger(t.user.ID, t.purpose, t.ledger)
	if err != nil {
		return err
	}
	cost := stepCost(&t.model, tokens)
	title := cleanTitle(text)
	t.c.updateSession(func(s *sdk.Session) {
		s.Cost += cost
		s.Tokens = s.Tokens.Add(tokens)
		if title != "" && strings.HasPrefix(s.Title, defaultTitle) {
			s.Title = title
		}
	})
	return nil
}

// askBeside sends a request beside the turn, with a few tries. Nothing of the answer is stored.
func (t *turn) askBeside(ctx context.Context, sink func(sdk.StreamEvent)) error {
	base := defaultRetryDelay
	if ms := t.g.config.Retry.DelayMS; ms > 0 {
		base = time.Duration(ms) * time.Millisecond
	}
	for try := 1; ; try++ {
		params := t.params()
		req := &sdk.ModelRequest{
			Model: t.model, SessionID: t.r.session, Purpose: t.purpose, System: []string{t.agent.Prompt}, Params: params, Headers: t.headers(),
		}
		if err := t.transformRequest(ctx, req, t.firstPrompt(), t.ledger); err != nil {
			return err
		}
		err := t.client.Stream(ctx, req, func(e sdk.StreamEvent) error { sink(e); return nil })
		if err == nil || classify(err) != classRetry || try == titleTries {
			return err
		}
		t.delay = backoff(base, try)
		if err := sleep(ctx, t.delay); err != nil {
			return err
		}
	}
}

// firstPrompt returns what the title is made from: the user's words without attachments.
func (t *turn) firstPrompt() []sdk.MessageWithParts {
	var parts sdk.Parts
	for _, p := range t.c.parts(t.user.ID) {
		if text, ok := p.(*sdk.TextPart); ok && !text.Synthetic && !text.Ignored {
			parts = append(parts, &sdk.TextPart{PartHead: text.PartHead, Text: text.Text})
		}
	}
	return []sdk.MessageWithParts{{Info: copyMessage(t.user), Parts: parts}}
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
