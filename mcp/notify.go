package mcp

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/tenonhq/tenon/internal/visible"
)

// notified handles a notification of the server. It is called on a reading goroutine and does not block.
func (p *Plugin) notified(method string, fields map[string]any) {
	switch method {
	case string(mcp.MethodNotificationToolsListChanged), string(mcp.MethodNotificationPromptsListChanged), "notifications/interceptors/list_changed":
		p.listsChanged()
	case string(mcp.MethodNotificationResourceUpdated):
		if uri, ok := fields["uri"].(string); ok {
			p.resourceUpdated(uri)
		}
	case "notifications/message":
		p.message(fields)
	}
}

// maxErrors is the number of errors of a server in tenon's log. The last one refers to the server's own log.
const maxErrors = 10

// message writes a log message of the server to the server's log, and the first serious ones also to tenon's log.
func (p *Plugin) message(fields map[string]any) {
	raw, _ := json.Marshal(fields["data"]) // it was JSON
	if text, ok := fields["data"].(string); ok {
		raw = []byte(text)
	}
	level, _ := fields["level"].(string)
	p.log.Print("message, "+visible.Strip(level), raw)
	log := p.logger.Debug
	switch level {
	case "error", "critical", "alert", "emergency":
		switch n := p.errors.Add(1); {
		case n < maxErrors:
			log = p.logger.Warn
		case n == maxErrors:
			p.logger.Warn("an MCP server reports many errors; further ones are only in its log", "server", p.server.Name, "fix", "tenon mcp logs "+visible.Word(p.server.Name))
		}
	}
	log("message of an MCP server", "server", p.server.Name, "level", visible.Strip(level), "text", visible.Bound(string(raw), 1<<10))
}
