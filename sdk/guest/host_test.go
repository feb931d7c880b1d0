package guest_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// script is a host that expects one operation and answers it.
type script struct {
	status guest.Status
	answer string
	err    error
	asked  string // what came, the operation before the request
}

func (s *script) call(_ context.Context, op string, request []byte) (guest.Status, []byte, error) {
	s.asked = op + " " + string(request)
	return s.status, []byte(s.answer), s.err
}

func (s *script) host(log *slog.Logger) *guest.Host {
	return guest.NewHost(&guest.StartRequest{Options: []byte(`{"a":1}`), Project: sdk.Project{ID: "p"}}, log, s.call)
}

func TestHostOperations(t *testing.T) {
	t.Parallel()
	discard := slog.New(slog.DiscardHandler)
	cases := map[string]struct {
		answer string
		do     func(ctx context.Context, h *guest.Host) (any, error)
		asked  string
		check  func(got any) bool
	}{
		"get": {`{"found":true,"value":{"base64":"/w=="}}`, func(ctx context.Context, h *guest.Host) (any, error) {
			v, found, err := h.Get(ctx, "k")
			return [2]any{string(v), found}, err
		}, `kv.get {"key":"k"}`, func(got any) bool { return got == [2]any{"\xff", true} }},
		"set": {`{}`, func(ctx context.Context, h *guest.Host) (any, error) { return nil, h.Set(ctx, "k", []byte("v")) },
			`kv.set {"key":"k","value":"v"}`, nil},
		"delete": {`{}`, func(ctx context.Context, h *guest.Host) (any, error) { return nil, h.Delete(ctx, "k") }, `kv.delete {"key":"k"}`, nil},
		"keys": {`{"keys":["a","b"]}`, func(ctx context.Context, h *guest.Host) (any, error) {
			keys, err := h.Keys(ctx, "p")
			return strings.Join(keys, " "), err
		}, `kv.keys {"prefix":"p"}`, func(got any) bool { return got == "a b" }},
		"secret": {`{"value":"s"}`, func(ctx context.Context, h *guest.Host) (any, error) { return h.Secret(ctx, "TOKEN") },
			`secret {"name":"TOKEN"}`, func(got any) bool { return got == "s" }},
		"fetch": {`{"status":200,"headers":{"a":"b"},"body":"hi"}`, func(ctx context.Context, h *guest.Host) (any, error) {
			r, err := h.Fetch(ctx, &sdk.FetchRequest{URL: "https://example.org/"})
			return string(r.Body), err
		}, `http {"url":"https://example.org/"}`, func(got any) bool { return got == "hi" }},
		"tool": {`{"title":"t","output":"o"}`, func(ctx context.Context, h *guest.Host) (any, error) {
			r, err := h.CallTool(ctx, sdk.ToolRequest{Tool: "read", Args: []byte(`{}`)})
			return r.Output, err
		}, `tool {"tool":"read","args":{}}`, func(got any) bool { return got == "o" }},
		"session": {`{"messages":[{"info":{"id":"m","role":"user"},"parts":[]}]}`, func(ctx context.Context, h *guest.Host) (any, error) {
			m, err := h.SessionMessages(ctx, "ses_1")
			return m[0].Info.Head().ID, err
		}, `session {"sessionID":"ses_1"}`, func(got any) bool { return got == "m" }},
		"question": {`{"answers":[["yes"]]}`, func(ctx context.Context, h *guest.Host) (any, error) {
			a, err := h.AskUser(ctx, "", []sdk.Question{{Question: "really?"}})
			return a[0][0], err
		}, `question {"questions":[{"question":"really?","header":"","options":null}]}`, func(got any) bool { return got == "yes" }},
		"sample": {`{"text":"42"}`, func(ctx context.Context, h *guest.Host) (any, error) {
			r, err := h.Sample(ctx, sdk.SampleRequest{Small: true})
			return r.Text, err
		}, `sample {"messages":null,"small":true}`, func(got any) bool { return got == "42" }},
		"config": {`{"model":"a/b"}`, func(_ context.Context, h *guest.Host) (any, error) { return h.Config().Model, nil },
			`config {}`, func(got any) bool { return got == "a/b" }},
		"tool host": {`{"answers":[["no"]]}`, func(ctx context.Context, h *guest.Host) (any, error) {
			s := &script{answer: `{"answers":[["no"]]}`}
			a, err := guest.NewToolHost(s.call, discard).(sdk.Questioner).Question(ctx, nil)
			_, err2 := h.Keys(ctx, "") // so that something is asked of the host
			return a[0][0] + s.asked, errors.Join(err, err2)
		}, `kv.keys {"prefix":""}`, func(got any) bool { return got == `noquestion {"questions":null}` }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{answer: c.answer}
			got, err := c.do(t.Context(), s.host(discard))
			if err != nil || c.check != nil && !c.check(got) {
				t.Errorf("got %v, %v", got, err)
			}
			if s.asked != c.asked {
				t.Errorf("asked %s, want %s", s.asked, c.asked)
			}
		})
	}
}

