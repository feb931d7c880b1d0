// Package compact makes room in a conversation: it detects one that is too long (overflow.go), plans and writes its summary (summary.go), and
// removes old tool output (prune.go). The loop decides when.
package compact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/host/ask"
	"github.com/tenonhq/tenon/host/convert"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// MaxTries bounds the summaries in a row that do not make enough room; then the turn fails.
const MaxTries = 3

// minRoom bounds how much of a conversation is left out to make room for the request for its summary: at least this many bytes remain.
const minRoom = 8 << 10

// summaryPrompt asks for the summary when no hook replaces it.
const summaryPrompt = "Summarize the conversation above so that the work can continue from your summary alone. State what the user wants, in their own words where they matter; " +
	"what was done and found out, with the paths, names, commands and decisions that are still needed; what is in progress; and what comes next. " +
	"Leave out what is finished and no longer needed. Write for the assistant that continues, under the headings Goal, Done, State, Next, Files."

// continuePrompt makes the model continue after its context was summarized in the middle of a turn.
const continuePrompt = "The conversation was summarized to make room. Continue with the next step in the summary; stop if everything is done."

// Reminder returns the text with which the model continues after its context was summarized in the middle of a turn: the summary may lack the list
// of its tasks.
func Reminder(ctx context.Context, c *live.Conversation, s store.Store, session string) (string, error) {
	if err := c.Journal.Flush(ctx); err != nil { // the list may be new
		return "", err
	}
	todos, err := s.Todos(ctx, session)
	open := func(t sdk.Todo) bool { return t.Status != "completed" && t.Status != "cancelled" }
	if err != nil || !slices.ContainsFunc(todos, open) {
		return continuePrompt, err
	}
	list, err := jsontext.Marshal(todos)
	return continuePrompt + "\nThe task list: " + string(list), err
}

// Plan lists the messages that a summary covers, and its verbatim tail.
type Plan struct {
	Covered  []sdk.MessageWithParts // the messages to summarize
	Tail     string                 // the first message kept verbatim; empty: none
	InTurn   bool                   // the summary covers steps of the newest turn
	Overflow bool
}

// NewPlan splits the conversation: as many of the newest turns as fit the budget stay verbatim, or, if not even one does, as many of
// its newest steps. manual reports that the user requested it, try counts the summaries in a row, from 1. A prompt without an answer always
// stays.
func NewPlan(messages []sdk.MessageWithParts, cfg sdk.CompactionConfig, m *sdk.Model, manual bool, try int) Plan {
	budget := cmp.Or(cfg.PreserveRecentTokens, min(max(usableTokens(m, cfg)/tailShare, tailMinTokens), tailMaxTokens))
	turns := *cmp.Or(cfg.TailTurns, new(-1))
	if try > 1 {
		budget = -1 // the last summary with its tail was still too long
	}
	cut, whole, size := len(messages), false, int64(0) // whole: the newest turn fits
	for i := len(messages) - 1; i >= 0 && turns != 0; i-- {
		size += convert.Tokens(&messages[i])
		if size > budget {
			break
		}
		switch m := messages[i].Info.(type) {
		case *sdk.UserMessage:
			if live.CompactionPart(messages[i].Parts) == nil {
				cut, whole = i, true
				turns--
			}
		case *sdk.AssistantMessage: // its turn's prompt stays with it
			prompt := live.IndexOf(messages[:i], m.ParentID)
			if !whole && live.HasResults(messages[i].Parts) && prompt >= 0 && size+convert.Tokens(&messages[prompt]) <= budget {
				cut = i
			}
		}
	}
	summarized := 0
	if len(messages) > 0 && live.CompactionPart(messages[0].Parts) != nil {
		summarized = 2 // the earlier summary and its question; the prompt after them may be that of kept steps, whose earlier ones are covered
	}
	if manual && len(messages) == summarized {
		return Plan{} // a summary of the summary would only lose more
	}
	if cut <= summarized { // all of it fits the budget, and yet it was too long: keep no more than what waits
		cut = len(messages)
	}
	if waits := unanswered(messages); waits >= 0 && !manual {
		cut = min(cut, waits)
	}
	plan := Plan{Covered: messages[:cut], InTurn: true, Overflow: !manual}
	if cut < len(messages) {
		plan.Tail = messages[cut].Info.Head().ID
		_, plan.InTurn = messages[cut].Info.(*sdk.AssistantMessage)
	}
	return plan
}

// unanswered returns the index of the prompt without an answer, or -1. Refused requests do not count.
func unanswered(messages []sdk.MessageWithParts) int {
	for i := len(messages) - 1; i >= 0; i-- {
		a, ok := messages[i].Info.(*sdk.AssistantMessage)
		if ok && a.Error != nil && !live.HasResults(messages[i].Parts) {
			continue
		}
		if ok {
			return -1
		}
		return i
	}
	return -1
}

