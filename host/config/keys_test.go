package config_test

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/sdk"
)

// sample returns a value that the configuration accepts for type t. Samples of keys with rules of their own stand
// in the table.
func sample(t reflect.Type, schema string) any {
	special := map[string]any{
		"model": "a/b", "small_model": "a/b", "agent.x.model": "a/b", "command.x.model": "a/b",
		"logLevel": "info", "agent.x.mode": "all", "hook.x.onError": "stop", "mcp.x.hooks[].onError": "skip", "mcp.x.hooks[].priority": -1, "mcp.x.type": "local",
		"provider.x.npm": "@ai-sdk/openai", "provider.x.options.timeout": 5, "provider.x.options.answerTimeout": 5, "provider.x.options.totalTimeout": 5, "mcp.x.oauth": false, "hooks": map[string]any{"a": 1},
	}
	if v, ok := special[schema]; ok {
		return v
	}
	switch t {
	case reflect.TypeFor[sdk.PermissionRules]():
		return "ask"
	case reflect.TypeFor[sdk.PluginConfig]():
		return map[string]any{"path": "name", "options": map[string]any{"a": 1}, "required": true}
	case reflect.TypeFor[json.RawMessage](), reflect.TypeFor[sdk.Object]():
		return map[string]any{"free": "form"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return sample(t.Elem(), schema)
	case reflect.Struct:
		return sampleStruct(t, schema, 0)
	case reflect.Map:
		return map[string]any{"x": sample(t.Elem(), schema+".x")}
	case reflect.Slice:
		return []any{sample(t.Elem(), schema+"[]")}
	case reflect.String:
		return "text"
	case reflect.Bool:
		return true
	}
	return 3
}

func sampleStruct(t reflect.Type, schema string, from int) map[string]any {
	out := map[string]any{}
	for i := from; i < t.NumField(); i++ {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || name == "context_over_200k" { // which holds itself
			continue
		}
		if f.Anonymous && name == "" {
			maps.Copy(out, sampleStruct(f.Type, schema, 0))
			continue
		}
		out[name] = sample(f.Type, strings.TrimPrefix(schema+"."+name, "."))
	}
	return out
}

func TestEveryKeyIsAccepted(t *testing.T) {
	t.Parallel()
	all := sampleStruct(reflect.TypeFor[sdk.Config](), "", 0)
	if len(all) < 20 {
		t.Fatalf("only %d keys found in sdk.Config", len(all))
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	l, err := inline(t, string(text))
	if err != nil {
		t.Fatalf("a configuration with every key: %v\n%s", err, text)
	}
	lowered := map[string]string{"tools": "permission"}
	value := reflect.ValueOf(l.Config).Elem()
	for i := range value.NumField() {
		name, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
		if value.Field(i).IsZero() && lowered[name] == "" {
			t.Errorf("%s was accepted, but its value is gone", name)
		}
	}
	if text, err = json.Marshal(l.Config); err != nil {
		t.Fatal(err)
	}
	var merged map[string]any
	if err := json.Unmarshal(text, &merged); err != nil {
		t.Fatal(err)
	}
	var leaves int
	eachLeaf("", merged, func(key string) {
		leaves++
		if l.Origin(key) == "" {
			t.Errorf("origin of %s is unknown", key)
		}
	})
	if leaves < len(l.Origins) || leaves < 80 {
		t.Errorf("%d leaves, %d origins", leaves, len(l.Origins))
	}
}

func eachLeaf(key string, object map[string]any, f func(key string)) {
	for name, v := range object {
		at := strings.TrimPrefix(key+"."+name, ".")
		if inner, ok := v.(map[string]any); ok {
			eachLeaf(at, inner, f)
			continue
		}
		f(at)
	}
}

// Every object of the configuration refuses a key it does not know, at its place.
func TestUnknownKeysAreRefusedEverywhere(t *testing.T) {
	t.Parallel()
	all := sampleStruct(reflect.TypeFor[sdk.Config](), "", 0)
	var structs int
	var visit func(t2 reflect.Type, object any, key string)
	visit = func(typ reflect.Type, v any, key string) {
		for typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		switch object := v.(type) {
		case map[string]any:
			switch {
			case typ == reflect.TypeFor[sdk.Object]() || typ == reflect.TypeFor[json.RawMessage]():
			case typ.Kind() == reflect.Map:
				visit(typ.Elem(), object["x"], key+".x")
			case typ.Kind() == reflect.Struct:
				structs++
				if _, open := typ.FieldByName("Extra"); !open {
					refuse(t, all, object, strings.TrimPrefix(key+".zzzzzzzz", "."))
				}
				for i := range typ.NumField() {
					name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
					visit(typ.Field(i).Type, object[name], strings.TrimPrefix(key+"."+name, "."))
				}
			}
		case []any:
			if typ.Kind() == reflect.Slice {
				visit(typ.Elem(), object[0], key+"[0]")
			}
		}
	}
	visit(reflect.TypeFor[sdk.Config](), all, "")
	if structs < 15 {
		t.Errorf("only %d objects were tried", structs)
	}
}

func refuse(t *testing.T, all, object map[string]any, key string) {
	t.Helper()
	object["zzzzzzzz"] = 1
	defer delete(object, "zzzzzzzz")
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	_, err = inline(t, string(text))
	var list *config.Error
	if !errors.As(err, &list) || len(list.Problems) != 1 || list.Problems[0].Key != key || list.Problems[0].Message != "unknown key" {
		t.Errorf("%s: error = %v, want one unknown key", key, err)
	}
}

func TestPassesOnOptionsOfProtocols(t *testing.T) {
	t.Parallel()
	l, err := inline(t, `{"provider": {"p": {"options": {"region": "eu", "zzz": {"a": [1]}}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	extra := l.Config.Provider["p"].Options.Extra
	if string(extra["region"]) != `"eu"` || string(extra["zzz"]) != `{"a":[1]}` || len(l.Warnings) != 0 {
		t.Errorf("extra = %s, warnings = %v", extra, l.Warnings)
	}
	if got := l.Origin("provider.p.options.region"); got != "env TENON_CONFIG_CONTENT:1" {
		t.Errorf("origin = %q", got)
	}
}
