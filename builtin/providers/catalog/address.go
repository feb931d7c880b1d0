package catalog

import (
	"cmp"
	"net/url"
	"os"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/vertex"
	"github.com/tenonhq/tenon/sdk"
)

// setAddress replaces the variables in a model's address, such as ${AWS_REGION}, by the provider's options. A variable without a value stays, and
// so does a variable whose value could name another server. The defaults come from opencode's provider/provider.ts.
func setAddress(provider *sdk.ProviderInfo, m *sdk.Model) {
	if !strings.Contains(m.BaseURL, "${") {
		return
	}
	label := func(option, otherwise string) string {
		value, _ := provider.Options[option].(string)
		if strings.ContainsFunc(value, func(r rune) bool { return r != '-' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z') }) {
			return ""
		}
		return cmp.Or(value, otherwise)
	}
	project, _ := provider.Options["project"].(string)
	location, resource := label("location", "us-central1"), label("resourceName", "")
	values := map[string]string{
		"AWS_REGION": label("region", "us-east-1"), "AZURE_RESOURCE_NAME": resource, "AZURE_COGNITIVE_SERVICES_RESOURCE_NAME": resource,
		"GOOGLE_VERTEX_PROJECT": url.PathEscape(project), "GOOGLE_VERTEX_LOCATION": location,
	}
	if location != "" {
		values["GOOGLE_VERTEX_ENDPOINT"] = vertex.Host(location)
	}
	m.BaseURL = os.Expand(m.BaseURL, func(name string) string { return cmp.Or(values[name], "${"+name+"}") })
}
