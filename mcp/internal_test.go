package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/tenonhq/tenon/sdk"
)

func TestLineReader(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("y", 100_000)
	tests := map[string]struct {
		in   string
		want []string
		err  error
	}{
		"lines":    {"a\nb\r\n\n c \n", []string{"a", "b", "", "c"}, io.EOF},
		"no end":   {"a\nb", []string{"a", "b"}, io.EOF},
		"long":     {long + "\nb\n", []string{long, "b"}, io.EOF},
		"too long": {"a\n" + strings.Repeat("x", 200_001), []string{"a"}, errTooLong},
		"empty":    {"", nil, io.EOF},
	}
	for name, test := range tests {
		for way, in := range map[string]io.Reader{"": strings.NewReader(test.in), " byte by byte": iotest.OneByteReader(strings.NewReader(test.in))} {
			r := newLineReader(in, 200_000)
			var got []string
			var err error
			for {
				var line []byte
				if line, err = r.next(); err != nil {
					break
				}
				got = append(got, string(line))
			}
			if !slices.Equal(got, test.want) || !errors.Is(err, test.err) {
				t.Errorf("%s%s: %d lines, %v; want %d, %v", name, way, len(got), err, len(test.want), test.err)
			}
		}
	}
}

func FuzzLineReader(f *testing.F) {
	f.Add([]byte("a\nb\n"), 10)
	f.Add(bytes.Repeat([]byte("x"), 100), 50)
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		if limit < 1 || limit > 1<<16 {
			return
		}
		r := newLineReader(bytes.NewReader(data), limit)
		total := 0
		for {
			line, err := r.next()
			if err != nil {
				return
			}
			if len(line) > limit {
				t.Fatalf("a line of %d bytes, more than %d", len(line), limit)
			}
			if total += len(line); total > len(data) {
				t.Fatal("more came out than went in")
			}
		}
	})
}

func TestEventReader(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in, want, lastID string
		delay            time.Duration
	}{
		"one":          {"data: a\n\n", "message=a;", "", reconnectDelay},
		"no space":     {"event:e\ndata:a\n\n", "e=a;", "", reconnectDelay},
		"lines":        {"data: a\r\ndata:\r\ndata: b\r\n\r\n", "message=a\n\nb;", "", reconnectDelay},
		"kinds":        {"event: e\ndata: a\n\ndata: b\n\n", "e=a;message=b;", "", reconnectDelay},
		"no data":      {"event: e\n\ndata: b\n\n", "message=b;", "", reconnectDelay},
		"comments":     {": hi\ndata: a\n: ho\n\n", "message=a;", "", reconnectDelay},
		"not ended":    {"id: 1\n\nid: 2\ndata: a", "message=a;", "1", reconnectDelay},
		"where it was": {"id: 7\nretry: 2000\n\n", "", "7", 2 * time.Second},
		"bad retry":    {"retry: -1\nretry: x\nretry:\n\n", "", "", reconnectDelay},
		"short retry":  {"retry: 0\n\n", "", "", minReconnectDelay},
		"long retry":   {"retry: 2000000000\n\n", "", "", maxReconnectDelay},
		"bad id":       {"id: a\x00b\ndata: a\n\n", "message=a;", "", reconnectDelay},
	}
	for name, test := range tests {
		r := newEventReader(strings.NewReader(test.in))
		var got strings.Builder
		for {
			kind, data, err := r.next()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Errorf("%s: %v", name, err)
				}
				break
			}
			fmt.Fprintf(&got, "%s=%s;", kind, data)
		}
		if got.String() != test.want || r.lastID != test.lastID || r.delay != test.delay {
			t.Errorf("%s: %q, id %q, delay %s; want %q, %q, %s", name, got.String(), r.lastID, r.delay, test.want, test.lastID, test.delay)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte("event: message\nid: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\nretry: 5\n\n"))
	f.Add([]byte("data: [{\"method\":\"ping\",\"id\":\"a\"},{\"method\":\"n\",\"id\":null}]\r\n\r\n"))
	f.Add([]byte("data: [null]\n\ndata: []\n\ndata: {}"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := newEventReader(bytes.NewReader(stream))
		total := 0
		for {
			kind, data, err := r.next()
			if err != nil {
				break
			}
			if total += len(data); kind == "" && total == 0 || total > len(stream) {
				t.Fatalf("event %q with %d bytes of %d", kind, total, len(stream))
			}
			messages, err := decodeMessages(data)
			if err != nil {
				continue
			}
			for _, m := range messages {
				if m.isAnswer() && m.isNotification() {
					t.Fatalf("an answer that is a notification: %+v", m)
				}
			}
		}
		if r.delay < minReconnectDelay || r.delay > maxReconnectDelay {
			t.Errorf("delay %s", r.delay)
		}
	})
}

