// Package transcript renders sessions for the terminal UI: a thread turns the events of a session into items, which render lines for a
// width.
package transcript

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/frontend"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/list"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host/convert"
	"github.com/tenonhq/tenon/sdk"
)

// Thread is a session on the screen, built from the events of the host.
type Thread struct {
	Info   sdk.Session
	List   list.List[*item]
	Status sdk.SessionStatus
	Begun  time.Time // start of the turn
	Todos  []sdk.Todo
	Last   *sdk.AssistantMessage // latest message with tokens
	Shrunk bool                  // a summary has replaced the conversation since Last

	Subagents []sdk.Session // sessions of subagents when the session was read

	look   *Look
	byPart map[string]*item  // by item ID: the ID of the part, or for prompts of the message
	roles  map[string]string // by message ID
	answer string            // ID of the model's message after the latest prompt
	reads  int               // number of reads of the stored session

	tail  string // the first message that the latest question for a summary keeps verbatim; empty: none
	since string // the first message in the context; empty: all

	answers map[string]*sdk.AssistantMessage // the model's messages since the last call of Spent

	open bool // details are shown
}

// New returns an empty session on the screen.
func New(s *sdk.Session, look *Look) *Thread {
	return &Thread{Info: *s, look: look, byPart: map[string]*item{}, roles: map[string]string{}, answers: map[string]*sdk.AssistantMessage{}}
}

// Busy reports whether a turn runs.
func (t *Thread) Busy() bool {
	return t.Status.Type == sdk.StatusBusy || t.Status.Type == sdk.StatusRetry
}

// Read must be called before the stored session is read. It returns a function that shows the stored session, but keeps everything that events
// have added since Read. After another call of Read, the earlier function does nothing.
func (t *Thread) Read() func(h *frontend.History) {
	for _, i := range t.List.Items {
		i.fresh = false
	}
	t.reads++
	before := *t
	return func(h *frontend.History) {
		if t.reads == before.reads {
			t.fill(h, &before)
		}
	}
}

// fill shows the stored session; before is the state of the thread before the read.
func (t *Thread) fill(h *frontend.History, before *Thread) {
	stored := New(h.Session, t.look)
	for i := range h.Messages {
		stored.Message(h.Messages[i].Info)
		for _, p := range h.Messages[i].Parts {
			stored.Part(p)
		}
		if a, ok := h.Messages[i].Info.(*sdk.AssistantMessage); ok && a.Error != nil {
			stored.Failed(a.Error)
		}
	}
	t.merge(stored)
	maps.Copy(t.roles, stored.roles)
	if t.Info.Time.Updated <= h.Session.Time.Updated {
		t.Info = *h.Session
	}
	t.Subagents = h.Subagents
	if slices.Equal(t.Todos, before.Todos) {
		t.Todos = h.Todos
	}
	if t.Last == before.Last && t.Shrunk == before.Shrunk {
		t.Last, t.Shrunk = stored.Last, stored.Shrunk
	}
	if t.tail == before.tail && t.since == before.since {
		t.tail, t.since = stored.tail, stored.since
	}
	if t.answer == before.answer {
		t.answer = stored.answer
	}
	t.open = false
}

// merge inserts the thread's fresh items between and after the stored ones. Lines that are not stored, such as the figures of a turn, stay after
// the items that they follow.
func (t *Thread) merge(stored *Thread) {
	var fresh []*item
	lines, last := map[string][]*item{}, ""
	for _, i := range t.List.Items {
		if i.fresh {
			fresh = append(fresh, i)
		} else if i.id == "" {
			lines[last] = append(lines[last], i)
		}
		last = cmp.Or(i.id, last)
	}
	items := lines[""]
	for _, i := range stored.List.Items {
		if have := t.byPart[i.id]; have == nil || !have.fresh {
			i.fresh = false
			items = append(items, i)
		} else if at := slices.Index(fresh, have); at >= 0 { // fresh items keep their order
			items, fresh = append(items, fresh[:at+1]...), fresh[at+1:]
		}
		items = append(items, lines[i.id]...)
	}
	t.List = list.List[*item]{Items: append(items, fresh...)}
	clear(t.byPart)
	for _, i := range t.List.Items {
		if i.id != "" {
			t.byPart[i.id] = i
		}
	}
}

