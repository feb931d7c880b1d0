package files

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/gitkeep"
	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/builtin/internal/tool"
	"github.com/tenonhq/tenon/sdk"
)

// changer returns a tool that changes files. Its Run plans the changes again: calls of the same step may have changed the files since Prepare.
func (p *plugin) changer(id string, read func(call *sdk.ToolCall) ([]operation, error)) sdk.Tool {
	spec := tool.Spec[[]operation]{
		ID: id, Texts: texts, Read: read,
		Prepare: func(ctx context.Context, call *sdk.ToolCall, ops []operation) ([]sdk.PermissionRequest, error) {
			changes, err := p.plan(ctx, call, ops)
			if err != nil {
				return nil, err
			}
			return permissions(ctx, call, changes), nil
		},
		Run: func(ctx context.Context, call *sdk.ToolCall, ops []operation) (*sdk.ToolResult, error) {
			var files []string
			for _, op := range ops {
				files = append(files, op.target.real, cmp.Or(op.moved.real, op.target.real))
			}
			defer p.locks.lock(files...)()
			changes, err := p.plan(ctx, call, ops)
			if err == nil {
				err = commit(call, changes)
			}
			if err != nil {
				return nil, err
			}
			result := fileResult(call, id, changes)
			if id == patchID {
				result = patchResult(call, changes)
			}
			for _, c := range changes {
				p.history.note(call, c.real, c.hash())
				if note := p.instructions(call, c.target); !strings.Contains(result.Output, note) { // without a read before: a new file, or one in the prompt
					result.Output += note
				}
			}
			return result, nil
		},
	}
	return changer{spec.Tool().(tool.Prepared), id == patchID}
}

// permissions returns the permission requests of changes: to edit the files, with the diff, and for directories outside the project.
func permissions(ctx context.Context, call *sdk.ToolCall, changes []*change) []sdk.PermissionRequest {
	names := changed(changes)
	return append(paths.Externals(call, names...), sdk.PermissionRequest{
		Permission: permissionEdit,
		Patterns:   gitkeep.EditPatterns(ctx, call, names...),
		Always:     []string{"*"},
		Metadata:   sdk.Object{metaPath: strings.Join(names, ", "), "diff": joinDiffs(changes), "files": names},
	})
}

// fileResult is the result of write or edit. history.rebuild reads its metadata.
func fileResult(call *sdk.ToolCall, id string, changes []*change) *sdk.ToolResult {
	c := changes[0]
	metadata := sdk.Object{
		metaPath: c.abs, metaHash: c.hash(), "diff": joinDiffs(changes), "files": changed(changes),
		"filediff": map[string]any{"file": c.abs, "additions": c.diff.additions, "deletions": c.diff.deletions},
	}
	if id == writeID {
		metadata["exists"] = c.old != nil
	}
	return &sdk.ToolResult{Title: paths.Title(call, c.abs), Output: c.report, Metadata: metadata}
}

// patchResult is the result of apply_patch. history.rebuild reads its metadata.
func patchResult(call *sdk.ToolCall, changes []*change) *sdk.ToolResult {
	output, hashes, additions, deletions := "Patch applied:", map[string]any{}, 0, 0
	for _, c := range changes {
		switch {
		case c.remove:
			output += "\nD " + c.name
		case c.old == nil:
			output += "\nA " + c.name
		default:
			output += "\nM " + c.name + c.report
		}
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
	return &sdk.ToolResult{Title: title, Output: output, Metadata: sdk.Object{
		"diff": joinDiffs(changes), "files": changed(changes), metaHashes: hashes, "additions": additions, "deletions": deletions,
	}}
}

// changer is a tool that changes files.
type changer struct {
	tool.Prepared
	patches bool
}

var (
	_ sdk.ToolPermission   = changer{}
	_ sdk.ToolAvailability = changer{}
)

// Permission is edit, as for all tools that change files.
func (changer) Permission() string { return permissionEdit }

// Available reports whether the model uses the tool: apply_patch if it was trained on it, else edit and write. The rule is opencode's.
func (c changer) Available(model *sdk.Model, _ *sdk.Agent) bool {
	trained := model != nil && strings.Contains(model.ID, "gpt-") && !strings.Contains(model.ID, "gpt-4") && !strings.Contains(model.ID, "oss")
	return trained == c.patches
}

// fileArgs are the arguments of write and edit.
type fileArgs struct {
	FilePath   string `json:"filePath"`
	Content    string `json:"content"`
	OldString  string `json:"oldString"`
	NewString  string `json:"newString"`
	ReplaceAll bool   `json:"replaceAll"`
}

// fileTool returns a tool that changes one file: edit or write.
func (p *plugin) fileTool(id string) sdk.Tool {
	return p.changer(id, func(call *sdk.ToolCall) ([]operation, error) {
		op := operation{kind: id}
		var err error
		if op.fileArgs, err = tool.Args[fileArgs](call); err == nil {
			op.target, err = newTarget(call, op.FilePath)
		}
		return []operation{op}, err
	})
}

// changed returns the paths of changes.
func changed(changes []*change) (names []string) {
	for _, c := range changes {
		names = append(names, c.abs)
	}
	return names
}

// joinDiffs returns the diffs of changes, at most maxDiffBytes of them, and the number of missing lines.
func joinDiffs(changes []*change) string {
	var b strings.Builder
	more := 0
	for _, c := range changes {
		room := maxDiffBytes - b.Len()
		if more > 0 {
			room = 0 // nothing follows the place where a diff was cut
		}
		shown, left := cutLines(c.diff.text, room)
		b.WriteString(shown)
		more += left + c.diff.more
	}
	if more > 0 {
		fmt.Fprintf(&b, "… %d more lines\n", more)
	}
	return b.String()
}