func TestToolIDs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 70)
	ids := toolIDs("my server", []string{"read", "a b", "a_b", "日本", long, long + "2"})
	if ids[0] != "my_server_read" {
		t.Errorf("ids = %q", ids)
	}
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id] || len(id) > maxToolID || strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("id %q is not usable", id)
		}
		seen[id] = true
	}
}

func FuzzReadConfig(f *testing.F) {
	f.Add([]byte(`{"mcpServers":{"a":{"command":"x","args":["${A:-b}"],"env":{"A":"${B}"}},"b":{"type":"sse","url":"https://x"}}}`))
	f.Add([]byte(`{"mcpServers":{"":{},"a":null,"c":{"hooks":[{"tool":"x","point":"event"}]}}}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		servers, _, err := ReadConfig(data, "f", func(name string) (string, bool) { return "v", name == "A" })
		if err != nil && !errors.Is(err, ErrConfig) {
			t.Errorf("error %v does not wrap ErrConfig", err)
		}
		for i := range servers {
			if err := servers[i].Validate(); err != nil {
				t.Errorf("a server that is not valid came through: %v", err)
			}
			if !json.Valid(servers[i].Definition()) {
				t.Errorf("definition %q", servers[i].Definition())
			}
			m := New(servers[i], Options{}).Manifest()
			if err := m.Validate(); err != nil {
				t.Error(err)
			}
		}
	})
}

func FuzzResult(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"a"},{"type":"image","data":"aGk=","mimeType":"image/png"},7,null],"structuredContent":{"n":1}}`))
	f.Add([]byte(`{"content":[{"type":"resource","resource":{"uri":"a","blob":"!"}}],"isError":true}`))
	f.Add([]byte(`{"content":{},"isError":"yes"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		tool := &Tool{Name: "t", OutputSchema: json.RawMessage(`{"type":"object","required":["n"]}`)}
		result, err := decodeResult(data, tool)
		if (result == nil) == (err == nil) {
			t.Fatalf("result %v and error %v", result, err)
		}
		if result == nil {
			return
		}
		if !utf8.ValidString(result.Output) || len(result.Output) > maxResultText+1024 {
			t.Errorf("output of %d bytes, valid: %v", len(result.Output), utf8.ValidString(result.Output))
		}
		if _, err := json.Marshal(result); err != nil {
			t.Error(err)
		}
	})
}

func FuzzHookAnswer(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"{\"value\":{\"output\":\"x\"}}"}]}`))
	f.Add([]byte(`{"structuredContent":{"verdict":"deny","reason":"r"}}`))
	f.Add([]byte(`{"structuredContent":{"changes":[{"pointer":"/a"}],"value":{}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		answer, err := decodeHookAnswer(sdk.PointToolAfter, raw, json.RawMessage(`{"output":"a"}`))
		if err == nil {
			if _, err := json.Marshal(answer); err != nil {
				t.Error(err)
			}
		}
	})
}

func FuzzForm(f *testing.F) {
	f.Add([]byte(orderExample))
	f.Fuzz(func(t *testing.T, schema []byte) {
		form, err := readForm(json.RawMessage(schema))
		if err != nil {
			return
		}
		_, _ = form.fill(func(q []sdk.Question) ([][]string, error) {
			answers := make([][]string, len(q))
			for i := range q {
				if len(q[i].Options) > 0 {
					answers[i] = []string{q[i].Options[0].Label}
				} else {
					answers[i] = []string{"1"}
				}
			}
			return answers, nil
		}, "m")
	})
}

const orderExample = `{"type":"object","properties":{"a":{"type":"string","enum":["x"]},"b":{"type":"array","items":{"enum":["y"]}},"c":{"type":"number"}}}`
