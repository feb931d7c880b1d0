// Package toolname knows the names of tools that rules of permissions treat as one.
package toolname

import (
	"slices"
	"strings"
)

// Permission returns the permission that a tool is decided under: all tools that change files share edit.
func Permission(tool string) string {
	if slices.Contains([]string{"write", "patch", "multiedit", "apply_patch"}, strings.ToLower(tool)) {
		return "edit"
	}
	return tool
}
