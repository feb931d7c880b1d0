package files

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

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

// PatchPaths returns the paths in a patch as they are written. removed are those of the files that it deletes or moves away,
// kept are all others.
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
	fileArgs        // the arguments of the call; an operation of a patch has only a path
	moveTo   string
	hunks    []hunk // of a file that is updated; the content of one that is added is a single hunk
	ended    bool   // an empty line followed, which is not a line of an added file

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
	lines := strings.Split(strings.TrimRight(toLF(text), " \t\n"), "\n")
	if last := &lines[len(lines)-1]; strings.TrimSpace(*last) == patchEnd { // Codex accepts spaces before it in the last line
		*last = patchEnd
	}
	begin := slices.IndexFunc(lines, begins)
	if begin < 0 {
		return nil, fmt.Errorf("%w: the line %q is missing", errPatch, patchBegin)
	}
	lines = lines[begin+1:] // models wrap a patch in a code block or in a shell command: apply_patch <<'EOF' … EOF
	end := slices.IndexFunc(lines, ends)
	if end < 0 {
		return nil, fmt.Errorf("%w: the line %q is missing", errPatch, patchEnd)
	}
	if slices.ContainsFunc(lines[end:], begins) {
		return nil, fmt.Errorf("%w: there are two; put all files between one %q and %q", errPatch, patchBegin, patchEnd)
	}
	var ops []operation
	for i, line := range lines[:end+1] {
		var err error
		if ops, err = parseLine(ops, line); err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", errPatch, begin+i+2, err)
		}
	}
	return ops, nil
}

func begins(line string) bool { return strings.TrimSpace(line) == patchBegin }

// ends reports whether a line ends a patch. With a space before it, it is a line of a file.
func ends(line string) bool { return strings.TrimRight(line, " \t") == patchEnd }

// parseLine reads one line: it begins an operation, continues the last one or ends the patch.
func parseLine(ops []operation, line string) ([]operation, error) {
	op := &operation{}
	if len(ops) > 0 {
		op = &ops[len(ops)-1]
	}
	if ends(line) {
		return ops, op.finish()
	}
	head := line
	if op.kind != patchUpdate { // where spaces begin a line of the file
		head = strings.TrimLeft(line, " \t")
	}
	for _, kind := range []string{patchAdd, patchDelete, patchUpdate} {
		if path, ok := strings.CutPrefix(head, kind); ok {
			ops = append(ops, operation{kind: kind, fileArgs: fileArgs{FilePath: strings.TrimSpace(path)}})
			return ops, cmp.Or(op.finish(), given(kind, path))
		}
	}
	path, moves := strings.CutPrefix(line, patchMove)
	switch {
	case op.kind == patchUpdate && moves && len(op.hunks) == 0 && op.moveTo == "":
		op.moveTo = strings.TrimSpace(path)
		return ops, given(patchMove, path)
	case op.kind == patchAdd && !op.ended && strings.HasPrefix(line, "+"),
		op.kind == patchUpdate && (!strings.HasPrefix(line, "*** ") || strings.TrimRight(line, " ") == patchEOF):
		return ops, op.extend(line)
	case strings.TrimSpace(line) == "":
		op.ended = true
		return ops, nil
	}
	return ops, fmt.Errorf("%.80q; expected %q, %q, %q or %q (every line of an added file starts with +)",
		line, patchAdd, patchUpdate, patchDelete, patchEnd)
}

// given returns an error if no path follows the beginning of a line.
func given(begin, path string) error {
	if strings.TrimSpace(path) == "" {
		return fmt.Errorf("missing path after %q", strings.TrimSpace(begin))
	}
	return nil
}

// finish checks a complete operation.
func (op *operation) finish() error {
	if op.kind == patchUpdate && len(op.hunks) == 0 && op.moveTo == "" {
		return fmt.Errorf("the update of %q changes nothing", op.FilePath)
	}
	return op.finishHunk()
}

// finishHunk checks the last hunk when it is complete.
func (op *operation) finishHunk() error {
	n := len(op.hunks)
	if n > 0 && !slices.ContainsFunc(op.hunks[n-1].lines, func(l hunkLine) bool { return l.kind != ' ' }) {
		return errors.New("a hunk without any line that starts with + or -")
	}
	return nil
}

// extend reads a line of the hunks of a file. A line that starts with @@ begins a hunk; its changed and unchanged lines follow.
func (op *operation) extend(line string) error {
	var h *hunk // the one that the line belongs to
	context, begins := strings.CutPrefix(line, "@@")
	if n := len(op.hunks); n > 0 && !op.hunks[n-1].atEnd && !(begins && len(op.hunks[n-1].lines) > 0) {
		h = &op.hunks[n-1]
	}
	if h == nil {
		if line == "" {
			return nil
		}
		if err := op.finishHunk(); err != nil {
			return err
		}
		op.hunks = append(op.hunks, hunk{})
		h = &op.hunks[len(op.hunks)-1]
	}
	switch {
	case begins:
		context = gitHeader.ReplaceAllString(strings.TrimPrefix(context, " "), "")
		if strings.TrimSpace(context) != "" {
			h.context = append(h.context, context)
		}
	case strings.HasPrefix(line, patchEOF):
		h.atEnd = true
	case line == "": // a model has omitted the space
		h.lines = append(h.lines, hunkLine{' ', ""})
	case strings.ContainsRune(" -+", rune(line[0])):
		h.lines = append(h.lines, hunkLine{line[0], line[1:]})
	default:
		return fmt.Errorf(`%.80q; every line of a hunk starts with a space, - or +`, line)
	}
	return nil
}
