package sse_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/tenonhq/tenon/mcp/internal/sse"
)

func TestReader(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100)
	for name, test := range map[string]struct {
		in, want, lastID string
		retry            time.Duration
		err              error // io.EOF if nil
	}{
		"one":                 {in: "data: a\n\n", want: "message=a;"},
		"no space":            {in: "event:e\ndata:a\n\n", want: "e=a;"},
		"lines":               {in: "data: a\r\ndata:\r\ndata: b\r\n\r\n", want: "message=a\n\nb;"},
		"carriage returns":    {in: "data: a\rdata: b\r\revent: e\rdata: c\r\r", want: "message=a\nb;e=c;"},
		"mixed line ends":     {in: "data: a\r\n\r\ndata: b\n\rdata: c\r\r\n", want: "message=a;message=b;message=c;"},
		"kinds":               {in: "event: e\ndata: a\n\ndata: b\n\n", want: "e=a;message=b;"},
		"an empty kind":       {in: "event:\ndata: a\n\nevent: e\nevent:\ndata: b\n\n", want: "message=a;message=b;"},
		"no data":             {in: "event: e\n\ndata: b\n\n", want: "message=b;"},
		"a byte order mark":   {in: "\ufeffevent: e\ndata: \ufeffa\n\n", want: "e=\ufeffa;"},
		"comments":            {in: ": hi\ndata: a\n: ho\n\n", want: "message=a;"},
		"not ended":           {in: "id: 1\n\nid: 2\ndata: a", want: "message=a;", lastID: "1"},
		"where it was":        {in: "id: 7\nretry: 2000\n\n", lastID: "7", retry: 2 * time.Second},
		"bad retry":           {in: "retry: -1\nretry: x\nretry:\n\n"},
		"bad id":              {in: "id: a\x00b\ndata: a\n\n", want: "message=a;"},
		"a line too long":     {in: "data: a\n\ndata: " + long + "\n\n", want: "message=a;", err: bufio.ErrTooLong},
		"a comment too long":  {in: ":" + long + "\n\ndata: a", err: bufio.ErrTooLong},
		"too many short ones": {in: strings.Repeat("data: "+long[:40]+"\n", 3) + "\n", err: bufio.ErrTooLong},
	} {
		for way, in := range map[string]io.Reader{"": strings.NewReader(test.in), " byte by byte": iotest.OneByteReader(strings.NewReader(test.in))} {
			r := sse.NewReader(in, 100)
			var got strings.Builder
			kind, data, err := r.Next()
			for ; err == nil; kind, data, err = r.Next() {
				fmt.Fprintf(&got, "%s=%s;", kind, data)
			}
			if test.err == nil {
				test.err = io.EOF
			}
			if _, _, again := r.Next(); again == nil {
				t.Errorf("%s%s: an event follows the end", name, way)
			}
			if got.String() != test.want || r.LastID != test.lastID || r.Retry != test.retry || !errors.Is(err, test.err) {
				t.Errorf("%s%s: %q, id %q, delay %s, %v; want %q, %q, %s, %v", name, way, got.String(), r.LastID, r.Retry, err, test.want, test.lastID, test.retry, test.err)
			}
		}
	}
}

// TestCut: an event of a stream that breaks off is not passed on.
func TestCut(t *testing.T) {
	t.Parallel()
	r := sse.NewReader(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(io.ErrUnexpectedEOF)), 100)
	if _, data, err := r.Next(); string(data) != "a" || err != nil {
		t.Fatalf("the first event: %q, %v", data, err)
	}
	if _, data, err := r.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the second event: %q, %v", data, err)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("event: message\nid: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\nretry: 5\n\n"))
	f.Add([]byte("data: a\r\n\r\ndata: b\r\rdata"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := sse.NewReader(bytes.NewReader(stream), 1<<20)
		total := 0
		for {
			kind, data, err := r.Next()
			if err != nil {
				if _, _, again := r.Next(); again == nil {
					t.Fatal("an event follows the end")
				}
				return
			}
			if total += len(data); total > len(stream) {
				t.Fatalf("event %q with %d bytes of %d", kind, total, len(stream))
			}
		}
	})
}
