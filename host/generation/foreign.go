package generation

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// AttachBytes bounds the text of an attachment; the figure of the read tool.
	AttachBytes = 50 * 1024
	// MaxMediaBytes bounds an attached image or document. Providers take 20 MB at most.
	MaxMediaBytes = 20 << 20
)

// ForeignParts returns copies of parts that a plugin made, within the bounds of attachments. A plugin can add its own content, but cannot
// make the host, or a model's server, read a file or an address.
func ForeignParts(parts sdk.Parts) (sdk.Parts, error) {
	out := make(sdk.Parts, 0, len(parts))
	for _, p := range parts {
		switch p := p.(type) {
		case *sdk.TextPart:
			c := *p
			c.Text = clip(strings.ToValidUTF8(p.Text, "�"))
			out = append(out, &c)
		case *sdk.FilePart:
			if !strings.HasPrefix(p.URL, "data:") {
				return nil, fmt.Errorf("a file part must contain its data as a data: URL, not %.80q", p.URL)
			}
			if len(p.URL) > MaxMediaBytes*4/3 {
				return nil, fmt.Errorf("a file of %d bytes exceeds the limit of %d for files sent to a model", len(p.URL)*3/4, MaxMediaBytes)
			}
			c := *p
			if p.Source != nil { // without the path: after an undo, the file at this path on this machine would be attached
				source := *p.Source
				source.Path, c.Source = "", &source
			}
			out = append(out, &c)
		case nil:
			return nil, errors.New("an empty part")
		default:
			return nil, fmt.Errorf("a part of type %T: want text or a file", p)
		}
	}
	return out, nil
}

// clip cuts a text that is too long for an attachment and appends a note.
func clip(text string) string {
	if len(text) <= AttachBytes {
		return text
	}
	head := visible.Cut(text, AttachBytes, "")
	return fmt.Sprintf("%s\n[the first %d of %d bytes]", head, len(head), len(text))
}
