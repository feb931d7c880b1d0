package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestDecodeMessages: nothing of a message with an error is used.
func TestDecodeMessages(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]int{
		`{"id":1,"result":{}}`: 1, `[{"id":1},{"method":"ping"}]`: 2, `[]`: 0, `null`: 1,
		"\ufeff{\"id\":1}": 1, "\ufeff\n[{\"id\":1},{\"id\":2}]": 2,
		`{"id":1,"result":{},"method":2}`: -1, `[{"id":1,"method":2}]`: -1, `7`: -1, `{"id":`: -1, ``: -1,
	} {
		messages, err := decodeMessages([]byte(raw))
		if len(messages) != max(want, 0) || (err != nil) != (want < 0) {
			t.Errorf("decodeMessages(%s) = %d messages, %v; want %d", raw, len(messages), err, want)
		}
	}
	c := newConn(t.Context(), &Dialer{Log: NewLog("", nil)})
	r := &outgoing{ID: []byte("1")}
	c.waiting["1"] = make(chan *message, 1)
	if err := c.receive(t.Context(), r, []byte("null")); err != nil || !c.awaits(r) {
		t.Errorf("null answers a request: %v", err)
	}
}

// An answer that does not quite follow JSON-RPC answers its request.
func TestUnusualAnswers(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"id": "1", "result": {}}`:                                 "",
		`{"id": 1.0, "result": {}}`:                                 "",
		`{"id": 1, "error": "boom"}`:                                "boom",
		`{"id": 1, "error": {"code": "E_BOOM", "message": "boom"}}`: "boom",
		`{"id": 1, "error": {"code": "E_BOOM"}}`:                    `{"code": "E_BOOM"}`,
		`{"id": 1, "error": [5]}`:                                   "[5]",
	} {
		c := newConn(t.Context(), &Dialer{Log: NewLog("", nil)})
		answer := make(chan *message, 1)
		c.waiting["1"] = answer
		err := c.receive(t.Context(), nil, []byte(raw))
		select {
		case m := <-answer:
			if got := m.Error; err != nil || (got != nil) != (want != "") || got != nil && got.Message != want {
				t.Errorf("%s: error %+v, %v; want %q", raw, got, err, want)
			}
		default:
			t.Errorf("%s: no answer, %v", raw, err)
		}
	}
}

// A batch of unexpected answers is one line of the log.
func TestUnexpectedAnswers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	log := NewLog(path, nil)
	defer log.Close()
	c := newConn(t.Context(), &Dialer{Log: log})
	if err := c.receive(t.Context(), nil, []byte(`[{"id":7},{"id":8},{"id":9}]`)); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); strings.Count(string(text), "\n") != 1 {
		t.Errorf("log = %q, %v", text, err)
	}
}

func FuzzMessages(f *testing.F) {
	f.Add([]byte(`[{"method":"ping","id":"a"},{"method":"n","id":null}]`))
	f.Add([]byte(`[null]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if messages, err := decodeMessages(raw); len(messages) > 0 && err != nil {
			t.Fatalf("%+v, %v", messages, err)
		}
	})
}

// scripted is a server that answers each request with the next of its lines, whatever was asked; then it is gone. A line in brackets is a message of
// its own, which it sends before.
type scripted struct {
	conn  *Conn
	lines [][]byte
}

func (*scripted) start(context.Context) error { return nil }
func (*scripted) close()                      {}

func (s *scripted) send(ctx context.Context, m *outgoing) error {
	if !m.wantsAnswer() {
		return nil
	}
	for s.conn.awaits(m) {
		if len(s.lines) == 0 {
			return io.EOF
		}
		raw := s.lines[0]
		s.lines = s.lines[1:]
		if !bytes.HasPrefix(raw, []byte("{")) && !bytes.HasPrefix(raw, []byte("[")) {
			raw = slices.Concat([]byte(`{"id":`), m.ID, []byte(`,`), raw, []byte(`}`))
		}
		if err := s.conn.receive(ctx, m, raw); err != nil {
			return err
		}
	}
	return nil
}

// The lines of script are the rest of the answers to the first messages, to a list and to a call.
func FuzzAnswers(f *testing.F) {
	const hello = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"logging":{}},"serverInfo":{"name":"s","version":"1"}}`
	f.Add(true, []byte(hello+`
