package tools

import (
	"path/filepath"
	"slices"

	"github.com/tenonhq/tenon/sdk"
)

// Permission keys of built-in tools that write files. Other built-in tools change none.
const (
	permissionEdit = "edit" // the files in its permission requests
	permissionBash = "bash" // a command may write any file
)

// MayWrite reports whether a call of the tool may write files; third-party tools always may.
func (t *Tool) MayWrite() bool {
	return !t.builtin() || t.Edits() || t.permission == permissionBash
}

// OnlyReads reports whether calls of the tool only read files: true for the built-in tools read, list, glob and grep, false for nil.
func (t *Tool) OnlyReads() bool {
	return t != nil && t.builtin() && slices.Contains([]string{"read", "list", "glob", "grep"}, t.permission)
}

// Edits reports whether the tool is a built-in one that lists the files that it changes; false for nil.
func (t *Tool) Edits() bool { return t != nil && t.builtin() && t.permission == permissionEdit }

// WillWrite returns the files that a built-in tool lists in its permission requests. It returns none, as if the tool could write
// any, if a name is relative: no contract says to what.
func (t *Tool) WillWrite(requests []sdk.PermissionRequest) []string {
	if !t.Edits() {
		return nil
	}
	var out []string
	for _, r := range requests {
		if r.Permission != permissionEdit {
			continue
		}
		list := StringsOf(r.Metadata["files"])
		if file, ok := r.Metadata["filepath"].(string); ok && len(list) == 0 {
			list = []string{file}
		}
		out = append(out, list...)
	}
	if slices.ContainsFunc(out, func(name string) bool { return !filepath.IsAbs(name) }) {
		return nil
	}
	return out
}

// StringsOf returns a list of strings, also from the []any that JSON decoding produces.
func StringsOf(v any) []string {
	switch v := v.(type) {
	case []string:
		return v
	case []any:
		var out []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}
