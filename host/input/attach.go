package input

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/host/convert"
	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/tools"
	"github.com/tenonhq/tenon/internal/media"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

const (
	attachLines   = 2000 // of an attached text file; the figure of the read tool
	attachEntries = 200  // in the listing of an attached directory
	// maxAttached is the maximum size of the files of one prompt, as text and base64, in bytes: no provider takes a request of this size.
	maxAttached = 100 << 20
)

// ErrAttach is wrapped by the errors of files that cannot be attached; they name the file and the reason.
var ErrAttach = errors.New("attach")

// files opens attachments: links in the project cannot lead out of it.
func (r *Resolver) files() projectfs.FS {
	return projectfs.New([]string{r.Project.Worktree, r.Project.Directory}, nil)
}

// attached is a file or directory on disk that a prompt names.
type attached struct {
	path string
	real string // the checked real path, which is opened without following links; empty: path is opened, and only links inside of the project are followed
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

// dataText puts a text file in a data URL into the prompt.
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

// file reads an attached file: text goes into the prompt, images and documents become data, a directory becomes a listing. The file part
// itself shows clients the attachment.
func (r *Resolver) file(at attached, source *sdk.FileSource) sdk.Parts {
	if r.attachedBytes > maxAttached {
		return r.inlined(nil, at.path, "", "", fmt.Errorf("the files before it exceed the limit of %d bytes for one prompt", maxAttached))
	}
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
	defer f.Close() // it was only read
	part.Mime = sniff(f)
	if convert.IsTextMime(part.Mime) {
		text, hash, err := readText(f, info.Size())
		parts := r.inlined(part, at.path, "file", text, err)
		if parts != nil {
			parts[1].(*sdk.TextPart).Metadata["hash"] = hash // so that the model may change the file without reading it
		}
		return parts
	}
	if part.URL, err = data(f, part.Mime, info.Size()); err != nil {
		return r.inlined(nil, at.path, "", "", err)
	}
	r.attachedBytes += len(part.URL)
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
	r.attachedBytes += len(text)
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

// sniff returns the type of a file by its first bytes.
func sniff(f *os.File) string {
	head := make([]byte, 4096)
	n, _ := f.ReadAt(head, 0) // an error returns when the whole file is read
	head = head[:n]
	typ, _, _ := mime.ParseMediaType(http.DetectContentType(head))
	if strings.HasPrefix(typ, "text/") || typ == "application/octet-stream" && !media.Binary(head) {
		return convert.MimeText
	}
	return typ
}

// readText reads the beginning of a text file of a size, within the limits of an attachment. The hash is that of the whole content, as the built-in
// tools for files store it; "" if the beginning is not all.
func readText(f io.Reader, size int64) (text, hash string, err error) {
	content, err := io.ReadAll(io.LimitReader(f, generation.AttachBytes+1))
	if err != nil {
		return "", "", err
	}
	text = tools.CutOutput(string(content), attachLines, generation.AttachBytes, false)
	if int64(len(text)) < size {
		text += fmt.Sprintf("\n[the first %d of %d bytes; read the rest with the read tool]", len(text), size)
	} else {
		hash = "sha256:" + store.Hash(content)
	}
	return strings.ToValidUTF8(text, "�"), hash, nil
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
