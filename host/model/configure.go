package model

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/npm"
	"github.com/tenonhq/tenon/sdk"
)

// configure applies the configuration of a provider to its catalog entry.
func configure(info sdk.ProviderInfo, c sdk.ProviderConfig) sdk.ProviderInfo {
	info.Name = cmp.Or(c.Name, info.Name)
	if c.NPM != "" || c.Protocol != "" && c.Protocol != info.Protocol {
		info.NPM = c.NPM
	}
	info.Protocol = cmp.Or(c.Protocol, info.Protocol)
	info.BaseURL = cmp.Or(c.Options.BaseURL, c.API, info.BaseURL)
	info.Key = cmp.Or(c.Options.APIKey, info.Key)
	if len(c.Env) > 0 {
		info.Env = c.Env
	}
	info.Headers = Merged(info.Headers, c.Options.Headers)
	info.Options = options(info.Options, c.Options)
	return info
}

// options adds the options of the configuration for the protocol to a provider's, without address, key and headers.
func options(base sdk.Object, c sdk.ProviderOptions) sdk.Object {
	c.APIKey, c.BaseURL, c.Headers = "", "", nil
	var more sdk.Object
	data, err := json.Marshal(c)
	if err == nil {
		err = json.Unmarshal(data, &more)
	}
	if err != nil {
		return base // it came from JSON
	}
	return Merged(base, more)
}

// configureModels applies the rules and the configuration to the models of a provider.
func (m *Models) configureModels(p *provider, models map[string]sdk.Model) map[string]sdk.Model {
	info, c := &p.info, m.o.Config.Provider[p.info.ID]
	out := maps.Clone(models)
	for id := range c.Models {
		if _, known := out[id]; !known {
			out[id] = undescribed(info, id)
		}
	}
	maps.DeleteFunc(out, func(id string, _ sdk.Model) bool { return !m.listed(info.ID, id) })
	for id, model := range out {
		model = complete(model, info.ID, id)
		if p.addressed {
			model.BaseURL = "" // the user's address is for all models
		}
		if c.NPM != "" || c.Protocol != "" {
			model.NPM, model.Protocol = "", ""
		}
		own, configured := c.Models[id]
		model.APIID = cmp.Or(own.ID, model.APIID)
		if info.Plan != nil && !info.Plan(&model) && !configured {
			delete(out, id)
			continue
		}
		out[id] = configureModel(m.ruled(info, configureServer(model, own)), own)
	}
	return out
}

// undescribed returns a model that no catalog describes: the server decides what it can do.
func undescribed(info *sdk.ProviderInfo, id string) sdk.Model {
	return complete(sdk.Model{ToolCall: true, Temperature: true, Attachment: true}, info.ID, id)
}

// ruled applies the rules of the plugins to a model.
func (m *Models) ruled(info *sdk.ProviderInfo, model sdk.Model) sdk.Model {
	at := *info
	at.NPM = cmp.Or(model.NPM, info.NPM)
	for _, r := range m.o.Catalogs {
		r.CompleteModel(&at, &model)
	}
	return model
}

// fill sets the options that the provider takes from the environment, and the variables in its address.
func (p *provider) fill(env map[string]string) {
	options := p.info.Options
	for _, option := range slices.Sorted(maps.Keys(p.info.OptionEnv)) {
		i := slices.IndexFunc(p.info.OptionEnv[option], func(name string) bool { return env[name] != "" })
		if i < 0 || options[option] != nil {
			continue
		}
		value := env[p.info.OptionEnv[option][i]]
		if option == "baseURL" {
			if !p.addressed {
				p.info.BaseURL = versioned(value, p.info.BaseURL, p.info.Protocol)
				p.addressed, p.addressFrom = true, p.info.OptionEnv[option][i]
			}
			continue
		}
		options = Merged(options, sdk.Object{option: value})
	}
	p.info.Options = options
	if !p.addressed {
		p.info.BaseURL = os.Expand(p.info.BaseURL, func(name string) string {
			return cmp.Or(env[name], "${"+name+"}")
		})
	}
}

// versioned returns an address of the environment with the version at the end of the usual address, such as /v1, if it lacks one: the official
// clients of Anthropic and Google add it to the address, and only those.
func versioned(address, usual, protocol string) string {
	if protocol != "anthropic-messages" && protocol != "gemini" {
		return address
	}
	address = strings.TrimSuffix(address, "/")
	last, version := path.Base(address), path.Base(usual)
	if strings.HasPrefix(last, "v1") || strings.HasPrefix(last, "v2") {
		return address
	}
	return address + "/" + version
}

// listed reports whether the configuration of a provider lets the model be used.
func (m *Models) listed(provider, id string) bool {
	c := m.o.Config.Provider[provider]
	return (len(c.Whitelist) == 0 || slices.Contains(c.Whitelist, id)) && !slices.Contains(c.Blacklist, id)
}

// configureServer applies the settings that decide the dialect of a model's server, and with it the rules.
func configureServer(m sdk.Model, c sdk.ModelConfig) sdk.Model {
	m.Family, m.ReleaseDate = cmp.Or(c.Family, m.Family), cmp.Or(c.ReleaseDate, m.ReleaseDate)
	setIf(&m.Reasoning, c.Reasoning)
	setIf(&m.Limit, c.Limit)
	if s := c.Provider; s != nil {
		m.BaseURL = cmp.Or(s.API, m.BaseURL)
		if s.NPM != "" {
			m.NPM, m.Protocol = s.NPM, npm.Protocol(s.NPM)
		}
	}
	var interleaved struct {
		Field string `json:"field"`
	}
	if json.Unmarshal(c.Interleaved, &interleaved) == nil && interleaved.Field != "" {
		m.ReasoningField = interleaved.Field
	}
	return m
}

func configureModel(m sdk.Model, c sdk.ModelConfig) sdk.Model {
	m.Name = cmp.Or(c.Name, m.Name)
	m.Status = cmp.Or(c.Status, m.Status)
	setIf(&m.Cost, c.Cost)
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
		m.Variants = Merged(m.Variants, nil)
	}
	for name, options := range c.Variants {
		m.Variants[name] = Merged(m.Variants[name], options)
		delete(m.Variants[name], "disabled")
		if options["disabled"] == true {
			delete(m.Variants, name)
		}
	}
	return m
}

// setIf sets a value that the configuration contains.
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
