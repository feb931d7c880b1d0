package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/internal/schemacost"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// structuredTool is the tool through which a model gives an answer that must meet a schema.
const structuredTool = "StructuredOutput"

// maxToolTimeout bounds one call of a tool, whatever it asks for.
const maxToolTimeout = 10 * time.Minute

// isToolID reports whether model servers take it as the name of a tool.
func isToolID(id string) bool {
	return id != "" && len(id) <= 64 && strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// tool is one tool of a step.
type tool struct {
	sdk.Tool
	definition sdk.ToolDefinition // before the hooks: what calls are checked against
	origin     sdk.Origin
	timeout    time.Duration // 0: the tool bounds itself
	hidden     bool          // behind tool_search, and not found yet
}

// toolset is what can be called in one step.
type toolset struct {
	tools       map[string]*tool
	definitions []sdk.ToolDefinition // those the model is shown: sorted by id, after the hooks
}

// newToolset returns what the model can call in a step with the messages given.
func (t *turn) newToolset(ctx context.Context, messages []sdk.MessageWithParts) (*toolset, error) {
	s := &toolset{tools: map[string]*tool{}}
	if t.Model.ToolCall {
		s.hide(t, t.gather(ctx, s), messages)
	}
	if t.wantsStructured() {
		s.tools[structuredTool] = structured(t.user.Format.Schema)
	}
	for _, one := range s.tools {
		if !one.hidden {
			s.definitions = append(s.definitions, one.definition)
		}
	}
	slices.SortFunc(s.definitions, func(a, b sdk.ToolDefinition) int { return strings.Compare(a.ID, b.ID) })
	if !t.g.Engine.Has(sdk.PointToolDefinition) {
		return s, nil
	}
	for i := range s.definitions {
		def := &s.definitions[i]
		if err := t.transformDefinition(ctx, s.tools[def.ID].origin, def); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// gather puts the tools of all plugins that the agent may call into the set and returns them in the order of the plugins. A later
// plugin's tool replaces an earlier one of the same id.
func (t *turn) gather(ctx context.Context, s *toolset) []*tool {
	var all []*tool
	for _, l := range t.g.Plugins {
		source, ok := l.Value.(sdk.ToolSource)
		if !ok {
			continue
		}
		model, agent := t.Model.Model, t.Agent // the plugin may keep them
		offered, _ := generation.Ask(ctx, l, "tools", func(context.Context) ([]*offer, error) {
			return offersOf(source, l, &model, &agent), nil
		})
		for _, o := range offered {
			if t.admits(l, o) {
				s.tools[o.definition.ID] = &o.tool
				all = append(all, &o.tool)
			}
		}
	}
	return slices.DeleteFunc(all, func(one *tool) bool { return s.tools[one.definition.ID] != one })
}

// offer is a tool and what its plugin says of it.
type offer struct {
	tool
	key       string // of its permission
	available bool
}

// offersOf asks a plugin for its tools.
func offersOf(source sdk.ToolSource, l *generation.Plugin, model *sdk.Model, agent *sdk.Agent) []*offer {
	tools := source.Tools()
	list := make([]offer, len(tools))
	out := make([]*offer, len(tools))
	for i, one := range tools {
		o := &list[i]
		o.tool = tool{Tool: one, definition: one.Definition(), origin: l.Origin(), timeout: deadline(l, one)}
		o.key, o.available = o.definition.ID, true
		if p, ok := one.(sdk.ToolPermission); ok {
			o.key = p.Permission()
		}
		if a, ok := one.(sdk.ToolAvailability); ok {
			o.available = a.Available(model, agent)
		}
		out[i] = o
	}
	return out
}

// deadline returns how long a call of a tool may take; 0 when that is for the tool to say.
func deadline(l *generation.Plugin, one sdk.Tool) time.Duration {
	if d, ok := one.(sdk.ToolDeadline); ok {
		if own := d.Deadline(); own > 0 {
			return min(own, maxToolTimeout)
		}
	}
	if l.Builtin() {
		return 0
	}
	return sdk.DefaultToolTimeout
}

// admits reports whether the agent may call the tool in this turn. A definition of a plugin that no model would take costs the
// plugin the tool, not the turn.
func (t *turn) admits(l *generation.Plugin, o *offer) bool {
	id := o.definition.ID
	if allowed, said := t.user.Tools[id]; said && !allowed || !o.available || t.Rules.Removed(o.key) {
		return false
	}
	if l.Builtin() {
		return true
	}
	var err error
	switch {
	case !isToolID(id):
		err = fmt.Errorf("an id has 1 to 64 letters, digits, - and _, not %q", id)
	case !t.h.schemas.isObject(o.definition.Parameters):
		err = errors.New("its parameters are no JSON schema of an object")
	default:
		return true
	}
	l.LeaveOut(fmt.Sprintf("tool %q", id), err)
	return false
}

// transformDefinition runs the hooks at tool.definition over what the model gets to know of a tool.
func (t *turn) transformDefinition(ctx context.Context, owner sdk.Origin, def *sdk.ToolDefinition) error {
	if !t.g.Engine.Has(sdk.PointToolDefinition) {
		return nil
	}
	v := &sdk.ToolDefinitionValue{Description: def.Description}
	if err := json.Unmarshal(def.Parameters, &v.Parameters); err != nil {
		return fmt.Errorf("tool %q: parameters: %w", def.ID, err)
	}
	before := v.Parameters.Clone()
	in := &sdk.ToolDefinitionInput{ToolID: def.ID, Origin: owner}
	if _, err := t.g.Engine.Transform(ctx, sdk.PointToolDefinition, hooks.Scope{Ledger: t.ledger, Subject: def.ID}, in, v); err != nil {
		return err
	}
	def.Description = v.Description
	changes, err := value.Diff[sdk.Change](&before, &v.Parameters)
	if err != nil || len(changes) == 0 {
		return err // the schema goes out byte for byte as the tool wrote it
	}
	def.Parameters, err = json.Marshal(v.Parameters)
	return err
}

// find returns the tool the model named, also when only its case is off.
func (s *toolset) find(name string) *tool {
	if one := s.tools[name]; one != nil {
		return one
	}
	return s.tools[strings.ToLower(name)]
}

// names lists the tools for an error message, without the hidden ones.
func (s *toolset) names() string {
	var names []string
	for id, one := range s.tools {
		if !one.hidden {
			names = append(names, id)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// schemas keeps resolved parameter schemas by their text. Safe for use from many goroutines.
type schemas struct {
	byText sync.Map

	mu      sync.RWMutex
	objects map[string]bool // texts that are JSON objects
}

// isObject reports whether the text is a JSON object.
func (s *schemas) isObject(text json.RawMessage) bool {
	s.mu.RLock()
	is := s.objects[string(text)]
	s.mu.RUnlock()
	if is {
		return true
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil || fields == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		s.objects = map[string]bool{}
	}
	s.objects[string(text)] = true
	return true
}

// check validates arguments against a tool's schema and says what to mend.
func (s *schemas) check(def *sdk.ToolDefinition, args json.RawMessage) error {
	resolved, err := s.resolve(def.Parameters)
	if err != nil {
		return fmt.Errorf("tool %q: bad parameter schema: %w", def.ID, err)
	}
	var v any
	if err := json.Unmarshal(args, &v); err != nil {
		return err
	}
	if err = resolved.Validate(v); err != nil && len(err.Error()) > maxMismatch {
		return errors.New(visible.Cut(err.Error(), maxMismatch, " …"))
	}
	return err
}

// maxMismatch bounds what is said of arguments that do not fit their schema, in bytes: a validator may list every name that somebody made
// up.
const maxMismatch = 2 << 10

func (s *schemas) resolve(text json.RawMessage) (*jsonschema.Resolved, error) {
	if r, ok := s.byText.Load(string(text)); ok {
		return r.(*jsonschema.Resolved), nil
	}
	if err := schemacost.Check(text); err != nil {
		return nil, err
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, err
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, err
	}
	s.byText.Store(string(text), resolved)
	return resolved, nil
}
