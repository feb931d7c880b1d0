package guest

import (
	"context"
	"io"

	"github.com/tenonhq/tenon/sdk"
)

var _ sdk.StreamFetcher = (*Host)(nil)

// FetchStream sends a request and returns the response as soon as its body begins.
func (h *Host) FetchStream(ctx context.Context, req *sdk.FetchRequest) (*sdk.FetchResponse, io.ReadCloser, error) {
	streamed := *req
	streamed.Stream = true
	answer, err := ask[sdk.FetchResponse](ctx, h.call, "http", streamed)
	if err != nil {
		return nil, nil, err
	}
	return answer, &httpBody{ctx: ctx, call: h.call, stream: StreamRef{answer.Stream}}, nil
}

// httpBody is the body of a streamed response.
type httpBody struct {
	ctx    context.Context // of the call
	call   Caller
	stream StreamRef
	rest   []byte
	ended  bool
}

// Read waits for the next piece.
func (b *httpBody) Read(p []byte) (int, error) {
	for len(b.rest) == 0 && !b.ended {
		var piece StreamChunk
		if err := b.call.do(b.ctx, "http.read", b.stream, &piece); err != nil {
			return 0, err
		}
		b.rest, b.ended = piece.Data, piece.End
	}
	n := copy(p, b.rest)
	if b.rest = b.rest[n:]; n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Close drops the rest of the body.
func (b *httpBody) Close() error {
	if b.ended {
		return nil
	}
	b.ended, b.rest = true, nil
	return b.call.do(b.ctx, "http.close", b.stream, nil)
}
