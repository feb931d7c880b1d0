package input

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
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenonhq/tenon/host/convert"
	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/media"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

const (
	attachLines   = 2000 // of an attached text file; the figure of the read tool
	attachEntries = 200  // in the listing of an attached directory
)

// ErrAttach is wrapped by the errors of files that cannot be attached; they name the file and the reason.
var ErrAttach = errors.New("attach")

var (
	// mention is @ and a path or an agent's name, at the start of a word. A path in quotes may contain any other character.
	mention = lazyregexp.New("(^|[\\s(\\[\"'])@(\"[^\"\\n]+\"|'[^'\\n]+'|[^\\s`,;\"')\\]]+)")
	// fileName matches names that can only mean a file or a directory, unlike @app.route( or @types/node.
	fileName = lazyregexp.New(`^[\pL\pN_./~ -]*(/|\.[a-z]{1,5})$`)
)

// Resolver turns what a user typed and attached into parts. It is for one prompt; set the exported fields.
type Resolver struct {
	Project    sdk.Project
	Log        *slog.Logger
	Generation *generation.Set
	Rules      *permission.Rules // for files that the template of a repository names
	// Author returns the author of a command's template.
	Author func(*Command) Author
	// Shell returns the function that runs the shell commands of a command's template.
	Shell func(ctx context.Context, c *Command) (func(ctx context.Context, line string) (*sdk.ToolResult, error), error)

	err        error // the first attachment that cannot be used
	references references
}

// Parts returns the parts of a prompt: those that text, or the command c with text as its arguments, makes, and the given ones, resolved. c may be nil.
func (r *Resolver) Parts(ctx context.Context, text string, c *Command, given sdk.Parts) (sdk.Parts, error) {
	parts, err := r.prompt(ctx, text, c)
	if err != nil {
		return nil, err
	}
	for _, p := range given {
		parts = append(parts, r.part(p)...)
	}
	if r.err != nil {
		return nil, r.err
	}
	if c == nil && len(parts) == 0 {
		return nil, errors.New("the prompt is empty: nothing to answer")
	}
	return parts, nil
}

// prompt returns the parts of the prompt that the user typed or a command makes.
func (r *Resolver) prompt(ctx context.Context, text string, c *Command) (sdk.Parts, error) {
	switch {
	case c == nil:
		return r.text(ctx, text, spans{}), nil
	case c.rendered:
		return c.render(ctx, r.Log, text)
	}
	if err := r.runTemplate(ctx, c); err != nil {
		return nil, err
	}
	if c.line {
		line := c.pieces[0]
		return sdk.Parts{&sdk.TextPart{Text: "$ " + line.text + "\n" + line.output, Metadata: sdk.Object{"shell": line.text}}}, nil
	}
	text, foreign := joinPieces(c.pieces, r.Author(c))
	return r.text(ctx, text, foreign), nil
}

// spans are ranges of a prompt, in bytes from and to, that the user did not write.
type spans struct {
	closed   [][2]int // no mention is looked for
	confined [][2]int // of files, only those count that lie in the project and may be read without asking
}

// among reports whether text[start:end] overlaps one of the ranges.
func among(ranges [][2]int, start, end int) bool {
	return slices.ContainsFunc(ranges, func(r [2]int) bool { return start < r[1] && r[0] < end })
}

// text returns the text as a part and what it mentions as more: files, agents, and what plugins know by the name.
func (r *Resolver) text(ctx context.Context, text string, foreign spans) sdk.Parts {
	if text == "" {
		return nil
	}
	parts := sdk.Parts{&sdk.TextPart{Text: text}}
	seen := map[string]bool{}
	for start, end := nextMention(text, 0); end > 0; start, end = nextMention(text, end) {
		name, found := r.find(ctx, text, start, end, foreign, seen)
		if found == nil && quoted(text[start:end]) {
			end = start + 1 // the quote belongs to the text: mentions behind it count
		}
		if !seen[name] {
			parts = append(parts, found...)
		}
		seen[name] = true
	}
	return parts
}

