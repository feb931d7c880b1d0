package manage

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// scriptStep is one answer of a model, as in a script of the offline provider.
type scriptStep struct {
	Text      string       `json:"text,omitempty"`
	ToolCalls []scriptCall `json:"toolCalls,omitempty"`
}

type scriptCall struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

// recordTurns writes each turn of a session to the tests in a directory: the prompt, and the model's answers as a script. The files have no
// expected result yet.
func recordTurns(ctx context.Context, a *cli.App, session, dir string) error {
	return a.WithStore(ctx, func(_ *cli.Workspace, s store.Store) error {
		info, err := cli.FindSession(ctx, s, session)
		if err = a.WithoutDamage(err); err != nil {
			return err
		}
		messages, err := s.Messages(ctx, info.ID, store.Page{})
		if err != nil {
			return err
		}
		turns, err := turnsOf(messages)
		if err != nil {
			return err
		}
		if len(turns) == 0 {
			return cli.UsageError("tenon session list shows sessions", "session %s has no turn with an answer", info.ID)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		for i, turn := range turns {
			path := filepath.Join(dir, fmt.Sprintf("%s-%d.turn.json", info.ID, i+1))
			if err := turn.write(path); err != nil {
				return err
			}
			a.Say("recorded %s", path)
		}
		return nil
	})
}

// turnsOf returns the turns of a conversation that were answered. Steps after a message that the host wrote, such as the one that follows
// a summary, belong to the turn before it.
func turnsOf(messages []sdk.MessageWithParts) (turns []*trial, err error) {
	var steps []scriptStep
	for i := range messages {
		m := &messages[i]
		switch info := m.Info.(type) {
		case *sdk.UserMessage:
			if prompt := view.TypedText(m.Parts); prompt != "" {
				turns, steps = append(turns, &trial{Prompt: prompt}), nil
			}
		case *sdk.AssistantMessage:
			step := stepOf(m)
			if info.Summary || len(turns) == 0 || step.Text == "" && len(step.ToolCalls) == 0 {
				continue
			}
			steps = append(steps, step)
			if turns[len(turns)-1].Script, err = json.Marshal(steps); err != nil {
				return nil, err
			}
		}
	}
	return slices.DeleteFunc(turns, func(t *trial) bool { return t.Script == nil }), nil
}

// stepOf returns an answer of the model.
func stepOf(m *sdk.MessageWithParts) scriptStep {
	step := scriptStep{Text: view.TypedText(m.Parts)}
	for call := range store.PartsOf[*sdk.ToolPart](*m) {
		args := call.State.Input
		if len(args) == 0 {
			args = json.RawMessage("{}")
		}
		step.ToolCalls = append(step.ToolCalls, scriptCall{call.Tool, args})
	}
	return step
}
