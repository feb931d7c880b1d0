package sqlite_test

import (
	"encoding/json"
	"testing"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

func rowNames(rows []store.Row) []string {
	out := []string{}
	for _, r := range rows {
		out = append(out, r.Type+" "+r.ID)
	}
	return out
}

// A part whose text was appended can be put without writing the text again.
func testStreamedText(t *testing.T, e *env) {
	token := e.create("ses_a")
	m := assistant("ses_a", "msg_1")
	e.change(token, put(m, text(m, "prt_1", ""))...)
	seq := e.change(token, store.AppendText{PartID: "prt_1", Field: "text", Text: "done"}, store.AppendText{PartID: "prt_1", Field: "text", Text: " more"})
	closed := text(m, "prt_1", "done more")
	closed.Time = &sdk.PartTime{Start: 1, End: 2}
	e.change(token, store.PutPart{Part: closed, Streamed: true})
	want := []string{toJSON(t, sdk.MessageWithParts{Info: m, Parts: sdk.Parts{closed}})}
	equal(t, "streamed part", e.read("ses_a", store.Page{}), want)
	equal(t, "search in a streamed part", e.search("done more"), []string{"ses_a msg_1 done more"})
	equal(t, "row of the streamed part", string(e.rows("ses_a", seq)[0].Data), toJSON(t, closed))
	e.reopen()
	equal(t, "streamed part after opening again", e.read("ses_a", store.Page{}), want)
}

// The arguments of a call that were appended can be put without writing them again, until they change.
func testStreamedArguments(t *testing.T, e *env) {
	token := e.create("ses_a")
	m := assistant("ses_a", "msg_1")
	call := &sdk.ToolPart{
		PartHead: sdk.PartHead{ID: "prt_1", SessionID: "ses_a", MessageID: "msg_1"}, CallID: "call_1", Tool: "bash",
		State: sdk.ToolState{Status: sdk.ToolPending, Input: json.RawMessage("{}")},
	}
	e.change(token, put(m, call)...)
	e.change(token, store.AppendText{PartID: "prt_1", Field: "raw", Text: `{"a":`}, store.AppendText{PartID: "prt_1", Field: "raw", Text: `1}`})
	check := func(name string, streamed bool, state sdk.ToolState) {
		t.Helper()
		c := *call
		c.State = state
		seq := e.change(token, store.PutPart{Part: &c, Streamed: streamed})
		want := []string{toJSON(t, sdk.MessageWithParts{Info: m, Parts: sdk.Parts{&c}})}
		equal(t, name, e.read("ses_a", store.Page{}), want)
		equal(t, "row of "+name, string(e.rows("ses_a", seq-1)[0].Data), toJSON(t, &c))
	}
	args := json.RawMessage(`{"a":1}`)
	check("running", true, sdk.ToolState{Status: sdk.ToolRunning, Input: args, Time: sdk.ToolTime{Start: 1}})
	check("completed", true, sdk.ToolState{Status: sdk.ToolCompleted, Input: args, Output: "done", Time: sdk.ToolTime{Start: 1, End: 2}})
	e.reopen()
	equal(t, "after opening again", len(e.read("ses_a", store.Page{})), 1)
	token = e.claim("ses_a")
	check("completed again", true, sdk.ToolState{Status: sdk.ToolCompleted, Input: args, Output: "done", Time: sdk.ToolTime{Start: 1, End: 2}})
	check("changed", false, sdk.ToolState{Status: sdk.ToolError, Input: json.RawMessage(`{"a":2}`), Error: "no", Time: sdk.ToolTime{Start: 1, End: 2}})
}

// Data of a newer version comes back unchanged.
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
