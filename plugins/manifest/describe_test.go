package manifest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/sdk"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		data string
		want []string // of the error; nil: it is accepted
	}{
		"a name is enough": {`{"name": "a"}`, nil},
		"nulls of Go":      {`{"name": "a", "hooks": null, "tools": null, "capabilities": null, "runtime": null}`, nil},
		"provider as Go has it": {`{"name": "a", "providers": [{"id": "p", "name": "P", "protocol": "x", "models": {"m": {"id": "m", "providerID": "p", "name": "M", "limit": {"context": 1, "output": 1}, "cost": {"input": 0.5, "output": 1}, "modalities": {}}}}], "protocols": ["x"],
			"agents": [{"name": "g", "mode": "all", "permission": {"*": "ask"}}], "commands": [{"name": "c", "template": "t"}]}`, nil},
		"no name":         {`{}`, []string{"name: is missing"}},
		"bad name":        {`{"name": "A"}`, []string{"name"}},
		"runtime":         {`{"name": "a", "runtime": {"type": "wasm"}}`, []string{"runtime"}},
		"build":           {`{"name": "a", "build": {"command": ["x"]}}`, []string{"build"}},
		"unknown field":   {`{"name": "a", "tool": []}`, []string{"tool: unknown key", `did you mean "tools"`}},
		"hook":            {`{"name": "a", "hooks": [{"point": "x"}]}`, []string{"hooks[0].point"}},
		"rules of agents": {`{"name": "a", "agents": [{"name": "g", "mode": "all", "permission": "maybe"}]}`, []string{"agents[0].permission"}},
		"same protocol":   {`{"name": "a", "protocols": ["x", "x"]}`, []string{"protocols[1]"}},
		"no JSON":         {"\x00asm", []string{"not valid JSON"}},
		"empty":           {"", []string{"not valid JSON"}},
		"many problems":   {`{"name": "a", "hooks": [` + strings.TrimSuffix(strings.Repeat(`{"point": "x"},`, 100), ",") + `]}`, []string{"and 50 more"}},
		"many hooks":      {`{"name": "a", "hooks": [` + strings.TrimSuffix(strings.Repeat(`{"point": "event"},`, 300), ",") + `]}`, []string{"at most 256"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := manifest.Describe([]byte(c.data))
			if c.want != nil {
				wantError(t, err, append(c.want, "description of itself"))
				return
			}
			if err != nil || d.Name != "a" {
				t.Errorf("Describe = %+v, %v", d, err)
			}
		})
	}
}

// TestDescribeTakesHooksOfTheSDK checks that what a Go plugin says of its hooks is accepted at every point.
func TestDescribeTakesHooksOfTheSDK(t *testing.T) {
	t.Parallel()
	d := sdk.Description{Name: "all", Tools: []sdk.ToolDescription{{ToolDefinition: sdk.ToolDefinition{
		ID: "t", Description: "d", Parameters: json.RawMessage(`{"type":"object","properties":{}}`),
	}}}}
	for _, p := range hookpoint.All() {
		hook := sdk.Hook{Point: p.Point, Name: string(p.Point), Reads: []string{""}, Writes: []string{""}}
		d.Hooks = append(d.Hooks, hookpoint.Describe(&hook))
	}
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := manifest.Describe(data); err != nil {
		t.Error(err)
	}
}

func TestCheckCarrier(t *testing.T) {
	t.Parallel()
	d := sdk.Description{Name: "a", Agents: []sdk.Agent{{Name: "x", Mode: sdk.ModeAll}}}
	if err := manifest.CheckCarrier(&d, sdk.CarrierProcess); err != nil {
		t.Error(err)
	}
	wantError(t, manifest.CheckCarrier(&d, sdk.CarrierWASM), []string{"agents"})
}

func TestCheckOptions(t *testing.T) {
	t.Parallel()
	const schema = `{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false}`
	for name, c := range map[string]struct {
		schema, options string
		ok              bool
	}{
		"fits":           {schema, `{"n": 1}`, true},
		"required":       {schema, "", false},
		"null":           {schema, "null", false},
		"wrong type":     {schema, `{"n": "x"}`, false},
		"unknown":        {schema, `{"n": 1, "m": 2}`, false},
		"no object":      {schema, `[]`, false},
		"without schema": {"", `{"x": 1}`, true},
	} {
		if err := manifest.CheckOptions(json.RawMessage(c.schema), json.RawMessage(c.options)); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
