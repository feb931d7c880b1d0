package lines

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/tenonhq/tenon/internal/jsonline"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// side returns the messages that the plugin can send during call id of the host.
func (s *server) side(id uint64) *guest.Side {
	return &guest.Side{
		Log: s.log, Call: s.operation, Subscribe: s.subscribe,
		Progress: func(title string, metadata sdk.Object) error { // a notification keeps its order relative to the result
			return s.conn.Notify("progress", struct {
				ID       uint64     `json:"id"`
				Title    string     `json:"title"`
				Metadata sdk.Object `json:"metadata,omitempty"`
			}{id, title, metadata})
		},
		Event: func(e sdk.StreamEvent) error {
			return s.conn.Notify("stream_event", struct {
				ID    uint64          `json:"id"`
				Event sdk.StreamEvent `json:"event"`
			}{id, e})
		},
	}
}

// operation sends an operation to the host on behalf of the call whose token is in ctx.
func (s *server) operation(ctx context.Context, name string, request []byte) (guest.Status, []byte, error) {
	if err := guest.CheckSize("request", request); err != nil {
		return 0, nil, err
	}
	body, err := jsontext.Marshal(struct {
		Name    string          `json:"name"`
		Request json.RawMessage `json:"request"`
		Token   string          `json:"token,omitempty"`
	}{name, request, guest.TokenOf(ctx)})
	if err != nil {
		return 0, nil, err
	}
	result, err := s.conn.Call(ctx, "operation", body)
	var problem *jsonline.Error
	switch {
	case errors.As(err, &problem) && problem.Code > 0:
		return guest.Status(problem.Code), []byte(problem.Message), nil
	case errors.As(err, &problem):
		return guest.StatusUnknown, []byte(problem.Message), nil
	}
	return guest.StatusOK, result, err
}

// subscribe makes the host send events.
func (s *server) subscribe(ctx context.Context, sub *guest.Subscription, size int) error {
	body, err := jsontext.Marshal(map[string]int{"size": size})
	if err != nil {
		return err
	}
	id := s.conn.NextID()
	_, err = s.conn.Begin(context.WithoutCancel(ctx), id, "subscription", body, func(m *jsonline.Message) {
		if m.Method != "" {
			var p struct {
				Event json.RawMessage `json:"event"`
			}
			if json.Unmarshal(m.Params, &p) == nil {
				sub.PutJSON(p.Event)
			}
			return
		}
		if m.Error != nil {
			s.log.Warn("no events", "err", m.Error.Message)
		}
		sub.End()
	})
	if err == nil {
		go sub.Follow(ctx, s.conn.Done(), func() {
			s.conn.Forget(id)
			s.conn.Cancel(id)
		})
	}
	return err
}

// newLogger returns the logger that writes to the host's log.
func newLogger(conn *jsonline.Conn) *slog.Logger {
	return guest.NewLogger(func(level slog.Level, message string, attributes json.RawMessage) {
		_ = conn.Notify("log", struct { // fails if the connection has ended
			Level      int             `json:"level"`
			Message    string          `json:"message"`
			Attributes json.RawMessage `json:"attributes,omitempty"`
		}{int(level), message, attributes})
	})
}
