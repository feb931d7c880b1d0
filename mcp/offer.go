package mcp

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/mcp/interceptor"
	"github.com/tenonhq/tenon/sdk"
)

// offer is the part of a server's definition that is offered to the host.
type offer struct {
	current      *Definition // nil: not connected yet
	tools        []sdk.Tool
	prompts      []Prompt
	instructions string
	resources    bool
	interceptors []interceptor.Spec
	withheld     []withheld
	approved     map[string]bool // "tool NAME" and "interceptor NAME": may be called
}

// withheld is an item of a server that is not offered to the host.
type withheld struct {
	Kind   string // tool, prompt, interceptor or instructions
	Name   string
	Reason string
	Diff   string // from the approved item
}

// update sets the offer to the approved part of the current definition, or to the approved definition before the server is
// connected (current is nil).
func (p *Plugin) update(current *Definition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.approve(current)
	p.rebuild(current)
}

// rebuild makes the offer from the approval and the definition. p.mu must be held.
func (p *Plugin) rebuild(current *Definition) {
	next := p.makeOffer(current)
	p.logWithheld(next.withheld)
	p.offer = next
}

func (p *Plugin) makeOffer(current *Definition) *offer {
	next := &offer{current: current, approved: map[string]bool{}}
	from := current
	if p.pin == nil {
		if current != nil {
			next.withheld = []withheld{{Kind: "tool", Name: "*", Reason: "the server is not approved yet; approve it with " + p.remedy()}}
		}
		return next
	}
	var differences []Difference
	if from == nil {
		from = &p.pin.Definition
	} else {
		differences = Compare(&p.pin.Definition, from)
	}
	differs := map[string]bool{}
	for _, d := range differences {
		differs[d.Kind+" "+d.Name] = true
		reason := "changed since it was approved"
		if d.New {
			reason = "is not part of the approved definition"
		}
		next.withheld = append(next.withheld, withheld{d.Kind, d.Name, reason + "; approve it with " + p.remedy(), d.Diff})
	}
	next.resources, next.instructions = from.Resources, from.Instructions
	if differs["instructions "] {
		next.instructions = p.pin.Definition.Instructions
	}
	for _, prompt := range from.Prompts {
		if !differs["prompt "+prompt.Name] {
			next.prompts = append(next.prompts, prompt)
		}
	}
	for _, i := range from.Interceptors {
		if !differs["interceptor "+i.Name] {
			next.interceptors = append(next.interceptors, i)
			next.approved["interceptor "+i.Name] = true
		}
	}
	p.offerTools(next, from, differs)
	return next
}

// mayCall returns an error unless the current definition of the item is the approved one, which the model saw.
func (p *Plugin) mayCall(c *connection, kind, name string) error {
	now := c.definition()
	p.reload()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.offer.current != now {
		p.approve(now)
		p.rebuild(now)
	}
	switch {
	case p.offer.approved[kind+" "+name]:
		return nil
	case p.pin == nil:
		return errors.New("the server is not approved; approve it with " + p.remedy())
	}
	if _, there := now.tool(name); kind == "tool" && !there {
		return fmt.Errorf("the server no longer has a tool %q", name)
	}
	return fmt.Errorf("the %s %q is not what was approved; approve it again with %s", kind, name, p.remedy())
}

func (p *Plugin) remedy() string {
	return fmt.Sprintf("\"tenon mcp trust %s\"", p.server.Name)
}

// offerTools adds the approved tools and those for the server's resources.
func (p *Plugin) offerTools(next *offer, from *Definition, differs map[string]bool) {
	approved, unusable := p.pin.available(from, differs)
	next.withheld = append(next.withheld, unusable...)
	names := make([]string, 0, len(approved)+2)
	for _, t := range approved {
		names = append(names, t.Name)
		next.approved["tool "+t.Name] = true
	}
	ids := toolIDs(p.server.Name, append(names, listResources, readResource))
	for i, t := range approved {
		next.tools = append(next.tools, &tool{plugin: p, tool: t, id: ids[i]})
	}
	if next.resources {
		next.tools = append(next.tools, p.resourceTools(ids[len(ids)-2], ids[len(ids)-1])...)
	}
}

// available returns the tools of a definition that are offered, and those of the others that are what was approved, but unusable.
func (p *Pin) available(from *Definition, differs map[string]bool) (tools []Tool, unusable []withheld) {
	seen := map[string]bool{}
	for _, t := range from.Tools {
		if differs["tool "+t.Name] || seen[t.Name] {
			continue
		}
		seen[t.Name] = true
		if why, bad := p.Unusable[t.Name]; bad { // the tool is what was approved, and so is its schema
			unusable = append(unusable, withheld{Kind: "tool", Name: visible.Strip(t.Name), Reason: why})
			continue
		}
		parameters, err := t.parameters()
		if err != nil {
			continue // unusable
		}
		t.InputSchema = parameters
		tools = append(tools, t)
	}
	return tools, unusable
}

// Available returns the tools of a definition that a run offers, and the names of unusable ones with the reasons. Others differ from the
// approved definition, see Compare; if pin is nil, none does.
func Available(pin *Pin, from *Definition) (tools []Tool, unusable map[string]string) {
	if pin == nil {
		pin = newPin(from)
	}
	differs := map[string]bool{}
	for _, d := range Compare(&pin.Definition, from) {
		differs[d.Kind+" "+d.Name] = true
	}
	tools, list := pin.available(from, differs)
	unusable = map[string]string{}
	for _, w := range list {
		unusable[w.Name] = w.Reason
	}
	return tools, unusable
}

// logWithheld logs the items that are not offered, and why, each once. p.mu must be held.
func (p *Plugin) logWithheld(list []withheld) {
	for _, w := range list {
		if p.named[w] {
			continue
		}
		p.named[w] = true
		what := w.Kind
		if w.Name != "" {
			what += " " + visible.Strip(w.Name)
		}
		args := []any{"server", p.server.Name, "what", what, "reason", w.Reason}
		if w.Diff != "" {
			args = append(args, "diff", strings.TrimRight(w.Diff, "\n"))
		}
		p.logger.Warn("withheld an item of an MCP server", args...)
	}
}
