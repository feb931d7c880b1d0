package files

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/gitkeep"
	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/builtin/internal/tool"
	"github.com/tenonhq/tenon/sdk"
)

// patchModel reports whether the model was trained on apply_patch, which it uses instead of edit and write. The rule is opencode's.
func patchModel(model *sdk.Model) bool {
	return model != nil && strings.Contains(model.ID, "gpt-") &&
		!strings.Contains(model.ID, "gpt-4") && !strings.Contains(model.ID, "oss")
}

func (p *plugin) patch() sdk.Tool {
	spec := tool.Spec[[]patchOp]{
		ID: "apply_patch", Texts: texts, Read: readPatch, Prepare: p.preparePatch, Run: p.runPatch,
	}
	return changer{spec.Tool().(tool.Prepared), patchModel}
}

// preparePatch checks that the whole patch applies and requests permission for it with its diff.
func (p *plugin) preparePatch(ctx context.Context, call *sdk.ToolCall, ops []patchOp) ([]sdk.PermissionRequest, error) {
	changes, err := p.plan(ctx, call, ops)
	if err != nil {
		return nil, err
	}
	var targets []target
	edit := sdk.PermissionRequest{Permission: permissionEdit, Always: []string{"*"}}
	var names []string
	for _, c := range changes {
		targets = append(targets, c.target)
		names = append(names, c.abs)
	}
	edit.Patterns = gitkeep.EditPatterns(ctx, call, names...)
	edit.Metadata = sdk.Object{metaPath: strings.Join(names, ", "), "diff": joinDiffs(changes), "files": names}
	return append(externals(call, targets...), edit), nil
}

// runPatch applies the patch to the current files.
func (p *plugin) runPatch(ctx context.Context, call *sdk.ToolCall, ops []patchOp) (*sdk.ToolResult, error) {
	var real []string
	for _, op := range ops {
		real = append(real, op.target.real)
		if op.moveTo != "" {
			real = append(real, op.moved.real)
		}
	}
	defer p.locks.lock(real...)()
	changes, err := p.plan(ctx, call, ops)
	if err != nil {
		return nil, err
	}
	if err := p.store(call, changes...); err != nil {
		return nil, err
	}
	return patchResult(call, changes), nil
}

func readPatch(call *sdk.ToolCall) ([]patchOp, error) {
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
		if ops[i].target, err = newTarget(call, op.path); err != nil {
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
			kept, removed = append(kept, op.moveTo), append(removed, op.path)
		case op.kind == patchDelete:
			removed = append(removed, op.path)
		default:
			kept = append(kept, op.path)
		}
	}
	return kept, removed, err
}

func patchResult(call *sdk.ToolCall, changes []*change) *sdk.ToolResult {
	var report strings.Builder
	report.WriteString("Patch applied:")
	hashes := map[string]any{}
	files := make([]string, 0, len(changes))
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
		files = append(files, c.abs)
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
			"diff": joinDiffs(changes), "files": files, metaHashes: hashes,
			"additions": additions, "deletions": deletions,
		},
	}
}

func joinDiffs(changes []*change) string {
	var b strings.Builder
	for _, c := range changes {
		b.WriteString(c.diff.text)
	}
	return cutLines(b.String(), maxDiffBytes)
}
