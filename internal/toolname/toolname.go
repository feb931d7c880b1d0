// Package toolname maps tools to the names that permission rules use for them.
package toolname

import (
	"slices"
	"strings"
)

// Permission returns the name of the permission for a tool: all tools that change files share edit.
func Permission(tool string) string {
	if slices.Contains([]string{"write", "patch", "multiedit", "apply_patch"}, strings.ToLower(tool)) {
		return "edit"
	}
	return tool
}
