// Package tools lists the tools that a model can call in a step (set.go), and hides some of them behind a search (search.go). For the path of a
// call, which host/toolcall.go has, it checks arguments against schemas (schemas.go), lists the permissions a call needs (requests.go) and the files
// it may write (writes.go), detects repeating calls (doom.go), and makes the outcome (outcome.go), with limited output (output.go).
package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/ask"
	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/host/tasks"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// Structured is the tool through which a model gives an answer that must meet a schema.
const Structured = "StructuredOutput"

// maxToolTimeout bounds the deadline that a tool sets for its calls.
const maxToolTimeout = 10 * time.Minute

// Maximum size of the list of subagents in the description of the task tool, and of each description in it, in bytes; of a name in
// characters.
const (
	maxSubagents   = 24 << 10
	maxName        = 128
	maxDescription = 1024
)

// Tool is one tool of a step.
type Tool struct {
	sdk.Tool
	Def     sdk.ToolDefinition // before the hooks: what calls are checked against
	Origin  sdk.Origin
	Timeout time.Duration // 0: the tool bounds itself
	Hidden  bool          // behind tool_search, and not found yet

	permission string // the key of its permission
}

// Scope is the input of New and All. It is not changed.
type Scope struct {
	*ask.Setup
	Listed  map[string]bool // the prompt's switches of tools, by id: false removes one
	Schemas *Schemas
	Ledger  *hooks.Ledger // of the step
	// Schema is the schema of the structured answer that the prompt requests; nil: none. Accept receives the answer.
	Schema json.RawMessage
	Accept func(answer json.RawMessage)
}

// Set holds the tools that can be called in one step.
type Set struct {
	*Scope
	tools       map[string]*Tool
	removed     []*Tool              // by a rule
	Definitions []sdk.ToolDefinition // for the model: without hidden tools, after the hooks, sorted by id
}

