package host

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/hooks"
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

// Compact summarises the conversation of a session, as if it had grown too long, and waits for the
// summary. Errors: as Prompt.
func (h *Host) Compact(ctx context.Context, session, model string) error {
	_, err := h.Prompt(ctx, PromptInput{SessionID: session, Model: model, compact: true})
	return err
}

// Uncompact takes the latest summary of a session out again, so that the model gets the original messages.
// Errors: ErrNothing when there is no summary; otherwise as Prompt.
func (h *Host) Uncompact(ctx context.Context, session string) error {
	_, err := h.Prompt(ctx, PromptInput{SessionID: session, uncompact: true})
	return err
}

// uncompact removes the latest summary and its question and takes up what they stood for.
func (t *turn) uncompact(ctx context.Context) error {
	messages := t.c.Snapshot()
	summary, question, _ := live.LastSummary(messages)
	if summary < 0 || question < 0 {
		return fmt.Errorf("session %s has no summary: %w", t.r.session, ErrNothing)
	}
	ids := []string{messages[summary].Info.Head().ID, messages[question].Info.Head().ID}
	damaged, err := t.c.RemoveMessages(ctx, ids, func(*sdk.Session) {})
	t.h.leftOut(damaged)
	return err
}

// compact puts a summary in place of the conversation so far. The messages stay stored; the summary names
// the ones it covers. Several in a row that make no room end the turn.
func (t *turn) compact(ctx context.Context) (event, error) {
	if t.msg != nil { // the request that did not fit
		t.c.Locked(func() {
			t.msg.Error = &sdk.NamedError{Name: sdk.ErrorContextOverflow, Data: sdk.ErrorData{Message: "the conversation is too long for the model; it is summarised"}}
		})
		t.closeStep(stateDone)
	}
	if t.compacted++; t.compacted > maxCompactions {
		return evFail, fmt.Errorf("the conversation still does not fit %s after %d summaries: start a new session, or use a model with a larger context", t.model.Ref(), maxCompactions)
	}
	plan := t.planCompaction()
	if len(plan.covered) == 0 && t.manual {
		return evFail, errors.New("there is nothing to summarise yet")
	}
	if len(plan.covered) == 0 {
		return evFail, fmt.Errorf("nothing can be summarised: the prompt alone is too long for %s", t.model.Ref())
	}
	answered, last := t.answered(), t.last
	if err := t.summarise(ctx, plan); err != nil {
		return evFail, err
	}
	t.c.Journal.Put(nil, sdk.Event{Type: sdk.EventSessionCompacted, Properties: &sdk.SessionRef{SessionID: t.r.session}})
	if answered {
		t.last = last // what the user waits for, not the summary
		return evSettled, nil
	}
	return t.afterCompaction(ctx, plan)
}

// compactBusy makes the turn under way summarise next. A model that was named is for the summary alone.
func (t *turn) compactBusy(ctx context.Context, model string) (event, error) {
	if model != "" {
		if _, err := t.g.Models.Resolve(ctx, model); err != nil {
			return evFail, err
		}
	}
	t.summaryModel = model
	return evOverflow, nil
}

// compaction is what one summary covers and what it leaves.
type compaction struct {
	covered  []sdk.MessageWithParts // what the model saw before and is summarised
	tail     string                 // the first message kept verbatim, empty for none
	overflow bool
}

