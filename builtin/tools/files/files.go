// Package files is the built-in plugin "files": the tools read, list, write, edit and apply_patch.
//
// # Rules for changes
//
// The model must have seen the content it changes: an existing file can be changed only if its current
// content was read or written in the same session (history). Only one call at a time uses a file (locks).
// A change is computed in memory and then put in place with a rename, so that no file is ever half
// written (commit.go); byte order mark, line endings and mode are preserved (document).
//
//	write, edit, apply_patch ─► operations ─► plan in memory: load ─► history.check ─► match ─► change ─► diff ─► permission
//	                         ─► lock ─► plan again ─► commit ─► history.note
package files

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/builtin/internal/gitkeep"
	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/builtin/internal/tool"
	"github.com/tenonhq/tenon/internal/media"
	"github.com/tenonhq/tenon/internal/nearest"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// permissionEdit is the permission key of every tool that changes files.
const permissionEdit = "edit"

// texts describe the tools; see tool.Spec.
//
//go:embed *.json read.md list.md write.md edit.md apply_patch.md
var texts embed.FS

// New returns the plugin. It records, per session, the file contents the model has seen.
func New() sdk.Plugin {
	p := &plugin{history: newHistory()}
	return &sdk.Bundle{
		Info: sdk.Manifest{Name: "files", Description: "Reads, lists, writes, edits and patches files.", Carrier: sdk.CarrierBuiltin},
		ToolList: []sdk.Tool{
			tool.Spec[readArgs]{ID: "read", Texts: texts, Prepare: prepareRead, Run: p.runRead}.Tool(),
			tool.Spec[listArgs]{ID: "list", Texts: texts, Prepare: prepareList, Run: runList}.Tool(),
			p.fileTool(writeID), p.fileTool(editID), p.changer(patchID, readPatch),
		},
	}
}

// plugin is the state shared by the tools.
type plugin struct {
	history *history
	locks   locks
}

// target is a file in the arguments of a call.
type target struct {
	abs     string   // as in the call, absolute; shown and recorded
	real    string   // the real path; opened and locked
	itself  string   // the real path of abs itself, which may be a link
	name    string   // for the model
	trusted []string // see projectfs.OpenDir
}

func newTarget(call *sdk.ToolCall, arg string) (target, error) {
	if arg == "" {
		return target{}, fmt.Errorf("%w: filePath is empty", paths.ErrPath)
	}
	abs, err := paths.Resolve(call, arg)
	if err != nil {
		return target{}, err
	}
	real, err := paths.Locate(call, abs)
	if err != nil {
		return target{}, err
	}
	return target{abs: abs, real: real, itself: paths.Itself(abs), name: paths.Display(call, abs), trusted: paths.Trusted(call)}, nil
}

// permissions returns the permission requests of a call that does not change the file: the permission key with the file. metaKey is the
// key of the path in the metadata.
func (t target) permissions(call *sdk.ToolCall, key, metaKey string) []sdk.PermissionRequest {
	return append(paths.Externals(call, t.abs), sdk.PermissionRequest{
		Permission: key, Patterns: paths.Patterns(call, t.abs), Always: []string{"*"}, Metadata: sdk.Object{metaKey: t.abs},
	})
}

// Requests returns the permission requests of a call with this file. The permission key is that of the tool: read, list or edit. Reading a
// stored output requires none.
func Requests(ctx context.Context, call *sdk.ToolCall, key, file string) ([]sdk.PermissionRequest, error) {
	if key == "read" && strings.HasPrefix(file, paths.OutputPrefix) {
		return nil, nil
	}
	t, err := newTarget(call, file)
	if err != nil {
		return nil, err
	}
	requests := t.permissions(call, key, metaPath)
	if key == permissionEdit {
		requests[len(requests)-1].Patterns = gitkeep.EditPatterns(ctx, call, t.abs)
	}
	return requests, nil
}

// sniffBytes is the number of bytes that determine the type of a file.
const sniffBytes = 4096

// binaryExtensions are the extensions of files that are never text, separated by spaces.
const binaryExtensions = " .zip .tar .gz .tgz .bz2 .xz .zst .7z .rar .exe .dll .so .dylib .a .lib .o .obj .class .jar .war " +
	".pyc .pyo .wasm .bin .dat .db .sqlite .doc .docx .xls .xlsx .ppt .pptx .odt .ods .odp .mp3 .mp4 .mov .avi .mkv .wav " +
	".flac .ogg .ico .bmp .tiff .woff .woff2 .ttf .otf .eot "

// isBinary reports whether a file is not text, by the extension of its name and its beginning.
func isBinary(name string, head []byte) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext != "" && strings.Contains(binaryExtensions, " "+ext+" ") || media.Binary(head[:min(len(head), sniffBytes)])
}

// maxCandidates is the maximum number of names in a directory that are compared.
const maxCandidates = 10_000

// notFound returns the error for a file that does not exist, with a similar name in its directory. It wraps fs.ErrNotExist.
func notFound(call *sdk.ToolCall, t target) error {
	if err := misplaced(call, t); err != nil {
		return err
	}
	entries, err := projectfs.ReadDir(t.trusted, filepath.Dir(t.real))
	if err != nil {
		return fmt.Errorf("%q: %w, nor does its directory; look for it with glob", t.name, fs.ErrNotExist)
	}
	names := make([]string, min(len(entries), maxCandidates))
	for i := range names {
		names[i] = entries[i].Name()
	}
	if name := nearest.Name(filepath.Base(t.real), names); name != "" {
		format := "%q: %w; did you mean %q?"
		if projectfs.Decomposed(name) { // the model would write it with composed letters
			format = "%q: %w; did you mean %+q?"
		}
		return fmt.Errorf(format, t.name, fs.ErrNotExist, paths.Display(call, filepath.Join(filepath.Dir(t.abs), name)))
	}
	return fmt.Errorf("%q: %w; look for it with glob", t.name, fs.ErrNotExist)
}

// misplaced returns the error for a path outside the project that does not exist, although the project has a file with the same end: models
// write /workspace/src/a.go for src/a.go. The user is not asked about such a path.
func misplaced(call *sdk.ToolCall, t target) error {
	if _, outside := paths.External(call, t.abs); !outside || !missing(t.abs) {
		return nil
	}
	for _, rest, more := strings.Cut(filepath.ToSlash(t.abs), "/"); more; _, rest, more = strings.Cut(rest, "/") {
		if abs := filepath.Join(call.Directory, rest); rest != "" && !missing(abs) {
			return fmt.Errorf("%q: %w; did you mean %q?", t.name, fs.ErrNotExist, rest)
		}
	}
	return nil
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// locks lets only one call at a time use a file. The zero value is ready.
type locks struct {
	files sync.Map // *sync.Mutex by path in lower case: names that differ only in case are one file on some systems
}

// lock locks files with these real paths. unlock must be called once.
func (l *locks) lock(files ...string) (unlock func()) {
	keys := make([]string, len(files))
	for i, file := range files {
		keys[i] = strings.ToLower(file)
	}
	slices.Sort(keys) // one order for all callers prevents deadlocks
	var held []*sync.Mutex
	for _, key := range slices.Compact(keys) {
		file, _ := l.files.LoadOrStore(key, &sync.Mutex{})
		file.(*sync.Mutex).Lock()
		held = append(held, file.(*sync.Mutex))
	}
	return func() {
		for _, file := range held {
			file.Unlock()
		}
	}
}