// Summary is a request for a summary, and its message.
type Summary struct {
	*ask.Step
	Plan Plan
}

// Run asks the model for the summary and stores question and answer. The message, when there is one, stays open.
func (s *Summary) Run(ctx context.Context) error {
	question := *s.User
	question.MessageHead = sdk.MessageHead{ID: s.Conversation.IDs.New(sdk.PrefixMessage), SessionID: s.SessionID}
	question.Time = sdk.MessageTime{Created: live.Now()}
	question.Extra = nil
	prompt, err := s.prompt(ctx)
	if err != nil {
		return err
	}
	s.Conversation.Add(&question, sdk.Parts{&sdk.CompactionPart{
		PartHead: s.Conversation.NewPart(&question), Auto: s.Plan.Overflow, Overflow: s.Plan.Overflow, TailStartID: s.Plan.Tail,
	}})
	s.Msg = s.Message(question.ID)
	s.Msg.Summary = true
	s.Conversation.Add(s.Msg, nil)
	again := false
	for room := usableTokens(&s.Model.Model, s.Generation.Config.Compaction) * convert.BytesPerToken * 3 / 4; ; {
		conversation := renderConversation(s.Plan.Covered, room)
		text := "<conversation>\n" + conversation + "\n</conversation>\n\n" + prompt
		messages := []sdk.MessageWithParts{{Info: s.User, Parts: sdk.Parts{&sdk.TextPart{Text: text}}}}
		a, err := s.Ask(ctx, func(ctx context.Context) (*sdk.ModelRequest, error) {
			req := s.Request([]string{s.Agent.Prompt}, s.User.Model.Variant)
			return req, s.Transform(ctx, req, s.User, 0, messages, s.Ledger, nil)
		})
		if err == nil && len(a.Calls) == 0 && s.text() == "" {
			s.Discard(a)
			if !again {
				again = true
				continue // servers return nothing now and then, and a long run would end here
			}
		}
		room = int64(len(conversation)) / 2
		switch {
		case err == nil:
			return s.keep(a)
		case model.Classify(err) != model.ClassOverflow:
			return err
		case room < minRoom:
			return fmt.Errorf("the conversation is too long even to be summarized: %w", err)
		}
	}
}

// prompt returns the instructions of the request.
func (s *Summary) prompt(ctx context.Context) (string, error) {
	v := &sdk.CompactingValue{Context: []string{}} // a list for every hook, never null
	in := &sdk.CompactingInput{SessionID: s.SessionID}
	err := s.Generation.Fire(ctx, sdk.PointCompacting, s.Ledger, "", in, v)
	return cmp.Or(v.Prompt, strings.Join(append([]string{summaryPrompt}, v.Context...), "\n\n")), err
}

// renderConversation writes messages as text of about room bytes, the oldest left out when there are more; 0 means no limit.
func renderConversation(messages []sdk.MessageWithParts, room int64) string {
	var blocks []string
	for i := range messages {
		if text := convert.Text(&messages[i]); text != "" {
			blocks = append(blocks, text)
		}
	}
	if room == 0 {
		return strings.Join(blocks, "\n\n")
	}
	size, from := int64(0), len(blocks)
	for from > 0 && size+int64(len(blocks[from-1])) <= room {
		from--
		size += int64(len(blocks[from]))
	}
	if from == len(blocks) && from > 0 { // even the newest alone is too long
		from--
		blocks[from] = visible.Tail(blocks[from], int(room))
	}
	if from > 0 {
		blocks[from] = fmt.Sprintf("[%d older messages left out]\n\n%s", from, blocks[from])
	}
	return strings.Join(blocks[from:], "\n\n")
}

// text returns the answer so far.
func (s *Summary) text() string {
	return strings.TrimSpace(live.AnswerText(s.Conversation.Parts(s.Msg.ID)))
}

// keep checks the answer, and notes on it the messages that it covers.
func (s *Summary) keep(b *ask.Answer) error {
	if len(b.Calls) > 0 {
		return errors.New("the model called a tool instead of summarizing the conversation")
	}
	if s.text() == "" {
		return errors.New("the model returned an empty summary of the conversation")
	}
	first, last := s.Plan.Covered[0], s.Plan.Covered[len(s.Plan.Covered)-1]
	covers := map[string]any{"from": first.Info.Head().ID, "to": last.Info.Head().ID, "messages": float64(len(s.Plan.Covered))}
	for _, p := range s.Conversation.Parts(s.Msg.ID) {
		if text, ok := p.(*sdk.TextPart); ok && !text.Ignored {
			s.Conversation.Locked(func() { text.Metadata = live.WithKey(text.Metadata, "covers", covers) })
			s.Conversation.PutPart(text)
		}
	}
	s.Finish(b)
	return nil
}
