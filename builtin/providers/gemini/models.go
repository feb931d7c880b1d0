package gemini

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// Bounds of the list of models: Google has about a hundred.
const (
	maxModelList   = 4 << 20 // bytes
	maxModelValues = 1 << 17
)

var _ sdk.ModelLister = (*client)(nil)

// ListModels requests the server's models, see https://ai.google.dev/api/models#method:-models.list. Errors: errors.ErrUnsupported at Vertex AI.
func (c *client) ListModels(ctx context.Context) ([]sdk.Model, error) {
	if c.vertex {
		return nil, fmt.Errorf("vertex AI has no list of models: %w", errors.ErrUnsupported)
	}
	var models []sdk.Model
	err := c.Get(ctx, "models?pageSize=1000", maxModelList, maxModelValues, func(data []byte) (err error) {
		models, err = readModels(c.Info.ID, data)
		return err
	})
	return models, err
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
