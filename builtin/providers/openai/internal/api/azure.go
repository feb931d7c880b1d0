package api

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// azure is the address form of Azure OpenAI.
type azure struct {
	deployments bool   // the older addresses: a path for each deployment
	own         bool   // an address of Azure itself, not of a gateway
	version     string // of the API
}

// setup reads the options of Azure and sets the base URL from the resource's name.
func (a *azure) setup(info *sdk.ProviderInfo, r *wire.Options) error {
	if info.NPM != Azure {
		return nil
	}
	a.version = "v1"
	resource := ""
	wire.Read(r, "resourceName", wire.AnyCaseLabel, &resource)
	wire.Read(r, "apiVersion", wire.String, &a.version)
	wire.Read(r, "useDeploymentBasedUrls", wire.Bool, &a.deployments)
	wire.Read(r, "useCompletionUrls", wire.Bool, new(bool)) // see Completions
	if err := r.Err(); err != nil {
		return err
	}
	if resource != "" {
		info.BaseURL = strings.Replace(info.BaseURL, "${AZURE_COGNITIVE_SERVICES_RESOURCE_NAME}", resource, 1)
	}
	if info.BaseURL == "" {
		if resource == "" {
			return fmt.Errorf("the resource is missing: set provider.%s.options.resourceName or AZURE_RESOURCE_NAME", info.ID)
		}
		info.BaseURL = "https://" + resource + ".openai.azure.com/openai"
	}
	base, err := url.Parse(info.BaseURL)
	a.own = err == nil && strings.HasSuffix(base.Hostname(), ".azure.com")
	return nil
}

// Completions reports whether the provider uses Chat Completions instead of Responses.
func Completions(info *sdk.ProviderInfo) bool {
	return info.NPM == Azure && info.Options["useCompletionUrls"] == true
}

// Path returns the path of a request below the base URL.
func (c *Client) Path(path string, m *sdk.Model) string {
	a := &c.azure
	switch {
	case !a.own:
		return path
	case a.deployments:
		path = "deployments/" + wire.Segment(wire.APIName(m)) + "/" + path
	case !strings.HasSuffix(strings.TrimSuffix(c.Info.BaseURL, "/"), "/v1"):
		path = "v1/" + path
	}
	return path + "?api-version=" + url.QueryEscape(a.version)
}
