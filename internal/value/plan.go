package value

import (
	"cmp"
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// shape is the kind of JSON of a Go type.
type shape uint8

const (
	shapeScalar  shape = iota // a string, number or bool; compared with ==
	shapeRaw                  // json.RawMessage
	shapeOpaque               // encodes itself; to change it, its JSON is edited and decoded
	shapePointer              // null or the value
	shapeStruct               // an object with the fields of the struct
	shapeSlice                // an array
	shapeMap                  // an object; keys are strings
	shapeAny                  // any JSON
	shapeUnion                // a member of a Union
)

// plan describes a Go type and its JSON. It is compiled once per type and never changes.
type plan struct {
	typ   reflect.Type
	shape shape
	elem  *plan  // of pointer, slice and map
	union *Union // of union

	fields  []planField // of struct, in the order of the JSON
	byName  map[string]int
	extra   []int            // index of the Extra field; nil without one
	tag     string           // "type" of parts, "role" of messages: like id, this field must not change
	want    string           // for a member of a union, the value of tag
	quoted  string           // want as JSON
	unions  []int            // of struct, the fields that are unions: they must not be missing
	nilList bool             // nil is written as []
	decodes bool             // it has an UnmarshalJSON
	encodes bool             // it, or a pointer to it, has a MarshalJSON or MarshalText
	keeps   bool             // its UnmarshalJSON is Unmarshal, its MarshalJSON is Marshal
	states  map[string]*plan // for a state, the plan of each status
	status  string           // for the plan of one status, the name of the status field

	parts   []part // of struct, its exported Go fields
	hidden  bool   // of struct, it has fields that are not exported
	object  bool   // map[string]any, under any name
	texts   bool   // a map of strings
	shallow bool   // a copy by assignment shares nothing that can change
}

// part is a field of a Go struct.
type part struct {
	index  int
	offset uintptr
	plan   *plan
}

// planField is a field of the JSON.
type planField struct {
	name      string
	key       string // the name with quotes and colon
	index     []int
	plan      *plan
	omitEmpty bool
	omitZero  bool
	nilObject bool // empty is written as {}
}

// planCache maps a type to its plan. An entry is added on first use and never changes.
var planCache sync.Map

var (
	rawType         = reflect.TypeFor[json.RawMessage]()
	numberType      = reflect.TypeFor[json.Number]() // encoding/json writes its text
	stringType      = reflect.TypeFor[string]()
	anyType         = reflect.TypeFor[any]()
	objectType      = reflect.TypeFor[map[string]any]()
	listType        = reflect.TypeFor[[]any]()
	marshalerType   = reflect.TypeFor[json.Marshaler]()
	unmarshalerType = reflect.TypeFor[json.Unmarshaler]()
	textType        = reflect.TypeFor[encoding.TextMarshaler]()
)

func planOf(t reflect.Type) *plan {
	if p, ok := planCache.Load(t); ok {
		return p.(*plan)
	}
	building := map[reflect.Type]*plan{}
	p := compilePlan(t, building)
	for t, p := range building {
		planCache.Store(t, p)
	}
	return p
}

// compilePlan adds the plan to building before it compiles the types it refers to: types may be recursive.
func compilePlan(t reflect.Type, building map[reflect.Type]*plan) *plan {
	if p, ok := building[t]; ok {
		return p
	}
	p := &plan{typ: t, shape: shapeOf(t), decodes: reflect.PointerTo(t).Implements(unmarshalerType)}
	p.encodes = reflect.PointerTo(t).Implements(marshalerType) || reflect.PointerTo(t).Implements(textType)
	p.object = isObjectType(t)
	p.texts = t.Kind() == reflect.Map && t.Key() == stringType && t.Elem() == stringType
	building[t] = p
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		p.elem = compilePlan(t.Elem(), building)
		p.nilList = t.Kind() == reflect.Slice && p.elem.shape == shapeUnion && p.decodes
	case reflect.Interface:
		p.union = unionOf(t)
		p.shallow = p.shape == shapeOpaque // values of types outside the contract are shared
	case reflect.Struct:
		p.compileStruct(building)
	default:
		p.shallow = true
	}
	return p
}

