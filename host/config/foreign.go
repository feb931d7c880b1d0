package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/requestfield"
	"github.com/tenonhq/tenon/sdk"
)

// foreign returns the providers whose address a file of the project set, each with the place. A cloned repository must not cause the user's keys
// to be sent to its address: a key from another layer, or one that the file takes from the environment or another file, is a problem.
func (l *loader) foreign(cfg *sdk.Config, origins map[string]Origin) map[string]string {
	found, keys := map[string]string{}, slices.Sorted(maps.Keys(origins))
	for _, id := range slices.Sorted(maps.Keys(cfg.Provider)) {
		key := checked.Join("provider", id)
		at, address := projectAddress(cfg.Provider[id], key, origins)
		if address == "" {
			continue
		}
		found[id] = at.String()
		for _, k := range keys {
			if checked.Under(k, key) && l.mayNotLeave(k, key, origins[k]) {
				l.bad(k, origins, "would be sent to "+hostOf(address)+", an address that a file of the project chose ("+at.String()+")",
					"put the provider into your own configuration, in "+l.opts.ConfigDir)
			}
		}
	}
	return found
}

// projectAddress returns the address of the provider at key that a file of the project set, and the place; an empty address if none did.
func projectAddress(p sdk.ProviderConfig, key string, origins map[string]Origin) (at Origin, address string) {
	chosen := map[string]string{key + ".options.baseURL": p.Options.BaseURL}
	for _, name := range requestfield.Addresses() {
		chosen[key+".options."+name] = string(p.Options.Extra[name])
	}
	for id, m := range p.Models {
		if m.Provider != nil {
			chosen[checked.Join(key+".models", id)+".provider.api"] = m.Provider.API
		}
	}
	for _, k := range slices.Sorted(maps.Keys(chosen)) {
		if chosen[k] != "" && origins[k].Layer == LayerProject {
			return origins[k], chosen[k]
		}
	}
	return Origin{}, ""
}

// mayNotLeave reports whether the value at k, under the provider at key, belongs to the user.
func (l *loader) mayNotLeave(k, key string, from Origin) bool {
	more, borrowed := l.borrowed[k]
	switch {
	case k == key+".options.baseURL" || checked.Under(k, key+".models") && strings.HasSuffix(k, ".provider.api"):
		return more
	case k == key+".options.apiKey" || checked.Under(k, key+".options.headers"):
		return borrowed || from.Layer != LayerProject
	}
	return borrowed
}

// hostOf returns the host of an address, without parts that may be secrets.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return "another machine"
	}
	return u.Hostname()
}

// Translation is the translated configuration of another program.
type Translation struct {
	Config []byte // the text of a tenon.json
	Notes  []Note // in the order of the lines
}

// Note is about a value that was not imported or was changed.
type Note struct {
	Line   int    // in the text, from 1; 0 without a line
	Key    string // such as agent.build.mode; empty without a key
	Reason string
}

// String returns the note as one line.
func (n Note) String() string {
	text := n.Reason
	if n.Key != "" {
		text = n.Key + ": " + text
	}
	if n.Line > 0 {
		text = fmt.Sprintf("line %d: %s", n.Line, text)
	}
	return text
}
