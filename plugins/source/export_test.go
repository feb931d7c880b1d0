package source

import "encoding/json"

// DecodeNPMLock decodes the packages of a pin as a fetch does.
func DecodeNPMLock(data []byte) (json.RawMessage, error) {
	l, err := decodeNPMLock(data)
	if err != nil {
		return nil, err
	}
	return l.encode(), nil
}

// RedirectTarballs replaces the addresses in the description of a package as the gate does.
var RedirectTarballs = redirectTarballs
