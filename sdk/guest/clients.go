package guest

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/tenonhq/tenon/sdk"
)

// maxClients is the maximum number of model clients that are kept; a host uses one for each provider.
const maxClients = 32

// Clients opens and keeps the model clients of a plugin's protocols: every request names its connection. It may be used concurrently.
type Clients struct {
	plugin sdk.Plugin

	mu   sync.Mutex
	open map[[3]string]sdk.ModelClient
}

// NewClients returns the clients of a plugin.
func NewClients(p sdk.Plugin) *Clients { return &Clients{plugin: p} }

// Client returns the client for a connection: the name of the protocol, the provider as JSON, and its API key.
func (c *Clients) Client(protocol string, provider []byte, apiKey string) (sdk.ModelClient, error) {
	key := [3]string{protocol, string(provider), apiKey}
	c.mu.Lock()
	defer c.mu.Unlock()
	if client := c.open[key]; client != nil {
		return client, nil
	}
	client, err := c.make(protocol, provider, apiKey)
	if err != nil {
		return nil, err
	}
	if c.open == nil || len(c.open) == maxClients {
		c.open = map[[3]string]sdk.ModelClient{}
	}
	c.open[key] = client
	return client, nil
}

func (c *Clients) make(name string, provider []byte, apiKey string) (sdk.ModelClient, error) {
	var info sdk.ProviderInfo
	if err := json.Unmarshal(provider, &info); err != nil {
		return nil, fmt.Errorf("provider: %w", err)
	}
	info.Key = apiKey
	if source, ok := c.plugin.(sdk.ProtocolSource); ok {
		for _, protocol := range source.Protocols() {
			if protocol.Name == name {
				return protocol.Open(info)
			}
		}
	}
	return nil, fmt.Errorf("the plugin has no protocol %q", name)
}
