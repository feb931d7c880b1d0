package wire

import (
	"bytes"

	"github.com/tenonhq/tenon/internal/lazyregexp"
)

// The escape sequences of the halves of a character beyond U+FFFF, see RFC 8259, section 7: a first half that ends a JSON string, a second half
// that begins one. A backslash before them that is not escaped would make them something else.
var (
	firstHalf  = lazyregexp.New(`(?:^|[^\\])(?:\\\\)*(\\u[dD][89abAB][0-9a-fA-F]{2})"`)
	secondHalf = lazyregexp.New(`(?:^|[^\\])(?:\\\\)*"(\\u[dD][c-fC-F][0-9a-fA-F]{2})`)
)

// halves joins a character whose halves are in two events: servers written in languages whose strings are UTF-16 cut texts there. Decoded
// alone, each half would be U+FFFD. A first half without a second one is left out.
type halves struct {
	first []byte // the half that waits for its second one
}

// join moves a half at the end of a string to the second half at the beginning of a string in a later event. It does not change data.
func (h *halves) join(data []byte) []byte {
	if !bytes.Contains(data, []byte(`\ud`)) && !bytes.Contains(data, []byte(`\uD`)) {
		return data
	}
	if h.first != nil {
		if at := secondHalf().FindSubmatchIndex(data); at != nil {
			data = bytes.Join([][]byte{data[:at[2]], h.first, data[at[2]:]}, nil)
			h.first = nil
		}
	}
	if at := firstHalf().FindSubmatchIndex(data); at != nil {
		h.first = bytes.Clone(data[at[2]:at[3]])
		data = bytes.Join([][]byte{data[:at[2]], data[at[3]:]}, nil)
	}
	return data
}
