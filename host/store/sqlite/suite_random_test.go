package sqlite_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// testRandom makes random changes and compares the store with a model after each append: all at once, and
// as clients see it that follow the changes and fall behind by chance.
func testRandom(t *testing.T, e *env) {
	for seed := range uint64(5) {
		id := fmt.Sprintf("ses_%d", seed)
		g := &generator{
			Rand: rand.New(rand.NewPCG(seed, 1)),
			m:    &model{session: session(id), seq: 1},
		}
		token := e.create(id)
		followers := []*follower{newFollower(), newFollower(), newFollower()}
		for step := range 40 {
			ops := g.ops()
			seq := e.change(token, ops...)
			what := fmt.Sprintf("seed %d, step %d, %d ops", seed, step, len(ops))
			equal(t, what+": seq", seq, g.m.seq)
			equal(t, what+": messages", e.read(id, store.Page{}), g.m.list(t))
			if g.IntN(20) == 0 {
				e.reopen()
				token = e.claim(id)
			}
			e.follow(id, followers[g.IntN(len(followers))], 1+g.IntN(7), g.m)
		}
		for _, f := range followers {
			e.follow(id, f, 3, g.m)
		}
		e.checkRest(id, g.m)
	}
}

// follow reads the changes f has not seen, limit at a time, and compares what f knows then.
func (e *env) follow(id string, f *follower, limit int, m *model) {
	e.Helper()
	for {
		rows, err := e.Changes(e.Context(), id, f.seq, limit)
		e.must(err)
		if len(rows) > limit {
			e.Fatalf("Changes = %d rows, limit %d", len(rows), limit)
		}
		for _, r := range rows {
			f.apply(e.T, r)
		}
		if len(rows) < limit {
			break
		}
	}
	want := m.full(e.T)
	if f.seq > want.seq {
		e.Fatalf("changes end at %d, the session at %d", f.seq, want.seq)
	}
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"session", f.session, want.session},
		{"todos", f.todos, want.todos},
		{"messages", f.messages, want.messages},
		{"parts", f.parts, want.parts},
	} {
		if d := cmp.Diff(c.want, c.got); d != "" {
			e.Fatalf("%s known from changes (-want +got):\n%s", c.what, d)
		}
	}
}

func (e *env) checkRest(id string, m *model) {
	e.Helper()
	s, seq, err := e.Session(e.Context(), id)
	e.must(err)
	equal(e.T, "session", s, m.session)
	equal(e.T, "seq", seq, m.seq)
	gives(e, "ledger", m.ledger)(e.Ledger(e.Context(), id, ""))
}

// generator makes good changes of a session and tells the model.
type generator struct {
	*rand.Rand
	m       *model
	next    int
	removed []string // identifiers that may come back
}

func (g *generator) ops() []store.Op {
	var ops []store.Op
	for range 1 + g.IntN(6) {
		if op := g.op(); op != nil {
			g.m.apply(op)
			ops = append(ops, op)
		}
	}
	return ops
}

func (g *generator) op() store.Op {
	m := g.anyMessage()
	switch n := g.IntN(100); {
	case n < 15 || m == nil:
		return store.PutMessage{Message: g.message(g.id("msg"))}
	case n < 20:
		return store.PutMessage{Message: g.message(m.info.Head().ID)}
	case n < 45:
		return store.PutPart{Part: g.part(m.info, g.id("prt"))}
	case n < 55:
		if len(m.parts) > 0 {
			return store.PutPart{Part: g.part(m.info, g.anyPart(m).Head().ID)}
		}
	case n < 80:
		return g.appendText(m)
	case n < 83:
		g.removed = append(g.removed, m.info.Head().ID)
		for _, p := range m.parts {
			g.removed = append(g.removed, p.Head().ID)
		}
		return store.RemoveMessage{MessageID: m.info.Head().ID}
	case n < 92:
		s := *g.m.session
		s.Title, s.Time.Updated = g.text(), s.Time.Updated+g.Int64N(3)
		return store.PutSession{Session: &s}
	case n < 95:
		return store.PutTodos{Todos: []sdk.Todo{{Content: g.text(), Status: "pending", Priority: "low"}}}
	case n < 98:
		return store.PutLedger{MessageID: m.info.Head().ID, Purpose: sdk.PurposeTurn, Entries: json.RawMessage(`[{}]`)}
	}
	return store.SetTurn{Open: g.IntN(2) == 0}
}

// id returns an identifier that is not in use: a new one, in no order, or one that was removed.
func (g *generator) id(prefix string) string {
	again := slices.IndexFunc(g.removed, func(id string) bool { return strings.HasPrefix(id, prefix) })
	if again >= 0 && g.IntN(2) == 0 {
		id := g.removed[again]
		g.removed = slices.Delete(g.removed, again, again+1)
		return id
	}
	g.next++
	return number(prefix, g.next*7919%10007)
}

func (g *generator) text() string {
	return []string{"", "a", "<b>&", "ü\n", "\"quoted\" \\", "long long long text "}[g.IntN(6)]
}

// anyMessage returns a message, often the last one: a message that comes after it was removed may take its place in the store.
func (g *generator) anyMessage() *modelMessage {
	if len(g.m.messages) == 0 {
		return nil
	}
	if g.IntN(2) == 0 {
		return g.m.messages[len(g.m.messages)-1]
	}
	return g.m.messages[g.IntN(len(g.m.messages))]
}

func (g *generator) anyPart(m *modelMessage) sdk.Part { return m.parts[g.IntN(len(m.parts))] }

func (g *generator) message(id string) sdk.Message {
	if g.IntN(2) == 0 {
		m := user(g.m.session.ID, id)
		m.System = g.text()
		return m
	}
	m := assistant(g.m.session.ID, id)
	m.Finish = g.text()
	return m
}

func (g *generator) part(m sdk.Message, id string) sdk.Part {
	h := head(m, id)
	switch g.IntN(5) {
	case 0:
		return &sdk.ReasoningPart{PartHead: h, Text: g.text()}
	case 1:
		return &sdk.ToolPart{PartHead: h, Tool: "read", State: sdk.ToolState{Status: sdk.ToolPending, Raw: g.text()}}
	case 2:
		return &sdk.ToolPart{PartHead: h, Tool: "read", State: sdk.ToolState{Status: sdk.ToolCompleted, Output: g.text()}}
	case 3:
		return &sdk.UnknownPart{PartHead: h, Raw: json.RawMessage(fmt.Sprintf(
			`{"id":%q,"sessionID":%q,"messageID":%q,"type":"new","x":%d}`, h.ID, h.SessionID, h.MessageID, g.IntN(9)))}
	}
	return &sdk.TextPart{PartHead: h, Text: g.text()}
}

// appendText returns a change, or nil when the part it met takes no text.
func (g *generator) appendText(m *modelMessage) store.Op {
	if len(m.parts) == 0 {
		return nil
	}
	field := ""
	switch p := g.anyPart(m).(type) {
	case *sdk.TextPart, *sdk.ReasoningPart:
		field = "text"
		return store.AppendText{PartID: p.Head().ID, Field: field, Text: g.text()}
	case *sdk.ToolPart:
		if p.State.Status == sdk.ToolPending {
			return store.AppendText{PartID: p.ID, Field: "raw", Text: g.text()}
		}
	}
	return nil
}
