package config_test

import (
	"encoding/json"
	"testing"

	"github.com/tenonhq/tenon/host/config"
)

// TestEveryKeyIsDescribed checks that the schema has a description of each key, for editors.
func TestEveryKeyIsDescribed(t *testing.T) {
	t.Parallel()
	var root any
	if err := json.Unmarshal([]byte(config.Schema), &root); err != nil {
		t.Fatal(err)
	}
	keys := 0
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(path, e)
			}
		case map[string]any:
			properties, _ := v["properties"].(map[string]any)
			for name, property := range properties {
				keys++
				if p, ok := property.(map[string]any); !ok || p["description"] == nil || p["description"] == "" {
					t.Errorf("%s.%s has no description: write a comment behind the field in package sdk", path, name)
				}
				walk(path+"."+name, property)
			}
			for name, e := range v {
				if name != "properties" {
					walk(path, e)
				}
			}
		}
	}
	walk("", root)
	if keys < 100 {
		t.Errorf("%d keys were looked at", keys)
	}
}
