package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/sdk"
)

// structuredTool is the tool through which a model gives an answer that must meet a schema.
const structuredTool = "StructuredOutput"

// tool is one tool of a step.
type tool struct {
	sdk.Tool
	definition sdk.ToolDefinition // before the hooks: what calls are checked against
	origin     sdk.Origin
	timeout    time.Duration // 0: the tool bounds itself
}

// toolset is what the model can call in one step.
type toolset struct {
	tools       map[string]*tool
	definitions []sdk.ToolDefinition // sorted by id, after the hooks
}

// newToolset gathers the tools of all plugins. A later plugin's tool replaces an earlier one of the same id.
func (t *turn) newToolset(ctx context.Context) (*toolset, error) {
	s := &toolset{tools: map[string]*tool{}}
	if t.model.ToolCall {
		for _, l := range t.g.plugins {
			t.addTools(s, l)
		}
	}
	if t.wantsStructured() {
		s.tools[structuredTool] = structured(t.user.Format.Schema)
	}
	for _, one := range s.tools {
		s.definitions = append(s.definitions, one.definition)
	}
	slices.SortFunc(s.definitions, func(a, b sdk.ToolDefinition) int { return strings.Compare(a.ID, b.ID) })
	if !t.g.engine.Has(sdk.PointToolDefinition) {
		return s, nil
	}
	for i := range s.definitions {
		if err := t.transformDefinition(ctx, s, &s.definitions[i]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (t *turn) addTools(s *toolset, l *loaded) {
	source, ok := l.plugin.(sdk.ToolSource)
	if !ok {
		return
	}
	for _, one := range source.Tools() {
		def := one.Definition()
		if allowed, said := t.user.Tools[def.ID]; said && !allowed {
			continue
		}
		key := def.ID
		if p, ok := one.(sdk.ToolPermission); ok {
			key = p.Permission()
		}
		if t.rules.Removed(key) {
			continue
		}
		if a, ok := one.(sdk.ToolAvailability); ok && !a.Available(&t.model, &t.agent) {
			continue
		}
		entry := &tool{Tool: one, definition: def, origin: l.origin()}
		if l.manifest.Carrier != sdk.CarrierBuiltin {
			entry.timeout = sdk.DefaultToolTimeout
		}
		s.tools[def.ID] = entry
	}
}

// transformDefinition runs the hooks at tool.definition over what the model gets to know of a tool.
func (t *turn) transformDefinition(ctx context.Context, s *toolset, def *sdk.ToolDefinition) error {
	v := &sdk.ToolDefinitionValue{Description: def.Description}
	if err := json.Unmarshal(def.Parameters, &v.Parameters); err != nil {
		return fmt.Errorf("tool %q: parameters: %w", def.ID, err)
	}
	before := v.Parameters.Clone()
	in := &sdk.ToolDefinitionInput{ToolID: def.ID, Origin: s.tools[def.ID].origin}
	if _, err := t.g.engine.Transform(ctx, sdk.PointToolDefinition, hooks.Scope{Ledger: t.ledger, Subject: def.ID}, in, v); err != nil {
		return err
	}
	def.Description = v.Description
	changes, err := sdk.Diff(&before, &v.Parameters)
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

// names lists the tools for an error message.
func (s *toolset) names() string {
	names := make([]string, len(s.definitions))
	for i, d := range s.definitions {
		names[i] = d.ID
	}
	return strings.Join(names, ", ")
}

// schemas keeps resolved parameter schemas by their text. Safe for use from many goroutines.
type schemas struct{ byText sync.Map }

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
	return resolved.Validate(v)
}

func (s *schemas) resolve(text json.RawMessage) (*jsonschema.Resolved, error) {
	if r, ok := s.byText.Load(string(text)); ok {
		return r.(*jsonschema.Resolved), nil
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
