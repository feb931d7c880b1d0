package config

import (
	"maps"
	"net/url"
	"slices"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/requestfield"
	"github.com/tenonhq/tenon/sdk"
)

// foreign finds the providers whose address a file of the project chose, on this machine or another. A
// cloned repository must not have the user's keys sent to an address of its own: a key that
// comes from elsewhere, or that the file borrows from the environment or another file, is a problem. The
// result says for each such provider where its address was set.
func (l *loader) foreign(cfg *sdk.Config, origins map[string]Origin) map[string]string {
	found := map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(cfg.Provider)) {
		key := checked.Join("provider", id)
		at, address := projectAddress(cfg.Provider[id], key, origins)
		if address == "" {
			continue
		}
		found[id] = at.String()
		for _, k := range slices.Sorted(maps.Keys(origins)) {
			if l.mayNotLeave(k, key, origins[k]) {
				l.bad(k, origins, "would be sent to "+hostOf(address)+", an address that a file of the project chose ("+at.String()+")",
					"put the provider into your own configuration, in "+l.opts.ConfigDir)
			}
		}
	}
	return found
}

// projectAddress returns the address of the provider at key that a file of the project chose, and where, or "".
func projectAddress(p sdk.ProviderConfig, key string, origins map[string]Origin) (at Origin, address string) {
	chosen := map[string]string{key + ".options.baseURL": p.Options.BaseURL, key + ".api": p.Options.BaseURL}
	for _, name := range requestfield.Addresses() {
		chosen[key+".options."+name] = string(p.Options.Extra[name])
	}
	for id, m := range p.Models {
		if m.Provider != nil {
			chosen[checked.Join(checked.Join(key+".models", id), "provider.api")] = m.Provider.API
		}
	}
	for _, k := range slices.Sorted(maps.Keys(chosen)) {
		if chosen[k] != "" && origins[k].Layer == LayerProject {
			return origins[k], chosen[k]
		}
	}
	return Origin{}, ""
}

// mayNotLeave reports whether the value at k, of the provider at key, is the user's or was borrowed from the user.
func (l *loader) mayNotLeave(k, key string, from Origin) bool {
	more, borrowed := l.borrowed[k]
	switch {
	case !under(k, key):
		return false
	case k == key+".options.baseURL" || k == key+".api":
		return more
	case k == key+".options.apiKey" || under(k, key+".options.headers"):
		return borrowed || from.Layer != LayerProject
	}
	return borrowed
}

// hostOf returns the machine of an address: what stands beside it may be a secret.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return "another machine"
	}
	return u.Hostname()
}
