package remote

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// Providers returns the providers of a description that can be used with the grants, and the reasons why the others are left out. Keys,
// options and addresses contain only variables that a grant of env or secret names, and protocols do not use credentials that they find
// themselves. Providers of plugins are never local: the host sends requests to local servers before the user chooses one.
func Providers(d *sdk.Description, grants []sdk.Capability) (usable []sdk.ProviderInfo, leftOut []string) {
	for _, info := range d.Providers {
		refused := withheld(addressVariables(info.BaseURL), grants)
		keys := withheld(info.Env, grants)
		if len(keys) == len(info.Env) {
			refused = append(refused, keys...) // a provider with a key must not become a provider without one
		}
		if len(refused) > 0 {
			leftOut = append(leftOut, fmt.Sprintf(
				"provider %s: variable %s is not granted; its manifest must request the capability secret (or env) with this name, and you must grant it",
				info.ID, strings.Join(refused, ", ")))
			continue
		}
		info.Local, info.KeyOnly = false, true
		info.Env = granted(info.Env, grants)
		info.OptionEnv = maps.Clone(info.OptionEnv)
		maps.DeleteFunc(info.OptionEnv, func(option string, names []string) bool {
			info.OptionEnv[option] = granted(names, grants)
			return len(info.OptionEnv[option]) == 0
		})
		usable = append(usable, info)
	}
	return usable, leftOut
}

// addressVariables returns the variables in an address.
func addressVariables(address string) (names []string) {
	os.Expand(address, func(name string) string {
		names = append(names, name)
		return ""
	})
	return names
}

// granted returns the variables that a grant of env or secret names.
func granted(names []string, grants []sdk.Capability) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !Names(grants, name, sdk.CapabilityEnv, sdk.CapabilitySecret) })
}

// withheld returns the variables that granted leaves out.
func withheld(names []string, grants []sdk.Capability) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return Names(grants, name, sdk.CapabilityEnv, sdk.CapabilitySecret) })
}

// Names reports whether a capability with one of the names has the entry in its scope.
func Names(list []sdk.Capability, entry string, names ...string) bool {
	return slices.ContainsFunc(list, func(c sdk.Capability) bool { return slices.Contains(names, c.Name) && slices.Contains(c.Scope, entry) })
}
