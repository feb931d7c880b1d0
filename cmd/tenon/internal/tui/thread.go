package tui

import (
	"slices"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/frontend"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/list"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/sdk"
)

// thread is a session on the screen: what the events of the host made of it.
type thread struct {
	info   sdk.Session
	list   list.List
	byPart map[string]list.Item // by part; of prompts by message
	roles  map[string]string    // of messages

	status  sdk.SessionStatus
	begun   time.Time // of the turn
	todos   []sdk.Todo
	last    *sdk.AssistantMessage // the latest that has tokens
	spent   sdk.Tokens            // since begun
	cost    sdk.USD               // since begun
	counted map[string]stepUse

	open bool // details are shown
}

type stepUse struct {
	tokens sdk.Tokens
	cost   sdk.USD
}

func newThread(s *sdk.Session) *thread {
	return &thread{info: *s, byPart: map[string]list.Item{}, roles: map[string]string{}, counted: map[string]stepUse{}}
}

// busy reports whether a turn runs.
func (t *thread) busy() bool {
	return t.status.Type == sdk.StatusBusy || t.status.Type == sdk.StatusRetry
}

// fill shows what is stored of the session.
func (t *thread) fill(m *model, h *frontend.History) {
	status, begun := t.status, t.begun
	*t = *newThread(h.Session)
	t.todos, t.status, t.begun = h.Todos, status, begun
	for i := range h.Messages {
		message := &h.Messages[i]
		t.message(message.Info)
		if message.Info.Role() == sdk.RoleUser {
			if item := userItem(&m.look, message); item != nil {
				t.add(item.id, item)
			}
			continue
		}
		for _, p := range message.Parts {
			t.part(m, p)
		}
		if a, ok := message.Info.(*sdk.AssistantMessage); ok && a.Error != nil {
			t.add("", noticeItem(&m.look, failLook, problemText(a.Error)))
		}
	}
}

func (t *thread) add(id string, i list.Item) {
	t.list.Items = append(t.list.Items, i)
	if id != "" {
		t.byPart[id] = i
	}
	if f := foldOf(i); f != nil {
		f.open = t.open
	}
}

// notice appends a line about the session itself.
func (t *thread) notice(m *model, style func(*theme) string, text string) {
	t.add("", noticeItem(&m.look, style, text))
}

// message notes the figures of a message.
func (t *thread) message(info sdk.Message) {
	t.roles[info.Head().ID] = info.Role()
	a, ok := info.(*sdk.AssistantMessage)
	if !ok {
		return
	}
	if a.Tokens.Sum() > 0 && !a.Summary {
		t.last = a
	}
	was := t.counted[a.ID]
	t.counted[a.ID] = stepUse{a.Tokens, a.Cost}
	t.spent = t.spent.Add(a.Tokens)
	t.spent.Input -= was.tokens.Input
	t.spent.Output -= was.tokens.Output
	t.spent.Reasoning -= was.tokens.Reasoning
	t.spent.Cache.Read -= was.tokens.Cache.Read
	t.spent.Cache.Write -= was.tokens.Cache.Write
	t.cost += a.Cost - was.cost
}

// part shows a part as it is now.
func (t *thread) part(m *model, p sdk.Part) {
	h := p.Head()
	have := t.byPart[h.ID]
	switch p := p.(type) {
	case *sdk.TextPart:
		if t.roles[h.MessageID] == sdk.RoleUser {
			t.userPart(m, h.MessageID, p)
			return
		}
		ended := p.Time == nil || p.Time.End != 0
		if p.Synthetic || p.Text == "" && ended && have == nil {
			return
		}
		t.text(m, have, h, false).set(p.Text, ended)
	case *sdk.ReasoningPart:
		item := t.text(m, have, h, true)
		item.took = time.Duration(max(0, p.Time.End-p.Time.Start)) * time.Millisecond
		item.set(p.Text, p.Time.End != 0)
	case *sdk.ToolPart:
		if item, ok := have.(*toolItem); ok {
			item.set(p)
			return
		}
		t.add(h.ID, newToolItem(&m.look, p, m.now, m.childText))
	case *sdk.RetryPart:
		if have == nil {
			i := noticeItem(&m.look, warnLook, "attempt failed: "+view.Clip(oneLine(p.Error.Error()), 400))
			t.add(h.ID, i)
		}
	case *sdk.FilePart, *sdk.CompactionPart, *sdk.SubtaskPart:
		if t.roles[h.MessageID] == sdk.RoleUser {
			t.userPart(m, h.MessageID, p)
		}
	}
}

