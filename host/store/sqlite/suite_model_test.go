package sqlite_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// model is what a store must remember of one session, in the simplest form.
type model struct {
	session  *sdk.Session
	messages []*modelMessage
	todos    []sdk.Todo
	ledger   []store.LedgerRow
	seq      uint64
}

type modelMessage struct {
	info  sdk.Message
	parts sdk.Parts
}

// apply makes a change that is known to be good.
func (m *model) apply(op store.Op) {
	switch op := op.(type) {
	case store.PutSession:
		m.session = op.Session
	case store.PutMessage:
		if i := m.message(op.Message.Head().ID); i >= 0 {
			m.messages[i].info = op.Message
		} else {
			m.messages = append(m.messages, &modelMessage{info: op.Message})
		}
	case store.PutPart:
		at := m.messages[m.message(op.Part.Head().MessageID)]
		if _, i := m.part(op.Part.Head().ID); i >= 0 {
			at.parts[i] = op.Part
		} else {
			at.parts = append(at.parts, op.Part)
		}
	case store.AppendText:
		at, i := m.part(op.PartID)
		at.parts[i] = extended(at.parts[i], op.Text)
	case store.RemoveMessage:
		m.messages = slices.Delete(m.messages, m.message(op.MessageID), m.message(op.MessageID)+1)
	case store.PutTodos:
		m.todos = op.Todos
	case store.PutLedger:
		m.ledger = append(m.ledger, store.LedgerRow(op))
		return // not a row that clients follow
	default:
		return
	}
	m.seq++
}

func (m *model) message(id string) int {
	return slices.IndexFunc(m.messages, func(x *modelMessage) bool { return x.info.Head().ID == id })
}

func (m *model) part(id string) (*modelMessage, int) {
	for _, x := range m.messages {
		if i := slices.IndexFunc(x.parts, func(p sdk.Part) bool { return p.Head().ID == id }); i >= 0 {
			return x, i
		}
	}
	return nil, -1
}

// extended returns a copy: what was put belongs to the store.
func extended(p sdk.Part, s string) sdk.Part {
	switch p := p.(type) {
	case *sdk.TextPart:
		c := *p
		c.Text += s
		return &c
	case *sdk.ReasoningPart:
		c := *p
		c.Text += s
		return &c
	case *sdk.ToolPart:
		c := *p
		c.State.Raw += s
		return &c
	}
	return p
}

// list returns the messages as the store would list them.
func (m *model) list(t *testing.T) []string {
	out := []string{}
	for _, x := range m.messages {
		out = append(out, toJSON(t, sdk.MessageWithParts{Info: x.info, Parts: x.parts}))
	}
	return out
}

// follower is a client that knows the session from its changes alone.
type follower struct {
	seq      uint64
	session  string
	todos    string
	messages map[string]string
	parts    map[string]string
	owner    map[string]string // part -> message
}

func newFollower() *follower {
	return &follower{messages: map[string]string{}, parts: map[string]string{}, owner: map[string]string{}}
}

func (f *follower) apply(t *testing.T, r store.Row) {
	if r.Seq <= f.seq {
		t.Fatalf("row %s %s: seq %d after %d", r.Type, r.ID, r.Seq, f.seq)
	}
	f.seq = r.Seq
	switch r.Type {
	case "session":
		f.session = string(r.Data)
	case "todos":
		f.todos = string(r.Data)
	case "message":
		f.messages[r.ID] = string(r.Data)
	case "part":
		var head sdk.PartHead
		check(t, json.Unmarshal(r.Data, &head))
		f.parts[r.ID], f.owner[r.ID] = string(r.Data), head.MessageID
	case "part.removed":
		delete(f.parts, r.ID)
	case "message.removed":
		delete(f.messages, r.ID)
		for part, message := range f.owner {
			if message == r.ID {
				delete(f.parts, part)
			}
		}
	default:
		t.Fatalf("row of unknown type %q", r.Type)
	}
}

// full is the follower that reads all at once.
func (m *model) full(t *testing.T) *follower {
	f := newFollower()
	f.seq, f.session = m.seq, wireJSON(t, m.session)
	if m.todos != nil {
		f.todos = toJSON(t, m.todos)
	}
	for _, x := range m.messages {
		f.messages[x.info.Head().ID] = wireJSON(t, x.info)
		for _, p := range x.parts {
			f.parts[p.Head().ID] = wireJSON(t, p)
		}
	}
	return f
}

// wireJSON is the value's own JSON, in which HTML is not escaped.
func wireJSON(t *testing.T, v any) string {
	data, err := v.(json.Marshaler).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
