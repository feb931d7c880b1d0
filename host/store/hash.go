package store

import (
	"crypto/sha256"
	"encoding/hex"
)

// HashLength is the length of the result of Hash.
const HashLength = 2 * sha256.Size

// Hash returns the name of a blob: the SHA-256 of its content in hex.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
