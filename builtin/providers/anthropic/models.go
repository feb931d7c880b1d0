package anthropic

import (
	"context"

	"github.com/tenonhq/tenon/builtin/providers/internal/vertex"
	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

var _ sdk.ModelLister = (*client)(nil)

type listedModel struct {
	ID   string `json:"id"`
	Name string `json:"display_name"`
}

// ListModels requests the server's models, see https://docs.anthropic.com/en/api/models-list. Errors: errors.ErrUnsupported at Vertex AI.
func (c *client) ListModels(ctx context.Context) ([]sdk.Model, error) {
	if c.vertex {
		return nil, vertex.ErrNoList
	}
	return wire.List(ctx, c.Conn, "models?limit=1000", "data", func(m *listedModel) sdk.Model {
		return sdk.Model{ID: m.ID, Name: m.Name, ToolCall: true, Attachment: true}
	})
}
