package builtin_test

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tenonhq/tenon/builtin"
	"github.com/tenonhq/tenon/sdk"
)

func TestManifests(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range builtin.All() {
		m := p.Manifest()
		if err := m.Validate(); err != nil {
			t.Error(err)
		}
		if seen[m.Name] || m.Carrier != sdk.CarrierBuiltin || m.Description == "" {
			t.Errorf("manifest %+v: named twice, not built in, or without description", m)
		}
		seen[m.Name] = true
	}
}

// TestToolsAreSmall: every request contains the definitions of all tools.
func TestToolsAreSmall(t *testing.T) {
	t.Parallel()
	total := 0
	ids := map[string]bool{}
	for _, p := range builtin.All() {
		source, ok := p.(sdk.ToolSource)
		if !ok {
			continue
		}
		for _, tool := range source.Tools() {
			d := tool.Definition()
			if ids[d.ID] {
				t.Errorf("two tools are called %q", d.ID)
			}
			ids[d.ID] = true
			data, err := json.Marshal(d)
			if err != nil {
				t.Errorf("%s: %v", d.ID, err)
			}
			var schema jsonschema.Schema
			if err := json.Unmarshal(d.Parameters, &schema); err != nil || schema.Type != "object" {
				t.Errorf("%s: schema of type %q: %v", d.ID, schema.Type, err)
			}
			if _, err := schema.Resolve(nil); err != nil {
				t.Errorf("%s: schema: %v", d.ID, err)
			}
			t.Logf("%-12s %d bytes", d.ID, len(data))
			total += len(data)
		}
	}
	if total > 12<<10 {
		t.Errorf("the tools take %d bytes of every request, want at most 12 KiB", total)
	}
	for _, id := range []string{"bash", "read", "edit", "write", "apply_patch", "glob", "grep", "list", "webfetch", "todowrite", "task", "skill", "question"} {
		if !ids[id] {
			t.Errorf("tool %q not found", id)
		}
	}
}
