package tools

import (
	"slices"

	"github.com/tenonhq/tenon/sdk"
)

// Permission keys of built-in tools that write files. Other built-in tools change none.
const (
	permissionEdit = "edit" // the files it names when it asks
	permissionBash = "bash" // any
)

// MayWrite reports whether a call of the tool may write files; any tool of a third-party plugin may.
func (t *Tool) MayWrite() bool {
	key := t.permission()
	return t.Origin.Carrier != sdk.CarrierBuiltin || key == permissionEdit || key == permissionBash
}

// OnlyReads reports whether calls of the tool only read files: those of the built-in tools read, list, glob and grep.
func (t *Tool) OnlyReads() bool {
	return t.Origin.Carrier == sdk.CarrierBuiltin && slices.Contains([]string{"read", "list", "glob", "grep"}, t.permission())
}

// permission returns the key of the tool's permission.
func (t *Tool) permission() string {
	if p, ok := t.Tool.(sdk.ToolPermission); ok {
		return p.Permission()
	}
	return t.Def.ID
}

// WillWrite returns the files that a built-in tool lists in its permission requests.
func WillWrite(one *Tool, requests []sdk.PermissionRequest) []string {
	if one.Origin.Carrier != sdk.CarrierBuiltin || one.permission() != permissionEdit {
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
	return out
}

// StringsOf returns a list of strings, even if JSON made a []any of it.
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
