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
