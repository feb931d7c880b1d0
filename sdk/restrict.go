package sdk

import (
	"encoding/json"
	"maps"
	"slices"
)

// Restrict splits changes into those under the declared fields and the pointers of the others. Of an object that was set above a
// declared field the declared members are kept, and the pointers of its other members count as dropped.
func Restrict(changes []Change, writes []string) (kept []Change, dropped []string) {
	if slices.Contains(writes, "") {
		return changes, nil
	}
	for _, c := range changes {
		if Covers(writes, c.Pointer) {
			kept = append(kept, c)
			continue
		}
		inner, rest := Restrict(members(c), writes)
		if len(inner) == 0 {
			dropped = append(dropped, c.Pointer)
			continue
		}
		kept = append(kept, inner...)
		dropped = append(dropped, rest...)
	}
	return kept, dropped
}

// members returns a change per member of the object that c sets, in the order of their names; none when it sets something else.
func members(c Change) []Change {
	var object map[string]json.RawMessage
	if c.Remove || json.Unmarshal(c.Value, &object) != nil {
		return nil
	}
	inner := make([]Change, 0, len(object))
	for _, key := range slices.Sorted(maps.Keys(object)) {
		inner = append(inner, Change{Pointer: string(appendSegment([]byte(c.Pointer), key)), Value: object[key]})
	}
	return inner
}
