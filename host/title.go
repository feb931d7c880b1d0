package host

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/sdk"
)

const (
	titleTimeout = 30 * time.Second
	// titleRunes is how long a title may be; opencode's figure. A longer one is cut and ends in "...".
	titleRunes = 100
	// titleGrace is how long Close waits for a title that is being made.
	titleGrace = 2 * time.Second
)

// thinkTags is reasoning that a model wrote into its text.
var thinkTags = regexp.MustCompile(`(?s)<think>.*?</think>\s*`)

// startTitle makes a title for a new session beside its first step.
func (t *turn) startTitle() {
	if t.step != 1 || t.Purpose != sdk.PurposeTurn || !strings.HasPrefix(t.c.SessionCopy().Title, defaultTitle) || t.userMessages() != 1 {
		return
	}
	agent, err := t.g.Agent(sdk.AgentTitle)
	if err != nil {
		return // no plugin contributes one: sessions keep their default titles
	}
	if !t.h.plugins.Retain(t.g) {
		return // the turn uses it, so it is used
	}
	s, user, prompt := t.as(agent, t.Model, sdk.PurposeTitle), t.user, t.firstPrompt()
	// Ends with the request, at the latest after titleTimeout; the runner waits before it releases the session.
	t.r.goBeside(func() {
		defer t.h.plugins.Release(s.Set)
		ctx, cancel := context.WithTimeout(t.h.besideCtx, titleTimeout)
		defer cancel()
		err := s.makeTitle(ctx, t.c, user, prompt)
		switch {
		case errors.Is(err, model.ErrReceiver):
			t.h.log.Warn("no title was made", "err", err)
		case err != nil:
			t.h.log.Debug("no title was made", "session", s.SessionID, "err", err)
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

func (s *setup) makeTitle(ctx context.Context, c *live.Conversation, user *sdk.UserMessage, prompt []sdk.MessageWithParts) error {
	var m *model.Model
	var err error
	if s.Agent.Model != nil {
		m, err = openModel(ctx, s.Set, &s.Agent, "", false, "")
	} else {
		m, err = s.smallModel(ctx)
	}
	if err != nil {
		return err
	}
	s = s.as(s.Agent, m, s.Purpose)
	ledger := &hooks.Ledger{}
	a, err := s.askAside(ctx, c, user, prompt, ledger, func() *sdk.ModelRequest {
		return s.request([]string{s.Agent.Prompt}, user.Model.Variant)
	})
	storeLedger(c, s.Set, user.ID, s.Purpose, ledger)
	if err != nil {
		return err
	}
	if title := cleanTitle(a.text.String()); title != "" {
		c.UpdateSession(func(s *sdk.Session) {
			if strings.HasPrefix(s.Title, defaultTitle) {
				s.Title = title
			}
		})
	}
	return nil
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
