package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/tenonhq/tenon/builtin/providers/internal/vertex"
	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

var _ sdk.ModelLister = (*client)(nil)

// ListModels requests the server's models, see https://docs.anthropic.com/en/api/models-list. Errors: errors.ErrUnsupported at Vertex AI.
func (c *client) ListModels(ctx context.Context) ([]sdk.Model, error) {
	if c.vertex {
		return nil, vertex.ErrNoList
	}
	return c.List(ctx, "models?limit=1000", readModels)
}

func readModels(provider string, data []byte) ([]sdk.Model, error) {
	var list struct {
		Data *[]struct {
			ID   string `json:"id"`
			Name string `json:"display_name"`
		} `json:"data"`
	}
	if err := json.Unmarshal(data, &list); err != nil || list.Data == nil {
		return nil, fmt.Errorf("%w: list of models without data", wire.ErrMalformed)
	}
	var out []sdk.Model
	for _, m := range *list.Data {
		if m.ID != "" {
			out = append(out, sdk.Model{ID: m.ID, ProviderID: provider, Name: cmp.Or(m.Name, m.ID), ToolCall: true, Attachment: true})
		}
	}
	return out, nil
}
