package ability_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// streaming opens a stream in a call and returns its number.
func streaming(t *testing.T, b *ability.Broker, c ability.Caller) string {
	t.Helper()
	status, answer := b.Do(c.Call, c, "http", []byte(`{"url":"http://api.example:8080/","stream":true}`))
	var resp sdk.FetchResponse
	if status != guest.StatusOK || json.Unmarshal(answer, &resp) != nil || resp.Stream == 0 || resp.Status != 200 || len(resp.Body) > 0 {
		t.Fatalf("http = %v %s, want a stream", status, answer)
	}
	return fmt.Sprintf(`{"stream":%d}`, resp.Stream)
}

// TestStream: the plugin reads an answer while the server writes it.
func TestStream(t *testing.T) {
	t.Parallel()
	b, n := httpBroker(t, "http://api.example:8080")
	next := make(chan string)
	n.serve(publicAddr+":8080", func(w http.ResponseWriter, _ *http.Request) {
		for piece := range next {
			_, _ = w.Write([]byte(piece))
			_ = http.NewResponseController(w).Flush()
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := ability.Caller{SessionID: "s1", Call: ctx}
	go func() { next <- "data: \xc3" }() // ends when the server takes it
	stream := streaming(t, b, c)
	read := func(want string, end bool) {
		t.Helper()
		status, answer := b.Do(ctx, c, "http.read", []byte(stream))
		var piece guest.StreamChunk
		if status != guest.StatusOK || json.Unmarshal(answer, &piece) != nil || string(piece.Data) != want || piece.End != end {
			t.Errorf("http.read = %v %s, want %q", status, answer, want)
		}
	}
	read("data: \xc3", false)
	next <- "\xa9\n\n"
	read("\xa9\n\n", false)
	other := ability.Caller{SessionID: "s1", Call: t.Context()}
	if status, answer := b.Do(ctx, other, "http.read", []byte(stream)); status != guest.StatusFailed || !strings.Contains(string(answer), "another call") {
		t.Errorf("another call reads it: %v %s", status, answer)
	}
	close(next)
	read("", true)
	if status, answer := b.Do(ctx, c, "http.read", []byte(stream)); status != guest.StatusFailed || !strings.Contains(string(answer), "not found") {
		t.Errorf("after the end: %v %s", status, answer)
	}
}

// TestStreamEnds: a stream ends with its call, when the plugin closes it, and with the broker; each frees its place.
func TestStreamEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(b *ability.Broker, c ability.Caller, cancel func(), stream string){
		"call": func(_ *ability.Broker, _ ability.Caller, cancel func(), _ string) { cancel() },
		"close": func(b *ability.Broker, c ability.Caller, _ func(), stream string) {
			b.Do(c.Call, c, "http.close", []byte(stream))
		},
		"broker": func(b *ability.Broker, c ability.Caller, _ func(), _ string) { _ = b.Close(c.Call) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, n := httpBroker(t, "http://api.example:8080")
			ended := make(chan struct{}, 1)
			n.serve(publicAddr+":8080", func(w http.ResponseWriter, r *http.Request) {
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
				ended <- struct{}{}
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := ability.Caller{Call: ctx}
			stream := streaming(t, b, c)
			end(b, c, cancel, stream)
			<-ended
		})
	}
	b, n := httpBroker(t, "http://api.example:8080")
	n.serve(publicAddr+":8080", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	c := ability.Caller{Call: t.Context()}
	if status, answer := b.Do(t.Context(), c, "http", []byte(`{"url":"http://api.example:8080/","stream":true,"timeout":50}`)); status != guest.StatusFailed || !strings.Contains(string(answer), "no complete answer within 50ms") {
		t.Errorf("no headers in time: %v %s", status, answer)
	}
	if status, answer := b.Do(t.Context(), ability.Caller{}, "http", []byte(`{"url":"http://api.example:8080/","stream":true}`)); status != guest.StatusFailed || !strings.Contains(string(answer), "only a call") {
		t.Errorf("without a call: %v %s", status, answer)
	}
}