// New returns the tools that the model can call in a step. messages contain the hidden tools that it found.
func New(ctx context.Context, scope *Scope, messages []sdk.MessageWithParts) (*Set, error) {
	s := &Set{Scope: scope, tools: map[string]*Tool{}}
	if s.Model.ToolCall {
		all := s.gather(ctx)
		if task := s.tools[tasks.TaskTool]; task != nil {
			task.Def.Description += s.Subagents
		}
		s.hide(all, messages)
	}
	if s.Schema != nil {
		s.tools[Structured] = ofHost(sdk.ToolDefinition{
			ID: Structured, Parameters: s.Schema, // the schema check of the arguments does the work
			Description: "Give the final answer through this tool, exactly once, when all the work is done. Its arguments are the answer.",
		}, func(_ context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
			s.Accept(call.Args)
			return &sdk.ToolResult{Title: "Structured output", Output: "The answer was accepted.", Metadata: sdk.Object{"valid": true}}, nil
		})
	}
	for _, one := range s.tools {
		if !one.Hidden {
			s.Definitions = append(s.Definitions, one.Def)
		}
	}
	slices.SortFunc(s.Definitions, func(a, b sdk.ToolDefinition) int { return strings.Compare(a.ID, b.ID) })
	for i := range s.Definitions {
		def := &s.Definitions[i]
		if err := s.transform(ctx, s.tools[def.ID].Origin, def); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Subagents returns a list of the agents that the model may call. Those without a description wait for the user to name them.
func Subagents(agents []sdk.Agent, rules *permission.Rules) string {
	var out strings.Builder
	more := 0
	for _, a := range agents {
		switch {
		case a.Description == "", visible.Clean(a.Name, maxName) != a.Name, rules.Decide(tasks.TaskTool, a.Name).Action == sdk.ActionDeny:
		case out.Len() > maxSubagents:
			more++
		default:
			text := visible.Cut(visible.Strip(strings.Join(strings.Fields(a.Description), " ")), maxDescription, "…")
			fmt.Fprintf(&out, "\n- %s: %s", a.Name, text)
		}
	}
	if more > 0 {
		fmt.Fprintf(&out, "\n- and %d more", more)
	}
	if out.Len() == 0 {
		return ""
	}
	return "\nThe subagents (subagent_type) and what they are for:" + out.String()
}

// All returns all tools that the agent may call, none of them hidden, without the hooks at tool.definition: for calls that the model does not make.
func All(ctx context.Context, scope *Scope) *Set {
	s := &Set{Scope: scope, tools: map[string]*Tool{}}
	s.gather(ctx)
	return s
}

// gather puts the tools of all plugins that the agent may call into the set and returns them in the order of the plugins. A later
// plugin's tool replaces an earlier one of the same id.
func (s *Set) gather(ctx context.Context) []*Tool {
	var all []*Tool
	for _, p := range s.Generation.Plugins {
		source, ok := p.Value.(sdk.ToolSource)
		if !ok {
			continue
		}
		m, agent := s.Model.Model, s.Agent // the plugin may keep them
		offered := generation.Contributions(ctx, p, "tools", func(context.Context) ([]*Tool, error) {
			return offeredBy(p, source, &m, &agent), nil
		})
		for _, one := range offered {
			if s.admits(p, one) {
				s.tools[one.Def.ID] = one
				all = append(all, one)
			}
		}
	}
	return slices.DeleteFunc(all, func(one *Tool) bool { return s.tools[one.Def.ID] != one })
}

// hostTool is a tool of the host itself. Its calls require no permission.
type hostTool struct{ sdk.Tool }

func (hostTool) Prepare(context.Context, *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	return nil, nil
}

func ofHost(def sdk.ToolDefinition, run func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error)) *Tool {
	return &Tool{Tool: hostTool{sdk.FuncTool(def, run)}, Def: def, Origin: sdk.Origin{Carrier: sdk.CarrierBuiltin, Plugin: "tenon"}, permission: def.ID}
}

// offeredBy asks a plugin for the tools that are available to a model and an agent.
func offeredBy(p *generation.Plugin, source sdk.ToolSource, model *sdk.Model, agent *sdk.Agent) []*Tool {
	var out []*Tool
	for _, one := range source.Tools() {
		if a, ok := one.(sdk.ToolAvailability); ok && !a.Available(model, agent) {
			continue
		}
		t := &Tool{Tool: one, Def: one.Definition(), Origin: p.Origin(), Timeout: deadline(p, one)}
		t.permission = t.Def.ID
		if keyed, ok := one.(sdk.ToolPermission); ok {
			t.permission = keyed.Permission()
		}
		out = append(out, t)
	}
	return out
}

// deadline returns the limit of a call; 0 for compiled-in tools without one, which bound themselves.
func deadline(p *generation.Plugin, one sdk.Tool) time.Duration {
	if d, ok := one.(sdk.ToolDeadline); ok {
		if own := d.Deadline(); own > 0 {
			return min(own, maxToolTimeout)
		}
	}
	if p.Builtin() {
		return 0
	}
	return sdk.DefaultToolTimeout
}

// admits reports whether the agent may call the tool in this turn. Tools of plugins with an invalid definition are left out, with a notice.
func (s *Set) admits(p *generation.Plugin, one *Tool) bool {
	id := one.Def.ID
	if allowed, said := s.Listed[id]; said && !allowed {
		return false
	}
	if s.Rules.Removed(one.permission) {
		s.removed = append(s.removed, one)
		return false
	}
	if p.Builtin() {
		return true
	}
	var err error
	one.Def.Parameters = s.Schemas.object(one.Def.Parameters)
	switch {
	case !generation.IsToolID(id):
		err = fmt.Errorf("an id has 1 to 64 letters, digits, - and _, not %q", id)
	case one.Def.Parameters == nil:
		err = errors.New("parameters must be a JSON schema of type object")
	default:
		return true
	}
	p.LeaveOut(fmt.Sprintf("tool %q", id), err)
	return false
}

// transform runs the hooks at tool.definition over a definition.
func (s *Set) transform(ctx context.Context, owner sdk.Origin, def *sdk.ToolDefinition) error {
	if !s.Generation.Engine.Has(sdk.PointToolDefinition) {
		return nil
	}
	v := &sdk.ToolDefinitionValue{Description: def.Description}
	if err := json.Unmarshal(def.Parameters, &v.Parameters); err != nil {
		return fmt.Errorf("tool %q: parameters: %w", def.ID, err)
	}
	before := v.Parameters.Clone()
	in := &sdk.ToolDefinitionInput{ToolID: def.ID, Origin: owner}
	if err := s.Generation.Fire(ctx, sdk.PointToolDefinition, s.Ledger, def.ID, in, v); err != nil {
		return err
	}
	def.Description = v.Description
	changes, err := value.Diff[sdk.Change](&before, &v.Parameters)
	if err != nil || len(changes) == 0 {
		return err // the model receives the schema byte for byte
	}
	def.Parameters, err = json.Marshal(v.Parameters)
	return err
}

// Find returns the tool with the name; nil if there is none. It ignores the case of the name.
func (s *Set) Find(name string) *Tool {
	return cmp.Or(s.tools[name], s.tools[strings.ToLower(name)])
}

// Missing returns the error of a call to a tool that is not in the set. It lists the tools without the hidden ones.
func (s *Set) Missing(tool string) error {
	var names []string
	for id, one := range s.tools {
		if !one.Hidden {
			names = append(names, id)
		}
	}
	slices.Sort(names)
	why := ""
	if at := slices.IndexFunc(s.removed, func(one *Tool) bool { return strings.EqualFold(one.Def.ID, tool) }); at >= 0 {
		q := sdk.PermissionRequest{Permission: s.removed[at].permission, Patterns: []string{"*"}}
		why = ": " + permission.Denied(&q, s.Rules.DecideAll(q.Permission, q.Patterns))
	}
	return fmt.Errorf("tool %q not found%s; the tools are: %s", tool, why, strings.Join(names, ", "))
}

// callKey is the key of the number of tool calls that a context belongs to.
type callKey struct{}

// MaxCallDepth is how deep tool calls may nest: a plugin calls a tool whose plugin calls a tool, and so on.
const MaxCallDepth = 8

// InCall returns the context of a call.
func InCall(ctx context.Context) context.Context {
	return context.WithValue(ctx, callKey{}, CallDepth(ctx)+1)
}

// CallDepth returns the number of nested tool calls around ctx.
func CallDepth(ctx context.Context) int {
	depth, _ := ctx.Value(callKey{}).(int)
	return depth
}
