package value

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"unsafe"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// This file decodes ordinary JSON into Go values. As in memory.go, an address always points to a live value of the plan's type.

// fields reads an object into the struct at the address.
func (d *ordinary) fields(p *plan, at unsafe.Pointer) (extra Extra, ok bool) {
	var seen uint64
	next := 0 // fields mostly come in order
	ok = d.Each('{', '}', func() bool {
		i, known := d.field(p, next)
		var key []byte
		if !known {
			var ok bool
			if key, ok = d.Name(); !ok {
				return false
			}
			i, known = p.byName[string(key)]
		}
		if known {
			next = i + 1
			bit := uint64(1) << i // zero for a struct of more than 64 fields; there is none
			if bit == 0 || seen&bit != 0 {
				return false
			}
			seen |= bit
			f := &p.fields[i]
			return d.value(f.plan, unsafe.Add(at, f.offset))
		}
		raw, ok := d.Raw()
		if !ok {
			return false
		}
		if p.want != "" && string(key) == p.tag {
			return len(raw) == len(p.want)+2 && raw[0] == '"' && string(raw[1:len(raw)-1]) == p.want
		}
		if p.folds(string(key)) {
			return false
		}
		if d.loose {
			return true
		}
		if extra == nil {
			extra = Extra{}
		}
		extra[string(key)] = bytes.Clone(raw)
		return true
	})
	return extra, ok
}

// field skips the name of a field and its colon if it is one of the next fields from guess on: empty fields are omitted.
func (d *ordinary) field(p *plan, guess int) (index int, ok bool) {
	d.Peek()
	rest := d.Rest()
	for i := guess; i < len(p.fields) && i < guess+4; i++ {
		if key := p.fields[i].key; len(rest) >= len(key) && string(rest[:len(key)]) == key {
			d.Skip(len(key))
			return i, true
		}
	}
	return 0, false
}

// reader is the way to decode values of a type.
type reader uint8

const (
	readNothing reader = iota // left to encoding/json
	readRaw
	readAny
	readObject
	readUnion
	readUnions // a list
	readState
	readKeeping
	readOwn // by its UnmarshalJSON
	readScalar
	readPointer
	readStruct
	readSlice
	readMap
)

func readerOf(p *plan) reader {
	switch {
	case p.shape == shapeRaw:
		return readRaw
	case p.shape == shapeAny:
		return readAny
	case isObjectType(p.typ):
		return readObject
	case p.shape == shapeUnion:
		return readUnion
	case p.shape == shapeSlice && p.elem.shape == shapeUnion:
		return readUnions
	case len(p.unions) > 0:
		return readStruct
	case p.states != nil:
		return readState
	case p.keeps:
		return readKeeping
	case p.decodes:
		return readOwn
	}
	switch p.shape {
	case shapeScalar:
		return readScalar
	case shapePointer:
		return readPointer
	case shapeStruct:
		return readStruct
	case shapeSlice:
		return readSlice
	case shapeMap:
		return readMap
	}
	return readNothing
}

// value decodes any value to the address of a zero value.
func (d *ordinary) value(p *plan, at unsafe.Pointer) bool {
	switch p.reader {
	case readRaw:
		raw, ok := d.Raw()
		*(*json.RawMessage)(at) = bytes.Clone(raw)
		return ok
	case readAny:
		v, ok := d.Any()
		*(*any)(at) = v
		return ok && jsontext.Rounded(v)
	case readObject:
		o, ok := d.Object()
		*(*map[string]any)(at) = o
		return ok
	case readUnion:
		return d.member(unionOf(p.typ), at)
	case readUnions:
		return d.slice(p, at)
	case readState:
		return d.state(p, at)
	case readKeeping:
		return d.keeping(p, at)
	case readOwn:
		raw, ok := d.Raw()
		v := reflect.NewAt(p.typ, at)
		return ok && v.Interface().(json.Unmarshaler).UnmarshalJSON(raw) == nil && (d.loose || len(p.unknownInside(raw, v.Elem())) == 0)
	case readScalar:
		return d.loose && d.null() || d.scalar(p, at)
	case readPointer:
		return d.null() || d.pointer(p, at)
	case readStruct:
		if d.loose && d.null() {
			return true
		}
		extra, ok := d.fields(p, at)
		return ok && (extra == nil || d.loose) && p.complete(at)
	case readSlice:
		return d.null() || d.slice(p, at)
	case readMap:
		return d.null() || d.mapOf(p, at)
	}
	return false
}

