package mcp

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/mcp/interceptor"
	"github.com/tenonhq/tenon/sdk"
)

// offer is the part of a server's definition that is offered to the host.
type offer struct {
	Definition             // what may be used; empty if nothing is approved
	current    *Definition // the server's current definition; nil: not connected yet
	tools      []sdk.Tool
	withheld   []Withheld
}

// update rebuilds the offer if the server's definition changed (current is nil if it did not) or if another process stored an approval.
func (p *Plugin) update(current *Definition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	approved := false
	if stamp := p.pins().Stamp(p.server); stamp != p.stamp {
		pin, err := p.pins().Load(p.server)
		if err == nil && pin != nil { // else the last approval stays in use until the next start
			p.pin, p.stamp, approved = pin, stamp, true
		}
	}
	changed := current != nil && current != p.offer.current
	if changed {
		p.approve(current)
	}
	if changed || approved {
		p.rebuild(cmp.Or(current, p.offer.current))
	}
}

// rebuild sets the offer to the approved part of the current definition, or to the approved definition before the server is connected
// (current is nil). p.mu must be held.
func (p *Plugin) rebuild(current *Definition) {
	next := &offer{current: current}
	switch {
	case p.pin != nil:
		next.Definition, next.withheld = p.pin.Offer(cmp.Or(current, &p.pin.Definition))
	case current != nil:
		next.withheld = []Withheld{{Kind: "tool", Name: "*", Reason: "the server is not approved yet; approve it with " + p.remedy()}}
	}
	p.offer = next
	var names []string
	for _, t := range next.Tools {
		names = append(names, t.Name)
	}
	ids := toolIDs(p.server.Name, append(names, listResources, readResource))
	for i, t := range next.Tools {
		next.tools = append(next.tools, p.serverTool(t, ids[i]))
	}
	if next.Resources {
		next.tools = append(next.tools, p.resourceTools(ids[len(ids)-2], ids[len(ids)-1])...)
	}
	p.logWithheld()
}

// Offer returns the part of a definition that a run offers, and the rest: what differs from the approved definition, and tools that are
// unusable. If p is nil, the whole definition counts as approved.
func (p *Pin) Offer(from *Definition) (Definition, []Withheld) {
	if p == nil {
		p = newPin(from)
	}
	rest := Compare(&p.Definition, from)
	differs := map[string]bool{}
	for _, w := range rest {
		differs[w.Kind+" "+w.Name] = true
	}
	out := *from
	if differs["instructions "] {
		out.Instructions = p.Definition.Instructions
	}
	out.Prompts = slices.DeleteFunc(slices.Clone(from.Prompts), func(o Prompt) bool { return differs["prompt "+o.Name] })
	out.Interceptors = slices.DeleteFunc(slices.Clone(from.Interceptors), func(i interceptor.Spec) bool { return differs["interceptor "+i.Name] })
	out.Tools = nil
	for _, t := range from.Tools {
		if differs["tool "+t.Name] {
			continue
		}
		differs["tool "+t.Name] = true           // the first of a name counts
		if why, bad := p.Unusable[t.Name]; bad { // still true: the tool and its schema are the approved ones
			rest = append(rest, Withheld{Kind: "tool", Name: t.Name, Reason: why})
			continue
		}
		var err error
		if t.InputSchema, err = t.parameters(); err == nil {
			out.Tools = append(out.Tools, t)
		}
	}
	if from.More {
		rest = append(rest, Withheld{Kind: "tool", Name: "*", Reason: "the server has more tools or prompts than tenon reads; the others are left out"})
	}
	return out, rest
}

// mayCall returns an error unless the current definition of the item is the approved one, which the model saw.
func (p *Plugin) mayCall(c *connection, kind, name string) error {
	now := c.definition.Load()
	p.update(now)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.offer.has(kind, name):
		return nil
	case p.pin == nil:
		return errors.New("the server is not approved; approve it with " + p.remedy())
	case !now.has(kind, name):
		return fmt.Errorf("the server no longer has the %s %q", kind, name)
	}
	return fmt.Errorf("the %s %q is not what was approved; approve it again with %s", kind, name, p.remedy())
}

func (p *Plugin) remedy() string {
	return `"tenon mcp trust ` + visible.Word(p.server.Name) + `"`
}

// maxNamed is the maximum number of withheld items in tenon's log, because a server may announce new ones without end.
const maxNamed = 20

// logWithheld logs the items that are not offered, and why, each once. p.mu must be held.
func (p *Plugin) logWithheld() {
	for _, w := range p.offer.withheld {
		if p.named[w] || len(p.named) > maxNamed {
			continue
		}
		p.named[w] = true
		if len(p.named) > maxNamed {
			p.logger.Warn("further items of an MCP server are withheld", "server", p.server.Name, "fix", "tenon mcp trust "+visible.Word(p.server.Name))
			return
		}
		args := []any{"server", p.server.Name, "what", w.item()}
		if w.Diff == "" {
			args = append(args, "reason", w.Reason)
		} else {
			args = append(args, "reason", w.Reason+"; approve it with "+p.remedy(), "diff", strings.TrimRight(w.Diff, "\n"))
		}
		p.logger.Warn("withheld an item of an MCP server", args...)
	}
}
