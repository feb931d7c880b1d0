package catalog

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
)

// Entry is a provider in api.json of models.dev, with the fields that the catalog keeps.
type Entry struct {
	Name   string                `json:"name"`
	NPM    string                `json:"npm"`
	API    string                `json:"api"`
	Env    []string              `json:"env"`
	Models map[string]EntryModel `json:"models"`
}

// EntryModel is a model of an Entry. Its values are kept as they are.
type EntryModel struct {
	Name        string          `json:"name,omitempty"`
	Family      string          `json:"family,omitempty"`
	ReleaseDate string          `json:"release_date,omitempty"`
	Attachment  bool            `json:"attachment,omitempty"`
	Reasoning   bool            `json:"reasoning,omitempty"`
	Temperature bool            `json:"temperature,omitempty"`
	ToolCall    bool            `json:"tool_call,omitempty"`
	Interleaved json.RawMessage `json:"interleaved,omitempty"`
	Options     json.RawMessage `json:"reasoning_options,omitempty"`
	Modalities  json.RawMessage `json:"modalities,omitempty"`
	Limit       json.RawMessage `json:"limit,omitempty"`
	Cost        json.RawMessage `json:"cost,omitempty"`
	Status      string          `json:"status,omitempty"`
	Provider    json.RawMessage `json:"provider,omitempty"`
	Modes       *struct {
		Modes json.RawMessage `json:"modes,omitempty"`
	} `json:"experimental,omitempty"`
}

// ReadAPI decodes api.json of models.dev into providers by ID.
func ReadAPI(data []byte) (map[string]Entry, error) {
	var all map[string]Entry
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("models.dev: %w", err)
	}
	return all, nil
}

// Pack returns a zip archive with a file for each provider, ID.json, that contains its models.
func Pack(all map[string]Entry) ([]byte, error) {
	var archive bytes.Buffer
	out := zip.NewWriter(&archive)
	out.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	for _, id := range slices.Sorted(maps.Keys(all)) {
		file, err := out.Create(id + ".json")
		if err != nil {
			return nil, err
		}
		if err := json.NewEncoder(file).Encode(all[id].Models); err != nil {
			return nil, err
		}
	}
	err := out.Close()
	return archive.Bytes(), err
}
