package catalog

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// SmallModel returns the newest model of the first family that has one, as opencode's provider/provider.ts does. Models whose output is not only
// text cannot write titles.
func (*Plugin) SmallModel(provider *sdk.ProviderInfo, of *sdk.Model, models map[string]sdk.Model) string {
	newest := slices.SortedFunc(maps.Values(models), func(a, b sdk.Model) int {
		return cmp.Or(strings.Compare(b.ReleaseDate, a.ReleaseDate), strings.Compare(b.ID, a.ID))
	})
	for _, family := range smallFamilies(provider.ID) {
		for _, prefix := range smallPrefixes(provider, of) {
			i := slices.IndexFunc(newest, func(m sdk.Model) bool {
				return m.Family == family && strings.HasPrefix(m.ID, prefix) && !slices.ContainsFunc(m.Modalities.Output, func(kind string) bool { return kind != "text" })
			})
			if i >= 0 {
				return newest[i].ID
			}
		}
	}
	return ""
}

// smallFamilies returns the families of small models at a provider, the preferred first.
func smallFamilies(provider string) []string {
	families := []string{"gemini-flash", "gpt-nano", "claude-haiku"}
	switch {
	case strings.HasPrefix(provider, "azure"): // users choose the names of their deployments, so the available models are unknown
		return nil
	case strings.HasPrefix(provider, "opencode"):
		return []string{"gpt-nano"}
	case strings.HasPrefix(provider, "github-copilot"):
		return append([]string{"gpt-mini"}, families...)
	}
	return families
}

// smallPrefixes returns the prefixes of small models' IDs, the preferred first. At Bedrock, the prefix is the inference profile of the model in
// use, such as "eu.": a title must not leave the region that the user chose. Without a profile, the format adds the region's profile.
func smallPrefixes(provider *sdk.ProviderInfo, of *sdk.Model) []string {
	if provider.NPM != bedrock {
		return []string{""}
	}
	profile, _, _ := strings.Cut(of.ID, ".")
	return []string{profile + ".", "anthropic."}
}
