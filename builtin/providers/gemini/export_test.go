package gemini

import (
	"encoding/json"

	"github.com/tenonhq/tenon/builtin/providers/internal/vertex"
	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// PassText passes on a long text of streamed arguments and returns the error and the memory in bytes that the JSON took.
func PassText(text string, pass func(string) error) (int, error) {
	w := pieceWriter{pass: pass}
	w.value(map[string]any{"a": text, "b": text})
	w.flush(0)
	return cap(w.out), w.err
}

// Schema returns the schema that is sent for a tool's schema.
func Schema(in string) (string, error) {
	out, err := parameters(json.RawMessage(in))
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
