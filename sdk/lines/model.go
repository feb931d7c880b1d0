package lines

import (
	"context"
	"encoding/json"

	"github.com/tenonhq/tenon/sdk"
)

func (s *server) stream(ctx context.Context, id uint64, p *params) error {
	var request sdk.ModelRequest
	if err := json.Unmarshal(p.Request, &request); err != nil {
		return err
	}
	client, err := s.clients.Client(p.Connection.Protocol, p.Connection.Provider, p.Connection.Key)
	if err != nil {
		return err
	}
	return client.Stream(ctx, &request, func(e sdk.StreamEvent) error {
		return s.conn.Notify("stream_event", struct {
			ID    uint64          `json:"id"`
			Event sdk.StreamEvent `json:"event"`
		}{id, e})
	})
}

func (s *server) listModels(ctx context.Context, p *params) (json.RawMessage, error) {
	client, err := s.clients.Client(p.Connection.Protocol, p.Connection.Provider, p.Connection.Key)
	if err != nil {
		return nil, err
	}
	lister, ok := client.(sdk.ModelLister)
	if !ok {
		return nil, errMethod
	}
	return encode(lister.ListModels(ctx))
}

// providerData returns the data of an error of a model request: a ProviderError of plugin.proto.
func providerData(e *sdk.ProviderError) map[string]any {
	out := map[string]any{
		"provider": e.ProviderID, "status_code": e.StatusCode, "headers": e.Headers, "body": e.Body, "code": e.Code, "message": e.Message, "cut": e.Cut,
	}
	if e.Err != nil {
		out["cause"] = e.Err.Error()
	}
	return out
}