// entry returns the item with an ID and its content, which the caller will change. If the item does not exist, or has content of another type,
// it gets the given content. Without an ID, entry appends an item.
func entry[C content](t *Thread, id, message string, empty C) (*item, C) {
	i := t.byPart[id]
	if i == nil {
		i = &item{id: id, message: message, look: t.look, open: t.open}
		t.List.Items = append(t.List.Items, i)
		if id != "" {
			t.byPart[id] = i
		}
	}
	i.fresh, i.changed = true, true
	have, ok := i.content.(C)
	if !ok {
		have, i.content = empty, empty
	}
	return i, have
}

// Failed shows the error of the latest answer, once, unless the card of a call shows it.
func (t *Thread) Failed(e *sdk.NamedError) {
	if slices.ContainsFunc(t.List.Items, func(i *item) bool {
		c, ok := i.content.(*call)
		return ok && i.message == t.answer && c.part.State.Error == e.Error()
	}) {
		return
	}
	id := ""
	if t.answer != "" {
		id = t.answer + " error"
	}
	shown := notice(Fail, "error: "+cmp.Or(terminal.OneLine(e.Error()), e.Name))
	if e.Name == sdk.ErrorAborted {
		shown = notice(Faint, "interrupted")
	}
	entry(t, id, "", shown)
}

// Notice appends a line about the session itself.
func (t *Thread) Notice(style func(*draw.Theme) string, text string) {
	entry(t, "", "", notice(style, text))
}

// Message records the role and the figures of a message.
func (t *Thread) Message(info sdk.Message) {
	t.roles[info.Head().ID] = info.Role()
	a, ok := info.(*sdk.AssistantMessage)
	if !ok {
		t.answer = ""
		return
	}
	t.answer, t.answers[a.ID] = a.ID, a
	switch {
	case a.Summary && a.Time.Completed > 0 && a.Error == nil:
		t.Shrunk, t.since = true, cmp.Or(t.tail, a.ID)
	case !a.Summary && a.Tokens.Sum() > 0:
		t.Last, t.Shrunk = a, false
	}
}

// Part shows the current state of a part.
func (t *Thread) Part(p sdk.Part) {
	h := p.Head()
	typed := t.roles[h.MessageID] == sdk.RoleUser
	switch p := p.(type) {
	case *sdk.TextPart:
		ended := p.Time == nil || p.Time.End != 0
		switch {
		case typed:
			t.promptPart(p)
		case p.Synthetic || p.Text == "" && ended && t.byPart[h.ID] == nil:
		default:
			_, shown := entry(t, h.ID, h.MessageID, &text{})
			shown.set(p.Text, ended)
		}
	case *sdk.ReasoningPart:
		i, shown := entry(t, h.ID, h.MessageID, &text{faint: true})
		i.folds = true
		shown.took = time.Duration(max(0, p.Time.End-p.Time.Start)) * time.Millisecond
		shown.set(p.Text, p.Time.End != 0)
	case *sdk.ToolPart:
		i, shown := entry(t, h.ID, h.MessageID, &call{})
		i.folds, shown.part = true, p
	case *sdk.RetryPart:
		entry(t, h.ID, h.MessageID, notice(Warn, "attempt failed: "+view.Clip(terminal.OneLine(p.Error.Error()), 400)))
	case *sdk.FilePart, *sdk.CompactionPart, *sdk.SubtaskPart:
		if c, ok := p.(*sdk.CompactionPart); ok {
			t.tail = c.TailStartID
		}
		if typed {
			t.promptPart(p)
		}
	}
}

// promptPart shows a part of a prompt.
func (t *Thread) promptPart(p sdk.Part) {
	message := p.Head().MessageID
	i, shown := entry(t, message, message, &prompt{})
	i.folds = true
	shown.set(p)
}

// Delta appends streamed text. It ignores parts read from the store, which may contain the text already; the event at the end of the part
// replaces them.
func (t *Thread) Delta(d *sdk.PartDelta) {
	i := t.byPart[d.PartID]
	if i == nil {
		return
	}
	switch c := i.content.(type) {
	case *text:
		if i.fresh {
			c.source.WriteString(d.Delta)
		}
	case *call:
		c.arrived(d.Delta)
	}
	i.changed = true
}

