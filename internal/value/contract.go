package value

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unsafe"
)

// ErrWire is wrapped by every error about JSON that does not have the shape its type demands.
var ErrWire = errors.New("malformed wire data")

// Extra holds the fields of an object that a type does not declare, by name.
type Extra = map[string]json.RawMessage

// Change is one change of a value. Functions that take or return changes work with any type that has these fields.
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

// as returns the same changes under another name of their type.
func as[D, C change](changes []C) []D { return *(*[]D)(unsafe.Pointer(&changes)) }

// Contract describes the types of one package, whose JSON follows their fields, where their declarations alone do not say it.
type Contract struct {
	Unions []Union
	// Keeping are structs with a field Extra that decode themselves with DecodeWire into a twin without methods.
	Keeping []any
	// State is a struct that has other fields in each status, its first field. States holds a struct for each status, which has the
	// fields of State that belong to the status, under the same Go names.
	State  any
	States map[string]any
}

// Union is an interface type. Its members are pointers to structs that embed the same head and begin with a tag in their JSON.
type Union struct {
	typ     reflect.Type
	head    reflect.Type
	unknown reflect.Type // keeps the JSON of members that this version does not know
	tag     string
	name    func(member any) string
	decode  func(data []byte) (any, error)
	memory  memory
	read    func(d *ordinary, at unsafe.Pointer) bool
	list    func(d *ordinary, at unsafe.Pointer) bool
}

// NewUnion describes the interface type M. tag is the field that names the member; name returns its value for a member, and fresh
// a new member of that name, of the type of unknown when there is none. head is what all members embed.
func NewUnion[M any](tag string, name func(M) string, fresh func(name string) M, head, unknown any) Union {
	u := Union{typ: reflect.TypeFor[M](), head: reflect.TypeOf(head), unknown: reflect.TypeOf(unknown), tag: tag}
	u.name = func(member any) string { return name(member.(M)) }
	u.decode = func(data []byte) (any, error) { return decodeMember(&u, fresh, data) }
	u.memory = memory{
		func(a, b unsafe.Pointer) bool { return samePointee(*(*M)(a), *(*M)(b)) },
		func(at unsafe.Pointer) {
			if m := (*M)(at); any(*m) != nil {
				*m, _ = clonePointer(*m).(M)
			}
		},
	}
	u.read = func(d *ordinary, at unsafe.Pointer) bool { return readMember(d, &u, fresh, (*M)(at)) }
	u.list = func(d *ordinary, at unsafe.Pointer) bool {
		list := []M{}
		ok := d.each('[', ']', func() bool {
			var member M
			ok := readMember(d, &u, fresh, &member)
			list = append(list, member)
			return ok
		})
		*(*[]M)(at) = list
		return ok
	}
	return u
}

func decodeMember[M any](u *Union, fresh func(name string) M, data []byte) (M, error) {
	var none M
	if !isObject(data) {
		return none, fmt.Errorf("%w: %s: no JSON object: %.40q", ErrWire, strings.ToLower(u.typ.Name()), data)
	}
	member := fresh(string(firstString(data, u.tag)))
	if reflect.TypeOf(member).Elem() != u.unknown && any(member).(json.Unmarshaler).UnmarshalJSON(data) == nil {
		return member, nil
	}
	member = fresh(StringField(data, u.tag))
	if err := any(member).(json.Unmarshaler).UnmarshalJSON(data); err != nil {
		return none, err
	}
	return member, nil
}

func readMember[M any](d *ordinary, u *Union, fresh func(name string) M, to *M) bool {
	d.peek()
	member := fresh(string(firstString(d.data[d.i:], u.tag)))
	v := reflect.ValueOf(member)
	if v.Type().Elem() == u.unknown {
		raw, ok := d.raw()
		other, err := decodeMember(u, fresh, raw)
		*to = other
		return ok && err == nil
	}
	*to = member
	p := planOf(v.Type()).elem
	return d.keeping(p, v.UnsafePointer(), p.want)
}

// contract is set once, by the package that declares the types, before anything is decoded.
var contract struct {
	Contract
	path string
}

// Register makes the contract known. It is called once, from a package variable of the package that declares the types.
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
	member, err := unionOf(reflect.TypeFor[M]()).decode(data)
	m, _ := member.(M)
	return m, err
}

// DecodeMembers decodes an array of members of the union M. Errors wrap ErrWire.
func DecodeMembers[M any](data []byte) ([]M, error) {
	out := []M{}
	ordinary := ordinaryElements(data, func(raw []byte) bool {
		member, err := DecodeMember[M](raw)
		out = append(out, member)
		return err == nil
	})
	if ordinary {
		return out, nil
	}
	name := strings.ToLower(reflect.TypeFor[M]().Name())
	var raws []json.RawMessage
	if err := json.Unmarshal(data, &raws); err != nil {
		return nil, fmt.Errorf("%w: %ss: %w", ErrWire, name, err)
	}
	out = make([]M, len(raws))
	for i, raw := range raws {
		member, err := DecodeMember[M](raw)
		if err != nil {
			return nil, fmt.Errorf("%s %d: %w", name, i, err)
		}
		out[i] = member
	}
	return out, nil
}
