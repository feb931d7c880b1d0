package files

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed" // the description
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// maxAttachment is the maximum size of an attached image or PDF in bytes; providers refuse larger ones.
const maxAttachment = 5 << 20

// outputPrefix marks a filePath that names a stored tool output instead of a file.
const outputPrefix = "tool-output/"

//go:embed read.md
var readDescription string

const readParameters = `{"type":"object","properties":{` +
	`"filePath":{"type":"string","description":"File or directory, or tool-output/… as named by a shortened output"},` +
	`"offset":{"type":"integer","minimum":1,"description":"First line, from 1"},` +
	`"limit":{"type":"integer","minimum":1,"description":"Number of lines"}},` +
	`"required":["filePath"],"additionalProperties":false}`

type readTool struct{ *plugin }

type readArgs struct {
	FilePath string `json:"filePath"`
	Offset   int    `json:"offset"`
	Limit    int    `json:"limit"`
}

// Definition describes read.
func (*readTool) Definition() sdk.ToolDefinition {
	return definition("read", readDescription, readParameters)
}

// Prepare requests the permission read with the file. A stored output requires none: the session itself produced it.
func (*readTool) Prepare(_ context.Context, call *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	var args readArgs
	if err := decode(call, &args); err != nil {
		return nil, err
	}
	if strings.HasPrefix(args.FilePath, outputPrefix) {
		return nil, nil
	}
	t, err := newTarget(call, args.FilePath)
	if err != nil {
		return nil, err
	}
	return append(externals(call, t), sdk.PermissionRequest{
		Permission: "read",
		Patterns:   paths.Patterns(call, t.abs),
		Always:     []string{"*"},
		Metadata:   sdk.Object{metaPath: t.abs},
	}), nil
}

// Execute reads the file, directory or stored output.
func (r *readTool) Execute(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
	var args readArgs
	if err := decode(call, &args); err != nil {
		return nil, err
	}
	args.Offset, args.Limit = cmp.Or(args.Offset, 1), cmp.Or(args.Limit, defaultLimit)
	if ref, ok := strings.CutPrefix(args.FilePath, outputPrefix); ok {
		return readOutput(ctx, call, ref, args)
	}
	t, err := newTarget(call, args.FilePath)
	if err != nil {
		return nil, err
	}
	result, err := r.readFile(ctx, call, t, args)
	switch {
	case errors.Is(err, projectfs.ErrDirectory):
		return readDirectory(call, t, args)
	case errors.Is(err, fs.ErrNotExist):
		return nil, notFound(call, t)
	}
	return result, err
}

func (r *readTool) readFile(ctx context.Context, call *sdk.ToolCall, t target, args readArgs) (*sdk.ToolResult, error) {
	// The lock prevents an edit between the read and its record in the history.
	unlock, err := r.locks.lock(ctx, t.real)
	if err != nil {
		return nil, err
	}
	defer unlock()
	f, info, err := projectfs.Open(t.trusted, t.real)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", t.name, err)
	}
	defer f.Close() // only read: an error of Close tells nothing
	in := bufio.NewReaderSize(f, sniffBytes)
	head, err := in.Peek(sniffBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %q: %w", t.name, err)
	}
	if mime := attachable(head); mime != "" {
		return r.attach(call, t, in, mime)
	}
	if isBinary(t.real, head) {
		return nil, fmt.Errorf("read %q: binary file of %d bytes; use a program for its format", t.name, info.Size())
	}
	p, err := readPage(ctx, in, args.Offset, args.Limit)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", t.name, err)
	}
	if p.hash == "" {
		p.hash = statHash(info)
	}
	result, err := p.result(paths.Title(call, t.abs), t.name)
	if err != nil {
		return nil, err
	}
	result.Metadata[metaPath], result.Metadata[metaHash] = t.abs, p.hash
	r.history.note(call.SessionID, t.real, p.hash)
	return result, nil
}

