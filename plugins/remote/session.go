package remote

import (
	"encoding/json"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// SessionOf returns the session that the input of a hook belongs to; empty if none. The input names it in sessionID, or, in an event, in
// sessionID of the properties, their info or their part.
func SessionOf(input []byte) string {
	if id := sessionID(input); id != "" {
		return id
	}
	properties := member(input, "properties")
	for _, object := range [][]byte{properties, member(properties, "info"), member(properties, "part")} {
		if id := sessionID(object); id != "" {
			return id
		}
	}
	return ""
}

func sessionID(object []byte) (id string) {
	_ = json.Unmarshal(member(object, "sessionID"), &id)
	return id
}

// member returns the value of a field of a JSON object, or nil. It reads no further than necessary: the fields of interest come
// first, and much may follow. For invalid data the result is nil or arbitrary.
func member(object []byte, name string) (found []byte) {
	jsontext.EachField(object, func(key, value []byte) bool {
		if string(key) == name {
			found = value
		}
		return found == nil
	})
	return found
}
