package storetest

import (
	"encoding/json"
	"testing"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// stream puts a text, a reasoning and a pending tool part and appends text to each.
func (e *env) stream(token store.Token) (*sdk.AssistantMessage, sdk.Parts) {
	e.Helper()
	m := assistant(token.Session, "msg_1")
	pending := sdk.ToolState{Status: sdk.ToolPending, Input: json.RawMessage(`{}`)}
	e.change(token, put(m,
		text(m, "prt_1", "Start: "),
		&sdk.ReasoningPart{PartHead: head(m, "prt_2"), Time: sdk.PartTime{Start: 1}},
		&sdk.ToolPart{PartHead: head(m, "prt_3"), CallID: "c", Tool: "read", State: pending})...)
	for _, s := range []string{"a", "<b>", "ü\n"} {
		e.change(token,
			store.AppendText{PartID: "prt_1", Field: "text", Text: s},
			store.AppendText{PartID: "prt_3", Field: "raw", Text: s},
			store.AppendText{PartID: "prt_2", Field: "text", Text: s},
			store.AppendText{PartID: "prt_1", Field: "text", Text: "."})
	}
	pending.Raw = "a<b>ü\n"
	return m, sdk.Parts{
		text(m, "prt_1", "Start: a.<b>.ü\n."),
		&sdk.ReasoningPart{PartHead: head(m, "prt_2"), Time: sdk.PartTime{Start: 1}, Text: "a<b>ü\n"},
		&sdk.ToolPart{PartHead: head(m, "prt_3"), CallID: "c", Tool: "read", State: pending},
	}
}

func testAppendedText(t *testing.T, e *env) {
	token := e.create("ses_a")
	m, parts := e.stream(token)
	want := []string{toJSON(t, sdk.MessageWithParts{Info: m, Parts: parts})}
	equal(t, "open parts", e.read("ses_a", store.Page{}), want)
	e.reopen()
	equal(t, "open parts after opening again", e.read("ses_a", store.Page{}), want)

	// The whole part replaces what was appended to it, be it more or less.
	token = e.claim("ses_a")
	e.change(token, store.PutPart{Part: text(m, "prt_1", "done")})
	parts[0] = text(m, "prt_1", "done")
	want[0] = toJSON(t, sdk.MessageWithParts{Info: m, Parts: parts})
	equal(t, "closed part", e.read("ses_a", store.Page{}), want)
	e.change(token, store.AppendText{PartID: "prt_1", Field: "text", Text: " more"})
	parts[0] = text(m, "prt_1", "done more")
	want[0] = toJSON(t, sdk.MessageWithParts{Info: m, Parts: parts})
	equal(t, "text after the part was put again", e.read("ses_a", store.Page{}), want)

	// A part whose text was appended already can be put without writing the text again.
	closed := text(m, "prt_1", "done more")
	closed.Time = &sdk.PartTime{Start: 1, End: 2}
	e.change(token, store.PutPart{Part: text(m, "prt_1", "")})
	e.change(token, store.AppendText{PartID: "prt_1", Field: "text", Text: "done"}, store.AppendText{PartID: "prt_1", Field: "text", Text: " more"})
	seq := e.change(token, store.PutPart{Part: closed, Streamed: true})
	parts[0] = closed
	want[0] = toJSON(t, sdk.MessageWithParts{Info: m, Parts: parts})
	equal(t, "streamed part", e.read("ses_a", store.Page{}), want)
	equal(t, "search in a streamed part", e.search("done more"), []string{"ses_a msg_1 done more"})
	rows := e.rows("ses_a", seq-1)
	equal(t, "row of the streamed part", string(rows[0].Data), toJSON(t, closed))

	// A part that was removed and comes back has nothing of its former self.
	e.change(token, store.RemovePart{PartID: "prt_2"})
	e.change(token, store.PutPart{Part: text(m, "prt_2", "new")})
	parts = sdk.Parts{parts[0], parts[2], text(m, "prt_2", "new")}
	want[0] = toJSON(t, sdk.MessageWithParts{Info: m, Parts: parts})
	equal(t, "part that came back", e.read("ses_a", store.Page{}), want)
	e.change(token, store.RemoveMessage{MessageID: "msg_1"})
	e.change(token, put(m, text(m, "prt_1", ""))...)
	want[0] = toJSON(t, sdk.MessageWithParts{Info: m, Parts: sdk.Parts{text(m, "prt_1", "")}})
	equal(t, "message that came back", e.read("ses_a", store.Page{}), want)
}

func testAppendedTextChanges(t *testing.T, e *env) {
	token := e.create("ses_a")
	m, parts := e.stream(token) // seq: session 1, message 2, parts 3-5, then three times 1 3 2 1
	got := e.rows("ses_a", 0)
	equal(t, "rows", rowNames(got), []string{"session ses_a", "message msg_1", "part prt_3", "part prt_2", "part prt_1"})
	equal(t, "seqs", []uint64{got[2].Seq, got[3].Seq, got[4].Seq}, []uint64{15, 16, 17})
	for i, want := range []sdk.Part{parts[2], parts[1], parts[0]} {
		p, err := sdk.DecodePart(got[i+2].Data)
		e.must(err)
		equal(t, "part", p, want)
	}
	equal(t, "rows after 15", rowNames(e.rows("ses_a", 15)), []string{"part prt_2", "part prt_1"})
	equal(t, "rows after 17", len(e.rows("ses_a", 17)), 0)
	first, err := e.Changes(t.Context(), "ses_a", 1, 2)
	e.must(err)
	equal(t, "limited rows", rowNames(first), []string{"message msg_1", "part prt_3"})
	e.change(token, store.PutPart{Part: text(m, "prt_1", "done")})
	got = e.rows("ses_a", 16)
	equal(t, "rows after the part was put", rowNames(got), []string{"part prt_1"})
	equal(t, "seq of the whole part", got[0].Seq, uint64(18))
}

func rowNames(rows []store.Row) []string {
	out := []string{}
	for _, r := range rows {
		out = append(out, r.Type+" "+r.ID)
	}
	return out
}

// What a newer version wrote comes back unchanged.
func testUnknownData(t *testing.T, e *env) {
	token := e.create("ses_a")
	message := `{"id":"msg_1","sessionID":"ses_a","role":"judge","verdict":{"n":12345678901234567890,"html":"<&>"}}`
	part := `{"id":"prt_1","sessionID":"ses_a","messageID":"msg_1","type":"hologram","data":[1.50,null,"\u00e9"]}`
	known := `{"type":"text","id":"prt_2","sessionID":"ses_a","messageID":"msg_1","text":"<x>","future":{"a":[1]}}`
	m, err := sdk.DecodeMessage([]byte(message))
	e.must(err)
	p, err := sdk.DecodePart([]byte(part))
	e.must(err)
	k, err := sdk.DecodePart([]byte(known))
	e.must(err)
	s := session("ses_a")
	s.Extra = sdk.Extra{"future": json.RawMessage(`{"x":"<y>"}`)}
	e.change(token, append(put(m, p, k), store.PutSession{Session: s})...)
	e.reopen()
	got, err := e.Messages(t.Context(), "ses_a", store.Page{})
	e.must(err)
	equal(t, "message", got[0], sdk.MessageWithParts{Info: m, Parts: sdk.Parts{p, k}})
	stored, _, err := e.Session(t.Context(), "ses_a")
	e.must(err)
	equal(t, "session", stored, s)
	rows := e.rows("ses_a", 1)
	equal(t, "rows on the wire", []string{string(rows[0].Data), string(rows[1].Data), string(rows[2].Data)},
		[]string{message, part, known})
}

func testRemoval(t *testing.T, e *env) {
	token := e.create("ses_a")
	a, b := user("ses_a", "msg_1"), assistant("ses_a", "msg_2")
	e.change(token, append(put(a, text(a, "prt_1", "1"), text(a, "prt_2", "2")), put(b, text(b, "prt_3", "3"))...)...)
	seq := e.change(token, store.RemovePart{PartID: "prt_1"}, store.RemoveMessage{MessageID: "msg_2"})
	equal(t, "messages", e.read("ses_a", store.Page{}),
		[]string{toJSON(t, sdk.MessageWithParts{Info: a, Parts: sdk.Parts{text(a, "prt_2", "2")}})})
	rows := e.rows("ses_a", 0)
	equal(t, "rows", rowNames(rows), []string{"session ses_a", "message msg_1", "part prt_2", "part.removed prt_1", "message.removed msg_2"})
	equal(t, "seq", rows[4].Seq, seq)
	equal(t, "data of a removal", len(rows[4].Data), 0)

	// What comes back stands at the end, and whoever follows hears of both.
	e.change(token, put(b)...)
	e.change(token, store.PutPart{Part: text(a, "prt_1", "again")})
	equal(t, "rows after it came back", rowNames(e.rows("ses_a", seq-2)),
		[]string{"part.removed prt_1", "message.removed msg_2", "message msg_2", "part prt_1"})
	equal(t, "messages after it came back", e.read("ses_a", store.Page{}), []string{
		toJSON(t, sdk.MessageWithParts{Info: a, Parts: sdk.Parts{text(a, "prt_2", "2"), text(a, "prt_1", "again")}}),
		toJSON(t, sdk.MessageWithParts{Info: b}),
	})
}
