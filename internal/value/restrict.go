package value

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// maxDropped bounds the pointers that Restrict names as dropped.
const maxDropped = 64

// Restrict splits changes into those under the declared fields and the pointers of the others, of which at most maxDropped are named.
// Of an object that was set above a declared field the declared members are kept, and the pointers of its other members count as
// dropped. Such an object is decoded once, however deep the declared member is; it makes at most one change more than
// MaxAnswerChanges.
func Restrict[C change](changes []C, writes []string) (kept []C, dropped []string) {
	if slices.Contains(writes, "") {
		return changes, nil
	}
	var r restriction
	for _, c := range as[Change](changes) {
		if Covers(writes, c.Pointer) {
			r.kept = append(r.kept, c)
			continue
		}
		left := below(writes, c.Pointer)
		object, _ := decodeTree(c.Value, len(left) > 0 && !c.Remove).(map[string]any)
		if !r.members([]byte(c.Pointer), object, left) {
			r.drop([]byte(c.Pointer))
		}
	}
	if r.unnamed > 0 {
		r.dropped = append(r.dropped, fmt.Sprintf("and %d more", r.unnamed))
	}
	return as[C](r.kept), r.dropped
}

// restriction collects what is kept and what is dropped.
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

// members keeps the declared members of an object. It reports whether there were any; if not, nothing counts as dropped yet.
func (r *restriction) members(pointer []byte, object map[string]any, fields []string) bool {
	kept, dropped, unnamed := len(r.kept), len(r.dropped), r.unnamed
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if len(r.kept) > MaxAnswerChanges {
			break
		}
		at := appendSegment(pointer, key)
		left := below(fields, string(at[len(pointer):]))
		if slices.Contains(left, "") {
			if value, err := JSON(object[key]); err == nil {
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

// below returns what is left of the fields that name the place at pointer or something under it, as pointers from there on: an empty
// one for a field that covers the place.
func below(fields []string, pointer string) []string {
	var out []string
	for _, f := range fields {
		if left, ok := remainder(f, pointer); ok {
			out = append(out, left)
		}
	}
	return out
}

// decodeTree decodes JSON; numbers keep their text. Nil when it is none, or not wanted.
func decodeTree(raw []byte, wanted bool) (tree any) {
	if !wanted {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&tree) != nil {
		return nil
	}
	return tree
}
