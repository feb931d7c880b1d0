package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
