package files

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/builtin/internal/tool"
	"github.com/tenonhq/tenon/sdk"
)

// The names of the tools that change files.
const (
	writeID = "write"
	editID  = "edit"
	patchID = "apply_patch"
)

func readPatch(call *sdk.ToolCall) ([]operation, error) {
	args, err := tool.Args[struct {
		PatchText string `json:"patchText"`
	}](call)
	if err != nil {
		return nil, err
	}
	ops, err := parsePatch(args.PatchText)
	if err != nil {
		return nil, err
	}
	for i, op := range ops {
		if ops[i].target, err = newTarget(call, op.FilePath); err != nil {
			return nil, err
		}
		if op.moveTo == "" {
			continue
		}
		if ops[i].moved, err = newTarget(call, op.moveTo); err != nil {
			return nil, err
		}
	}
	return ops, nil
}

// PatchPaths returns the paths in a patch as they are written: of the files that it removes or moves away, and of all others.
func PatchPaths(text string) (kept, removed []string, err error) {
	ops, err := parsePatch(text)
	for _, op := range ops {
		switch {
		case op.moveTo != "":
			kept, removed = append(kept, op.moveTo), append(removed, op.FilePath)
		case op.kind == patchDelete:
			removed = append(removed, op.FilePath)
		default:
			kept = append(kept, op.FilePath)
		}
	}
	return kept, removed, err
}

func patchResult(call *sdk.ToolCall, changes []*change) *sdk.ToolResult {
	var report strings.Builder
	report.WriteString("Patch applied:")
	hashes := map[string]any{}
	additions, deletions := 0, 0
	for _, c := range changes {
		sign := "M"
		switch {
		case c.remove:
			sign = "D"
		case c.old == nil:
			sign = "A"
		}
		fmt.Fprintf(&report, "\n%s %s", sign, c.name)
		if !c.remove {
			hashes[c.abs] = c.hash()
		}
		additions += c.diff.additions
		deletions += c.diff.deletions
	}
	title := paths.Title(call, changes[0].abs)
	if len(changes) > 1 {
		title = fmt.Sprintf("%s and %d more", filepath.ToSlash(title), len(changes)-1)
	}
	return &sdk.ToolResult{
		Title:  title,
		Output: report.String(),
		Metadata: sdk.Object{
			"diff": joinDiffs(changes), "files": changed(changes), metaHashes: hashes,
			"additions": additions, "deletions": deletions,
		},
	}
}