func (d *ordinary) null() bool { return d.Peek() == 'n' && d.Literal("null") }

func (d *ordinary) pointer(p *plan, at unsafe.Pointer) bool {
	elem := reflect.New(p.elem.typ).UnsafePointer()
	*(*unsafe.Pointer)(at) = elem
	return d.value(p.elem, elem)
}

// keeping decodes an object of a type that keeps unknown fields.
func (d *ordinary) keeping(p *plan, at unsafe.Pointer) bool {
	loose := d.loose
	d.loose = false
	extra, ok := d.fields(p, at)
	d.loose = loose
	*(*Extra)(unsafe.Add(at, p.extraOffset)) = extra
	return ok
}

// state decodes a state by the plan of its status.
func (d *ordinary) state(p *plan, at unsafe.Pointer) bool {
	state := p.states[string(jsontext.FirstString(d.Rest(), "status"))]
	return state != nil && d.keeping(state, at)
}

func (d *ordinary) slice(p *plan, at unsafe.Pointer) bool {
	v := reflect.NewAt(p.typ, at).Elem()
	v.Set(reflect.MakeSlice(p.typ, 0, 0)) // not nil, even when it stays empty
	size := p.typ.Elem().Size()
	return d.Each('[', ']', func() bool {
		n := v.Len()
		v.Grow(1)
		v.SetLen(n + 1)
		return d.Peek() != 'n' && d.value(p.elem, unsafe.Add((*sliceWords)(at).data, uintptr(n)*size))
	})
}

// member decodes a member of a union.
func (d *ordinary) member(u *Union, at unsafe.Pointer) bool {
	d.Peek()
	t, known := u.members[string(jsontext.FirstString(d.Rest(), u.tag))]
	if !known {
		raw, ok := d.Raw()
		member, err := u.decode(raw)
		u.set(at, member)
		return ok && err == nil
	}
	v := reflect.New(t)
	u.set(at, v.Interface())
	p := planOf(t)
	return d.keeping(p, v.UnsafePointer())
}

// complete reports whether no field that is a union is missing.
func (p *plan) complete(at unsafe.Pointer) bool {
	for _, offset := range p.unions {
		if *(*unsafe.Pointer)(unsafe.Add(at, offset)) == nil {
			return false
		}
	}
	return true
}

// mapOf decodes an object into a map.
func (d *ordinary) mapOf(p *plan, at unsafe.Pointer) bool {
	m := reflect.MakeMap(p.typ)
	reflect.NewAt(p.typ, at).Elem().Set(m)
	return d.Entries(func(key string) bool {
		elem := reflect.New(p.elem.typ)
		ok := d.value(p.elem, elem.UnsafePointer())
		m.SetMapIndex(reflect.ValueOf(key).Convert(p.typ.Key()), elem.Elem())
		return ok
	})
}

func (d *ordinary) scalar(p *plan, at unsafe.Pointer) bool {
	switch p.kind {
	case reflect.String:
		s, ok := d.Text()
		*(*string)(at) = s
		return ok
	case reflect.Bool:
		yes := d.Peek() == 't'
		*(*bool)(at) = yes
		return yes && d.Literal("true") || d.Literal("false")
	case reflect.Int64:
		number, ok := d.Number()
		n, err := strconv.ParseInt(string(number), 10, 64)
		*(*int64)(at) = n
		return ok && err == nil
	case reflect.Int:
		number, ok := d.Number()
		n, err := strconv.Atoi(string(number))
		*(*int)(at) = n
		return ok && err == nil
	case reflect.Float64:
		number, ok := d.Number()
		n, err := strconv.ParseFloat(string(number), 64)
		*(*float64)(at) = n
		return ok && err == nil
	}
	return false // no other kinds in the contract
}