"result":{"tools":[{"name":"a"},7,null],"nextCursor":"x"}
"result":{"tools":[{"name":"b","inputSchema":{"type":"object"}}],"nextCursor":"x"}
"result":{"content":[],"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{}}},"requestState":"s"}
"result":{"content":[]}
"result":{"completion":{"values":["a"]}}`))
	f.Add(false, []byte(`"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"i","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}}
"result":{"tools":{}}
"result":{"resultType":"input_required"}
"result":{"resultType":"input_required","inputRequests":{}}
"result":{"resultType":"input_required"}`))
	f.Add(false, []byte(`"error":{"code":-32022,"message":"m","data":{"supported":["2026-07-28"],"requested":"x"}}
`+hello+`
{"method":"notifications/tools/list_changed","params":{"a":1}}
[{"id":"q","method":"ping"},{"id":7,"method":"roots/list","params":{}},{"method":"notifications/cancelled","params":{"requestId":7}},{"id":9,"result":{}}]
{"method":"notifications/progress","params":{"progressToken":1,"progress":0.5,"total":1,"message":"m"}}
{"error":{"code":-32600,"message":"no"}}
"error":"no"
"result":{"task":{"taskId":"t","status":"working","pollInterval":1}}
"result":{"status":"completed"}`))
	f.Fuzz(func(t *testing.T, legacy bool, script []byte) {
		var asked atomic.Int32
		d := &Dialer{Timeout: time.Minute, Log: NewLog("", nil), Notified: func(string, map[string]any) {}, Answer: func(context.Context, *Call, string, json.RawMessage) (any, error) {
			asked.Add(1)
			return map[string]any{}, nil
		}}
		c, err := d.open(t.Context(), func(c *Conn) carrier { return &scripted{c, bytes.Split(script, []byte("\n"))} }, legacy)
		if err != nil {
			return
		}
		defer c.Close()
		if !mcp.IsValidProtocolVersion(c.revision()) && !c.modern() || c.Hello() == nil || c.Hello().ProtocolVersion != c.revision() {
			t.Fatalf("revision %q, %+v", c.revision(), c.Hello())
		}
		elements, _, err := c.List(t.Context(), "tools")
		if err != nil && len(elements) > 0 || len(elements) > maxEntries {
			t.Errorf("%d elements, %v", len(elements), err)
		}
		if raw, err := c.rounds(t.Context(), nil, "tools/call", map[string]any{}); err == nil && len(raw) > 0 && !json.Valid(raw) || int(asked.Load()) > len(script) {
			t.Errorf("result %q after %d questions", raw, asked.Load())
		}
		_, _ = c.Complete(t.Context(), "p", "a", "v", nil)
	})
}

// Arguments that a tool's schema repeats in headers do not change the request otherwise.
func FuzzHeaders(f *testing.F) {
	const schema = `{"name":"t","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"},"b":{"type":"boolean","x-mcp-header":"B"}}}}`
	f.Add([]byte(schema), []byte(`{"region":"eu\r\nX: 1","n":1,"b":true}`))
	f.Add([]byte(schema), []byte(`{"region":" =?base64?a?= é","n":1.5,"b":null}`))
	f.Add([]byte(`{"name":"t","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}}`), []byte(`{"a":"b"}`))
	f.Fuzz(func(t *testing.T, tool, arguments []byte) {
		c := newConn(t.Context(), &Dialer{})
		c.carrier = &streamable{}
		c.version.Store(mcp.LATEST_PROTOCOL_VERSION)
		var args any
		if !c.repeats(tool) || json.Unmarshal(arguments, &args) != nil {
			return
		}
		header, err := c.header(string(mcp.MethodToolsCall), map[string]any{"name": "t", "arguments": args})
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := header.Write(&text); err != nil || strings.Count(text.String(), "\n") != len(header) {
			t.Errorf("%q, %v", text.String(), err)
		}
		control := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
		for name, values := range header {
			if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == ':' || r > 0x7e }) || slices.ContainsFunc(values, func(v string) bool { return strings.ContainsFunc(v, control) }) {
				t.Errorf("header %q: %q", name, values)
			}
		}
	})
}
