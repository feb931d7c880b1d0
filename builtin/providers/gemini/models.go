package gemini

import (
	"context"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/vertex"
	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

var _ sdk.ModelLister = (*client)(nil)

type listedModel struct {
	Name    string   `json:"name"` // models/ID
	Title   string   `json:"displayName"`
	Input   float64  `json:"inputTokenLimit"`
	Output  float64  `json:"outputTokenLimit"`
	Methods []string `json:"supportedGenerationMethods"`
}

// ListModels requests the server's models, see https://ai.google.dev/api/models#method:-models.list. Errors: errors.ErrUnsupported at Vertex AI.
func (c *client) ListModels(ctx context.Context) ([]sdk.Model, error) {
	if c.vertex {
		return nil, vertex.ErrNoList
	}
	return wire.List(ctx, c.Conn, "models?pageSize=1000", "models", func(m *listedModel) sdk.Model {
		if len(m.Methods) > 0 && !slices.Contains(m.Methods, "generateContent") {
			return sdk.Model{}
		}
		return sdk.Model{
			ID: strings.TrimPrefix(m.Name, "models/"), Name: m.Title, ToolCall: true, Attachment: true, Temperature: true,
			Limit: sdk.ModelLimit{Context: wire.Count(m.Input), Output: wire.Count(m.Output)},
		}
	})
}
