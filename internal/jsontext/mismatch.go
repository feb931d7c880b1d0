package jsontext

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// kinds names JSON values by the kinds of Go's types.
var kinds = map[reflect.Kind]string{
	reflect.String: "a string", reflect.Bool: "true or false", reflect.Slice: "a list", reflect.Struct: "an object", reflect.Map: "an object",
	reflect.Float64: "a number",
}

// Mismatch returns an error that wraps a *json.UnmarshalTypeError in the words of JSON: authors in other languages do not know Go's types. It
// returns other errors unchanged.
func Mismatch(err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err
	}
	at := ""
	if wrong.Field != "" {
		at = wrong.Field + ": "
	}
	return fmt.Errorf("%swant %s, have %s", at, cmp.Or(kinds[wrong.Type.Kind()], "a whole number"), wrong.Value)
}
