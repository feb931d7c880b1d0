package wire

import (
	"encoding/base64"
	"fmt"
	"image"
	_ "image/gif" // for image.DecodeConfig
	_ "image/jpeg"
	_ "image/png"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// Image reports whether a file is an image.
func Image(f *sdk.FilePart) bool { return strings.HasPrefix(f.Mime, "image/") }

// PDF is the type of documents that models read.
const PDF = "application/pdf"

// OversizedImage returns a text in place of an image that is longer than limit in base64 or has too many pixels for Claude's servers; empty for
// others. The servers would refuse every later request of the session, too. See https://platform.claude.com/docs/en/build-with-claude/vision.
// The pixels of WebP images are not counted.
func OversizedImage(name, data string, limit int) string {
	const maxSide = 8000 // pixels
	if len(data) > limit {
		return Notice("%s cannot be shown: it has more than %d MiB in base64. Tell the user.", name, limit>>20)
	}
	c, _, err := image.DecodeConfig(base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)))
	if err == nil && max(c.Width, c.Height) > maxSide {
		return Notice("%s cannot be shown: it has %d × %d pixels, and the model accepts at most %d per side. Tell the user.", name, c.Width, c.Height, maxSide)
	}
	return ""
}

// Unsupported returns a text in place of a file whose type the format does not know.
func Unsupported(f *sdk.FilePart) string {
	return Notice("%s cannot be shown: files of type %s cannot be sent to this model. Tell the user.", f.Filename, f.Mime)
}

// Notice returns a text for the model in place of a file.
func Notice(format string, args ...any) string { return "[" + fmt.Sprintf(format, args...) + "]" }

// Base64 returns the content of a data: URL in base64.
func Base64(url string) string {
	_, data, _ := strings.Cut(url, ";base64,")
	return data
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
