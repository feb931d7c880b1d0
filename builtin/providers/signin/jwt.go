package signin

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// claims are those that sign-ins read of a JWT.
type claims struct {
	Expires float64 `json:"exp"`                // in seconds, see RFC 7519, section 4.1.4
	Account string  `json:"chatgpt_account_id"` // this and the following: of ChatGPT
	Auth    struct {
		Account string `json:"chatgpt_account_id"`
	} `json:"https://api.openai.com/auth"`
	Organizations []struct {
		ID string `json:"id"`
	} `json:"organizations"`
}

// claimsOf returns the claims of a JWT; none if it is something else. The signature is not checked: the token came from its issuer, over TLS.
func claimsOf(jwt string) (c claims) {
	parts := strings.Split(jwt, ".")
	if len(parts) != 3 {
		return c
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil || json.Unmarshal(payload, &c) != nil {
		return claims{}
	}
	return c
}

// expires returns the end of the token in Unix milliseconds, or 0.
func (c claims) expires() int64 {
	const latest = 1 << 40 // seconds; a later end is ignored
	if c.Expires > 0 && c.Expires < latest {
		return int64(c.Expires) * 1000
	}
	return 0
}
