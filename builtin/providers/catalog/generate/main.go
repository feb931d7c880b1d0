// Command generate writes the catalog's data, providers.txt and models.zip, from a copy of models.dev's api.json:
//
//	go run ./builtin/providers/catalog/generate api.json builtin/providers/catalog
package main

import (
	"archive/zip"
	"cmp"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/npm"
)

// provider is an entry of api.json.
type provider struct {
	Name   string           `json:"name"`
	NPM    string           `json:"npm"`
	API    string           `json:"api"`
	Env    []string         `json:"env"`
	Models map[string]model `json:"models"`
}

// model has the fields that the catalog keeps.
type model struct {
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

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: generate api.json directory")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var all map[string]provider
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	var lines strings.Builder
	archive, err := os.Create(filepath.Join(to, "models.zip"))
	if err != nil {
		return err
	}
	defer archive.Close()
	out := zip.NewWriter(archive)
	out.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	for _, id := range slices.Sorted(maps.Keys(all)) {
		p := all[id]
		if npm.Protocol(p.NPM) == "" {
			continue // no wire format for its servers
		}
		fmt.Fprintf(&lines, "%s\t%s\t%s\t%s\t%s\n", id, p.Name, p.NPM, cmp.Or(strings.TrimSuffix(p.API, "/"), "-"), cmp.Or(strings.Join(keys(p.Env), ","), "-"))
		file, err := out.Create(id + ".json")
		if err != nil {
			return err
		}
		maps.DeleteFunc(p.Models, func(_ string, m model) bool { return m.Status == "deprecated" })
		if err := json.NewEncoder(file).Encode(p.Models); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "providers.txt"), []byte(lines.String()), 0o644)
}

// keys returns the variables that hold a key. Variables of other programs are left out: commands of the model need them, and the
// variables of keys are hidden from commands.
func keys(env []string) []string {
	return slices.DeleteFunc(env, func(name string) bool {
		return !strings.Contains(name, "KEY") && !strings.Contains(name, "TOKEN") || strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "GIT") || name == "CLOUDFLARE_API_TOKEN"
	})
}
