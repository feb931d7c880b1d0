package mcp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/visible"
)

// maxSubscriptions is the maximum number of resources of a server that are subscribed to.
const maxSubscriptions = 50

// subscribe asks a server to announce changes of a resource that was read. An error is ignored: the server then announces none.
func (p *Plugin) subscribe(ctx context.Context, c *connection, uri string) {
	if resources := c.Hello().Capabilities.Resources; resources == nil || !resources.Subscribe {
		return
	}
	p.mu.Lock()
	_, known := p.read[uri]
	full := len(p.read) >= maxSubscriptions
	if known || !full {
		p.read[uri] = false
	}
	p.mu.Unlock()
	if !known && !full {
		_ = c.Subscribe(ctx, uri)
	}
}

// resubscribe repeats the subscriptions on a new connection. It misses changes in between.
func (p *Plugin) resubscribe(ctx context.Context, c *connection) {
	p.mu.Lock()
	list := slices.Sorted(maps.Keys(p.read))
	p.mu.Unlock()
	for _, uri := range list {
		if c.Subscribe(ctx, uri) != nil {
			return
		}
	}
}

// resourceUpdated takes note of a resource that changed.
func (p *Plugin) resourceUpdated(uri string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, read := p.read[uri]; read {
		p.read[uri] = true
	}
}

// outdated returns a text for the system prompt that names the resources that changed since they were read, or "" if none did.
// p.mu must be held.
func (p *Plugin) outdated() string {
	var list []string
	for _, uri := range slices.Sorted(maps.Keys(p.read)) {
		if p.read[uri] {
			list = append(list, visible.Bound(uri, 200))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf("Resources of the MCP server %s changed after they were read: %s", visible.Strip(p.server.Name), strings.Join(list, ", "))
}
