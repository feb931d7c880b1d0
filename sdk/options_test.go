package sdk_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

type options struct {
	Rule   string         `json:"rule" doc:"added to the prompt"`
	Words  []string       `json:"words"`
	Limits map[string]int `json:"limits"`
	Deep   struct {
		On bool `json:"on"`
	} `json:"deep"`
	Factor  float64 `json:"factor"`
	private int
	Hidden  int `json:"-"`
}

func TestOptions(t *testing.T) {
	t.Parallel()
	got := &options{Rule: "Be brief.", private: 1}
	b := &sdk.Bundle{Info: sdk.Manifest{Name: "x"}, Options: got}
	want := `{"additionalProperties":false,"properties":{"deep":{"additionalProperties":false,"properties":{"on":{"type":"boolean"}},"type":"object"},` +
		`"factor":{"type":"number"},"limits":{"additionalProperties":{"type":"integer"},"type":"object"},` +
		`"rule":{"default":"Be brief.","description":"added to the prompt","type":"string"},"words":{"items":{"type":"string"},"type":"array"}},"type":"object"}`
	if schema := string(b.Manifest().Options); schema != want {
		t.Errorf("schema %s, want %s", schema, want)
	}
	h := sdktest.New(b, sdktest.Options{Options: json.RawMessage(`{"words": ["a"], "deep": {"on": true}}`)})
	if err := h.Start(t.Context()); err != nil || got.Rule != "Be brief." || len(got.Words) != 1 || !got.Deep.On {
		t.Errorf("options %+v, %v", got, err)
	}
	h = sdktest.New(b, sdktest.Options{Options: json.RawMessage(`{"word": []}`)})
	if err := h.Start(t.Context()); err == nil || !strings.Contains(err.Error(), `unknown field "word"`) {
		t.Errorf("an unknown option: %v", err)
	}
	for _, bad := range []any{nil, options{}, &struct{ C chan int }{}, &struct{ M map[int]int }{}} {
		if _, err := sdk.OptionsSchema(bad); err == nil {
			t.Errorf("a schema of %T", bad)
		}
	}
}

type shared struct {
	Rule  string `json:"rule"`
	Quiet bool   `json:"quiet" doc:"says less"`
}

// The fields of an embedded struct are options like the others, as in encoding/json.
func TestEmbeddedOptions(t *testing.T) {
	t.Parallel()
	got := &struct {
		Rule int `json:"rule"`
		shared
	}{shared: shared{Rule: "hidden", Quiet: true}}
	b := &sdk.Bundle{Info: sdk.Manifest{Name: "x"}, Options: got}
	var schema struct {
		Properties map[string]struct{ Type, Description string }
	}
	if err := json.Unmarshal(b.Manifest().Options, &schema); err != nil {
		t.Fatal(err)
	}
	if p := schema.Properties; len(p) != 2 || p["rule"].Type != "integer" || p["quiet"].Type != "boolean" || p["quiet"].Description != "says less" {
		t.Errorf("properties %+v", p)
	}
	h := sdktest.New(b, sdktest.Options{Options: json.RawMessage(`{"rule": 1, "quiet": false}`)})
	if err := h.Start(t.Context()); err != nil || got.Rule != 1 || got.Quiet {
		t.Errorf("options %+v, %v", got, err)
	}
}

func TestAddToPrompt(t *testing.T) {
	t.Parallel()
	hook := sdk.AddToPrompt(func(in *sdk.ChatInput) string {
		if in.Agent == "quiet" {
			return ""
		}
		return "Be brief."
	})
	h := sdktest.Start(t, &sdk.Bundle{Info: sdk.Manifest{Name: "x"}, HookList: []sdk.Hook{hook}}, sdktest.Options{})
	v := &sdk.ChatSystemValue{System: []string{"You are helpful."}}
	answer, err := h.Fire(t.Context(), sdk.PointChatSystem, &sdk.ChatInput{}, v)
	if err != nil || len(v.System) != 2 || v.System[1] != "Be brief." || answer.Changes[0].Pointer != "/system/-" {
		t.Errorf("system %q, %+v, %v", v.System, answer, err)
	}
	if answer, err = h.Fire(t.Context(), sdk.PointChatSystem, &sdk.ChatInput{Agent: "quiet"}, v); err != nil || len(answer.Changes) > 0 {
		t.Errorf("nothing to add: %+v, %v", answer, err)
	}
}