// nextMention returns where the name of the next mention is in the text; zeros if there is none.
func nextMention(text string, from int) (start, end int) {
	m := mention().FindStringSubmatchIndex(text[from:])
	if m == nil {
		return 0, 0
	}
	return from + m[4], from + m[5]
}

// find resolves the mention text[start:end] to a file, an agent, or what plugins know by the name. They are not asked again for a name that was seen.
func (r *Resolver) find(ctx context.Context, text string, start, end int, foreign spans, seen map[string]bool) (name string, found sdk.Parts) {
	if among(foreign.closed, start-1, end) {
		return "", nil
	}
	quotes := 0 // around the name: a template may have them around an argument
	if quoted(text[start:end]) {
		quotes = 1
	}
	name, found = r.local(text, start, end, among(foreign.confined, start+quotes, end-quotes))
	if found != nil {
		return name, found
	}
	if quotes == 0 {
		name = referenceName(text, start, end)
		if name == "" || seen[name] {
			return "", nil
		}
		found = r.references.find(ctx, r.Generation, name)
	}
	if found == nil && fileName().MatchString(name) {
		r.Log.Warn("file not found; the prompt keeps the text", "mention", "@"+name)
	}
	return name, found
}

// local resolves the mention text[start:end], with punctuation behind it or without, to a file or an agent. It returns the name without quotes.
func (r *Resolver) local(text string, start, end int, confined bool) (name string, found sdk.Parts) {
	written := text[start:end]
	for _, candidate := range []string{written, strings.TrimRight(written, ".:!?")} {
		source := &sdk.SourceText{Value: "@" + candidate, Start: start - 1, End: start + len(candidate)}
		if name = candidate; quoted(name) {
			name = name[1 : len(name)-1]
		}
		if found := r.mentioned(name, source, confined); found != nil {
			return name, found
		}
	}
	return name, nil
}

// quoted reports whether what follows the @ of a mention is in quotes.
func quoted(name string) bool { return strings.HasPrefix(name, `"`) || strings.HasPrefix(name, "'") }

// Mention returns the text that attaches a file or directory; empty if no text does.
func Mention(path string) string {
	for _, quote := range []string{"", `"`, "'"} {
		text := "@" + quote + path + quote
		if m := mention().FindStringSubmatch(text); m != nil && m[0] == text && (quote != "" || !quoted(path)) {
			return text
		}
	}
	return ""
}

// mentioned returns the parts of one mention, nil when it names nothing that is there.
func (r *Resolver) mentioned(name string, source *sdk.SourceText, confined bool) sdk.Parts {
	path := r.path(name)
	if _, err := r.files().Stat(path); err == nil {
		at := attached{path: path}
		if confined {
			var ok bool
			if at.real, ok = r.mayAttach(path); !ok {
				r.Log.Warn("not attached: a command of the repository names a file outside of the project, or one that is asked for", "file", path)
				return nil
			}
		}
		return r.file(at, &sdk.FileSource{Type: "file", Path: path, Text: source})
	}
	i := slices.IndexFunc(r.Generation.Agents(), func(a sdk.Agent) bool {
		return a.Name == name && a.Mode != sdk.ModePrimary && !a.Hidden
	})
	if i < 0 {
		return nil
	}
	return r.agent(&sdk.AgentPart{Name: name, Source: source})
}

// mayAttach reports whether a file that a template of the repository names lies in the project, symlinks resolved, and may be read
// without asking. It returns the real path, which is the one to open.
func (r *Resolver) mayAttach(path string) (real string, ok bool) {
	root := projectfs.Real(r.Project.Worktree)
	real = projectfs.Real(path)
	rel, err := filepath.Rel(root, real)
	return real, err == nil && filepath.IsLocal(rel) && r.Rules.Decide("read", filepath.ToSlash(rel)).Action == sdk.ActionAllow
}

// files opens attachments: links in the project do not lead out of it, whoever names them.
func (r *Resolver) files() projectfs.FS {
	return projectfs.New([]string{r.Project.Worktree, r.Project.Directory}, nil)
}

