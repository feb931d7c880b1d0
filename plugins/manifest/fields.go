package manifest

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/sdk"
)

// missingField follows a pointer through the Go type of a value and returns the first segment without a field, with the names of the
// existing fields. Types with arbitrary content accept any segments.
func missingField(value any, pointer string) (segment string, known []string) {
	t := reflect.TypeOf(value)
	for _, raw := range strings.Split(pointer, "/")[1:] {
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(raw)
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch {
		case open(t):
			return "", nil
		case t.Kind() == reflect.Struct:
			if name == "*" {
				return "", nil
			}
			fields := checked.FieldsOf(t)
			next, ok := fields.Types[name]
			if !ok {
				return name, fields.Names
			}
			t = next
		case t.Kind() == reflect.Slice:
			if _, err := strconv.ParseUint(name, 10, 31); err != nil && name != "*" && name != "-" {
				return name, []string{"*"}
			}
			t = t.Elem()
		case t.Kind() == reflect.Map:
			t = t.Elem()
		default:
			return name, nil
		}
	}
	return "", nil
}

// open reports whether a value of the type may hold members that the type does not name.
func open(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[sdk.Object](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[sdk.PermissionRules](), reflect.TypeFor[sdk.Bytes]():
		return true
	}
	return t.Kind() == reflect.Interface || t.Kind() == reflect.Struct && checked.FieldsOf(t).Open
}
