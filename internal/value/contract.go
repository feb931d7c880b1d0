package value

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// ErrWire is wrapped by errors about JSON that does not match its type.
var ErrWire = errors.New("malformed wire data")

// Extra holds the fields of an object that a type does not declare, by name.
type Extra = map[string]json.RawMessage

// Change is one change of a value. Functions with changes accept any type with these fields.
type Change struct {
	Pointer string          `json:"pointer"`
	Value   json.RawMessage `json:"value,omitempty"`
	Remove  bool            `json:"remove,omitempty"`
}

type change interface {
	~struct {
		Pointer string          `json:"pointer"`
		Value   json.RawMessage `json:"value,omitempty"`
		Remove  bool            `json:"remove,omitempty"`
	}
}

// as returns the same changes as another type.
func as[D, C change](changes []C) []D { return *(*[]D)(unsafe.Pointer(&changes)) }

// Contract describes the types of one package, as far as their JSON does not follow from their declarations.
type Contract struct {
	Unions []Union
	// Keeping are structs with a field Extra that decode themselves with Unmarshal.
	Keeping []any
	// State is a struct whose fields depend on its status, the first field. States holds for each status a struct with the fields of State that belong to
	// the status, under the same Go names.
	State  any
	States map[string]any
}

// Union is an interface type. Its members are pointers to structs that embed the same head and name their type in a tag.
type Union struct {
	typ     reflect.Type
	head    reflect.Type
	tag     string
	members map[string]reflect.Type
	unknown reflect.Type // keeps the JSON of members that this version does not know
	set     func(at unsafe.Pointer, member any)
	memory  memory
}

// NewUnion describes the interface type M. The field tag names the type of a member, and name returns its value. All members embed head. Members with
// unknown names decode into the type of unknown.
func NewUnion[M any](tag string, name func(M) string, head any, unknown M, members ...M) Union {
	u := Union{
		typ: reflect.TypeFor[M](), head: reflect.TypeOf(head), tag: tag,
		members: map[string]reflect.Type{}, unknown: reflect.TypeOf(unknown).Elem(),
		set: func(at unsafe.Pointer, member any) { *(*M)(at), _ = member.(M) },
		memory: memory{
			func(a, b unsafe.Pointer) bool { return samePointee(*(*M)(a), *(*M)(b)) },
			func(at unsafe.Pointer) {
				if m := (*M)(at); any(*m) != nil {
					*m, _ = clonePointer(*m).(M)
				}
			},
		},
	}
	for _, member := range members {
		u.members[name(member)] = reflect.TypeOf(member).Elem()
	}
	return u
}

// decode decodes a member.
func (u *Union) decode(data []byte) (any, error) {
	if !jsontext.IsObject(data) {
		return nil, fmt.Errorf("%w: %s: no JSON object: %.40q", ErrWire, u, data)
	}
	// A guess: another field with the same name may follow, and would count.
	if t, known := u.members[string(jsontext.FirstString(data, u.tag))]; known {
		v, d := reflect.New(t), ordinary{Scanner: jsontext.NewScanner(data)}
		if d.keeping(planOf(t), v.UnsafePointer()) && d.AtEnd() {
			return v.Interface(), nil
		}
	}
	t, known := u.members[jsontext.StringField(data, u.tag)]
	if !known {
		t = u.unknown
	}
	member := reflect.New(t).Interface()
	return member, member.(json.Unmarshaler).UnmarshalJSON(data)
}

// String returns the name of the union in errors.
func (u *Union) String() string { return strings.ToLower(u.typ.Name()) }

// contract is set once, before anything is decoded.
var contract struct {
	Contract
	path string
}

// Register sets the contract. The package that declares the types calls it once, from a package variable.
func Register(c Contract) Contract {
	contract.Contract, contract.path = c, reflect.TypeOf(c.State).PkgPath()
	return c
}

// ours reports whether the contract's package declares the type.
func ours(t reflect.Type) bool { return t.PkgPath() == contract.path }

// unionOf returns the union that has t as its interface, head or member of unknown name; nil for other types.
func unionOf(t reflect.Type) *Union {
	for i := range contract.Unions {
		if u := &contract.Unions[i]; t == u.typ || t == u.head || t == u.unknown {
			return u
		}
	}
	return nil
}

// DecodeMember decodes a member of the union M. Errors wrap ErrWire.
func DecodeMember[M any](data []byte) (M, error) {
	var m M
	member, err := unionOf(reflect.TypeFor[M]()).decode(data)
	if err == nil {
		m = member.(M)
	}
	return m, err
}

// DecodeMembers decodes an array of members of the union M. Errors wrap ErrWire.
func DecodeMembers[M any](data []byte) ([]M, error) {
	u := unionOf(reflect.TypeFor[M]())
	var raws []json.RawMessage
	if err := json.Unmarshal(data, &raws); err != nil {
		return nil, fmt.Errorf("%w: %ss: %w", ErrWire, u, err)
	}
	out := make([]M, len(raws))
	for i, raw := range raws {
		var err error
		if out[i], err = DecodeMember[M](raw); err != nil {
			return nil, fmt.Errorf("%s %d: %w", u, i, err)
		}
	}
	return out, nil
}
