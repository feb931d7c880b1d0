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

// ReadAPI decodes the wanted providers in api.json of models.dev, by ID. Other providers may have any form.
func ReadAPI(data []byte, wanted func(id string) bool) (map[string]Entry, error) {
	var listed map[string]json.RawMessage
	if err := json.Unmarshal(data, &listed); err != nil {
		return nil, fmt.Errorf("models.dev: %w", err)
	}
	all := map[string]Entry{}
	for id, raw := range listed {
		var p Entry
		if !wanted(id) {
			continue
		}
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, fmt.Errorf("models.dev: %s: %w", id, err)
		}
		all[id] = p
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
