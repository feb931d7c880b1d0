package files

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
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
	for i := range ops {
		op := &ops[i]
		if op.target, err = newTarget(call, op.FilePath); err == nil && op.moveTo != "" {
			op.moved, err = newTarget(call, op.moveTo)
		}
		if err != nil {
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

// errPatch is wrapped by every error about a patch text.
var errPatch = errors.New("bad patch")

// The lines that structure a patch; see https://github.com/openai/codex, apply_patch_tool_instructions.md.
const (
	patchBegin  = "*** Begin Patch"
	patchEnd    = "*** End Patch"
	patchAdd    = "*** Add File: "
	patchDelete = "*** Delete File: "
	patchUpdate = "*** Update File: "
	patchMove   = "*** Move to: "
	patchEOF    = "*** End of File"
)

// operation is what a call does with one file.
type operation struct {
	kind     string // writeID, editID, patchAdd, patchDelete or patchUpdate
	fileArgs        // as given; an operation of a patch has only a path and, for an added file, its content
	moveTo   string
	hunks    []hunk

	target        // set by readPatch, like moved
	moved  target // of moveTo
}

// hunk is one change within a file.
type hunk struct {
	context []string // lines before it, in order
	lines   []hunkLine
	atEnd   bool // at the end of the file
}

// hunkLine is a line of a hunk; kind is ' ', '-' or '+'.
type hunkLine struct {
	kind byte
	text string
}

// old returns the lines of the file that the hunk expects.
func (h *hunk) old() []string {
	var lines []string
	for _, l := range h.lines {
		if l.kind != '+' {
			lines = append(lines, l.text)
		}
	}
	return lines
}

// gitHeader matches a hunk header of a unified diff, which models sometimes write; its numbers are ignored.
var gitHeader = regexp.MustCompile(`^-\d+(,\d+)? \+\d+(,\d+)? @@ ?`)

// parsePatch reads a patch. Errors wrap errPatch and name the line.
func parsePatch(text string) ([]operation, error) {
	p := &patchParser{lines: strings.Split(strings.Trim(toLF(text), " \t\n"), "\n")}
	p.unwrap()
	if strings.TrimSpace(p.lines[0]) != patchBegin {
		return nil, fmt.Errorf("%w: the first line must be %q", errPatch, patchBegin)
	}
	var ops []operation
	for p.at = 1; p.at < len(p.lines); {
		line := p.lines[p.at]
		switch strings.TrimSpace(line) {
		case "":
			p.at++
			continue
		case patchEnd:
			return ops, nil
		}
		op, err := p.op(line)
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	return nil, fmt.Errorf("%w: the last line must be %q", errPatch, patchEnd)
}

type patchParser struct {
	lines []string
	at    int // the next line
}

// unwrap removes the shell command around a patch: apply_patch <<'EOF' … EOF.
func (p *patchParser) unwrap() {
	if n := len(p.lines); n >= 3 && strings.Contains(p.lines[0], "<<") {
		p.lines = p.lines[1 : n-1]
	}
}

func (p *patchParser) fail(format string, args ...any) error {
	return fmt.Errorf("%w: line %d: %s", errPatch, p.at+1, fmt.Sprintf(format, args...))
}

// op parses the operation on one file; line is its first.
func (p *patchParser) op(line string) (operation, error) {
	for _, kind := range []string{patchAdd, patchDelete, patchUpdate} {
		path, ok := strings.CutPrefix(line, kind)
		if !ok {
			continue
		}
		op := operation{kind: kind, fileArgs: fileArgs{FilePath: strings.TrimSpace(path)}}
		if op.FilePath == "" {
			return op, p.fail("missing path after %q", strings.TrimSpace(kind))
		}
		p.at++
		switch kind {
		case patchAdd:
			op.Content = p.added()
		case patchUpdate:
			return op, p.update(&op)
		}
		return op, nil
	}
	return operation{}, p.fail("%.80q; expected %q, %q, %q or %q (every line of an added file starts with +)",
		line, patchAdd, patchUpdate, patchDelete, patchEnd)
}

// added parses the content of an added file.
func (p *patchParser) added() string {
	var b strings.Builder
	for ; p.at < len(p.lines); p.at++ {
		text, ok := strings.CutPrefix(p.lines[p.at], "+")
		if !ok {
			break
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

// update parses the hunks of a file.
func (p *patchParser) update(op *operation) error {
	if p.at < len(p.lines) {
		if path, ok := strings.CutPrefix(p.lines[p.at], patchMove); ok {
			if op.moveTo = strings.TrimSpace(path); op.moveTo == "" {
				return p.fail("missing path after %q", strings.TrimSpace(patchMove))
			}
			p.at++
		}
	}
	for p.at < len(p.lines) && !strings.HasPrefix(p.lines[p.at], "*** ") {
		h, err := p.hunk()
		if err != nil {
			return err
		}
		op.hunks = append(op.hunks, h)
	}
	if len(op.hunks) == 0 && op.moveTo == "" {
		return p.fail("the update of %q changes nothing", op.FilePath)
	}
	return nil
}

// hunk parses one hunk: lines that start with @@, then the changed and unchanged lines.
func (p *patchParser) hunk() (hunk, error) {
	var h hunk
	for ; p.at < len(p.lines); p.at++ {
		text, ok := strings.CutPrefix(p.lines[p.at], "@@")
		if !ok {
			break
		}
		text = gitHeader.ReplaceAllString(strings.TrimPrefix(text, " "), "")
		if strings.TrimSpace(text) != "" {
			h.context = append(h.context, text)
		}
	}
	changes := false
	for ; p.at < len(p.lines); p.at++ {
		line := p.lines[p.at]
		if strings.TrimRight(line, " ") == patchEOF {
			h.atEnd = true
			p.at++
			break
		}
		if line == "" { // a model has omitted the space of an empty line
			line = " "
		}
		if strings.HasPrefix(line, "@@") || strings.HasPrefix(line, "*** ") {
			break
		}
		if !strings.ContainsRune(" -+", rune(line[0])) {
			return h, p.fail(`%.80q; every line of a hunk starts with a space, - or +`, line)
		}
		h.lines = append(h.lines, hunkLine{line[0], line[1:]})
		changes = changes || line[0] != ' '
	}
	if !changes {
		return h, p.fail("a hunk without any line that starts with + or -")
	}
	return h, nil
}
