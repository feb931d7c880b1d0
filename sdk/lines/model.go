package lines

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

func (s *server) stream(ctx context.Context, id uint64, p *params) error {
	return s.clients.Stream(ctx, &guest.StreamRequest{Connection: p.Connection, Request: p.Request}, func(e sdk.StreamEvent) error {
		return s.conn.Notify("stream_event", struct {
			ID    uint64          `json:"id"`
			Event sdk.StreamEvent `json:"event"`
		}{id, e})
	})
}

func (s *server) listModels(ctx context.Context, p *params) (json.RawMessage, error) {
	models, err := s.clients.Models(ctx, &p.Connection)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, errMethod
	}
	return encode(models, err)
}

// auth calls a sign-in method.
func (s *server) auth(ctx context.Context, p *params) (json.RawMessage, error) {
	req, err := guest.Decode[guest.AuthRequest]("sign-in", p.Request)
	if err != nil {
		return nil, err
	}
	caller := func(ctx context.Context, op string, request []byte) (guest.Status, []byte, error) {
		return s.operation(ctx, p.Token, op, request)
	}
	return encode(s.guest.Auth(ctx, req, caller))
}
