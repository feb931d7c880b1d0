package model

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/tenonhq/tenon/sdk"
)

// configure applies what the configuration says of a provider to what the catalog knows.
func configure(info sdk.ProviderInfo, c sdk.ProviderConfig) sdk.ProviderInfo {
	info.Name = cmp.Or(c.Name, info.Name)
	info.Protocol = cmp.Or(c.Protocol, info.Protocol)
	info.BaseURL = cmp.Or(c.Options.BaseURL, c.API, info.BaseURL)
	info.Key = cmp.Or(c.Options.APIKey, info.Key)
	if len(c.Env) > 0 {
		info.Env = c.Env
	}
	info.Headers = Merged(info.Headers, c.Options.Headers)
	info.Options = options(info.Options, c.Options)
	info.Models = configureModels(info, c)
	return info
}

// options gathers what protocols understand beside address, key and headers.
func options(base sdk.Object, c sdk.ProviderOptions) sdk.Object {
	out := base.Clone()
	if out == nil {
		out = sdk.Object{}
	}
	set := func(key string, raw json.RawMessage) {
		var v any
		if json.Unmarshal(raw, &v) == nil {
			out[key] = v
		}
	}
	for key, raw := range c.Extra {
		set(key, raw)
	}
	if len(c.Timeout) > 0 {
		set("timeout", c.Timeout)
	}
	if c.ChunkTimeout > 0 {
		out["chunkTimeout"] = float64(c.ChunkTimeout)
	}
	if c.HeaderTimeout > 0 {
		out["headerTimeout"] = float64(c.HeaderTimeout)
	}
	if c.SetCacheKey {
		out["setCacheKey"] = true
	}
	return out
}

func configureModels(info sdk.ProviderInfo, c sdk.ProviderConfig) map[string]sdk.Model {
	out := map[string]sdk.Model{}
	for id, model := range info.Models {
		out[id] = complete(model, info.ID, id)
	}
	for id, mc := range c.Models {
		model, known := out[id]
		if !known {
			// What a model nobody described can do is for the server to say.
			model = complete(sdk.Model{ToolCall: true, Temperature: true, Attachment: true}, info.ID, id)
		}
		out[id] = configureModel(model, mc)
	}
	maps.DeleteFunc(out, func(id string, _ sdk.Model) bool {
		return !listed(&c, id)
	})
	return out
}

// listed reports whether the configuration of a provider lets the model be used.
func listed(c *sdk.ProviderConfig, id string) bool {
	return (len(c.Whitelist) == 0 || slices.Contains(c.Whitelist, id)) && !slices.Contains(c.Blacklist, id)
}

func configureModel(m sdk.Model, c sdk.ModelConfig) sdk.Model {
	m.APIID = cmp.Or(c.ID, m.APIID)
	m.Name = cmp.Or(c.Name, m.Name)
	m.Status = cmp.Or(c.Status, m.Status)
	setIf(&m.Limit, c.Limit)
	setIf(&m.Cost, c.Cost)
	setIf(&m.Reasoning, c.Reasoning)
	setIf(&m.Temperature, c.Temperature)
	setIf(&m.ToolCall, c.ToolCall)
	setIf(&m.Attachment, c.Attachment)
	setIf(&m.Modalities, c.Modalities)
	if c.Options != nil {
		m.Options = Merged(m.Options, c.Options)
	}
	if c.Headers != nil {
		m.Headers = Merged(m.Headers, c.Headers)
	}
	if c.Variants != nil {
		m.Variants = Merged(m.Variants, c.Variants)
	}
	return m
}

// setIf sets what the configuration names.
func setIf[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// Merged returns a new map with the entries of both, over's winning.
func Merged[M ~map[string]V, V any](base, over M) M {
	out := make(M, len(base)+len(over))
	maps.Copy(out, base)
	maps.Copy(out, over)
	return out
}
