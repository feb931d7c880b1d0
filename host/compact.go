package host

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/host/convert"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// maxCompactions is how many summaries in a row may fail to make room before the turn gives up.
	maxCompactions = 3
)

// summaryPrompt asks for the summary when no hook replaces it.
const summaryPrompt = "Summarise the conversation above so that the work can go on from your summary alone. Say what the user wants, in their words where they matter; " +
	"what was done and found out, with the paths, names, commands and decisions that are still needed; what is under way; and what comes next. " +
	"Leave out what is settled and not needed any more. Write for the assistant that continues, under the headings Goal, Done, State, Next."

// continuePrompt makes the model go on after its context was summarised in the middle of a turn.
const continuePrompt = "The conversation was summarised to make room. Go on with what the summary says comes next; stop if everything is done."

// compaction is what one summary covers and what it leaves.
type compaction struct {
	covered  []sdk.MessageWithParts // what the model saw before and is summarised
	tail     string                 // the first message kept verbatim, empty for none
	overflow bool
}

// planCompaction splits the conversation at the start of a turn: as many of the newest turns as fit the
// budget stay verbatim. manual means that the user asked for it, try counts the summaries in a row, from 1. A prompt without an answer always stays.
func planCompaction(messages []sdk.MessageWithParts, cfg sdk.CompactionConfig, m *sdk.Model, manual bool, try int) compaction {
	budget := cfg.PreserveRecentTokens
	if budget == 0 {
		budget = min(max(usableTokens(m, cfg)/tailShare, tailMinTokens), tailMaxTokens)
	}
	turns := -1
	if cfg.TailTurns != nil {
		turns = *cfg.TailTurns
	}
	if try > 1 {
		budget = 0 // the last summary with its tail was still too long
	}
	cut, size := len(messages), int64(0)
	for i := len(messages) - 1; i >= 0 && turns != 0; i-- {
		size += convert.Tokens(&messages[i])
		if size > budget {
			break
		}
		if _, ok := messages[i].Info.(*sdk.UserMessage); ok && live.CompactionPart(messages[i].Parts) == nil {
			cut = i
			turns--
		}
	}
	if cut == 0 { // all of it fits the budget, and yet it was too long: keep no more than what waits
		cut = len(messages)
	}
	if waits := unanswered(messages); waits >= 0 && !manual {
		cut = min(cut, waits)
	}
	plan := compaction{covered: messages[:cut], overflow: !manual}
	if cut < len(messages) {
		plan.tail = messages[cut].Info.Head().ID
	}
	return plan
}

// unanswered returns the index of the prompt that nothing came of yet, -1 when there is none. Requests that
// were refused do not count.
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

// summary is a request for a summary, and its message.
type summary struct {
	*step
	plan compaction
	try  int // of the summaries in a row, from 1
}

// run asks the model for the summary and stores question and answer. The message, when there is one, stays open.
func (s *summary) run(ctx context.Context) error {
	question := *s.user
	question.MessageHead = sdk.MessageHead{ID: s.c.IDs.New(sdk.PrefixMessage), SessionID: s.SessionID}
	question.Time = sdk.MessageTime{Created: live.Now()}
	question.Extra = nil
	prompt, err := s.prompt(ctx)
	if err != nil {
		return err
	}
	s.c.Add(&question, &sdk.CompactionPart{
		PartHead: s.c.NewPart(&question), Auto: s.plan.overflow, Overflow: s.plan.overflow, TailStartID: s.plan.tail,
	})
	s.msg = s.message(question.ID)
	s.msg.Summary = true
	s.c.Add(s.msg)
	ask := []sdk.MessageWithParts{{Info: s.user, Parts: sdk.Parts{&sdk.TextPart{Text: prompt}}}}
	a, err := s.ask(ctx, func(ctx context.Context) (*sdk.ModelRequest, error) {
		req := s.request([]string{s.Agent.Prompt}, s.user.Model.Variant)
		return req, s.transform(ctx, req, s.user, 0, ask, s.ledger, nil)
	})
	if model.Classify(err) == model.ClassOverflow {
		return fmt.Errorf("the conversation is too long even to be summarised: %w", err)
	}
	if err != nil {
		return err
	}
	return s.keep(a)
}

// compactionPrompt returns the request's one message: the conversation as text and what is asked for.
func (s *summary) prompt(ctx context.Context) (string, error) {
	v := &sdk.CompactingValue{Context: []string{}} // a list for every hook, never null
	in := &sdk.CompactingInput{SessionID: s.SessionID}
	if err := s.Set.Fire(ctx, sdk.PointCompacting, s.ledger, "", in, v); err != nil {
		return "", err
	}
	prompt := v.Prompt
	if prompt == "" {
		prompt = strings.Join(append([]string{summaryPrompt}, v.Context...), "\n\n")
	}
	return "<conversation>\n" + renderConversation(s.plan.covered, usableTokens(&s.Model.Model, s.Set.Config.Compaction)*convert.BytesPerToken*3/4, s.try) + "\n</conversation>\n\n" + prompt, nil
}

// renderConversation writes messages as text of about room bytes, the oldest left out when there are more; 0 means no limit.
func renderConversation(messages []sdk.MessageWithParts, room int64, try int) string {
	var blocks []string
	for i := range messages {
		if text := convert.Text(&messages[i]); text != "" {
			blocks = append(blocks, text)
		}
	}
	if try > 1 && room == 0 {
		room = 64 << 10 // the limit is unknown, and the last try was too long
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
		blocks[from] = strings.ToValidUTF8(blocks[from][len(blocks[from])-int(room):], "")
	}
	if from > 0 {
		blocks[from] = fmt.Sprintf("[%d older messages left out]\n\n%s", from, blocks[from])
	}
	return strings.Join(blocks[from:], "\n\n")
}

// keep checks the answer and notes on it which messages it stands for.
func (s *summary) keep(b *answer) error {
	if len(b.calls) > 0 {
		return errors.New("the model called a tool instead of summarising the conversation")
	}
	parts := s.c.Parts(s.msg.ID)
	if strings.TrimSpace(live.AnswerText(parts)) == "" {
		return errors.New("the model gave an empty summary of the conversation")
	}
	for _, p := range parts {
		if text, ok := p.(*sdk.TextPart); ok && !text.Ignored {
			s.c.Locked(func() { text.Metadata = live.WithKey(text.Metadata, "covers", covers(s.plan.covered)) })
			s.c.PutPart(text)
		}
	}
	s.finish(b)
	return nil
}

func covers(messages []sdk.MessageWithParts) map[string]any {
	return map[string]any{
		"from": messages[0].Info.Head().ID, "to": messages[len(messages)-1].Info.Head().ID, "messages": float64(len(messages)),
	}
}
