package gemini

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/vertex"
	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

var _ sdk.ModelLister = (*client)(nil)

// ListModels requests the server's models, see https://ai.google.dev/api/models#method:-models.list. Errors: errors.ErrUnsupported at Vertex AI.
func (c *client) ListModels(ctx context.Context) ([]sdk.Model, error) {
	if c.vertex {
		return nil, vertex.ErrNoList
	}
	return c.List(ctx, "models?pageSize=1000", readModels)
}

// readModels reads the models that generate content.
func readModels(provider string, data []byte) ([]sdk.Model, error) {
	var list struct {
		Models *[]struct {
			Name    string   `json:"name"` // models/ID
			Title   string   `json:"displayName"`
			Input   float64  `json:"inputTokenLimit"`
			Output  float64  `json:"outputTokenLimit"`
			Methods []string `json:"supportedGenerationMethods"`
		} `json:"models"`
	}
	if err := json.Unmarshal(data, &list); err != nil || list.Models == nil {
		return nil, fmt.Errorf("%w: list of models without models", wire.ErrMalformed)
	}
	var out []sdk.Model
	for _, m := range *list.Models {
		id := strings.TrimPrefix(m.Name, "models/")
		if id == "" || len(m.Methods) > 0 && !slices.Contains(m.Methods, "generateContent") {
			continue
		}
		out = append(out, sdk.Model{
			ID: id, ProviderID: provider, Name: cmp.Or(m.Title, id), ToolCall: true, Attachment: true, Temperature: true,
			Limit: sdk.ModelLimit{Context: wire.Count(m.Input), Output: wire.Count(m.Output)},
		})
	}
	return out, nil
}