// planCompaction splits the conversation at the start of a turn: as many of the newest turns as fit the
// budget stay verbatim. A prompt without an answer always stays.
func (t *turn) planCompaction() compaction {
	messages := live.Active(t.c.Snapshot())
	cfg := t.g.Config.Compaction
	budget := cfg.PreserveRecentTokens
	if budget == 0 {
		budget = min(max(t.usableTokens()/tailShare, tailMinTokens), tailMaxTokens)
	}
	turns := -1
	if cfg.TailTurns != nil {
		turns = *cfg.TailTurns
	}
	if t.compacted > 1 {
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
	if waits := unanswered(messages); waits >= 0 && !t.manual {
		cut = min(cut, waits)
	}
	plan := compaction{covered: messages[:cut], overflow: !t.manual}
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

// summarise asks the model for the summary and stores question and answer.
func (t *turn) summarise(ctx context.Context, plan compaction) error {
	s, err := t.compactor(ctx)
	if err != nil {
		return err
	}
	question := *t.user
	question.MessageHead = sdk.MessageHead{ID: t.c.IDs.New(sdk.PrefixMessage), SessionID: t.r.session}
	question.Time = sdk.MessageTime{Created: live.Now()}
	question.Extra = nil
	prompt, err := s.compactionPrompt(ctx, plan)
	if err != nil {
		return err
	}
	t.c.Add(&question, &sdk.CompactionPart{
		PartHead: t.c.NewPart(&question), Auto: !t.manual, Overflow: plan.overflow, TailStartID: plan.tail,
	})
	s.msg = &sdk.AssistantMessage{
		MessageHead: sdk.MessageHead{ID: t.c.IDs.New(sdk.PrefixMessage), SessionID: t.r.session}, ParentID: question.ID,
		ModelID: s.model.ID, ProviderID: s.model.ProviderID, Mode: sdk.AgentCompaction, Agent: sdk.AgentCompaction, Summary: true,
		Path: sdk.MessagePath{Cwd: t.h.opts.Project.Directory, Root: t.h.opts.Project.Worktree}, Time: sdk.MessageTime{Created: live.Now()},
	}
	t.c.Add(s.msg)
	err = s.askSummary(ctx, prompt, plan)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		s.failure = t.turnError(err)
	}
	s.closeStep(stateFailed)
	t.last = s.last
	return err
}

// compactor returns a copy of the turn that speaks as the compaction agent.
func (t *turn) compactor(ctx context.Context) (*turn, error) {
	agent, err := t.g.Agent(sdk.AgentCompaction)
	if err != nil {
		return nil, err
	}
	s := *t
	s.converted = convert.Cache{}
	s.agent, s.purpose, s.tries, s.msg, s.ledger, s.calls = agent, sdk.PurposeCompaction, 0, nil, &hooks.Ledger{}, nil
	name := t.summaryModel
	t.summaryModel = ""
	if name != "" || agent.Model != nil {
		if err := s.useModel(ctx, name, false, t.c.SessionCopy()); err != nil {
			return nil, err
		}
	}
	return &s, nil
}

// compactionPrompt returns the request's one message: the conversation as text and what is asked for.
func (t *turn) compactionPrompt(ctx context.Context, plan compaction) (string, error) {
	v := &sdk.CompactingValue{Context: []string{}} // a list for every hook, never null
	in := &sdk.CompactingInput{SessionID: t.r.session}
	if _, err := t.g.Engine.Transform(ctx, sdk.PointCompacting, hooks.Scope{Ledger: t.ledger}, in, v); err != nil {
		return "", err
	}
	prompt := v.Prompt
	if prompt == "" {
		prompt = strings.Join(append([]string{summaryPrompt}, v.Context...), "\n\n")
	}
	return "<conversation>\n" + t.renderConversation(plan.covered) + "\n</conversation>\n\n" + prompt, nil
}

// renderConversation writes messages as text, the oldest left out when all of it would not fit the model.
func (t *turn) renderConversation(messages []sdk.MessageWithParts) string {
	var blocks []string
	for i := range messages {
		if text := convert.Text(&messages[i]); text != "" {
			blocks = append(blocks, text)
		}
	}
	room := t.usableTokens() * convert.BytesPerToken * 3 / 4
	for t.compacted > 1 && room == 0 {
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

// askSummary streams the summary into the message, with the retries of any request.
func (t *turn) askSummary(ctx context.Context, prompt string, plan compaction) error {
	ask := sdk.MessageWithParts{Info: t.user, Parts: sdk.Parts{&sdk.TextPart{Text: prompt}}}
	for {
		req := &sdk.ModelRequest{
			Model: t.model.Model, SessionID: t.r.session, Purpose: t.purpose, System: []string{t.agent.Prompt}, Params: t.params(), Headers: t.headers(),
		}
		if err := t.transformRequest(ctx, req, []sdk.MessageWithParts{ask}, t.ledger); err != nil {
			return err
		}
		b := &answer{t: t, ctx: ctx, open: map[string]*block{}}
		err := t.model.Stream(ctx, req, b.take)
		b.keep(err)
		if err == nil {
			return t.keepSummary(b, plan)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		ev, retryErr := t.retry(err)
		if ev != evRetry {
			return errors.Join(retryErr, overflowOf(ev, err))
		}
		if _, err := t.wait(ctx); err != nil {
			return err
		}
	}
}

// overflowOf is the error of a summary that is itself too long to ask for.
func overflowOf(ev event, err error) error {
	if ev != evOverflow {
		return nil
	}
	return fmt.Errorf("the conversation is too long even to be summarised: %w", err)
}

// keepSummary checks the answer and notes on it which messages it stands for.
func (t *turn) keepSummary(b *answer, plan compaction) error {
	if len(b.calls) > 0 {
		return errors.New("the model called a tool instead of summarising the conversation")
	}
	if err := b.end(); err != nil {
		return err
	}
	parts := t.c.Parts(t.msg.ID)
	if strings.TrimSpace(live.AnswerText(parts)) == "" {
		return errors.New("the model gave an empty summary of the conversation")
	}
	for _, p := range parts {
		if text, ok := p.(*sdk.TextPart); ok && !text.Ignored {
			t.c.Locked(func() { text.Metadata = live.WithKey(text.Metadata, "covers", covers(plan.covered)) })
			t.c.PutPart(text)
		}
	}
	t.finishStep(b)
	return nil
}

func covers(messages []sdk.MessageWithParts) map[string]any {
	return map[string]any{
		"from": messages[0].Info.Head().ID, "to": messages[len(messages)-1].Info.Head().ID, "messages": float64(len(messages)),
	}
}

// afterCompaction says how the turn goes on: with the prompt that waits, or with a reminder of the work
// that was under way; not at all when the user only wanted the summary or a hook says so.
func (t *turn) afterCompaction(ctx context.Context, plan compaction) (event, error) {
	if t.manual {
		return evSettled, nil
	}
	v := &sdk.AutocontinueValue{Enabled: true}
	if t.g.Engine.Has(sdk.PointAutocontinue) {
		in := &sdk.AutocontinueInput{
			SessionID: t.r.session, Agent: t.agent.Name, Model: t.model.Model, Provider: model.ProviderRef(&t.model.Provider), Message: t.user, Overflow: plan.overflow,
		}
		ledger := &hooks.Ledger{}
		_, err := t.g.Engine.Transform(ctx, sdk.PointAutocontinue, hooks.Scope{Ledger: ledger}, in, v)
		t.storeLedger(t.last.ID, sdk.PurposeCompaction, ledger)
		if err != nil {
			return evFail, err
		}
	}
	if !v.Enabled {
		return evSettled, nil
	}
	if plan.tail == "" {
		t.addSynthetic(continuePrompt, sdk.Object{"compaction_continue": true})
	}
	return evCompacted, nil
}
