package value

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
)

// ErrWire is wrapped by errors about JSON that does not match its type.
var ErrWire = errors.New("invalid data")

// Extra holds the fields of an object that a type does not declare, by name.
type Extra = map[string]json.RawMessage

// Change is one change of a value. Functions that take changes accept any type with these fields.
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

// Contract describes the types of one package whose JSON does not follow from their declarations.
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
	set     func(v reflect.Value, member any)
}

// NewUnion describes the interface type M. The field tag names the type of a member, and name returns its value. All members embed head. Members with
// unknown names decode into the type of unknown.
func NewUnion[M any](tag string, name func(M) string, head any, unknown M, members ...M) Union {
	u := Union{
		typ: reflect.TypeFor[M](), head: reflect.TypeOf(head), tag: tag,
		members: map[string]reflect.Type{}, unknown: reflect.TypeOf(unknown).Elem(),
		set: func(v reflect.Value, member any) { *at[M](v) = member.(M) },
	}
	for _, member := range members {
		u.members[name(member)] = reflect.TypeOf(member).Elem()
	}
	return u
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