func (t *thread) text(m *model, have list.Item, h *sdk.PartHead, reasoning bool) *textItem {
	if item, ok := have.(*textItem); ok {
		return item
	}
	item := newTextItem(&m.look, h, reasoning)
	t.add(h.ID, item)
	return item
}

// userParts are the parts of a prompt that arrive one after another.
type userParts struct {
	*item
	parts sdk.Parts
}

// userPart adds a part to a prompt.
func (t *thread) userPart(m *model, message string, p sdk.Part) {
	have, _ := t.byPart[message].(*userParts)
	if have == nil {
		have = &userParts{}
	}
	i := slices.IndexFunc(have.parts, func(o sdk.Part) bool { return o.Head().ID == p.Head().ID })
	if i >= 0 {
		have.parts[i] = p
	} else {
		have.parts = append(have.parts, p)
	}
	drawn := userItem(&m.look, &sdk.MessageWithParts{
		Info: &sdk.UserMessage{MessageHead: sdk.MessageHead{ID: message}}, Parts: have.parts,
	})
	switch {
	case drawn == nil:
	case have.item == nil:
		have.item = drawn
		t.add(message, have)
	default:
		have.draw = drawn.draw
		have.change()
	}
}

// delta appends streamed text.
func (t *thread) delta(d *sdk.PartDelta) {
	switch item := t.byPart[d.PartID].(type) {
	case *textItem:
		item.append(d.Delta)
	case *toolItem:
		item.arrived(d.Delta)
	}
}

// remove removes a part, or all of a message.
func (t *thread) remove(is func(*item) bool) {
	t.list.Items = slices.DeleteFunc(t.list.Items, func(i list.Item) bool {
		base := baseOf(i)
		if base == nil || !is(base) {
			return false
		}
		delete(t.byPart, base.id)
		return true
	})
}

// baseOf returns the item in a list item.
func baseOf(i list.Item) *item {
	switch i := i.(type) {
	case *item:
		return i
	case *textItem:
		return &i.item
	case *toolItem:
		return &i.item
	case *userParts:
		return i.item
	}
	return nil
}

func foldOf(i list.Item) *folding {
	if base := baseOf(i); base != nil {
		return base.fold
	}
	return nil
}

// unfold shows or hides the details of all items.
func (t *thread) unfold(open bool) {
	t.open = open
	for _, i := range t.list.Items {
		if base := baseOf(i); base != nil && base.fold != nil {
			base.fold.open = open
			base.change()
		}
	}
}

// toggle shows or hides the details of an item.
func (t *thread) toggle(index int) {
	if index < 0 || index >= len(t.list.Items) {
		return
	}
	if base := baseOf(t.list.Items[index]); base != nil && base.fold != nil {
		base.fold.open = !base.fold.open
		base.change()
	}
}

// select_ marks the next item that can be folded, by steps of 1 or -1 from the marked one, and returns its index, or -1.
func (t *thread) mark(from, by int) int {
	for i := from + by; i >= 0 && i < len(t.list.Items); i += by {
		if foldOf(t.list.Items[i]) != nil {
			t.setMark(from, false)
			t.setMark(i, true)
			return i
		}
	}
	return from
}

func (t *thread) setMark(index int, on bool) {
	if index < 0 || index >= len(t.list.Items) {
		return
	}
	if base := baseOf(t.list.Items[index]); base != nil {
		base.selected = on
		base.change()
	}
}

// answer returns the text of the last answer of the model.
func (t *thread) answer() string {
	for i := len(t.list.Items) - 1; i >= 0; i-- {
		if text, ok := t.list.Items[i].(*textItem); ok && !text.faint {
			return text.text.String()
		}
	}
	return ""
}
