package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tenonhq/tenon/sdk"
)

// CheckOptions compares the options a user gave with the plugin's schema, which Read or Describe accepted. Empty options count as an
// empty object. The error says which option is wrong.
func CheckOptions(schema, options json.RawMessage) error {
	if len(schema) == 0 {
		return nil
	}
	compiled, err := compileSchema(schema)
	if err != nil {
		return fmt.Errorf("%w: options: %w", sdk.ErrManifest, err)
	}
	var value any = map[string]any{}
	if len(options) > 0 && string(options) != "null" {
		if err := json.Unmarshal(options, &value); err != nil {
			return err
		}
	}
	return compiled.Validate(value)
}

// compileSchema makes a JSON schema ready for use.
func compileSchema(data json.RawMessage) (*jsonschema.Resolved, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	return s.Resolve(&jsonschema.ResolveOptions{Loader: func(uri *url.URL) (*jsonschema.Schema, error) {
		return nil, errors.New("refers to another document, which is not fetched: " + uri.Redacted())
	}})
}