// attached is a file or directory on disk that a prompt names.
type attached struct {
	path string
	real string // the real path that was judged, and is opened as it is; empty: path, for which only links of the project count
}

func (a attached) open(files projectfs.FS) (*os.File, fs.FileInfo, error) {
	if a.real != "" {
		return files.OpenReal(a.real)
	}
	return files.Open(a.path)
}

func (a attached) list(files projectfs.FS) ([]fs.DirEntry, error) {
	if a.real != "" {
		return files.ReadDirReal(a.real)
	}
	return files.ReadDir(a.path)
}

func (r *Resolver) path(name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		return filepath.Join(r.Project.Home, rest)
	}
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(r.Project.Directory, filepath.FromSlash(name))
}

// part resolves a part a client gave: files are read, agents announced, the rest is taken as it is.
func (r *Resolver) part(p sdk.Part) sdk.Parts {
	switch p := p.(type) {
	case *sdk.AgentPart:
		return r.agent(p)
	case *sdk.FilePart:
		if strings.HasPrefix(p.URL, "data:") && convert.IsTextMime(p.Mime) {
			return r.dataText(p)
		}
		if !strings.HasPrefix(p.URL, "file:") {
			return sdk.Parts{p}
		}
		path, err := FilePath(p.URL)
		if err != nil {
			r.fail(err)
			return nil
		}
		source := cmp.Or(p.Source, &sdk.FileSource{Type: "file", Path: path})
		return r.file(attached{path: path}, source)
	}
	return sdk.Parts{p}
}

// dataText puts a text file that came as data into the prompt.
func (r *Resolver) dataText(p *sdk.FilePart) sdk.Parts {
	head, body, ok := strings.Cut(p.URL, ",")
	content, err := []byte(body), error(nil)
	switch {
	case !ok:
		err = errors.New("a data URL without data")
	case strings.HasSuffix(head, ";base64"):
		content, err = base64.StdEncoding.DecodeString(body)
	default:
		var text string
		text, err = url.PathUnescape(body)
		content = []byte(text)
	}
	if err == nil && len(content) > generation.AttachBytes {
		err = fmt.Errorf("%d bytes of text exceed the limit of %d for attachments", len(content), generation.AttachBytes)
	}
	return r.inlined(p, p.Filename, "file", strings.ToValidUTF8(string(content), "\uFFFD"), err)
}

func (r *Resolver) agent(p *sdk.AgentPart) sdk.Parts {
	return sdk.Parts{p, &sdk.TextPart{Synthetic: true, Text: fmt.Sprintf("Use the task tool with subagent_type %q for what the message above asks of @%s.", p.Name, p.Name)}}
}

func (r *Resolver) fail(err error) {
	r.err = cmp.Or(r.err, err)
}

// file reads an attached file: text goes into the prompt, images and documents become data, of a
// directory the entries are listed. The file part itself tells clients what was attached.
func (r *Resolver) file(at attached, source *sdk.FileSource) sdk.Parts {
	part := &sdk.FilePart{Filename: filepath.Base(at.path), URL: FileURL(at.path), Source: source}
	f, info, err := at.open(r.files())
	if errors.Is(err, projectfs.ErrDirectory) {
		part.Mime = convert.MimeDirectory
		entries, err := at.list(r.files())
		return r.inlined(part, at.path, "directory", listing(entries), err)
	}
	if err != nil {
		return r.inlined(nil, at.path, "", "", err)
	}
	defer f.Close() // only read
	if part.Mime, err = sniff(f); err != nil {
		return r.inlined(nil, at.path, "", "", err)
	}
	if convert.IsTextMime(part.Mime) {
		text, err := readText(f, info.Size())
		return r.inlined(part, at.path, "file", text, err)
	}
	if part.URL, err = data(f, part.Mime, info.Size()); err != nil {
		return r.inlined(nil, at.path, "", "", err)
	}
	return sdk.Parts{part}
}