// result returns the page as a tool result; name is that of the text.
func (p *page) result(title, name string) (*sdk.ToolResult, error) {
	if p.total >= 0 && p.offset > max(p.total, 1) {
		return nil, fmt.Errorf("offset %d is beyond the end of %q, which has %d lines", p.offset, name, p.total)
	}
	return &sdk.ToolResult{
		Title:    title,
		Output:   fmt.Sprintf("<path>%s</path>\n<type>file</type>\n<content>\n%s%s\n</content>", name, p.lines.String(), p.note()),
		Metadata: sdk.Object{"truncated": p.partial()},
	}, nil
}

// attach returns a file as an attachment.
func (r *readTool) attach(call *sdk.ToolCall, t target, in io.Reader, mime string) (*sdk.ToolResult, error) {
	content, err := io.ReadAll(io.LimitReader(in, maxAttachment+1))
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", t.name, err)
	}
	if len(content) > maxAttachment {
		return nil, fmt.Errorf("read %q: a file of type %s can have at most %d MB; make it smaller or convert it first", t.name, mime, maxAttachment>>20)
	}
	hash := contentHash(content)
	r.history.note(call.SessionID, t.real, hash)
	return &sdk.ToolResult{
		Title:    paths.Title(call, t.abs),
		Output:   fmt.Sprintf("%s (%s, %d bytes) is attached.", t.name, mime, len(content)),
		Metadata: sdk.Object{"truncated": false, metaPath: t.abs, metaHash: hash},
		Attachments: []*sdk.FilePart{{
			Mime:     mime,
			Filename: filepath.Base(t.abs),
			URL:      "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(content),
		}},
	}, nil
}

// readOutput reads a page of the stored output with the reference.
func readOutput(ctx context.Context, call *sdk.ToolCall, ref string, args readArgs) (*sdk.ToolResult, error) {
	reader, ok := call.Host.(sdk.OutputReader)
	if !ok {
		return nil, fmt.Errorf("%s%s: this host does not store tool outputs (sdk.OutputReader)", outputPrefix, ref)
	}
	output, err := reader.Output(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("%s%s: %w", outputPrefix, ref, err)
	}
	p, err := readPage(ctx, bytes.NewReader(output), args.Offset, args.Limit)
	if err != nil {
		return nil, err
	}
	return p.result(outputPrefix+ref, outputPrefix+ref)
}

// readDirectory lists the names in a directory.
func readDirectory(call *sdk.ToolCall, t target, args readArgs) (*sdk.ToolResult, error) {
	dir, err := projectfs.OpenDir(t.trusted, t.real)
	if err != nil {
		return nil, err
	}
	defer dir.Close() // only read from
	entries, err := dir.ReadDir()
	if err != nil {
		return nil, err
	}
	first := min(args.Offset-1, len(entries))
	if args.Offset > 1 && first == len(entries) {
		return nil, fmt.Errorf("offset %d is beyond the end of %q, which has %d entries", args.Offset, t.name, len(entries))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<path>%s</path>\n<type>directory</type>\n<entries>\n", t.name)
	last := first
	for last < len(entries) && last-first < args.Limit && b.Len() < maxPageBytes {
		b.WriteString(t.entryName(entries[last]) + "\n")
		last++
	}
	if last < len(entries) {
		fmt.Fprintf(&b, "(Entries %d-%d of %d. Use offset=%d to continue.)\n", first+1, last, len(entries), last+1)
	} else {
		fmt.Fprintf(&b, "(All %d entries.)\n", len(entries))
	}
	b.WriteString("</entries>")
	return &sdk.ToolResult{
		Title:    paths.Title(call, t.abs),
		Output:   b.String(),
		Metadata: sdk.Object{"truncated": last < len(entries)},
	}, nil
}

// entryName returns the name of an entry of the directory, with a slash after directories and links to them.
func (t target) entryName(e fs.DirEntry) string {
	if e.IsDir() || e.Type()&fs.ModeSymlink != 0 && t.isDir(paths.Real(filepath.Join(t.real, e.Name()))) {
		return e.Name() + "/"
	}
	return e.Name()
}
