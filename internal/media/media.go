// Package media knows which files models read, and which are text.
package media

import "net/http"

// Attachable reports whether models read files of a type. After a file of another type, a provider refuses every later request
// of the session.
func Attachable(typ string) bool {
	switch typ {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf":
		return true
	}
	return false
}

// Detect returns the type of a file from its first bytes, or "" if models do not read files of the type.
func Detect(head []byte) string {
	if typ := http.DetectContentType(head); Attachable(typ) {
		return typ
	}
	return ""
}

// Binary reports whether the beginning of a file is not text: it has a NUL byte or more than 30 % control characters.
func Binary(head []byte) bool {
	control := 0
	for _, c := range head {
		if c == 0 {
			return true
		}
		if c < '\t' || c > '\r' && c < ' ' && c != 0x1b {
			control++
		}
	}
	return control*10 > len(head)*3
}