func shapeOf(t reflect.Type) shape {
	switch t {
	case rawType:
		return shapeRaw
	case anyType:
		return shapeAny
	}
	if u := unionOf(t); u != nil && t == u.typ {
		return shapeUnion
	} else if u != nil && t == u.unknown {
		return shapeOpaque
	}
	// The JSON of our own types follows their fields.
	if !ours(t) && (t.Implements(marshalerType) || t.Implements(textType)) && t.Kind() != reflect.Pointer {
		return shapeOpaque
	}
	switch t.Kind() {
	case reflect.Pointer:
		return shapePointer
	case reflect.Struct:
		return shapeStruct
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return shapeOpaque
		}
		return shapeSlice
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return shapeMap
		}
		return shapeOpaque
	case reflect.Bool, reflect.String, reflect.Float64, reflect.Int, reflect.Int64:
		return shapeScalar
	}
	return shapeOpaque
}

func (p *plan) compileStruct(building map[reflect.Type]*plan) {
	p.shallow = true
	for i := range p.typ.NumField() {
		f := p.typ.Field(i)
		if !f.IsExported() {
			p.hidden = true
			continue
		}
		part := part{i, f.Offset, compilePlan(f.Type, building)}
		p.parts = append(p.parts, part)
		p.shallow = p.shallow && part.plan.shallow
	}
	p.byName = map[string]int{}
	p.compileFields(p.typ, nil, building)
	if p.typ == reflect.TypeOf(contract.State) {
		p.compileStates(building)
	}
	p.compileKeeping()
}

// compileFields adds the fields of t, which is the type of the plan or of a struct that it embeds at the index.
func (p *plan) compileFields(t reflect.Type, index []int, building map[reflect.Type]*plan) {
	for i := range t.NumField() {
		f := t.Field(i)
		path := append(index[:len(index):len(index)], i)
		if u := unionOf(f.Type); f.Anonymous && u != nil {
			p.tag = u.tag
		}
		switch {
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			p.compileFields(f.Type, path, building)
		case f.Anonymous || !f.IsExported():
		case f.Name == "Extra" && f.Type.ConvertibleTo(reflect.TypeFor[Extra]()):
			p.extra = path
		case p.typ != reflect.TypeOf(contract.State):
			p.addField(f, compilePlan(f.Type, building), path)
		}
	}
}

// addField adds a field as its tag describes it.
func (p *plan) addField(f reflect.StructField, plan *plan, index []int) *planField {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" {
		return nil
	}
	name = cmp.Or(name, f.Name)
	p.byName[name] = len(p.fields)
	if plan.union != nil {
		p.unions = append(p.unions, len(p.fields))
	}
	p.fields = append(p.fields, planField{
		name: name, key: `"` + name + `":`, index: index, plan: plan,
		omitEmpty: strings.Contains(options, "omitempty"), omitZero: strings.Contains(options, "omitzero"),
	})
	return &p.fields[len(p.fields)-1]
}

// compileKeeping sets keeps and want.
func (p *plan) compileKeeping() {
	for _, u := range contract.Unions {
		for name, member := range u.members {
			if p.typ == member {
				p.keeps, p.want, p.quoted = true, name, string(jsontext.Quote(name))
			}
		}
	}
	for _, sample := range contract.Keeping {
		p.keeps = p.keeps || p.typ == reflect.TypeOf(sample)
	}
}

// compileStates compiles a plan for each status, with the fields of its struct, which State has under the same Go names.
func (p *plan) compileStates(building map[reflect.Type]*plan) {
	p.states = map[string]*plan{}
	for status, sample := range contract.States {
		state := *p
		state.states, state.fields, state.byName = nil, nil, map[string]int{}
		for _, f := range reflect.VisibleFields(reflect.TypeOf(sample)) {
			own, _ := p.typ.FieldByName(f.Name)
			field := state.addField(f, compilePlan(own.Type, building), own.Index)
			field.nilObject = !field.omitEmpty && (own.Type == rawType || own.Type.Kind() == reflect.Map)
			if own.Index[0] == 0 {
				state.status = field.name
			}
		}
		p.states[status] = &state
	}
}

// at returns the plan for this value: for a state, the plan of its status.
func (p *plan) at(v reflect.Value) *plan {
	if p.states == nil {
		return p
	}
	if state := p.states[v.Field(0).String()]; state != nil {
		return state
	}
	return p
}

// absent reports whether the JSON omits the field with value v.
func (f *planField) absent(v reflect.Value) bool {
	if f.omitZero {
		return v.IsZero()
	}
	if !f.omitEmpty {
		return false
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// isHead reports whether the plan describes a part or a message, or a pointer to one. They must not be null.
func (p *plan) isHead() bool {
	switch p.shape {
	case shapeUnion:
		return true
	case shapePointer:
		return p.elem.tag != ""
	}
	return false
}
