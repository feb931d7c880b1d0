// Package catalog contributes tenon's table of model providers: their base URLs,
// the environment variables of their keys, and the prices and abilities of their main models. It contains only
// data; other plugins contribute the protocols.
//
// The figures are in table.json, with their sources. "provider" in the
// configuration overrides each of them, and models outside the table can be used too.
package catalog

import (
	"context"
	_ "embed" // the table
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

//go:embed table.json
var table []byte

// Plugin contributes the providers.
type Plugin struct{}

var (
	_ sdk.Plugin         = (*Plugin)(nil)
	_ sdk.ProviderSource = (*Plugin)(nil)
)

// New returns the plugin.
func New() *Plugin { return &Plugin{} }

// Manifest describes the plugin.
func (*Plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{Name: "catalog", Description: "Well-known model providers and their models", Carrier: sdk.CarrierBuiltin}
}

// Start does nothing: Providers reads the table.
func (*Plugin) Start(context.Context, sdk.Host) error { return nil }

// Close does nothing.
func (*Plugin) Close(context.Context) error { return nil }

// Providers returns the providers in the order in which they are tried if the user chose none. The
// caller owns the result.
func (*Plugin) Providers() []sdk.ProviderInfo {
	providers, err := decode(table)
	if err != nil {
		panic(err) // the table is part of the program; a test reads it
	}
	return providers
}

// row is a provider in the table.
type row struct {
	sdk.ProviderInfo
	Models []modelRow `json:"models"`
}

// modelRow is a model in the table. Its fields are short because every start of the program reads them.
type modelRow struct {
	ID          string      `json:"id"`
	Name        string      `json:"name"`
	Limit       []int64     `json:"limit"` // context, output, input
	Cost        []sdk.Price `json:"cost"`  // input, output, cache read, cache write
	Over200K    []sdk.Price `json:"over200K"`
	Takes       string      `json:"takes"`   // in addition to text
	Efforts     string      `json:"efforts"` // reasoning efforts, each a variant
	Reasoning   bool        `json:"reasoning"`
	Temperature bool        `json:"temperature"`
}

func decode(data []byte) ([]sdk.ProviderInfo, error) {
	var t struct {
		Providers []row `json:"providers"`
	}
	if err := json.Unmarshal(data, &t); err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	out := make([]sdk.ProviderInfo, len(t.Providers))
	for i := range t.Providers {
		r := &t.Providers[i]
		out[i] = r.ProviderInfo
		out[i].Models = make(map[string]sdk.Model, len(r.Models))
		for j := range r.Models {
			out[i].Models[r.Models[j].ID] = r.Models[j].model(r.ID)
		}
	}
	return out, nil
}

func (r *modelRow) model(provider string) sdk.Model {
	m := sdk.Model{
		ID: r.ID, ProviderID: provider, Name: r.Name, ToolCall: true,
		Reasoning: r.Reasoning, Temperature: r.Temperature, Attachment: r.Takes != "",
		Limit:      sdk.ModelLimit{Context: at(r.Limit, 0), Output: at(r.Limit, 1), Input: at(r.Limit, 2)},
		Cost:       cost(r.Cost),
		Modalities: sdk.Modalities{Input: append([]string{"text"}, strings.Fields(r.Takes)...), Output: []string{"text"}},
	}
	if r.Over200K != nil {
		over := cost(r.Over200K)
		m.Cost.Over200K = &over
	}
	for effort := range strings.FieldsSeq(r.Efforts) {
		if m.Variants == nil {
			m.Variants = map[string]sdk.Object{}
		}
		m.Variants[effort] = sdk.Object{"reasoningEffort": effort}
	}
	return m
}

func cost(p []sdk.Price) sdk.ModelCost {
	return sdk.ModelCost{Input: at(p, 0), Output: at(p, 1), CacheRead: at(p, 2), CacheWrite: at(p, 3)}
}

// at returns the i-th value of the list, or zero if it is shorter.
func at[T any](list []T, i int) (v T) {
	if i < len(list) {
		return list[i]
	}
	return v
}