func TestHostFailures(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	cases := map[string]struct {
		script
		is   error
		text string
	}{
		"denied":    {script{status: guest.StatusDenied, answer: `grant "kv"`}, sdk.ErrNotGranted, `grant "kv"`},
		"limited":   {script{status: guest.StatusLimited, answer: "1 MiB is full"}, guest.ErrLimited, "1 MiB is full"},
		"unknown":   {script{status: guest.StatusUnknown}, errors.ErrUnsupported, "no such operation"},
		"failed":    {script{status: guest.StatusFailed, answer: "disk full"}, nil, "kv.get: disk full"},
		"named":     {script{status: guest.StatusFailed, answer: "kv.get: disk full"}, nil, "kv.get: disk full"},
		"unheard":   {script{err: gone}, gone, "kv.get"},
		"new":       {script{status: 77, answer: "x"}, nil, "unknown status 77"},
		"no JSON":   {script{answer: "what?"}, nil, "answer of the host"},
		"odd bytes": {script{answer: `{"value":7}`}, sdk.ErrWire, "base64"},
	}
	for name, c := range cases {
		_, _, err := c.host(slog.New(slog.DiscardHandler)).Get(t.Context(), "k")
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHostRefusal(t *testing.T) {
	t.Parallel()
	s := &script{status: guest.StatusFailed, answer: "the user said no"}
	for _, err := range []error{
		s.host(nil).AskPermission(t.Context(), sdk.PermissionRequest{Permission: "bash"}),
		guest.NewToolHost(s.call, nil).Ask(t.Context(), sdk.PermissionRequest{Permission: "bash"}),
	} {
		var refusal *sdk.Refusal
		if !errors.As(err, &refusal) || refusal.Reason != "the user said no" {
			t.Errorf("refused: %v", err)
		}
	}
	s = &script{status: guest.StatusDenied, answer: "grant ask"}
	if err := s.host(nil).AskPermission(t.Context(), sdk.PermissionRequest{}); !errors.Is(err, sdk.ErrNotGranted) {
		t.Errorf("without the capability: %v", err)
	}
}

func TestHostSaysWhatItCannotReturn(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s := &script{status: guest.StatusDenied, answer: "grant config"}
	if got := s.host(log).Config(); got != nil {
		t.Errorf("Config() = %v without a grant", got)
	}
	guest.NewToolHost(s.call, log).Progress("x", nil)
	if !strings.Contains(out.String(), "grant config") || !strings.Contains(out.String(), "progress not shown") {
		t.Errorf("log: %s", &out)
	}
	if h := s.host(log); string(h.Options()) != `{"a":1}` || h.Project().ID != "p" || h.Logger() != log {
		t.Error("what start gave is lost")
	}
	if got := string(guest.NewHost(&guest.StartRequest{}, log, s.call).Options()); got != "null" {
		t.Errorf("Options() without any = %s", got)
	}
}
