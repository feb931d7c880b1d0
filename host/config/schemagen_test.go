package config

import (
	"cmp"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/sdk"
)

// schemaDialect is the dialect editors read best.
const schemaDialect = "http://json-schema.org/draft-07/schema#"

var update = flag.Bool("update", false, "write schema.json")

// TestSchema checks that schema.json agrees with the types and comments of package sdk.
func TestSchema(t *testing.T) {
	t.Parallel()
	docs, err := fieldDocs("../../sdk")
	if err != nil {
		t.Fatal(err)
	}
	want, err := generateSchema(docs)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("schema.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if Schema != string(want) {
		t.Error("schema.json is not current; run: go test ./host/config -update")
	}
}

// generateSchema returns a JSON schema of tenon.json. It follows the same types and rules as Load, except for what only text can
// say: references such as {env:X}, which are strings, and the older forms of keys, which it leaves out. docs has the descriptions of fields.
func generateSchema(docs map[string]string) ([]byte, error) {
	w := &schemaWriter{docs: docs, defs: map[string]any{}}
	root := w.object(reflect.TypeFor[sdk.Config](), "")
	root["$schema"] = schemaDialect
	root["title"] = "Configuration of tenon"
	root["definitions"] = w.defs
	text, err := json.MarshalIndent(root, "", "  ")
	return append(text, '\n'), err
}

// fieldDocs returns the comments of all struct fields of the package in a directory, by "Struct.Field".
func fieldDocs(dir string) (map[string]string, error) {
	docs := map[string]string{}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				structDocs(docs, spec.Name.Name, s)
			}
			return false
		})
	}
	return docs, nil
}

func structDocs(docs map[string]string, name string, s *ast.StructType) {
	for _, field := range s.Fields.List {
		text := cmp.Or(field.Doc.Text(), field.Comment.Text())
		for _, ident := range field.Names {
			docs[name+"."+ident.Name] = strings.Join(strings.Fields(text), " ")
		}
	}
}

type schemaWriter struct {
	docs map[string]string // by "Struct.Field"
	defs map[string]any    // schemas used in several places or in themselves
}

type schema = map[string]any

// object describes a struct.
func (w *schemaWriter) object(t reflect.Type, key string) schema {
	properties := schema{}
	for i := range t.NumField() {
		field := t.Field(i)
		name := checked.FieldName(field)
		if name == "" {
			if field.Anonymous {
				maps.Copy(properties, w.object(field.Type, key)["properties"].(schema))
			}
			continue
		}
		s := w.value(field.Type, join(key, name))
		if text := w.docs[t.Name()+"."+field.Name]; text != "" {
			if _, ref := s["$ref"]; ref {
				s = schema{"allOf": []any{s}} // beside a reference nothing counts
			}
			s["description"] = text
		}
		properties[name] = s
	}
	return schema{"type": "object", "properties": properties, "additionalProperties": checked.FieldsOf(t).Open}
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

// value describes any value; key has * for names the user chooses, as for constrain.
func (w *schemaWriter) value(t reflect.Type, key string) schema {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[sdk.PermissionRules]():
		return w.define("permission", permissionSchema)
	case reflect.TypeFor[sdk.PluginConfig]():
		return w.define("plugin", pluginSchema)
	case reflect.TypeFor[sdk.SandboxConfig]():
		return schema{"anyOf": []any{w.object(t, key), schema{"type": "boolean"}}}
	case reflect.TypeFor[sdk.Object]():
		return schema{"type": "object"}
	case reflect.TypeFor[json.RawMessage]():
		return rawSchema(key)
	case reflect.TypeFor[sdk.ModelCost](): // holds itself
		return w.define("cost", func() schema { return w.object(t, key) })
	}
	switch t.Kind() {
	case reflect.Struct:
		return w.object(t, key)
	case reflect.Map:
		return schema{"type": "object", "additionalProperties": w.value(t.Elem(), join(key, checked.AnyName))}
	case reflect.Slice:
		return schema{"type": "array", "items": w.value(t.Elem(), key+"[]")}
	case reflect.String:
		return stringSchema(key)
	case reflect.Bool:
		return schema{"type": "boolean"}
	}
	return numberSchema(t, key)
}

// define puts a schema that is used in several places into the definitions.
func (w *schemaWriter) define(name string, make func() schema) schema {
	if _, there := w.defs[name]; !there {
		w.defs[name] = schema{} // for what refers to itself
		w.defs[name] = make()
	}
	return schema{"$ref": "#/definitions/" + name}
}

func stringSchema(key string) schema {
	s := schema{"type": "string"}
	if known := choices(key); known != nil {
		s["enum"] = known
	}
	if _, message, _ := (&checker{Checker: checked.Checker{Report: &checked.Report{}}}).Constrain(place{Schema: key}, "x"); message != "" && s["enum"] == nil {
		s["pattern"] = "^(.+/.+|\\{(env|file):.+\\})$"
	}
	return s
}

func numberSchema(t reflect.Type, key string) schema {
	s := schema{"type": "number"}
	if checked.Whole(t) {
		s["type"] = "integer"
	}
	if !mayBeNegative(key) {
		s["minimum"] = 0
	}
	return s
}

func rawSchema(key string) schema {
	switch key {
	case "hooks":
		return schema{"type": "object"}
	case "mcp.*.oauth":
		return schema{"anyOf": []any{schema{"type": "object"}, schema{"const": false}}}
	case "provider.*.options.timeout", "provider.*.options.answerTimeout", "provider.*.options.totalTimeout":
		return schema{"anyOf": []any{schema{"type": "number", "minimum": 0}, schema{"const": false}}}
	}
	return schema{}
}

func permissionSchema() schema {
	action := schema{"enum": []sdk.Action{sdk.ActionAllow, sdk.ActionAsk, sdk.ActionDeny}}
	byPattern := schema{"type": "object", "additionalProperties": action}
	return schema{"anyOf": []any{action, schema{
		"type": "object", "additionalProperties": schema{"anyOf": []any{action, byPattern}},
	}}}
}

func pluginSchema() schema {
	path := schema{"type": "string", "minLength": 1, "description": "a path or a name"}
	options := schema{"type": "object", "description": "options of the plugin"}
	required := schema{"type": "boolean", "description": "end runs in which the plugin does not work"}
	return schema{"anyOf": []any{
		path,
		schema{"type": "array", "items": []any{path, options}, "minItems": 1, "maxItems": 2},
		schema{
			"type": "object", "properties": schema{"path": path, "options": options, "required": required},
			"required": []string{"path"}, "additionalProperties": false,
		},
	}}
}
