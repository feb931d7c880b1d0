package storetest

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
