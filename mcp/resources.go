package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/mcp/protocol"
	"github.com/tenonhq/tenon/sdk"
)

// resourceTools returns the tools for the resources of the server.
func (p *Plugin) resourceTools(listID, readID string) []sdk.Tool {
	const none, uri = `{"type":"object","properties":{}}`,
		`{"type":"object","properties":{"uri":{"type":"string","description":"the URI of the resource"}},"required":["uri"]}`
	list := fmt.Sprintf("Lists the resources of the MCP server %s, and the templates of further ones. Read one with %s.", p.server.Name, readID)
	read := fmt.Sprintf("Reads a resource of the MCP server %s. %s lists the resources.", p.server.Name, listID)
	return []sdk.Tool{
		p.newTool(listID, list, json.RawMessage(none), p.listResources), p.newTool(readID, read, json.RawMessage(uri), p.readResourceTool),
	}
}

// listed is a resource or a template in a server's list.
type listed struct {
	URI         string `json:"uri"`
	Template    string `json:"uriTemplate"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	MimeType    string `json:"mimeType"`
}

func (p *Plugin) listResources(ctx context.Context, _ *sdk.ToolCall) (*sdk.ToolResult, error) {
	var resources, templates []listed
	var more, moreTemplates bool
	_, err := p.ask(ctx, true, func(c *connection) (_ json.RawMessage, err error) {
		ctx, cancel := context.WithTimeout(ctx, p.server.Limit())
		defer cancel()
		if resources, more, err = readList[listed](c.List(ctx, "resources")); err != nil {
			return nil, err
		}
		templates, moreTemplates, err = readList[listed](c.ListOf(ctx, "resources/templates/list", "resourceTemplates"))
		if err != nil && !protocol.Broken(err) && ctx.Err() == nil {
			err = nil // the server has no such list
		}
		return nil, err
	})
	if err != nil {
		return nil, err
	}
	var b builder
	for _, r := range append(resources, templates...) {
		b.text(r.line())
	}
	if b.empty() {
		b.text("The server has no resources.")
	}
	if more || moreTemplates {
		b.text("[the server has more; the others are left out]")
	}
	return &sdk.ToolResult{Title: fmt.Sprintf("%d resources", len(resources)), Output: strings.ReplaceAll(b.String(), "\n\n", "\n")}, nil
}

func (l *listed) line() string {
	var parts []string
	for _, s := range []string{l.Title, l.Name, l.MimeType, l.Description} {
		if s = strings.Join(strings.Fields(s), " "); s != "" && (len(parts) == 0 || parts[len(parts)-1] != s) {
			parts = append(parts, s)
		}
	}
	uri := cmp.Or(l.URI, l.Template+" (template)")
	return uri + " - " + strings.Join(parts, ", ")
}

func (p *Plugin) readResourceTool(ctx context.Context, c *sdk.ToolCall) (*sdk.ToolResult, error) {
	var args struct {
		URI string `json:"uri"`
	}
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return nil, err
	}
	b, err := p.resource(ctx, args.URI, &protocol.Call{Session: c.SessionID, Host: c.Host})
	if err != nil {
		return nil, err
	}
	return &sdk.ToolResult{Title: visible.Bound(args.URI, 200), Output: b.String(), Attachments: b.files}, nil
}

// resource reads a resource.
func (p *Plugin) resource(ctx context.Context, uri string, on *protocol.Call) (*builder, error) {
	raw, err := p.ask(ctx, true, func(c *connection) (json.RawMessage, error) {
		raw, err := c.Ask(ctx, on, mcp.MethodResourcesRead, map[string]any{"uri": uri})
		if err == nil {
			p.subscribe(ctx, c, uri)
		}
		return raw, err
	})
	if err != nil {
		return nil, err
	}
	var result struct {
		Contents []*resourceText `json:"contents"`
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return nil, p.explain(ctx, fmt.Errorf("invalid resource %s: %w", uri, err))
	}
	b := &builder{}
	for _, r := range result.Contents {
		if r != nil {
			b.resource(r)
		}
	}
	if b.empty() {
		return nil, p.explain(ctx, fmt.Errorf("the resource %s is empty", uri))
	}
	return b, nil
}

// Reference resolves @server:uri.
func (p *Plugin) Reference(ctx context.Context, name string) (sdk.Parts, bool, error) {
	uri, ok := strings.CutPrefix(name, p.server.Name+":")
	if !ok { // a name that a prompt cannot contain
		uri, ok = strings.CutPrefix(name, identifier(p.server.Name)+":")
	}
	if !ok || uri == "" {
		return nil, false, nil
	}
	if o, pin := p.approved(); pin == nil && o.current == nil { // the prompt names a server that is still starting
		if _, err := p.connection(ctx); err != nil {
			return nil, true, p.explain(ctx, err)
		}
	}
	if o, _ := p.approved(); !o.Resources {
		return nil, false, nil
	}
	b, err := p.resource(ctx, uri, &protocol.Call{})
	if err != nil {
		return nil, true, err
	}
	return b.parts(), true, nil
}

// parts returns the collected text and files as parts of a prompt.
func (b *builder) parts() sdk.Parts {
	var parts sdk.Parts
	if b.out.Len() > 0 {
		parts = append(parts, &sdk.TextPart{Text: b.String(), Synthetic: true})
	}
	for _, f := range b.files {
		parts = append(parts, f)
	}
	return parts
}

// Commands returns the server's known prompts.
func (p *Plugin) Commands(context.Context) ([]sdk.Command, error) {
	var out []sdk.Command
	o, _ := p.approved()
	for _, prompt := range o.Prompts {
		description := cmp.Or(prompt.Description, prompt.Title)
		out = append(out, sdk.Command{
			Name: p.commandName(prompt.Name), Description: visible.Bound(description, 1<<10), Template: usage(&prompt), Source: "mcp",
			Origin: "MCP server " + p.server.Name,
		})
	}
	return out, nil
}

func (p *Plugin) commandName(prompt string) string {
	return identifier(p.server.Name) + ":" + identifier(prompt)
}

// usage returns the syntax of a prompt's command.
func usage(p *Prompt) string {
	words := make([]string, len(p.Arguments))
	for i, a := range p.Arguments {
		if words[i] = a.Name + "=…"; !a.Required {
			words[i] = "[" + words[i] + "]"
		}
	}
	return visible.Strip(strings.Join(words, " "))
}

// RenderCommand requests the text of a prompt from the server.
func (p *Plugin) RenderCommand(ctx context.Context, name, arguments string) (sdk.Parts, error) {
	prompt, ok := p.promptOf(name)
	if !ok {
		return nil, fmt.Errorf("MCP server %q has no prompt for the command %q", p.server.Name, name)
	}
	args, err := promptArguments(&prompt, arguments)
	if err != nil {
		return nil, fmt.Errorf("%w; want %s", err, usage(&prompt))
	}
	params := map[string]any{"name": prompt.Name}
	if len(args) > 0 {
		params["arguments"] = args
	}
	raw, err := p.ask(ctx, true, func(c *connection) (json.RawMessage, error) {
		return c.Ask(ctx, &protocol.Call{}, mcp.MethodPromptsGet, params)
	})
	if err != nil {
		return nil, err
	}
	parts, err := decodePromptResult(raw)
	if err != nil {
		return nil, p.explain(ctx, fmt.Errorf("prompt %q: %w", prompt.Name, err))
	}
	return parts, nil
}

// CompleteCommand returns the server's suggestions for an argument of a prompt, or for a mention of a resource.
func (p *Plugin) CompleteCommand(ctx context.Context, name, arguments string) ([]string, error) {
	if name == "@" {
		return p.completeReference(ctx, arguments)
	}
	prompt, ok := p.promptOf(name)
	if !ok {
		return nil, nil
	}
	argument, value, prefix, given, ok := prompt.open(arguments)
	if !ok {
		return nil, nil
	}
	c, err := p.connection(ctx)
	if err != nil || c.Hello().Capabilities.Completions == nil {
		return nil, err
	}
	list, err := c.Complete(ctx, prompt.Name, argument, value, given)
	for i := range list {
		list[i] = prefix + quoted(list[i])
	}
	return list, err
}

// completeReference returns the mentions of resources that begin with a text.
func (p *Plugin) completeReference(ctx context.Context, text string) (words []string, err error) {
	server, _, _ := strings.Cut(text, ":")
	if o, _ := p.approved(); !o.Resources || server != "@"+p.server.Name && server != "@"+identifier(p.server.Name) {
		return nil, nil
	}
	c, err := p.connection(ctx)
	if err != nil {
		return nil, err
	}
	resources, _, err := readList[listed](c.List(ctx, "resources"))
	for _, r := range resources {
		if word := server + ":" + r.URI; strings.HasPrefix(word, text) {
			words = append(words, word)
		}
	}
	return words, err
}

func (p *Plugin) promptOf(command string) (Prompt, bool) {
	o, _ := p.approved()
	for _, prompt := range o.Prompts {
		if p.commandName(prompt.Name) == command {
			return prompt, true
		}
	}
	return Prompt{}, false
}

// decodePromptResult converts the messages of a prompt to parts. It marks messages of the assistant.
func decodePromptResult(raw json.RawMessage) (sdk.Parts, error) {
	var result struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return nil, fmt.Errorf("invalid text: %w", err)
	}
	b := &builder{}
	for _, m := range result.Messages {
		if m.Role == sdk.RoleAssistant {
			b.text("Assistant:")
		}
		b.add(m.Content)
	}
	if b.empty() {
		return nil, errors.New("the text is empty")
	}
	parts := b.parts()
	if text, ok := parts[0].(*sdk.TextPart); ok {
		text.Synthetic = false
	}
	return parts, nil
}
