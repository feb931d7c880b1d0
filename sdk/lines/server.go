package lines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

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
	log   *slog.Logger

	ctx     context.Context // of all calls; they end with the connection
	end     context.CancelFunc
	running guest.Calls
}

func newServer(p sdk.Plugin, conn *jsonline.Conn) *server {
	s := &server{guest: guest.New(p), conn: conn, log: newLogger(conn)}
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
		if m.ID != 0 {
			_ = s.conn.Reply(m.ID, nil, problemOf(fmt.Errorf("%s: %w", m.Method, err)))
		}
		return
	}
	switch {
	case m.Method == "cancel":
		s.running.Cancel(p.ID)
	case m.ID == 0:
		s.conn.Update(p.ID, m) // an event, or unknown
	default:
		ctx := s.running.Begin(s.ctx, m.ID, p.Timeout)
		go func() { // ends with the call, or with the process
			defer s.running.Cancel(m.ID)
			result, err := s.guest.AnswerJSON(ctx, p.call(m.Method), s.side(m.ID))
			_ = s.conn.Reply(m.ID, result, problemOf(err)) // fails if the connection has ended, which serve notices
		}()
	}
}

// call returns the call of a method.
func (p *params) call(method string) *guest.Request {
	r := &guest.Request{Method: method, Token: p.Token, Hook: p.Hook, Tool: p.Tool, Body: p.Request, Connection: p.Connection}
	if len(p.Call) > 0 {
		r.Body = p.Call
	}
	return r
}

// maxError bounds the text of an error, in bytes.
const maxError = 256 << 10

// problemOf returns an error for the wire; nil without one.
func problemOf(err error) *jsonline.Error {
	if err == nil {
		return nil
	}
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
