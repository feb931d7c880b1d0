package openai

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// attachment is a file of a request, for both protocols.
type attachment struct {
	kind string // one of the kinds below
	text string // of kindText
	name string
	mime string
	url  string // a data: or an http(s) URL
}

// Kinds of attachments.
const (
	kindText  = "text"
	kindImage = "image"
	kindAudio = "audio"
	kindFile  = "file"
)

// newAttachment returns the form in which a file is sent to the model. For a file that the model does not accept it returns a text
// with the reason, so that the model can tell the user.
func newAttachment(m *sdk.Model, mime, name, rawURL string) attachment {
	a := attachment{name: name, mime: mime, url: rawURL}
	a.mime, _, _ = strings.Cut(strings.ToLower(a.mime), ";")
	a.mime = strings.TrimSpace(a.mime)
	if a.name == "" {
		a.name = "file"
		if a.mime == "application/pdf" {
			a.name = "file.pdf"
		}
	}
	isData := strings.HasPrefix(rawURL, "data:")
	isWeb := strings.HasPrefix(rawURL, "https:") || strings.HasPrefix(rawURL, "http:")
	needs := ""
	switch {
	case strings.HasPrefix(a.mime, "text/") || a.mime == "application/json":
		return textAttachment(a)
	case strings.HasPrefix(a.mime, "image/"):
		a.kind, needs = kindImage, "image"
	case strings.HasPrefix(a.mime, "audio/"):
		a.kind, needs = kindAudio, "audio"
	case a.mime == "application/pdf":
		a.kind, needs = kindFile, "pdf"
	default:
		a.kind = kindFile
	}
	takes := len(m.Modalities.Input) == 0 || needs == "" || slices.Contains(m.Modalities.Input, needs)
	switch {
	case !takes:
		return notice("%s cannot be shown: this model takes no %s input. Tell the user.", a.name, needs)
	case !isData && !isWeb, a.kind == kindAudio && !isData:
		return notice("%s cannot be shown: its address cannot be sent to the model. Tell the user.", a.name)
	}
	return a
}

func notice(format string, args ...any) attachment {
	return attachment{kind: kindText, text: "[" + fmt.Sprintf(format, args...) + "]"}
}

// textAttachment returns the text of a file instead of the file.
func textAttachment(a attachment) attachment {
	data, err := dataOf(a.url)
	if err != nil {
		return notice("%s cannot be shown: %s. Tell the user.", a.name, err)
	}
	return attachment{kind: kindText, text: fmt.Sprintf("<file name=%q>\n%s\n</file>", a.name, data)}
}

// dataOf returns the bytes in a data: URL.
func dataOf(rawURL string) (string, error) {
	rest, ok := strings.CutPrefix(rawURL, "data:")
	head, payload, found := strings.Cut(rest, ",")
	if !ok || !found {
		return "", fmt.Errorf("its content is not part of the request")
	}
	if !strings.HasSuffix(head, ";base64") {
		s, err := url.PathUnescape(payload)
		if err != nil {
			return "", fmt.Errorf("its content is damaged")
		}
		return s, nil
	}
	b, err := base64.StdEncoding.DecodeString(payload)
	if err != nil {
		return "", fmt.Errorf("its content is damaged")
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), nil
}

// audioFormat returns OpenAI's name of an audio type.
func audioFormat(mime string) string {
	format := strings.TrimPrefix(strings.TrimPrefix(mime, "audio/"), "x-")
	switch format {
	case "mpeg":
		return "mp3"
	case "wave":
		return "wav"
	}
	return format
}

// resultFiles returns the contents of an additional user message with the files of tool results, which
// the role tool does not support; nil if there are none.
func resultFiles(contents []sdk.ModelContent) []sdk.ModelContent {
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

// noOutput replaces an empty tool result, which some servers refuse.
const noOutput = "(no output)"
