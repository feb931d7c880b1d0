package config_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/sdk"
)

func schemaOf(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	text, err := config.Schema(func(string, string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

// TestSchemaAgreesWithLoad: what Load takes the schema takes, and what Load refuses it refuses.
func TestSchemaAgreesWithLoad(t *testing.T) {
	t.Parallel()
	s := schemaOf(t)
	all, err := json.Marshal(sampleStruct(reflect.TypeFor[sdk.Config](), "", 0))
	if err != nil {
		t.Fatal(err)
	}
	for text, good := range map[string]bool{
		string(all): true,
		`{}`:        true,
		`{"permission": {"bash": {"git *": "allow", "*": "ask"}, "edit": "deny"}}`:                            true,
		`{"plugins": ["./a", ["b", {"x": 1}], {"path": "c"}]}`:                                                true,
		`{"mcp": {"a": {"enabled": false}}}`:                                                                  true,
		`{"provider": {"p": {"options": {"anything": 1, "timeout": false}}}}`:                                 true,
		`{"hook": {"p": {"priority": -5}}}`:                                                                   true,
		`{"provider": {"p": {"models": {"m": {"cost": {"input": 1.5, "context_over_200k": {"input": 2}}}}}}}`: true,
		`{"modle": "a/b"}`:                        false,
		`{"logLevel": "loud"}`:                    false,
		`{"permission": {"bash": "sometimes"}}`:   false,
		`{"compaction": {"auto": "yes"}}`:         false,
		`{"compaction": {"tail_turns": -1}}`:      false,
		`{"subagent_depth": 1.5}`:                 false,
		`{"plugins": [{"options": {}}]}`:          false,
		`{"plugins": [["a", {}, 3]]}`:             false,
		`{"mcp": {"a": {"type": "carrier"}}}`:     false,
		`{"hooks": []}`:                           false,
		`{"agent": {"a": {"mode": "sometimes"}}}`: false,
	} {
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		bySchema := s.Validate(value)
		_, byLoad := inline(t, text)
		if (bySchema == nil) != good || (byLoad == nil) != good {
			t.Errorf("%.200s: schema: %v; Load: %v; want good: %v", text, bySchema, byLoad, good)
		}
	}
}

func TestSchemaDescribes(t *testing.T) {
	t.Parallel()
	text, err := config.Schema(func(structName, field string) string { return structName + "." + field })
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"description": "Config.Permission"`, `"description": "ModelConfig.Cost"`, `"enum"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is missing", want)
		}
	}
}
