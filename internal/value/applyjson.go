package value

import (
	"encoding/json"
	"errors"
	"reflect"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// Changes of JSON of any shape: in an Object or in raw JSON.

// inAny changes JSON in the form of encoding/json. Other values are converted to that form.
func (a *applier) inAny(v reflect.Value, path []string, e edit) error {
	slot := v.Addr().Interface().(*any)
	if object, ok := anyObject(*slot); ok {
		*slot = object
	}
	if *slot == nil {
		*slot = map[string]any(nil)
	}
	switch value := (*slot).(type) {
	case map[string]any, []any:
		inner := reflect.New(reflect.TypeOf(value)).Elem()
		inner.Set(reflect.ValueOf(value))
		if err := a.at(planOf(inner.Type()), inner, path, e); err != nil {
			return err
		}
		*slot = inner.Interface()
		return nil
	case string, bool, float64, json.Number:
		return errors.New("the value above has no members")
	}
	plain, err := plainJSON(*slot)
	if err != nil {
		return err
	}
	switch plain.(type) {
	case map[string]any, []any, nil:
		*slot = plain
		return a.inAny(v, path, e)
	}
	return errors.New("the value above has no members")
}

// reencode makes the edit in the JSON of v and decodes the result.
func (a *applier) reencode(p *plan, v reflect.Value, path []string, e edit) error {
	raw, err := jsontext.Marshal(v.Addr().Interface())
	if err != nil {
		return err
	}
	if raw, err = a.editRaw(raw, path, e); err != nil {
		return err
	}
	fresh := reflect.New(p.typ)
	if err := json.Unmarshal(raw, fresh.Interface()); err != nil {
		return err
	}
	v.Set(fresh.Elem())
	return nil
}

// editRaw makes the edit in raw JSON; numbers keep their text.
func (a *applier) editRaw(raw []byte, path []string, e edit) ([]byte, error) {
	if err := a.work.spend(2 * len(raw)); err != nil { // read and written
		return nil, err
	}
	var tree any
	if len(raw) > 0 {
		if err := jsontext.DecodeExact(raw, &tree); err != nil {
			return nil, err
		}
	}
	inner := applier{fresh: map[uintptr]struct{}{}, work: a.work, added: -1}
	err := inner.inAny(reflect.ValueOf(&tree).Elem(), path, e)
	if a.added = inner.added; err != nil {
		return nil, err
	}
	return jsontext.Marshal(tree)
}
