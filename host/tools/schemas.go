package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/schemacost"
	"github.com/tenonhq/tenon/internal/toolschema"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// Schemas keeps resolved parameter schemas by their text. Safe for use from many goroutines.
type Schemas struct {
	byText  sync.Map
	objects sync.Map // JSON objects, by their text
}

// object returns a schema without white space, in the terms of the current draft, or nil for a text that is not a JSON object. A stored schema may
// be indented: it must not take more of the budget than the same schema of a running server, or tools would be hidden until the server starts.
func (s *Schemas) object(text json.RawMessage) json.RawMessage {
	if known, ok := s.objects.Load(string(text)); ok {
		return known.(json.RawMessage)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil || fields == nil {
		return nil
	}
	compact := json.RawMessage(jsontext.Compact(toolschema.Current(text)))
	s.objects.Store(string(text), compact)
	return compact
}

// Check validates arguments against a tool's schema. The error lists the problems.
func (s *Schemas) Check(def *sdk.ToolDefinition, args json.RawMessage) error {
	resolved, err := s.resolve(def.Parameters)
	if err != nil {
		return fmt.Errorf("tool %q: bad parameter schema: %w", def.ID, err)
	}
	if err = toolschema.Check(resolved, args); err == nil {
		return nil
	}
	// A model that writes path instead of filePath should see all names in one error.
	schema := resolved.Schema()
	names := slices.Sorted(maps.Keys(schema.Properties))
	for i, name := range names {
		if slices.Contains(schema.Required, name) {
			names[i] += " (required)"
		}
	}
	text := visible.Cut(err.Error(), maxMismatch, " …")
	if len(names) > 0 { // others are deeper in the schema
		text += "; its parameters: " + visible.Cut(strings.Join(names, ", "), maxMismatch, " …")
	}
	return errors.New(text)
}

// Unwrapped returns arguments that a model wrote as a string with an object in it, as weaker ones do, as the object; others as they are.
func Unwrapped(args []byte) []byte {
	var text string
	if bytes.HasPrefix(args, []byte(`"`)) && json.Unmarshal(args, &text) == nil && strings.HasPrefix(strings.TrimSpace(text), "{") {
		return []byte(text)
	}
	return args
}

// Unquoted returns arguments with the values that some models write as text: "5", "true", or a list as a string, where the schema wants no string.
// It returns nil if there are none, or if the arguments still do not match.
func (s *Schemas) Unquoted(def *sdk.ToolDefinition, args json.RawMessage) json.RawMessage {
	resolved, err := s.resolve(def.Parameters)
	var fields map[string]json.RawMessage
	if err != nil || json.Unmarshal(args, &fields) != nil {
		return nil
	}
	found := false
	for name, field := range fields {
		var text string
		want := resolved.Schema().Properties[name]
		if want != nil && !toolschema.AllowsText(want, resolved.Schema().Defs) && json.Unmarshal(field, &text) == nil && json.Valid([]byte(text)) {
			fields[name], found = json.RawMessage(text), true
		}
	}
	out, err := jsontext.Marshal(fields)
	if !found || err != nil || value.CheckArguments(out) != nil || s.Check(def, out) != nil {
		return nil
	}
	return out
}

// maxMismatch bounds the error about arguments that do not match their schema, in bytes: a validator may list every name that the model
// invented.
const maxMismatch = 2 << 10

func (s *Schemas) resolve(text json.RawMessage) (*schemacost.Schema, error) {
	if r, ok := s.byText.Load(string(text)); ok {
		return r.(*schemacost.Schema), nil
	}
	resolved, err := toolschema.Resolve(text)
	if err != nil {
		return nil, err
	}
	s.byText.Store(string(text), resolved)
	return resolved, nil
}

// Unreadable returns the error of a call whose arguments value.CheckArguments rejects. cut reports that the
// answer reached the output limit.
func Unreadable(tool string, arguments []byte, cut bool, err error) error {
	begin := visible.Cut(string(arguments), 200, "…")
	if cut {
		return fmt.Errorf("the arguments of %s were cut off by the output limit, so the call was not made; write less in one call, such as a file in several pieces; they begin with %q",
			tool, begin)
	}
	return fmt.Errorf("the arguments of %s are refused: %w; write the call again with one complete JSON object; they begin with %q", tool, err, begin)
}