// RemoveMessage removes all parts of a message.
func (t *Thread) RemoveMessage(id string) {
	t.List.Items = slices.DeleteFunc(t.List.Items, func(i *item) bool {
		if i.message != id {
			return false
		}
		delete(t.byPart, i.id)
		return true
	})
}

// Spent returns the tokens and cost of the model's messages since its last call.
func (t *Thread) Spent() (tokens sdk.Tokens, cost sdk.USD) {
	for _, a := range t.answers {
		tokens = tokens.Add(a.Tokens)
		cost += a.Cost
	}
	clear(t.answers)
	return tokens, cost
}

// End shows the figures of the finished turn.
func (t *Thread) End(took time.Duration, tokens sdk.Tokens, cost sdk.USD) {
	if tokens.Sum() > 0 && t.Last != nil {
		entry(t, "", "", figures(terminal.OneLine(t.Last.Agent), terminal.OneLine(t.Last.ModelID), took, tokens, cost))
	}
}

// Begin records the start of a turn.
func (t *Thread) Begin(now time.Time) { t.Begun, t.answer = now, "" }

// calls returns the session's tool calls.
func (t *Thread) calls() []*call {
	var out []*call
	for _, i := range t.List.Items {
		if c, ok := i.content.(*call); ok {
			out = append(out, c)
		}
	}
	return out
}

// Calls describes about how many tokens of the context the tool calls take, with their results, for the tools that take most.
func (t *Thread) Calls() string {
	sizes := map[string]int64{}
	for _, c := range t.calls() {
		if s := &c.part.State; c.part.MessageID >= t.since && s.Time.Compacted == 0 {
			sizes[c.part.Tool] += int64(len(s.Input)+len(s.Output)+len(s.Error)) / convert.BytesPerToken
		}
	}
	var list []string
	for _, tool := range slices.SortedFunc(maps.Keys(sizes), func(a, b string) int { return cmp.Or(cmp.Compare(sizes[b], sizes[a]), cmp.Compare(a, b)) }) {
		list = append(list, terminal.OneLine(tool)+" ~"+view.Count(sizes[tool]))
	}
	return strings.Join(list[:min(len(list), 5)], ", ")
}

// Children returns the subagents' sessions in the order of their first tasks.
func (t *Thread) Children() []string {
	var out []string
	for _, c := range t.calls() {
		if id := c.child(); id != "" && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// Doing describes the tool calls of a subagent's session; empty without any.
func (t *Thread) Doing() string {
	calls := t.calls()
	if len(calls) == 0 {
		return "" // the mark of the card shows its state
	}
	last := calls[len(calls)-1].part
	return fmt.Sprintf("%s · %s %s", view.Plural(len(calls), "tool call"), terminal.OneLine(last.Tool), view.Subject(&last.State, t.look.Directory))
}

// Prompt is a prompt of the user.
type Prompt struct {
	ID    string   // of its message
	Text  string   // typed by the user
	Files []string // paths of attached files that the text does not mention
}

// Prompts returns the prompts of the session in their order.
func (t *Thread) Prompts() []Prompt {
	var out []Prompt
	for _, i := range t.List.Items {
		if p, ok := i.content.(*prompt); ok {
			if text, notes, files := p.shown(); text != "" || len(notes) > 0 {
				out = append(out, Prompt{i.id, view.Draft(p.parts), files})
			}
		}
	}
	return out
}

// Show scrolls to a prompt.
func (t *Thread) Show(message string) {
	if i := slices.IndexFunc(t.List.Items, func(i *item) bool { return i.id == message }); i >= 0 {
		t.List.Show(i, 0)
	}
}

// Answer returns the text of the last answer of the model.
func (t *Thread) Answer() string {
	for _, i := range slices.Backward(t.List.Items) {
		if c, ok := i.content.(*text); ok && !c.faint {
			return c.source.String()
		}
	}
	return ""
}

// UnfoldAll shows the details of all items, or hides them if they are shown.
func (t *Thread) UnfoldAll() {
	t.open = !t.open
	for _, i := range t.List.Items {
		i.unfold(t.open)
	}
}

// Toggle shows or hides the details of an item.
func (t *Thread) Toggle(index int) {
	if index >= 0 && index < len(t.List.Items) {
		i := t.List.Items[index]
		i.unfold(!i.open)
	}
}
