// Package media knows which files models read.
package media

import "net/http"

// Attachable reports whether models read files of a type. A provider refuses every later request of a session with another one.
func Attachable(typ string) bool {
	switch typ {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf":
		return true
	}
	return false
}

// Detect returns the type of a file that models read, from its first bytes; "" for others.
func Detect(head []byte) string {
	if typ := http.DetectContentType(head); Attachable(typ) {
		return typ
	}
	return ""
}
