// Package transcript renders sessions for the terminal UI: a thread turns the events of a session into items, which render lines for a
// width.
package transcript

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/frontend"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/list"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/sdk"
)

// Thread is a session on the screen, built from the events of the host.
type Thread struct {
	Info   sdk.Session
	List   list.List
	Status sdk.SessionStatus
	Begun  time.Time // start of the turn
	Todos  []sdk.Todo
	Last   *sdk.AssistantMessage // latest message with tokens

	look   *Look
	byPart map[string]list.Item // by item ID: the ID of the part, or for prompts of the message
	roles  map[string]string    // by message ID
	answer string               // ID of the model's message after the latest prompt
	reads  int                  // number of reads of the stored session

	answers map[string]*sdk.AssistantMessage // the model's messages since Begun

	open bool // details are shown
}

// New returns an empty session on the screen.
func New(s *sdk.Session, look *Look) *Thread {
	return &Thread{Info: *s, look: look, byPart: map[string]list.Item{}, roles: map[string]string{}, answers: map[string]*sdk.AssistantMessage{}}
}

// Busy reports whether a turn runs.
func (t *Thread) Busy() bool {
	return t.Status.Type == sdk.StatusBusy || t.Status.Type == sdk.StatusRetry
}

// Read must be called before the stored session is read. It returns a function that shows the stored session, but keeps everything that events
// have added since Read. After another call of Read, the earlier function does nothing.
func (t *Thread) Read() func(h *frontend.History) {
	for _, i := range t.List.Items {
		baseOf(i).fresh = false
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
	if slices.Equal(t.Todos, before.Todos) {
		t.Todos = h.Todos
	}
	if t.Last == before.Last {
		t.Last = stored.Last
	}
	if t.answer == before.answer {
		t.answer = stored.answer
	}
	t.open = false
}

// merge inserts the thread's fresh items between and after the stored ones. Lines that are not stored, such as the figures of a turn, stay behind
// the items that they follow.
func (t *Thread) merge(stored *Thread) {
	var fresh []list.Item
	lines, last := map[string][]list.Item{}, ""
	for _, i := range t.List.Items {
		base := baseOf(i)
		if base.fresh {
			fresh = append(fresh, i)
		} else if base.id == "" {
			lines[last] = append(lines[last], i)
		}
		last = cmp.Or(base.id, last)
	}
	items := lines[""]
	for _, i := range stored.List.Items {
		id := baseOf(i).id
		if have := t.byPart[id]; have == nil || !baseOf(have).fresh {
			baseOf(i).fresh = false
			items = append(items, i)
		} else if at := slices.Index(fresh, have); at >= 0 { // fresh items keep their order
			items, fresh = append(items, fresh[:at+1]...), fresh[at+1:]
		}
		items = append(items, lines[id]...)
	}
	items = append(items, fresh...)
	t.List = list.List{Items: items}
	clear(t.byPart)
	for _, i := range items {
		if id := baseOf(i).id; id != "" {
			t.byPart[id] = i
		}
	}
}

// Failed shows the error of the latest answer, once.
func (t *Thread) Failed(e *sdk.NamedError) {
	id := ""
	if t.answer != "" {
		id = t.answer + " error"
	}
	switch {
	case t.byPart[id] != nil:
	case e.Name == sdk.ErrorAborted:
		t.add(id, noticeItem(t.look, Faint, "interrupted"))
	default:
		t.add(id, noticeItem(t.look, Fail, "error: "+cmp.Or(terminal.OneLine(e.Error()), e.Name)))
	}
}

func (t *Thread) add(id string, i list.Item) {
	t.List.Items = append(t.List.Items, i)
	if id != "" {
		t.byPart[id] = i
	}
	base := baseOf(i)
	base.id, base.open, base.fresh = id, t.open, true
}

// Notice appends a line about the session itself.
func (t *Thread) Notice(style func(*draw.Theme) string, text string) {
	t.add("", noticeItem(t.look, style, text))
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
	if a.Tokens.Sum() > 0 && !a.Summary {
		t.Last = a
	}
}

// Part shows the current state of a part.
func (t *Thread) Part(p sdk.Part) {
	h := p.Head()
	have := t.byPart[h.ID]
	if have != nil {
		baseOf(have).fresh = true
	}
	switch p := p.(type) {
	case *sdk.TextPart:
		if t.roles[h.MessageID] == sdk.RoleUser {
			t.userPart(h.MessageID, p)
			return
		}
		ended := p.Time == nil || p.Time.End != 0
		if p.Synthetic || p.Text == "" && ended && have == nil {
			return
		}
		t.text(have, h, false).set(p.Text, ended)
	case *sdk.ReasoningPart:
		item := t.text(have, h, true)
		item.took = time.Duration(max(0, p.Time.End-p.Time.Start)) * time.Millisecond
		item.set(p.Text, p.Time.End != 0)
	case *sdk.ToolPart:
		if item, ok := have.(*toolItem); ok {
			item.set(p)
			return
		}
		item := &toolItem{item: item{message: h.MessageID, look: t.look, folds: true}, part: p}
		item.draw = item.render
		t.add(h.ID, item)
	case *sdk.RetryPart:
		if have == nil {
			t.add(h.ID, noticeItem(t.look, Warn, "attempt failed: "+view.Clip(terminal.OneLine(p.Error.Error()), 400)))
		}
	case *sdk.FilePart, *sdk.CompactionPart, *sdk.SubtaskPart:
		if t.roles[h.MessageID] == sdk.RoleUser {
			t.userPart(h.MessageID, p)
		}
	}
}

func (t *Thread) text(have list.Item, h *sdk.PartHead, reasoning bool) *textItem {
	if item, ok := have.(*textItem); ok {
		return item
	}
	text := &textItem{item: item{message: h.MessageID, look: t.look, folds: reasoning}, faint: reasoning}
	text.draw = text.render
	t.add(h.ID, text)
	return text
}

// userPart shows a part of a prompt.
func (t *Thread) userPart(message string, p sdk.Part) {
	have, _ := t.byPart[message].(*promptItem)
	if have == nil {
		have = &promptItem{item: item{message: message, look: t.look}}
		have.draw = have.render
		t.add(message, have)
	}
	have.fresh = true
	have.set(p)
}

// Delta appends streamed text. It ignores parts read from the store, which may contain the text already; the event at the end of the part
// replaces them.
func (t *Thread) Delta(d *sdk.PartDelta) {
	switch item := t.byPart[d.PartID].(type) {
	case *textItem:
		if item.fresh {
			item.append(d.Delta)
		}
	case *toolItem:
		item.arrived(d.Delta)
	}
}

// RemoveMessage removes all parts of a message.
func (t *Thread) RemoveMessage(id string) {
	t.List.Items = slices.DeleteFunc(t.List.Items, func(i list.Item) bool {
		base := baseOf(i)
		if base.message != id {
			return false
		}
		delete(t.byPart, base.id)
		return true
	})
}

// baseOf returns the item embedded in a list item of a thread.
func baseOf(i list.Item) *item { return i.(interface{ base() *item }).base() }

// End shows the figures of the finished turn.
func (t *Thread) End(took time.Duration) {
	var tokens sdk.Tokens
	var cost sdk.USD
	for _, a := range t.answers {
		tokens = tokens.Add(a.Tokens)
		cost += a.Cost
	}
	if tokens.Sum() > 0 && t.Last != nil {
		t.add("", turnItem(t.look, terminal.OneLine(t.Last.Agent), terminal.OneLine(t.Last.ModelID), took, tokens, cost))
	}
}

// Begin records the start of a turn.
func (t *Thread) Begin(now time.Time) {
	t.Begun, t.answer = now, ""
	clear(t.answers)
}

// Tick redraws the latest cards of running calls, which show the elapsed time.
func (t *Thread) Tick() {
	for _, i := range t.List.Items[max(0, len(t.List.Items)-64):] {
		if tool, ok := i.(*toolItem); ok && tool.running() {
			tool.change()
		}
	}
}

// ChildChanged redraws the card of the task that runs a subagent's session.
func (t *Thread) ChildChanged(session string) {
	for _, i := range t.List.Items {
		if tool, ok := i.(*toolItem); ok && tool.child() == session {
			tool.change()
		}
	}
}

// Children returns the subagents' sessions in the order of their first tasks.
func (t *Thread) Children() []string {
	var out []string
	for _, i := range t.List.Items {
		if tool, ok := i.(*toolItem); ok && tool.child() != "" && !slices.Contains(out, tool.child()) {
			out = append(out, tool.child())
		}
	}
	return out
}

// Doing describes the tool calls of a subagent's session; empty without any.
func (t *Thread) Doing() string {
	calls, last := 0, ""
	for _, i := range t.List.Items {
		if tool, ok := i.(*toolItem); ok {
			calls++
			last = terminal.OneLine(tool.part.Tool) + " " + view.Subject(&tool.part.State, t.look.Directory)
		}
	}
	if calls == 0 {
		return "" // the mark of the card shows its state
	}
	return fmt.Sprintf("%s · %s", view.Plural(calls, "tool call"), last)
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
		if p, ok := i.(*promptItem); ok {
			if text, notes, files := p.content(); text != "" || len(notes) > 0 {
				out = append(out, Prompt{p.id, view.Draft(p.parts), files})
			}
		}
	}
	return out
}

// Show scrolls to a prompt.
func (t *Thread) Show(message string) {
	if i := slices.IndexFunc(t.List.Items, func(i list.Item) bool { return baseOf(i).id == message }); i >= 0 {
		t.List.Show(i)
	}
}

// Answer returns the text of the last answer of the model.
func (t *Thread) Answer() string {
	for i := len(t.List.Items) - 1; i >= 0; i-- {
		if text, ok := t.List.Items[i].(*textItem); ok && !text.faint {
			return text.text.String()
		}
	}
	return ""
}

// UnfoldAll shows the details of all items, or hides them if they are shown.
func (t *Thread) UnfoldAll() {
	t.open = !t.open
	for _, i := range t.List.Items {
		baseOf(i).unfold(t.open)
	}
}

// Toggle shows or hides the details of an item.
func (t *Thread) Toggle(index int) {
	if index >= 0 && index < len(t.List.Items) {
		base := baseOf(t.List.Items[index])
		base.unfold(!base.open)
	}
}
