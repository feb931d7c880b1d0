package hookpoint

import (
	"cmp"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// SessionOf returns the session that the input of a hook belongs to, or "". The input names it in the field sessionID; an event names it
// in sessionID of its properties, or of their info or part. These fields come first in the input, so a long rest need not be read.
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
