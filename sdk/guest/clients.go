package guest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/tenonhq/tenon/sdk"
)

// maxClients is the maximum number of model clients that are kept; a host uses one for each provider.
const maxClients = 32

// clients are the open model clients of a plugin's protocols, by connection; every request names its connection.
type clients struct {
	mu   sync.Mutex
	open map[[3]string]sdk.ModelClient
}

// client returns the client for a connection.
func (g *Guest) client(to *Connection) (sdk.ModelClient, error) {
	key := [3]string{to.Protocol, string(to.Provider), to.Key}
	c := &g.clients
	c.mu.Lock()
	defer c.mu.Unlock()
	if client := c.open[key]; client != nil {
		return client, nil
	}
	client, err := g.openClient(to)
	if err != nil {
		return nil, err
	}
	if c.open == nil || len(c.open) == maxClients {
		c.open = map[[3]string]sdk.ModelClient{}
	}
	c.open[key] = client
	return client, nil
}

func (g *Guest) openClient(to *Connection) (sdk.ModelClient, error) {
	var info sdk.ProviderInfo
	if err := json.Unmarshal(to.Provider, &info); err != nil {
		return nil, fmt.Errorf("provider: %w", err)
	}
	info.Key = to.Key
	if source, ok := g.plugin.(sdk.ProtocolSource); ok {
		for _, protocol := range source.Protocols() {
			if protocol.Name == to.Protocol {
				return protocol.Open(info)
			}
		}
	}
	return nil, fmt.Errorf("the plugin has no protocol %q", to.Protocol)
}

// models lists the models of a provider. Errors: ErrNoMethod if its protocol cannot list them.
func (g *Guest) models(ctx context.Context, of *Connection) ([]sdk.Model, error) {
	client, err := g.client(of)
	if err != nil {
		return nil, err
	}
	lister, ok := client.(sdk.ModelLister)
	if !ok {
		return nil, fmt.Errorf("%w: the protocol has no list of models", ErrNoMethod)
	}
	return lister.ListModels(ctx)
}
