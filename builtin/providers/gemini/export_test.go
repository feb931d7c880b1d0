package gemini

import (
	"encoding/json"

	"github.com/tenonhq/tenon/builtin/providers/internal/vertex"
	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// Schema returns the schema that is sent for a tool's schema.
func Schema(in string) (string, error) {
	out, err := parameters(&sdk.ToolDefinition{Parameters: json.RawMessage(in)})
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(out)
	return string(data), err
}

// VertexAddress returns the base URL for a project p in a location.
func VertexAddress(location string) (string, error) {
	info := sdk.ProviderInfo{ID: "test", Options: sdk.Object{"project": "p", "location": location}}
	_, err := vertex.Setup(&info, wire.NewOptions(&info), "v1beta1", "google", "us-central1")
	return info.BaseURL, err
}
