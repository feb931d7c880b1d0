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

// host is the host for the plugin.
type host struct {
	*guest.Host
	server *server
}

var _ sdk.EventSource = (*host)(nil)

// host returns the host that sent the start request.
func (s *server) host(start *guest.StartRequest) sdk.Host {
	caller := func(ctx context.Context, op string, request []byte) (guest.Status, []byte, error) {
		return s.operation(ctx, guest.TokenOf(ctx), op, request)
	}
	return &host{guest.NewHost(start, s.logger(), caller), s}
}

// operation sends an operation to the host on behalf of the call with this token.
func (s *server) operation(ctx context.Context, token, name string, request []byte) (guest.Status, []byte, error) {
	body, err := jsontext.Marshal(struct {
		Name    string          `json:"name"`
		Request json.RawMessage `json:"request"`
		Token   string          `json:"token,omitempty"`
	}{name, request, token})
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

// caller returns the caller of one call of the host. Progress is a notification, in order with the result.
func (s *server) caller(id uint64, token string) guest.Caller {
	return func(ctx context.Context, op string, request []byte) (guest.Status, []byte, error) {
		if op != "progress" {
			return s.operation(ctx, token, op, request)
		}
		var shown struct {
			ID       uint64          `json:"id"`
			Title    string          `json:"title"`
			Metadata json.RawMessage `json:"metadata,omitempty"`
		}
		if err := json.Unmarshal(request, &shown); err != nil {
			return guest.StatusFailed, []byte(err.Error()), nil
		}
		shown.ID = id
		return guest.StatusOK, []byte("{}"), s.conn.Notify("progress", shown)
	}
}

// Events streams the granted events until ctx ends; the context of Start ends with Start. If events are not granted, or the host has none, the
// channel is closed, and the reason is logged.
func (h *host) Events(ctx context.Context, size int) <-chan sdk.Event {
	sub, conn := guest.NewSubscription(size), h.server.conn
	id := conn.NextID()
	body, err := jsontext.Marshal(map[string]int{"size": max(size, 1)})
	if err == nil {
		_, err = conn.Begin(context.WithoutCancel(ctx), id, "subscription", body, func(m *jsonline.Message) {
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
				h.Logger().Warn("no events", "err", m.Error.Message)
			}
			sub.End()
		})
	}
	if err != nil {
		sub.Close()
		return sub.Events
	}
	go sub.Follow(ctx, conn.Done(), func() {
		conn.Forget(id)
		conn.Cancel(id)
	})
	return sub.Events
}

// logger returns the logger that writes to the host's log.
func (s *server) logger() *slog.Logger {
	return guest.NewLogger(func(level slog.Level, message string, attributes json.RawMessage) {
		_ = s.conn.Notify("log", struct { // fails if the connection has ended
			Level      int             `json:"level"`
			Message    string          `json:"message"`
			Attributes json.RawMessage `json:"attributes,omitempty"`
		}{int(level), message, attributes})
	})
}
