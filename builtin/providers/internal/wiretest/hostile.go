package wiretest

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// Format is what Hostile needs of a wire format.
type Format struct {
	Open  Open
	Info  sdk.ProviderInfo // without a base URL
	Start string           // events before the first text
	Text  func(text string) string
	Call  func(index int) string // a whole call
	// Sealed is a delta that is kept until its block ends, such as a signature's, after Start. Nil if the format has none.
	Sealed func(text string) string
	End    string // events after the last text
	Error  string // an event that reports an overloaded server
	Half   string // the beginning of an event, before Drip
	Drip   string // bytes that complete no event
}

// Hostile tests that answers of broken and malicious servers end with an error in bounded time and memory.
func Hostile(t *testing.T, f Format) {
	t.Run("beyond bounds", func(t *testing.T) { t.Parallel(); f.bounds(t) })
	t.Run("drip", func(t *testing.T) { t.Parallel(); f.drip(t) })
	t.Run("broken", func(t *testing.T) { t.Parallel(); f.broken(t) })
}

func (f Format) decode(t *testing.T, answer string) ([]sdk.StreamEvent, error) {
	t.Helper()
	info := f.Info
	info.ID, info.BaseURL = "test", Info().BaseURL
	events, err := Decode(t.Context(), f.Open, info, Hello(), []byte(answer))
	CheckRules(t, events, err)
	return events, err
}

// bounds has answers that are too large to be an answer.
func (f Format) bounds(t *testing.T) {
	mega := strings.Repeat("x", 1<<20)
	var calls strings.Builder
	for i := range 600 {
		calls.WriteString(f.Call(i))
	}
	if f.Sealed != nil { // in small pieces, each within the bounds
		pieces := strings.Repeat(f.Sealed(strings.Repeat("x", 4<<10)), (20<<20)/(4<<10))
		if _, err := f.decode(t, f.Start+pieces+f.End); !errors.Is(err, sdk.ErrAnswerLimit) {
			t.Errorf("an endless signature: error %.200v, want %v", err, sdk.ErrAnswerLimit)
		}
	}
	for name, answer := range map[string]string{
		"a long event":      f.Start + f.Text(strings.Repeat(mega, 5)),
		"a long document":   `{"x":"` + strings.Repeat(mega, 5) + `"}`,
		"many values":       `{"x":[0` + strings.Repeat(",0", 1<<17) + `]}`,
		"hundreds of calls": f.Start + calls.String() + f.End,
	} {
		if _, err := f.decode(t, answer); !errors.Is(err, sdk.ErrAnswerLimit) {
			t.Errorf("%s: error %.200v, want %v", name, err, sdk.ErrAnswerLimit)
		}
	}
}

// drip has servers that never end an event, and never fall silent.
func (f Format) drip(t *testing.T) {
	for name, c := range map[string]struct{ first, then string }{
		"from the start": {f.Half, f.Drip},
		"after a text":   {f.Start + f.Text("a") + f.Half, f.Drip},
		"a document":     {"{", " "},
		"white space":    {" ", " "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { dripping(w, r, c.first, c.then) }))
			defer srv.Close()
			transport := wire.NewTransport()
			defer transport.CloseIdleConnections()
			info := f.Info
			info.ID, info.BaseURL, info.Options = "test", srv.URL, sdk.Object{"chunkTimeout": 500.0}
			client, err := f.Open(info, transport, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			err = client.Stream(t.Context(), Hello(), func(sdk.StreamEvent) error { return nil })
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("error %v, want one about events", err)
			}
		})
	}
}

// dripping sends first, and then the same bytes every 5 ms until the client leaves.
func dripping(w http.ResponseWriter, r *http.Request, first, then string) {
	_, _ = io.WriteString(w, first)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
			_, _ = io.WriteString(w, then)
		}
	}
}

// broken has answers that are not whole.
func (f Format) broken(t *testing.T) {
	whole := f.Start + f.Text("hello") + f.End
	if events, err := f.decode(t, whole); err != nil || len(events) < 2 {
		t.Fatalf("the whole answer: %d events, error %v", len(events), err)
	}
	for name, answer := range map[string]string{
		"nothing":          "",
		"no end":           f.Start + f.Text("hello"),
		"half an event":    f.Start + f.Text("hello")[:len(f.Text("hello"))/2],
		"a page":           "<html><body>login</body></html>",
		"an error":         f.Start + f.Text("hello") + f.Error,
		"an error object":  `{"error":{"message":"no","type":"bad"}}`,
		"garbage":          "\x00\x01\x02garbage\n\n\xff",
		"another document": `{"hello":"world"}`,
	} {
		if _, err := f.decode(t, answer); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	var failed *sdk.ProviderError
	if _, err := f.decode(t, f.Start+f.Error); !errors.As(err, &failed) || !strings.Contains(strings.ToLower(failed.Message+failed.Code), "overloaded") {
		t.Errorf("error event: %v, want the server's words", err)
	}
}
