// Package tasks writes the titles of sessions (title.go), and prepares the calls and permissions of subagents (subtask.go).
package tasks

import (
	"cmp"
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/ask"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/host/sessions"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// TitleTimeout bounds the request for a title.
	TitleTimeout = 30 * time.Second
	// titleRunes is the maximum length of a title; opencode's figure. A longer title is cut and ends in "...".
	titleRunes = 100
	// TitleGrace is how long Close waits for a title.
	TitleGrace = 2 * time.Second
)

// thinkTags is reasoning that a model wrote into its text.
var thinkTags = regexp.MustCompile(`(?s)<think>.*?</think>\s*`)

// Title makes the title of a session from its first prompt, or from the beginning of the prompt if the model writes none. s is the setup of the
// title agent with the turn's model.
func Title(ctx context.Context, s *ask.Setup, c *live.Conversation, user *sdk.UserMessage) error {
	prompt := firstPrompt(c, user)
	title, err := written(ctx, s, c, user, prompt)
	for p := range store.PartsOf[*sdk.TextPart](prompt...) {
		title = cmp.Or(title, cleanTitle(p.Text))
	}
	if title != "" {
		c.UpdateSession(func(s *sdk.Session) {
			if strings.HasPrefix(s.Title, sessions.DefaultTitle) {
				s.Title = title
			}
		})
	}
	return err
}

// written returns the title that the model writes for a prompt; empty if it writes none.
func written(ctx context.Context, s *ask.Setup, c *live.Conversation, user *sdk.UserMessage, prompt []sdk.MessageWithParts) (string, error) {
	var m *model.Model
	var err error
	if s.Agent.Model != nil {
		m, err = ask.OpenModel(ctx, s.Generation, &s.Agent, "", false, "")
	} else {
		m, err = s.SmallModel(ctx)
	}
	if err != nil {
		return "", err
	}
	s = s.As(s.Agent, m, s.Purpose)
	ledger := &hooks.Ledger{}
	a, err := s.AskSeparately(ctx, c, user, prompt, ledger, func() *sdk.ModelRequest {
		return s.Request([]string{s.Agent.Prompt}, user.Model.Variant)
	})
	ask.StoreLedger(c, s.Generation, user.ID, s.Purpose, ledger)
	if err != nil {
		return "", err
	}
	return cleanTitle(a.Text.String()), nil
}

// firstPrompt returns the text for the title: the user's words without attachments, or the prompt for a subagent.
func firstPrompt(c *live.Conversation, user *sdk.UserMessage) []sdk.MessageWithParts {
	var parts sdk.Parts
	for _, p := range c.Parts(user.ID) {
		switch p := p.(type) {
		case *sdk.TextPart:
			if !p.Synthetic && !p.Ignored {
				parts = append(parts, &sdk.TextPart{PartHead: p.PartHead, Text: p.Text})
			}
		case *sdk.SubtaskPart:
			parts = append(parts, &sdk.TextPart{PartHead: p.PartHead, Text: p.Prompt})
		}
	}
	return []sdk.MessageWithParts{{Info: live.CopyMessage(user), Parts: parts}}
}

// cleanTitle returns the first line with text, without reasoning and quotes.
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
