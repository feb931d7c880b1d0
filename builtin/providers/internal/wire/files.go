package wire

import (
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // for image.DecodeConfig
	_ "image/jpeg"
	_ "image/png"
	"net/url"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// Attachment is a file of a request, for every wire format.
type Attachment struct {
	Kind string // one of the kinds below
	Text string // of KindText
	Name string
	Mime string
	URL  string // a data: or an http(s) URL
}

// Kinds of attachments.
const (
	KindText  = "text"
	KindImage = "image"
	KindFile  = "file"
)

// NewAttachment returns the form in which a file is sent to a model, which the host knows to accept it. For a file that cannot be sent it returns
// a text with the reason, so that the model can tell the user.
func NewAttachment(mime, name, rawURL string) Attachment {
	a := Attachment{Name: name, Mime: mime, URL: rawURL}
	a.Mime, _, _ = strings.Cut(strings.ToLower(a.Mime), ";")
	a.Mime = strings.TrimSpace(a.Mime)
	if a.Name == "" {
		a.Name = "file"
		if a.Mime == "application/pdf" {
			a.Name = "file.pdf"
		}
	}
	switch {
	case strings.HasPrefix(a.Mime, "text/"):
		return textAttachment(a)
	case strings.HasPrefix(a.Mime, "image/"):
		a.Kind = KindImage
	default:
		a.Kind = KindFile
	}
	if scheme, _, _ := strings.Cut(rawURL, ":"); !slices.Contains([]string{"data", "http", "https"}, scheme) {
		return Notice("%s cannot be shown: its address cannot be sent to the model. Tell the user.", a.Name)
	}
	return a
}

// OversizedImage returns a text in place of an image that is longer than limit in base64 or has too many pixels for Claude's servers; empty for
// others. The servers would refuse every later request of the session, too. See https://platform.claude.com/docs/en/build-with-claude/vision.
// The pixels of WebP images are not counted.
func OversizedImage(name, data string, limit int) string {
	const maxSide = 8000 // pixels
	if len(data) > limit {
		return Notice("%s cannot be shown: it has more than %d MiB in base64. Tell the user.", name, limit>>20).Text
	}
	c, _, err := image.DecodeConfig(base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)))
	if err == nil && max(c.Width, c.Height) > maxSide {
		return Notice("%s cannot be shown: it has %d × %d pixels, and the model takes at most %d on a side. Tell the user.", name, c.Width, c.Height, maxSide).Text
	}
	return ""
}

// Unsupported returns a text in place of a file whose type the format does not know.
func Unsupported(a Attachment) Attachment {
	return Notice("%s cannot be shown: files of type %s cannot be sent to this model. Tell the user.", a.Name, a.Mime)
}

// Notice returns a text for the model in place of a file.
func Notice(format string, args ...any) Attachment {
	return Attachment{Kind: KindText, Text: "[" + fmt.Sprintf(format, args...) + "]"}
}

// textAttachment returns the text of a file instead of the file.
func textAttachment(a Attachment) Attachment {
	data, err := dataOf(a.URL)
	if err != nil {
		return Notice("%s cannot be shown: %s. Tell the user.", a.Name, err)
	}
	return Attachment{Kind: KindText, Text: fmt.Sprintf("<file name=%q>\n%s\n</file>", a.Name, data)}
}

// Base64 returns the content of a data: URL in base64.
func Base64(rawURL string) (string, bool) {
	rest, ok := strings.CutPrefix(rawURL, "data:")
	head, payload, found := strings.Cut(rest, ",")
	switch {
	case !ok || !found:
		return "", false
	case strings.HasSuffix(head, ";base64"):
		return payload, true
	}
	plain, err := url.PathUnescape(payload)
	return base64.StdEncoding.EncodeToString([]byte(plain)), err == nil
}

// dataOf returns the text in a data: URL.
func dataOf(rawURL string) (string, error) {
	encoded, ok := Base64(rawURL)
	b, err := base64.StdEncoding.DecodeString(encoded)
	switch {
	case !strings.HasPrefix(rawURL, "data:"), !strings.Contains(rawURL, ","):
		return "", errors.New("its content is not part of the request")
	case !ok || err != nil:
		return "", errors.New("its content is damaged")
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), nil
}

// ResultFiles returns the contents of an additional user message with the files of tool results, which
// the role tool does not support; nil if there are none.
func ResultFiles(contents []sdk.ModelContent) []sdk.ModelContent {
	var out []sdk.ModelContent
	for i := range contents {
		result := &contents[i]
		if result.Type != sdk.ContentToolResult || len(result.Files) == 0 {
			continue
		}
		out = append(out, sdk.ModelContent{
			Type: sdk.ContentText,
			Text: fmt.Sprintf("Files from the result of %s (%s):", result.Tool, result.CallID),
		})
		for _, f := range result.Files {
			out = append(out, sdk.ModelContent{Type: sdk.ContentFile, Mime: f.Mime, Filename: f.Filename, URL: f.URL})
		}
	}
	return out
}

// Output returns the text of a tool result. Some servers refuse a blank one.
func Output(text string) string {
	if strings.TrimSpace(text) == "" {
		return "(no output)"
	}
	return text
}
