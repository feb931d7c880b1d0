package protocol

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestDecodeMessages: nothing of a message with an error is used.
func TestDecodeMessages(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]int{
		`{"id":1,"result":{}}`: 1, `[{"id":1},{"method":"ping"}]`: 2, `[]`: 0, `null`: 1,
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
