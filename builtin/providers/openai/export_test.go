package openai

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/builtin/providers/internal/wiretest"
	"github.com/tenonhq/tenon/builtin/providers/openai/chat"
	"github.com/tenonhq/tenon/builtin/providers/openai/responses"
	"github.com/tenonhq/tenon/sdk"
)

func opener(protocol string) wiretest.Open {
	if protocol == ProtocolResponses {
		return responses.Open
	}
	return chat.Open
}

// EncodeBody encodes a request as a client of the protocol does.
func EncodeBody(protocol string, req *sdk.ModelRequest) ([]byte, error) {
	return EncodeBodyFor(wiretest.Info(), protocol, req)
}

// EncodeBodyFor encodes a request as a client of the provider does.
func EncodeBodyFor(info sdk.ProviderInfo, protocol string, req *sdk.ModelRequest) ([]byte, error) {
	c, err := opener(protocol)(info, &http.Transport{}, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return c.(interface {
		Body(*sdk.ModelRequest) ([]byte, error)
	}).Body(req)
}

// Decode decodes an answer without a connection. The error is what Stream would return.
func Decode(protocol string, answer []byte) (events []sdk.StreamEvent, err error) {
	return wiretest.Decode(context.Background(), opener(protocol), wiretest.Info(), wiretest.Hello(), answer)
}

// ListFrom lists the models of a server that answers with the body, as id:context/output.
func ListFrom(t *testing.T, body string) (string, error) {
	t.Helper()
	c, err := chat.Open(wiretest.Info(), wiretest.Transport(http.StatusOK, []byte(body), nil), slog.New(slog.DiscardHandler))
	if err != nil {
		return "", err
	}
	models, err := c.(sdk.ModelLister).ListModels(t.Context())
	var out []string
	for _, m := range models {
		out = append(out, fmt.Sprintf("%s:%d/%d", m.ID, m.Limit.Context, m.Limit.Output))
	}
	return strings.Join(out, " "), err
}
