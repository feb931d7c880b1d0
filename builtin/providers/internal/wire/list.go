package wire

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/tenonhq/tenon/sdk"
)

// Bounds of a list of models; the longest known is 3 MiB and lists 500 models of 60 values each.
const (
	maxModelList   = 8 << 20 // bytes
	maxModelValues = 1 << 17
)

// List requests the server's models and keeps their order. The list is a field of the answer. model describes an entry: entries without an ID are
// left out, and the ID is the default of the name.
func List[T any](ctx context.Context, c *Conn, path, field string, model func(entry *T) sdk.Model) (models []sdk.Model, err error) {
	ex, err := c.send(ctx, http.MethodGet, &Request{Path: path, Accept: "application/json"})
	if err != nil {
		return nil, err
	}
	defer ex.close()
	ex.maxOpen = maxModelList
	data, err := readDocument(ex, maxModelValues)
	var list []T
	switch {
	case err != nil:
	case isPage(data):
		err = errHTML
	default:
		list, err = decodeList[T](data, field)
	}
	for i := range list {
		if m := model(&list[i]); m.ID != "" {
			m.ProviderID, m.Name = c.Info.ID, cmp.Or(m.Name, m.ID)
			models = append(models, m)
		}
	}
	return models, c.failure(ctx, ex, err)
}

// decodeList decodes a list, which may lack the object around it. A field of an unexpected type leaves the others readable.
func decodeList[T any](data []byte, field string) (list []T, err error) {
	object := map[string]json.RawMessage{field: data}
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		object = nil
		err = json.Unmarshal(data, &object)
	}
	if err == nil && object[field] == nil { // Ollama sends null in place of an empty list
		err = fmt.Errorf("missing field %q", field)
	}
	if err == nil {
		err = json.Unmarshal(object[field], &list)
	}
	if err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) {
		return nil, fmt.Errorf("%w: list of models: %w", ErrMalformed, err)
	}
	return list, nil
}
