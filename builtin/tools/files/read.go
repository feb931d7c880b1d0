package files

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/internal/media"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// maxAttachment is the maximum size of an attached image or PDF in bytes; providers refuse larger ones.
const maxAttachment = 5 << 20

type readArgs struct {
	FilePath    string  `json:"filePath"`
	Offset      float64 `json:"offset"` // models also write 10.0, which is an integer in a schema
	Limit       float64 `json:"limit"`
	from, count int     // Offset and Limit, with their defaults
	stored      bool    // FilePath names a stored output; then target is empty
	target
}

// Resolve implements tool.Resolver.
func (a *readArgs) Resolve(call *sdk.ToolCall) (err error) {
	a.from, a.count = int(min(cmp.Or(a.Offset, 1), maxLines)), int(min(cmp.Or(a.Limit, defaultLimit), maxLines))
	if a.stored = strings.HasPrefix(a.FilePath, paths.OutputPrefix); !a.stored {
		a.target, err = newTarget(call, a.FilePath)
	}
	return err
}

// prepareRead requests the permission read with the file. A stored output requires none.
func prepareRead(_ context.Context, call *sdk.ToolCall, a readArgs) ([]sdk.PermissionRequest, error) {
	if a.stored {
		return nil, nil
	}
	return a.permissions(call, "read", metaPath), misplaced(call, a.target)
}

func (p *plugin) runRead(ctx context.Context, call *sdk.ToolCall, args readArgs) (*sdk.ToolResult, error) {
	if args.stored {
		return readOutput(ctx, call, args)
	}
	result, err := p.readFile(ctx, call, args)
	switch {
	case errors.Is(err, projectfs.ErrDirectory):
		return readDirectory(call, args)
	case errors.Is(err, fs.ErrNotExist):
		return nil, notFound(call, args.target)
	}
	return result, err
}

func (p *plugin) readFile(ctx context.Context, call *sdk.ToolCall, t readArgs) (*sdk.ToolResult, error) {
	// The lock prevents an edit between the read and its record in the history.
	defer p.locks.lock(t.real)()
	f, info, err := projectfs.Open(t.trusted, t.real)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", t.name, err)
	}
	defer f.Close() // an error of Close does not matter after reading
	in := bufio.NewReaderSize(f, sniffBytes)
	head, _ := in.Peek(sniffBytes) // an error returns when the rest is read
	if mime := media.Detect(head); mime != "" {
		return p.attach(call, t.target, in, mime)
	}
	if isBinary(t.real, head) {
		remedy := "use a program for its format"
		if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) { // what PowerShell writes
			remedy = "if it is text in UTF-16, convert it: iconv -f UTF-16 -t UTF-8"
		}
		return nil, fmt.Errorf("read %q: binary file of %d bytes; %s", t.name, info.Size(), remedy)
	}
	text, err := readPage(ctx, in, t.from, t.count)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", t.name, err)
	}
	if text.hash == "" {
		text.hash = statHash(info)
	}
	result, err := text.result(paths.Title(call, t.abs), t.name)
	if err != nil {
		return nil, err
	}
	result.Metadata[metaPath], result.Metadata[metaHash] = t.abs, text.hash
	p.history.note(call, t.real, text.hash)
	result.Output += p.instructions(call, t.target)
	return result, nil
}

// result returns the page as a tool result. name is what the model calls the text.
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
func (p *plugin) attach(call *sdk.ToolCall, t target, in io.Reader, mime string) (*sdk.ToolResult, error) {
	content, err := io.ReadAll(io.LimitReader(in, maxAttachment+1))
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", t.name, err)
	}
	if len(content) > maxAttachment {
		return nil, fmt.Errorf("read %q: a file of type %s can have at most %d MB; make it smaller or convert it first", t.name, mime, maxAttachment>>20)
	}
	hash := contentHash(content)
	p.history.note(call, t.real, hash)
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

// readOutput reads a page of a stored output.
func readOutput(ctx context.Context, call *sdk.ToolCall, args readArgs) (*sdk.ToolResult, error) {
	output, err := paths.Output(ctx, call, args.FilePath)
	if err != nil {
		return nil, err
	}
	p, err := readPage(ctx, strings.NewReader(output), args.from, args.count)
	if err != nil {
		return nil, err
	}
	return p.result(args.FilePath, args.FilePath)
}

// readDirectory lists the names in a directory.
func readDirectory(call *sdk.ToolCall, t readArgs) (*sdk.ToolResult, error) {
	entries, err := projectfs.ReadDir(t.trusted, t.real)
	if err != nil {
		return nil, err
	}
	first := min(t.from-1, len(entries))
	if t.from > 1 && first == len(entries) {
		return nil, fmt.Errorf("offset %d is beyond the end of %q, which has %d entries", t.from, t.name, len(entries))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<path>%s</path>\n<type>directory</type>\n<entries>\n", t.name)
	last := first
	for last < len(entries) && last-first < t.count && b.Len() < maxPageBytes {
		b.WriteString(entries[last].Name())
		if entries[last].IsDir() {
			b.WriteString("/")
		}
		b.WriteString("\n")
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

// Limits of the note about instruction files, whose directories a repository chooses: the number of files, the nearest first, and the
// characters of a path.
const (
	maxNamed = 3
	maxPath  = 300
)

// instructions returns a note about instruction files that the session has not read: one per directory, from the directory of the file up to
// the working directory. The system prompt contains those of the working directory and above. Hidden directories and dependencies have none.
func (p *plugin) instructions(call *sdk.ToolCall, t target) string {
	var out strings.Builder
	top := paths.Real(call.Directory)
	below, err := filepath.Rel(top, t.real)
	if err != nil || !filepath.IsLocal(below) || slices.ContainsFunc(strings.Split(below, string(filepath.Separator)), foreign) {
		return ""
	}
	shown := func(path string) string { return visible.Clean(paths.Display(call, path), maxPath) }
	named := 0
	for dir := filepath.Dir(t.real); named < maxNamed && dir != top && projectfs.Inside(top, dir); dir = filepath.Dir(dir) {
		for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
			path := filepath.Join(dir, name)
			info, err := os.Lstat(path)
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			if !p.history.has(call.SessionID, path) {
				fmt.Fprintf(&out, "\nInstructions for %s are in %s. Read them before you change files there.", shown(dir), shown(path))
				named++
			}
			break
		}
	}
	return out.String()
}

func foreign(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor"
}
