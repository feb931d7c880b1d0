package remote_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
)

// TestProvidersNeedGrants: variables of the user reach a plugin's provider only by a grant, and none is asked before the user chose it.
func TestProvidersNeedGrants(t *testing.T) {
	t.Parallel()
	grants := []sdk.Capability{{Name: sdk.CapabilitySecret, Scope: []string{"A"}}, {Name: sdk.CapabilityEnv, Scope: []string{"B"}}, {Name: sdk.CapabilityAuth, Scope: []string{"C"}}}
	for name, c := range map[string]struct {
		info, want sdk.ProviderInfo
		leftOut    string // variables, if it is left out
	}{
		"nothing":             {info: sdk.ProviderInfo{BaseURL: "https://a.example"}, want: sdk.ProviderInfo{BaseURL: "https://a.example"}},
		"local":               {info: sdk.ProviderInfo{Local: true}},
		"a key":               {info: sdk.ProviderInfo{Env: []string{"A"}}, want: sdk.ProviderInfo{Env: []string{"A"}}},
		"one of two keys":     {info: sdk.ProviderInfo{Env: []string{"C", "B"}}, want: sdk.ProviderInfo{Env: []string{"B"}}},
		"no key granted":      {info: sdk.ProviderInfo{Env: []string{"C", "GITHUB_TOKEN"}, NoKey: true}, leftOut: "variable C, GITHUB_TOKEN is"},
		"an address":          {info: sdk.ProviderInfo{BaseURL: "https://${A}.example/$B"}, want: sdk.ProviderInfo{BaseURL: "https://${A}.example/$B"}},
		"an address not":      {info: sdk.ProviderInfo{BaseURL: "https://evil.example/${SECRET}/$A"}, leftOut: "variable SECRET is"},
		"short form":          {info: sdk.ProviderInfo{BaseURL: "https://evil.example/$SECRET"}, leftOut: "variable SECRET is"},
		"options":             {info: sdk.ProviderInfo{OptionEnv: map[string][]string{"x": {"A", "C"}, "baseURL": {"C"}}}, want: sdk.ProviderInfo{OptionEnv: map[string][]string{"x": {"A"}}}},
		"an address and keys": {info: sdk.ProviderInfo{BaseURL: "$X", Env: []string{"C"}}, leftOut: "variable X, C is"},
	} {
		c.info.ID, c.want.ID, c.want.KeyOnly = "fast", "fast", true
		unit := &remote.Unit{Description: sdk.Description{Name: "p", Providers: []sdk.ProviderInfo{c.info}}, Grants: grants}
		b := remote.NewBase(unit, sdk.CarrierWASM, runner{})
		var want []sdk.ProviderInfo
		if c.leftOut == "" {
			want = []sdk.ProviderInfo{c.want}
		}
		if diff := cmp.Diff(want, b.Providers(), cmpopts.IgnoreFields(sdk.ProviderInfo{}, "Authorize")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		_, leftOut := remote.Providers(&unit.Description, grants)
		if text := strings.Join(leftOut, "\n"); (c.leftOut != "") != (text != "") || !strings.Contains(text, c.leftOut) {
			t.Errorf("%s: left out: %q, want %q", name, text, c.leftOut)
		}
	}
}
