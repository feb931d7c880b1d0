package sdk

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// OptionsSchema returns the JSON schema of a plugin's options, given a pointer to a struct that holds their defaults. Fields have the names of
// encoding/json; a tag doc describes one. Supported types are strings, booleans, numbers, slices, maps with string keys, and structs of these.
func OptionsSchema(options any) (json.RawMessage, error) {
	v := reflect.ValueOf(options)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("options: want a pointer to a struct, have %T", options)
	}
	schema, err := schemaOf(v.Elem().Type(), v.Elem())
	if err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	return json.Marshal(schema)
}

// schemaOf returns the schema of a type, with the defaults of a value; v may be invalid.
func schemaOf(t reflect.Type, v reflect.Value) (map[string]any, error) {
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}, nil
	case reflect.Bool:
		return map[string]any{"type": "boolean"}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer"}, nil
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}, nil
	case reflect.Slice:
		items, err := schemaOf(t.Elem(), reflect.Value{})
		return map[string]any{"type": "array", "items": items}, err
	case reflect.Map:
		values, err := schemaOf(t.Elem(), reflect.Value{})
		if err == nil && t.Key().Kind() != reflect.String {
			err = fmt.Errorf("%s: map keys must be strings", t)
		}
		return map[string]any{"type": "object", "additionalProperties": values}, err
	case reflect.Struct:
		return structSchema(t, v)
	}
	return nil, fmt.Errorf("%s has no JSON schema", t)
}

func structSchema(t reflect.Type, v reflect.Value) (map[string]any, error) {
	properties := map[string]any{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		flat := field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct // an embedded struct: its fields count as fields of t, as in encoding/json
		if !field.IsExported() && !flat || name == "-" {
			continue
		}
		name = cmp.Or(name, field.Name)
		var value reflect.Value
		if v.IsValid() {
			value = v.Field(i)
		}
		property, err := schemaOf(field.Type, value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if flat {
			fields := property["properties"].(map[string]any)
			maps.Copy(fields, properties) // fields of t itself hide embedded fields of the same name
			properties = fields
			continue
		}
		if doc := field.Tag.Get("doc"); doc != "" {
			property["description"] = doc
		}
		if value.IsValid() && field.Type.Kind() != reflect.Struct && !value.IsZero() {
			property["default"] = value.Interface()
		}
		properties[name] = property
	}
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}, nil
}

// decodeOptions decodes a plugin's options over their defaults. A name that the struct does not have is an error.
func decodeOptions(raw json.RawMessage, options any) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if err := jsontext.DecodeStrict(raw, options); err != nil {
		return fmt.Errorf("options: %w", err)
	}
	return nil
}
