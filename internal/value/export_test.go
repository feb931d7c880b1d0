package value

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// States returns the types of the states in the contract.
func States() (types []reflect.Type) {
	for _, state := range contract.States {
		types = append(types, reflect.TypeOf(state))
	}
	return types
}

// exact distinguishes values that are encoded differently.
var exact = cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })

// CompareDecoders decodes data as every type. It returns the names of the types that accept it, and an error when the declared fields are not
// those that encoding/json decodes into a type without methods, or when an undeclared field of the top level is lost.
func CompareDecoders(types []reflect.Type, data []byte) (accepted []string, err error) {
	for _, t := range types {
		planOf(t) // before declared
	}
	if !json.Valid(data) || otherCapitals(data) {
		return nil, nil // they differ on purpose
	}
	for _, t := range types {
		p, got, want := planOf(t), reflect.New(t), reflect.New(withoutMethods(t))
		extra, err := UnmarshalStruct(data, got.Interface())
		wantErr := json.Unmarshal(data, want.Interface())
		switch {
		case err != nil && strings.Contains(err.Error(), "is expected"): // another type of part
			continue
		case (err == nil) != (wantErr == nil):
			return nil, fmt.Errorf("%s: %v, encoding/json: %v", t.Name(), err, wantErr)
		case err != nil:
			continue
		}
		accepted = append(accepted, t.Name())
		if diff := cmp.Diff(want.Elem().Convert(t).Interface(), got.Elem().Interface(), exact); diff != "" {
			return nil, fmt.Errorf("%s (-json +value):\n%s", t.Name(), diff)
		}
		var unknown Extra
		_ = json.Unmarshal(data, &unknown)
		for name, raw := range unknown {
			if _, known := p.byName[name]; !known && !(p.want != "" && name == p.tag) && !bytes.Equal(raw, extra[name]) {
				return nil, fmt.Errorf("%s: field %q is %s, want %s", t.Name(), name, extra[name], raw)
			}
		}
	}
	return accepted, nil
}

// withoutMethods returns a type with the fields of a struct.
func withoutMethods(t reflect.Type) reflect.Type {
	if p := planOf(t); p.extra == nil || !p.decodes {
		return t
	}
	fields := make([]reflect.StructField, t.NumField())
	for i := range fields {
		fields[i] = t.Field(i)
	}
	return reflect.StructOf(fields)
}

// declared returns the names of the fields of all types, and folded.
var declared = sync.OnceValues(func() (names, folded map[string]bool) {
	names, folded = map[string]bool{}, map[string]bool{}
	planCache.Range(func(_, p any) bool {
		for _, f := range p.(*plan).fields {
			names[f.name], folded[fold(f.name)] = true, true
		}
		return true
	})
	return names, folded
})

// otherCapitals reports whether an object in data has a name that encoding/json takes for the name of a field.
func otherCapitals(data []byte) (found bool) {
	names, folded := declared()
	var visit func(raw []byte)
	visit = func(raw []byte) {
		switch {
		case jsontext.IsObject(raw):
			jsontext.EachField(raw, func(key, value []byte) bool {
				name := jsontext.Name(key)
				found = found || folded[fold(name)] && !names[name]
				visit(value)
				return true
			})
		case len(raw) > 0 && raw[0] == '[':
			jsontext.EachElement(raw, visit)
		}
	}
	visit(bytes.TrimSpace(data))
	return found
}

// fold folds as strings.EqualFold does, for the letters in names of fields.
func fold(name string) string {
	return strings.ToLower(strings.NewReplacer("ſ", "s", "\u212a", "k").Replace(name))
}
