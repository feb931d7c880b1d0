package sdk

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
)

// Lookup returns the JSON at a pointer of v, itself a pointer, as v encodes it; nil when nothing stands there.
func Lookup(v any, pointer string) (json.RawMessage, error) {
	path, err := splitPointer(pointer)
	if err != nil {
		return nil, fmt.Errorf("%w: look up %q: %w", ErrWire, pointer, err)
	}
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return nil, fmt.Errorf("%w: look up: want a pointer, have %T", ErrWire, v)
	}
	raw, err := lookup(planOf(target.Type().Elem()), target.Elem(), path)
	if err != nil {
		return nil, fmt.Errorf("%w: look up %q: %w", ErrWire, pointer, err)
	}
	return raw, nil
}

// lookup walks as far as Go values go and then on in their JSON.
func lookup(p *plan, v reflect.Value, path []string) (json.RawMessage, error) {
	for len(path) > 0 {
		switch p.shape {
		case shapePointer, shapeUnion:
			if v.IsNil() || p.shape == shapeUnion && v.Elem().IsNil() {
				return nil, nil
			}
			if p.shape == shapeUnion {
				v = v.Elem()
			}
			p, v = planOf(v.Type().Elem()), v.Elem()
			continue
		case shapeSlice:
			i, err := arrayIndex(path[0], v.Len())
			if err != nil || i == v.Len() {
				return nil, nil
			}
			p, v, path = p.elem, v.Index(i), path[1:]
			continue
		case shapeMap:
			elem := v.MapIndex(reflect.ValueOf(path[0]).Convert(p.typ.Key()))
			if !elem.IsValid() {
				return nil, nil
			}
			slot := reflect.New(p.elem.typ).Elem()
			slot.Set(elem)
			p, v, path = p.elem, slot, path[1:]
			continue
		case shapeStruct:
			own := p.at(v)
			i, known := own.byName[path[0]]
			if !known || own.extra != nil && v.FieldByIndex(own.extra).Interface().(Extra)[path[0]] != nil {
				break
			}
			f := &own.fields[i]
			field := v.FieldByIndex(f.index)
			if f.absent(field) {
				return nil, nil
			}
			if f.nilObject && field.Len() == 0 {
				break
			}
			p, v, path = f.plan, field, path[1:]
			continue
		}
		break
	}
	raw, err := marshal(v.Addr().Interface())
	for len(path) > 0 && raw != nil && err == nil {
		raw, path = rawMember(raw, path[0]), path[1:]
	}
	return raw, err
}

func rawMember(raw []byte, name string) (found []byte) {
	if raw[0] != '[' {
		return rawField(raw, name)
	}
	i := 0
	eachElement(raw, func(value []byte) {
		if strconv.Itoa(i) == name {
			found = value
		}
		i++
	})
	return found
}
