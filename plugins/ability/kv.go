package ability

import (
	"context"

	"github.com/tenonhq/tenon/sdk"
)

// kvRequest is the request of all kv operations; each reads the fields it needs.
type kvRequest struct {
	Key    string    `json:"key"`
	Value  sdk.Bytes `json:"value"`
	Prefix string    `json:"prefix"`
}

func (b *Broker) kvGet(_ context.Context, _ Caller, request []byte) (any, error) {
	var req kvRequest
	if err := decode(request, &req); err != nil {
		return nil, err
	}
	value, found, err := b.kv.get(req.Key)
	return struct {
		Found bool      `json:"found"`
		Value sdk.Bytes `json:"value"`
	}{found, value}, err
}

func (b *Broker) kvSet(ctx context.Context, _ Caller, request []byte) (any, error) {
	var req kvRequest
	if err := decode(request, &req); err != nil {
		return nil, err
	}
	return empty{}, b.kv.set(ctx, req.Key, req.Value)
}

func (b *Broker) kvDelete(ctx context.Context, _ Caller, request []byte) (any, error) {
	var req kvRequest
	if err := decode(request, &req); err != nil {
		return nil, err
	}
	return empty{}, b.kv.remove(ctx, req.Key)
}

func (b *Broker) kvKeys(_ context.Context, _ Caller, request []byte) (any, error) {
	var req kvRequest
	if err := decode(request, &req); err != nil {
		return nil, err
	}
	keys, err := b.kv.keys(req.Prefix)
	return struct {
		Keys []string `json:"keys"`
	}{keys}, err
}
