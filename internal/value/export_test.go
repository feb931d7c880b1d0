package value

import (
	"fmt"
	"math"
	"reflect"

	"github.com/google/go-cmp/cmp"
)

// States returns the types of the states in the contract.
func States() (types []reflect.Type) {
	for _, state := range contract.States {
		types = append(types, reflect.TypeOf(state))
	}
	return types
}

// exact tells what encodes differently apart.
var exact = cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })

// CompareDecoders decodes data as every type both ways. It returns the names of the types the fast way
// takes the data for, and an error when what it makes of it is not what the slow way does.
func CompareDecoders(types []reflect.Type, data []byte) (taken []string, err error) {
	for _, t := range types {
		fast, slow := reflect.New(t), reflect.New(t)
		extra, ok := decodeOrdinary(data, planOf(t), fast.Elem())
		if !ok {
			if !fast.Elem().IsZero() {
				return nil, fmt.Errorf("%s: refused, but changed", t.Name())
			}
			continue
		}
		taken = append(taken, t.Name())
		want, err := planOf(t).decodeSlow(data, slow.Elem())
		if err != nil {
			return nil, fmt.Errorf("%s: taken, but the slow way refuses it: %w", t.Name(), err)
		}
		if diff := cmp.Diff(slow.Interface(), fast.Interface(), exact) + cmp.Diff(want, extra); diff != "" {
			return nil, fmt.Errorf("%s (-slow +fast):\n%s", t.Name(), diff)
		}
	}
	return taken, nil
}
