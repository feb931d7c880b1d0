package hookpoint

import (
	"cmp"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// SessionOf returns the session that the input of a hook belongs to; empty if none. The input names it in sessionID, or, in an event, in
// sessionID of the properties, their info or their part. These fields come first, and much may follow.
func SessionOf(input []byte) string {
	if id := sessionID(input); id != "" {
		return id
	}
	properties := jsontext.First(input, "properties")
	if id := sessionID(properties); id != "" {
		return id
	}
	return cmp.Or(sessionID(jsontext.First(properties, "info")), sessionID(jsontext.First(properties, "part")))
}

func sessionID(object []byte) string {
	return jsontext.StringValue(jsontext.First(object, "sessionID"))
}
