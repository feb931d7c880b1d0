package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// shownMessages is how many messages "session show" prints unless told otherwise.
const shownMessages = 20

func (a *app) showCommand() *cobra.Command {
	var limit int
	var all bool
	cmd := &cobra.Command{
		Use: "show [session]", Short: "Print the end of a session's conversation, of the latest session by default",
		Args: arguments(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSession(cmd.Context(), args, func(w *workspace, s store.Store, info *sdk.Session) error {
				page := store.Page{Limit: limit}
				if all {
					page.Limit = 0
				} else if limit < 1 {
					return usageError("pass a number from 1 on, or --all", "-n %d shows nothing", limit)
				}
				return a.show(cmd.Context(), w, s, info, page)
			})
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", shownMessages, "most messages to print")
	cmd.Flags().BoolVar(&all, "all", false, "print the whole conversation")
	return cmd
}

func (a *app) show(ctx context.Context, w *workspace, s store.Store, info *sdk.Session, page store.Page) error {
	if info.Revert != nil { // what is undone is not shown
		page.Before = info.Revert.MessageID
	}
	messages, err := s.Messages(ctx, info.ID, page)
	if err = a.withoutDamage(err); err != nil {
		return err
	}
	c := a.screen.forStdout()
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", c.paint(styleBold, oneLine(info.Title)), c.paint(styleDim, fmt.Sprintf(
		"%s · %s · %s · %s tokens · %s", info.ID, visible(info.Directory), time.UnixMilli(info.Time.Updated).Format(time.DateTime), count(info.Tokens.Sum()), money(info.Cost))))
	if page.Limit > 0 && len(messages) == page.Limit {
		fmt.Fprintf(&b, "%s\n", c.paint(styleDim, fmt.Sprintf("the latest %d messages; --all prints all", page.Limit)))
	}
	for i := range messages {
		c.showMessage(&b, &messages[i], info.Directory)
	}
	if info.Revert != nil {
		fmt.Fprintf(&b, "\n%s\n", c.paint(styleDim, "what followed is undone; tenon session unrevert brings it back until the next prompt"))
	}
	if err := a.checkOutputs(ctx, s, messages); err != nil {
		return err
	}
	todos, err := s.Todos(ctx, info.ID)
	if err = a.withoutDamage(err); err != nil {
		return err
	}
	if len(todos) > 0 {
		fmt.Fprintf(&b, "\n%s\n", todoLine(c, todos))
	}
	return a.write(b.String())
}

// checkOutputs names the outputs of shown calls that are damaged or missing.
func (a *app) checkOutputs(ctx context.Context, s store.Store, messages []sdk.MessageWithParts) error {
	for i := range messages {
		for _, p := range messages[i].Parts {
			t, ok := p.(*sdk.ToolPart)
			if !ok || store.Output(t) == "" {
				continue
			}
			_, err := s.Blob(ctx, store.Output(t))
			if err = a.withoutDamage(store.OutputDamage(t, err)); err != nil {
				return err
			}
		}
	}
	return nil
}

// forStdout returns a screen that paints only what is printed to a terminal.
func (c *screen) forStdout() *screen {
	return &screen{color: c.color && c.streams, width: c.width}
}

func (c *screen) showMessage(b *strings.Builder, m *sdk.MessageWithParts, directory string) {
	var head string
	switch info := m.Info.(type) {
	case *sdk.UserMessage:
		head = "user · " + clock(info.Time.Created)
	case *sdk.AssistantMessage:
		head = "assistant · " + visible(info.ProviderID+"/"+info.ModelID) + " · " + clock(info.Time.Created)
		if info.Summary {
			head = "summary of what came before · " + clock(info.Time.Created)
		}
	default:
		head = visible(m.Info.Role())
	}
	fmt.Fprintf(b, "\n%s\n", c.paint(styleCyan, head))
	for _, p := range m.Parts {
		if text := c.showPart(p, directory); text != "" {
			b.WriteString(text + "\n")
		}
	}
	if a, ok := m.Info.(*sdk.AssistantMessage); ok && a.Error != nil {
		fmt.Fprintf(b, "%s\n", c.paint(styleRed, visible(a.Error.Name+": "+a.Error.Error())))
	}
}

func clock(millis sdk.Millis) string { return time.UnixMilli(millis).Format("15:04:05") }

func (c *screen) showPart(p sdk.Part, directory string) string {
	switch p := p.(type) {
	case *sdk.TextPart:
		switch {
		case p.Text == "":
			return ""
		case p.Synthetic:
			return c.paint(styleDim, "("+clip(oneLine(p.Text), reasoningLength)+")")
		case p.Ignored:
			return c.paint(styleDim, "(cut off: "+clip(oneLine(p.Text), reasoningLength)+")")
		}
		return strings.TrimRight(prose(p.Text), "\n")
	case *sdk.ReasoningPart:
		return c.paint(styleDim, "thought: "+clip(oneLine(p.Text), reasoningLength))
	case *sdk.FilePart:
		return c.paint(styleDim, "attached "+oneLine(p.Filename)+" ("+oneLine(p.Mime)+")")
	case *sdk.ToolPart:
		if p.State.Open() {
			return "… " + visible(p.Tool) + " " + subject(&p.State, directory)
		}
		return c.toolLine(p, directory, 0)
	case *sdk.RetryPart:
		return c.paint(styleYellow, fmt.Sprintf("try %d failed: %s", p.Attempt, clip(oneLine(p.Error.Error()), errorLength)))
	case *sdk.SubtaskPart:
		return c.paint(styleDim, "subtask for "+visible(p.Agent)+": "+clip(oneLine(p.Prompt), reasoningLength))
	case *sdk.CompactionPart:
		return c.paint(styleDim, "(the conversation so far was to be summarised)")
	}
	return ""
}
