package lines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/tenonhq/tenon/internal/jsonline"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// codeFailed is the code of errors of the plugin.
const codeFailed = 1

// server answers the calls of the host.
type server struct {
	guest *guest.Guest
	conn  *jsonline.Conn

	ctx     context.Context // of all calls; they end with the connection
	end     context.CancelFunc
	calls   sync.WaitGroup
	running guest.Calls
}

func newServer(p sdk.Plugin, conn *jsonline.Conn) *server {
	s := &server{guest: guest.New(p), conn: conn}
	s.ctx, s.end = context.WithCancel(guest.Detached())
	return s
}

// params holds the parameters of all methods.
type params struct {
	ID      uint64          `json:"id"`
	Request json.RawMessage `json:"request"`
	Hook    int             `json:"hook"`
	Tool    int             `json:"tool"`
	Call    json.RawMessage `json:"call"`
	Token   string          `json:"token"`
	Timeout int             `json:"timeout_ms"`

	Connection guest.Connection `json:"connection"`
}

// handle handles one message. Each call runs in its own goroutine.
func (s *server) handle(m *jsonline.Message) {
	var p params
	if err := json.Unmarshal(m.Params, &p); err != nil && len(m.Params) > 0 {
		s.reply(m.ID, nil, fmt.Errorf("%s: %w", m.Method, err))
		return
	}
	switch {
	case m.Method == "cancel":
		s.running.Cancel(p.ID)
	case m.ID == 0:
		s.conn.Update(p.ID, m) // an event, or unknown
	default:
		ctx := s.running.Begin(s.ctx, m.ID, p.Token, p.Timeout)
		s.calls.Go(func() {
			defer s.running.Cancel(m.ID)
			result, err := guest.Guard(s.logger, func() (json.RawMessage, error) { return s.run(ctx, m, &p) })
			s.reply(m.ID, result, err)
		})
	}
}

// reply answers a call.
func (s *server) reply(id uint64, result json.RawMessage, err error) {
	if id == 0 {
		return
	}
	if err == nil && len(result) > guest.MaxMessage {
		err = fmt.Errorf("the answer has %d bytes, at most %d MiB are passed on", len(result), guest.MaxMessage>>20)
	}
	if err == nil {
		_ = s.conn.Reply(id, result, nil) // fails if the connection has ended, which serve notices
		return
	}
	_ = s.conn.Reply(id, nil, problemOf(err))
}

// maxError bounds the text of an error, in bytes.
const maxError = 256 << 10

// problemOf returns the error for the wire.
func problemOf(err error) *jsonline.Error {
	out := &jsonline.Error{Code: codeFailed, Message: err.Error()}
	var refusal *sdk.Refusal
	var provider *sdk.ProviderError
	switch {
	case errors.Is(err, guest.ErrNoMethod):
		out.Code = jsonline.CodeMethodNotFound
	case errors.As(err, &refusal):
		out.Message = refusal.Reason
		out.Data, _ = jsontext.Marshal(map[string]bool{"refused": true, "halt": refusal.Halt}) // booleans always encode
	case errors.As(err, &provider):
		out.Data, _ = jsontext.Marshal(guest.NewProviderError(provider)) // strings and numbers always encode
	}
	if len(out.Message) > maxError {
		out.Message = out.Message[:maxError] + "…"
	}
	return out
}

// run runs one call.
func (s *server) run(ctx context.Context, m *jsonline.Message, p *params) (json.RawMessage, error) {
	if m.Method == "hook" {
		answer, err := s.guest.Hook(ctx, p.Hook, p.Request)
		if err != nil {
			return nil, err
		}
		return guest.AppendAnswer(nil, &answer)
	}
	request := &guest.Request{Method: m.Method, Tool: p.Tool, Body: p.Request, Connection: p.Connection}
	if len(p.Call) > 0 {
		request.Body = p.Call
	}
	answer, err := s.guest.Answer(ctx, request, &guest.Side{Host: s.host, Call: s.caller(m.ID, p.Token), Log: s.logger(), Event: func(e sdk.StreamEvent) error {
		return s.conn.Notify("stream_event", struct {
			ID    uint64          `json:"id"`
			Event sdk.StreamEvent `json:"event"`
		}{m.ID, e})
	}})
	if err != nil || answer == nil {
		return nil, err
	}
	return jsontext.Marshal(answer)
}
