package catalog

import (
	"archive/zip"
	"bytes"
	_ "embed" // the models
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"strings"

	"github.com/tenonhq/tenon/internal/npm"
	"github.com/tenonhq/tenon/sdk"
)

// archive holds a file for each provider with its models in the form of models.dev, see generate.
//
//go:embed models.zip
var archive []byte

// maxModels is the maximum size of a provider's models in bytes. The largest of 2026 have 250 KB.
const maxModels = 8 << 20

// Entry is a provider in api.json of models.dev, with the fields that the catalog keeps.
type Entry struct {
	Name   string                `json:"name"`
	NPM    string                `json:"npm"`
	API    string                `json:"api"`
	Env    []string              `json:"env"`
	Models map[string]EntryModel `json:"models"`
}

// EntryModel is a model of an Entry.
type EntryModel struct {
	Name             string                `json:"name,omitempty"`
	Family           string                `json:"family,omitempty"`
	ReleaseDate      string                `json:"release_date,omitempty"`
	Attachment       bool                  `json:"attachment,omitempty"`
	Reasoning        bool                  `json:"reasoning,omitempty"`
	Temperature      bool                  `json:"temperature,omitempty"`
	ToolCall         bool                  `json:"tool_call,omitempty"`
	Interleaved      json.RawMessage       `json:"interleaved,omitempty"` // true, or an object with the field
	ReasoningOptions []sdk.ReasoningOption `json:"reasoning_options,omitzero"`
	Modalities       sdk.Modalities        `json:"modalities,omitzero"`
	Limit            sdk.ModelLimit        `json:"limit,omitzero"`
	Cost             sdk.ModelCost         `json:"cost,omitzero"`
	Status           string                `json:"status,omitempty"`
	Provider         entryProvider         `json:"provider,omitzero"`
	Experimental     struct {
		Modes map[string]entryMode `json:"modes,omitempty"`
	} `json:"experimental,omitzero"`
}

// entryProvider overrides the format and the address of a model's provider.
type entryProvider struct {
	NPM string `json:"npm,omitempty"`
	API string `json:"api,omitempty"`
}

// entryMode is a variant of a model that the catalog lists as a separate model.
type entryMode struct {
	Cost     *sdk.ModelCost `json:"cost,omitempty"`
	Provider struct {
		Body    sdk.Object        `json:"body,omitempty"`
		Headers map[string]string `json:"headers,omitempty"`
	} `json:"provider,omitzero"`
}

// CatalogModels returns the models of a provider in a refresh, else in the snapshot of models.dev.
func (p *Plugin) CatalogModels(provider string) (map[string]sdk.Model, error) {
	known, err := readModels(archive, provider)
	if known == nil || err != nil {
		return nil, err
	}
	if newer := p.newerModels(provider, known); len(newer) > 0 { // an empty list means that the archive is damaged
		return newer, nil
	}
	return known, nil
}

// readModels returns the models of a provider in an archive; nil without any.
func readModels(archive []byte, provider string) (map[string]sdk.Model, error) {
	data, err := member(archive, provider)
	if data == nil || err != nil {
		return nil, err
	}
	return decodeModels(provider, data)
}

// member returns a provider's file in an archive of models; nil without one.
func member(archive []byte, provider string) ([]byte, error) {
	files, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	f, err := files.Open(provider + ".json")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxModels))
	if err != nil {
		return nil, fmt.Errorf("catalog: %s: %w", provider, err)
	}
	return data, nil
}

// decodeModels decodes models in the form of models.dev.
func decodeModels(provider string, data []byte) (map[string]sdk.Model, error) {
	var list map[string]EntryModel
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("catalog: %s: %w", provider, err)
	}
	out := make(map[string]sdk.Model, len(list))
	for id, c := range list {
		if !offered(provider, id, c.Status) {
			continue
		}
		m := c.model(provider, id)
		out[id] = m
		for name, mode := range c.Experimental.Modes { // a separate model, such as ID-fast
			fast := m
			fast.ID, fast.APIID, fast.Name = id+"-"+name, id, m.Name+" "+name
			if mode.Cost != nil {
				fast.Cost = *mode.Cost
			}
			fast.Options, fast.Headers = maps.Clone(mode.Provider.Body), maps.Clone(mode.Provider.Headers)
			out[fast.ID] = fast
		}
	}
	return out, nil
}

// offered reports whether users can choose a model. OpenAI's chat alias does not work in agents.
func offered(provider, id, status string) bool {
	if status == "deprecated" || status == "alpha" {
		return false
	}
	return !strings.HasSuffix(id, "gpt-5-chat-latest") || provider != "openai" && provider != "github-copilot" && provider != "openrouter"
}

func (c *EntryModel) model(provider, id string) sdk.Model {
	m := sdk.Model{
		ID: id, ProviderID: provider, Name: c.Name, Family: c.Family, ReleaseDate: c.ReleaseDate, Attachment: c.Attachment, Reasoning: c.Reasoning,
		Temperature: c.Temperature, ToolCall: c.ToolCall, ReasoningOptions: c.ReasoningOptions, Modalities: c.Modalities, Limit: c.Limit,
		Cost: c.Cost, Status: c.Status, NPM: c.Provider.NPM, BaseURL: strings.TrimSuffix(c.Provider.API, "/"),
	}
	if m.NPM != "" {
		m.Protocol = npm.Protocol(m.NPM)
	}
	var interleaved struct {
		Field string `json:"field"`
	}
	if json.Unmarshal(c.Interleaved, &interleaved) == nil {
		m.ReasoningField = interleaved.Field
	}
	return m
}
