package value

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tenonhq/tenon/internal/jsonpointer"
	"github.com/tenonhq/tenon/internal/jsontext"
)

// maxDropped bounds the dropped pointers that Restrict returns.
const maxDropped = 64

// Restrict splits changes into those under the declared fields and the pointers of the others, of which it returns at most maxDropped.
// If a change sets an object above a declared field, its declared members are kept and the pointers of the other members are dropped.
// Each object is decoded only once, however deep the declared member is. The result has at most one change more than MaxAnswerChanges.
func Restrict[C change](changes []C, writes []string) (kept []C, dropped []string) {
	if slices.Contains(writes, "") {
		return changes, nil
	}
	var r restriction
	for _, c := range as[Change](changes) {
		if jsonpointer.Covers(writes, c.Pointer) {
			r.kept = append(r.kept, c)
			continue
		}
		left := jsonpointer.Below(writes, c.Pointer)
		var object map[string]any
		if len(left) > 0 && !c.Remove && jsontext.DecodeExact(c.Value, &object) != nil {
			object = nil
		}
		if !r.members([]byte(c.Pointer), object, left) {
			r.drop([]byte(c.Pointer))
		}
	}
	if r.unnamed > 0 {
		r.dropped = append(r.dropped, fmt.Sprintf("and %d more", r.unnamed))
	}
	return as[C](r.kept), r.dropped
}

// restriction collects kept changes and dropped pointers.
type restriction struct {
	kept    []Change
	dropped []string
	unnamed int // dropped beyond maxDropped
}

func (r *restriction) drop(pointer []byte) {
	if len(r.dropped) == maxDropped {
		r.unnamed++
		return
	}
	r.dropped = append(r.dropped, string(pointer))
}

// members keeps the declared members of an object. It reports whether there are any; if not, it drops no pointer.
func (r *restriction) members(pointer []byte, object map[string]any, fields []string) bool {
	kept, dropped, unnamed := len(r.kept), len(r.dropped), r.unnamed
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if len(r.kept) > MaxAnswerChanges {
			break
		}
		at := jsonpointer.Append(pointer, key)
		left := jsonpointer.Below(fields, string(at[len(pointer):]))
		if slices.Contains(left, "") {
			if value, err := jsontext.Marshal(object[key]); err == nil {
				r.kept = append(r.kept, Change{Pointer: string(at), Value: value})
				continue
			}
		}
		if inner, ok := object[key].(map[string]any); !ok || len(left) == 0 || !r.members(at, inner, left) {
			r.drop(at)
		}
	}
	if len(r.kept) > kept {
		return true
	}
	r.dropped, r.unnamed = r.dropped[:dropped], unnamed
	return false
}
