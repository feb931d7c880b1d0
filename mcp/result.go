package mcp

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/media"
	"github.com/tenonhq/tenon/internal/toolschema"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// maxResultText is the maximum size of a result's text in bytes. The host shortens it further for the conversation.
	maxResultText = 4 << 20
	// maxAttachment is the maximum size of an attachment in bytes, as in opencode.
	maxAttachment = 10 << 20
	// maxAttachments is the maximum number of attachments of one result. A provider refuses every later request of a session with too many:
	// Bedrock takes 20 images in a message, see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html.
	maxAttachments = 20
)

// content is one element of a result or of a prompt's message.
type content struct {
	Type     string        `json:"type"`
	Text     string        `json:"text"`
	Data     string        `json:"data"`
	Resource *resourceText `json:"resource"`
	listed                 // a link, or the type of Data
}

// resourceText is the content of a resource.
type resourceText struct {
	URI      string  `json:"uri"`
	MimeType string  `json:"mimeType"`
	Text     *string `json:"text"`
	Blob     string  `json:"blob"`
}

// decodeResult converts a tool's answer to a result, or to an error if the tool reported one.
func decodeResult(raw json.RawMessage, t *Tool) (*sdk.ToolResult, error) {
	b, structured, err := collect(raw)
	if err != nil {
		return nil, err
	}
	if len(structured) > 0 && len(t.OutputSchema) > 0 {
		if err := checkOutput(t.OutputSchema, structured); err != nil {
			return nil, fmt.Errorf("%q ran, but its result violates its own outputSchema (%w); result: %s", t.Name, err, visible.Bound(b.String(), 2<<10))
		}
	}
	return &sdk.ToolResult{Output: b.String(), Attachments: b.files}, nil
}

// collect returns the contents of a tool's answer and its structured content, which is the text if the contents are empty. If the tool reported
// an error, collect returns it.
func collect(raw json.RawMessage) (*builder, json.RawMessage, error) {
	var r struct {
		Content    []json.RawMessage `json:"content"`
		Structured json.RawMessage   `json:"structuredContent"`
		IsError    bool              `json:"isError"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, nil, fmt.Errorf("invalid result: %w", err)
	}
	if jsontext.IsNull(r.Structured) {
		r.Structured = nil
	}
	b := &builder{}
	for i := 0; i < len(r.Content) && !b.full; i++ {
		b.add(r.Content[i])
	}
	if b.empty() {
		b.text(strings.ToValidUTF8(string(r.Structured), "\uFFFD"))
	}
	if r.IsError {
		return nil, nil, toolError(b.String())
	}
	return b, r.Structured, nil
}

// toolError is a tool's description of its failure.
type toolError string

// Error returns the description.
func (e toolError) Error() string { return cmp.Or(strings.TrimSpace(string(e)), "the tool failed") }

func checkOutput(schema, value json.RawMessage) error {
	resolved, err := toolschema.Resolve(schema)
	if err != nil {
		return fmt.Errorf("the schema is not valid: %w", err)
	}
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return err
	}
	if err := resolved.Validate(v); err != nil {
		return errors.New(visible.Cut(err.Error(), 2<<10, " …")) // the error may list names that the server made up
	}
	return nil
}

// builder collects contents into one text and attachments.
type builder struct {
	out   strings.Builder
	files []*sdk.FilePart
	full  bool
	many  bool // more files than maxAttachments
}

func (b *builder) empty() bool { return b.out.Len() == 0 && len(b.files) == 0 }

// String returns the text.
func (b *builder) String() string { return b.out.String() }

// text adds a paragraph, up to the maximum size.
func (b *builder) text(s string) {
	if b.full || s == "" {
		return
	}
	if b.out.Len() > 0 {
		b.out.WriteString("\n\n")
	}
	room := max(maxResultText-b.out.Len(), 0)
	b.full = len(s) > room
	s = visible.Cut(s, room, "\n\n[the rest of the result is left out: it is too large]")
	b.out.WriteString(s)
}

// add adds one content, or a note if it is invalid.
func (b *builder) add(raw json.RawMessage) {
	var c content
	if err := json.Unmarshal(raw, &c); err != nil {
		b.text("[a part of the result cannot be read: " + visible.Strip(err.Error()) + "]")
		return
	}
	switch c.Type {
	case "text":
		b.text(c.Text)
	case "image", "audio":
		content, err := base64.StdEncoding.DecodeString(c.Data)
		b.file(content, err, c.MimeType, c.Type, c.Type)
	case "resource":
		if c.Resource != nil {
			b.resource(c.Resource)
		}
	case "resource_link":
		b.text("[resource " + c.line() + "]")
	default:
		b.text(fmt.Sprintf("[a part of the result is of the unknown kind %q]", visible.Bound(c.Type, 40)))
	}
}

func (b *builder) resource(r *resourceText) {
	content, err := base64.StdEncoding.DecodeString(r.Blob)
	if r.Text == nil && (err != nil || !utf8.Valid(content) || media.Binary(content) || media.Detect(content) != "") {
		b.file(content, err, r.MimeType, path.Base(r.URI), "resource "+r.URI)
		return
	}
	b.text(fmt.Sprintf("<resource uri=%q>\n%s\n</resource>", r.URI, *cmp.Or(r.Text, new(string(content)))))
}

// file attaches content if models can use it, else adds a description. The content decides about the types that servers give to files they know
// nothing about: the official SDK for Python calls all resources text. err is that of decoding the content.
func (b *builder) file(content []byte, err error, mimeType, name, what string) {
	typ, _, _ := mime.ParseMediaType(mimeType)
	if !usable(typ) {
		typ = cmp.Or(media.Detect(content), typ, "application/octet-stream")
	}
	describe := func(why string) {
		b.text(fmt.Sprintf("[%s, %s, about %d bytes, %s]", visible.Strip(what), typ, len(content), why))
	}
	switch {
	case err != nil:
		b.text(fmt.Sprintf("[%s, %s, not shown: it is not valid base64]", visible.Strip(what), typ))
	case !usable(typ):
		describe("not shown: models do not read this kind of file")
	case len(content) > maxAttachment:
		describe("not shown: it is too large")
	case len(b.files) < maxAttachments:
		url := "data:" + typ + ";base64," + base64.StdEncoding.EncodeToString(content) // without the line breaks that the server's text may have
		b.files = append(b.files, &sdk.FilePart{Mime: typ, Filename: visible.Strip(name), URL: url})
	case !b.many:
		b.many = true
		b.text(fmt.Sprintf("[further images and files are left out: a result can have %d; request fewer at a time]", maxAttachments))
	}
}

// usable reports whether models accept files of the type.
func usable(typ string) bool {
	return strings.HasPrefix(typ, "image/") || strings.HasPrefix(typ, "audio/") || typ == "application/pdf"
}