// inlined returns the part and its content as text for the model.
func (r *Resolver) inlined(part *sdk.FilePart, path, element, text string, err error) sdk.Parts {
	if err != nil {
		if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
			err = pathErr.Err // the message names the path already
		}
		r.fail(fmt.Errorf("%w %q: %w", ErrAttach, path, err))
		return nil
	}
	return sdk.Parts{part, &sdk.TextPart{
		Synthetic: true, Metadata: sdk.Object{"path": path},
		Text: fmt.Sprintf("<%s path=%q>\n%s\n</%s>", element, path, strings.TrimSuffix(text, "\n"), element),
	}}
}

// data returns the content of a file as a data: URL.
func data(f io.Reader, typ string, size int64) (string, error) {
	if !media.Attachable(typ) {
		return "", fmt.Errorf("a binary file of type %s: only text, images and PDF can be attached", typ)
	}
	if size > generation.MaxMediaBytes {
		return "", fmt.Errorf("%d bytes exceed the limit of %d for files sent to a model", size, generation.MaxMediaBytes)
	}
	content, err := io.ReadAll(io.LimitReader(f, generation.MaxMediaBytes))
	if err != nil {
		return "", err
	}
	return "data:" + typ + ";base64," + base64.StdEncoding.EncodeToString(content), nil
}

// sniff tells the type of a file by its first bytes and, for what those do not tell, by its name, which makes no file attachable.
func sniff(f *os.File) (string, error) {
	head := make([]byte, 4096)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	head = head[:n]
	typ, _, _ := mime.ParseMediaType(http.DetectContentType(head))
	if strings.HasPrefix(typ, "text/") || typ == "application/octet-stream" && printable(head) {
		return convert.MimeText, nil
	}
	if typ == "application/octet-stream" {
		if byName, _, err := mime.ParseMediaType(mime.TypeByExtension(filepath.Ext(f.Name()))); err == nil && !convert.IsTextMime(byName) && !media.Attachable(byName) {
			typ = byName
		}
	}
	return typ, nil
}

// printable reports whether the start of a file looks like text: no NUL, hardly any control bytes, UTF-8
// except for a rune cut at the end.
func printable(head []byte) bool {
	if bytes.IndexByte(head, 0) >= 0 {
		return false
	}
	control := 0
	for _, b := range head {
		if b < ' ' && b != '\n' && b != '\r' && b != '\t' && b != '\f' && b != 0x1b {
			control++
		}
	}
	return control*10 <= len(head)*3 && (utf8.Valid(head) || utf8.Valid(head[:max(0, len(head)-utf8.UTFMax)]) || control == 0)
}

// readText reads the beginning of a text file of a size, within the limits of an attachment.
func readText(f io.Reader, size int64) (string, error) {
	var out strings.Builder
	in := bufio.NewReader(io.LimitReader(f, generation.AttachBytes+1))
	for range attachLines {
		line, err := in.ReadString('\n')
		out.WriteString(line)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
	}
	text := out.String()
	if len(text) > generation.AttachBytes {
		text = text[:generation.AttachBytes]
	}
	if int64(len(text)) < size {
		text += fmt.Sprintf("\n[the first %d of %d bytes; read the rest with the read tool]", len(text), size)
	}
	return strings.ToValidUTF8(text, "�"), nil
}

func listing(entries []fs.DirEntry) string {
	var out strings.Builder
	for i, e := range entries {
		if i == attachEntries {
			fmt.Fprintf(&out, "[%d more]\n", len(entries)-i)
			break
		}
		out.WriteString(e.Name())
		if e.IsDir() {
			out.WriteByte('/')
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// FileURL returns the file: URL of an absolute path, as file parts have it.
func FileURL(path string) string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
	if !strings.HasPrefix(u.Path, "/") {
		u.Path = "/" + u.Path // a drive letter
	}
	return u.String()
}

// FilePath returns the path of a file: URL on this machine, as FileURL writes it.
func FilePath(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host != "" && u.Host != "localhost" {
		return "", fmt.Errorf("%w %q: not the URL of a file on this machine", ErrAttach, raw)
	}
	path := filepath.FromSlash(u.Path)
	if len(path) > 2 && path[2] == ':' {
		path = path[1:] // \C:\dir
	}
	return path, nil
}
