package convert

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/sdk"
)

// said renders model messages, one line a message.
func said(messages []sdk.ModelMessage) []string {
	var out []string
	for _, m := range messages {
		var content []string
		for _, c := range m.Content {
			s := c.Type + ":" + c.Text
			switch c.Type {
			case sdk.ContentToolCall:
				s = "call:" + c.CallID + string(c.Args)
			case sdk.ContentToolResult:
				s = "result:" + c.CallID + "=" + c.Text
				if c.IsError {
					s += "!"
				}
				for _, f := range c.Files {
					s += "+" + f.Mime
				}
			case sdk.ContentFile:
				s = "file:" + c.Mime
			}
			if len(c.Metadata) > 0 {
				data, _ := json.Marshal(c.Metadata)
				s += string(data)
			}
			content = append(content, s)
		}
		out = append(out, m.Role+" "+strings.Join(content, "|"))
	}
	return out
}

func userSays(parts ...sdk.Part) sdk.MessageWithParts {
	return sdk.MessageWithParts{Info: &sdk.UserMessage{}, Parts: parts}
}

func modelSays(change func(*sdk.AssistantMessage), parts ...sdk.Part) sdk.MessageWithParts {
	a := &sdk.AssistantMessage{ProviderID: "p", ModelID: "m"}
	if change != nil {
		change(a)
	}
	return sdk.MessageWithParts{Info: a, Parts: parts}
}

func failedWith(name string) func(*sdk.AssistantMessage) {
	return func(a *sdk.AssistantMessage) { a.Error = &sdk.NamedError{Name: name} }
}

func text(s string) *sdk.TextPart { return &sdk.TextPart{Text: s} }

func toolCalled(id string, s sdk.ToolState) *sdk.ToolPart {
	return &sdk.ToolPart{CallID: id, Tool: "t", State: s}
}

func TestModelMessages(t *testing.T) {
	t.Parallel()
	aPNG := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"))
	plain := sdk.Model{ProviderID: "p", ID: "m"}
	sees := sdk.Model{ProviderID: "p", ID: "m", Modalities: sdk.Modalities{Input: []string{"text", "image"}}}
	other := sdk.Model{ProviderID: "p", ID: "other"}
	signed := sdk.Object{"signature": "s"}
	done := sdk.ToolState{Status: sdk.ToolCompleted, Input: json.RawMessage(`{"a":1}`), Output: "out"}
	withImage, pruned := done, done
	withImage.Attachments = []*sdk.FilePart{{Mime: "image/png", Filename: "x.png", URL: "data:image/png;base64," + aPNG}}
	pruned.Time.Compacted = 1
	attached := func(typ, content string) []sdk.MessageWithParts {
		state := done
		state.Attachments = []*sdk.FilePart{{Mime: typ, Filename: "x", URL: "data:" + typ + ";base64," + base64.StdEncoding.EncodeToString([]byte(content))}}
		return []sdk.MessageWithParts{modelSays(nil, toolCalled("c", state))}
	}
	const call, notRead = `assistant call:c{"a":1}`, " left out: models cannot read its content. Tell the user.]"
	ignoredText := &sdk.TextPart{Text: "cut", Ignored: true}
	ignoredCall := toolCalled("c", done)
	ignoredCall.Metadata = sdk.Object{"ignored": true}
	cases := map[string]struct {
		model sdk.Model
		in    []sdk.MessageWithParts
		want  []string
	}{
		"a plain exchange":            {plain, []sdk.MessageWithParts{userSays(text("hi")), modelSays(nil, text("hello"))}, []string{"user text:hi", "assistant text:hello"}},
		"ignored and empty texts":     {plain, []sdk.MessageWithParts{userSays(ignoredText, text(""), text("hi")), modelSays(nil, ignoredText, text(""))}, []string{"user text:hi"}},
		"ignored reasoning and calls": {plain, []sdk.MessageWithParts{modelSays(nil, &sdk.ReasoningPart{Text: "hm", Metadata: sdk.Object{"ignored": true}}, ignoredCall, text("x"))}, []string{"assistant text:x"}},
		"a failed step is dropped":    {plain, []sdk.MessageWithParts{modelSays(failedWith(sdk.ErrorAPI), text("half"))}, nil},
		"a failed step with results":  {plain, []sdk.MessageWithParts{modelSays(failedWith(sdk.ErrorUnknown), toolCalled("c", done))}, []string{`assistant call:c{"a":1}`, "tool result:c=out"}},
		"an aborted step stays":       {plain, []sdk.MessageWithParts{modelSays(failedWith(sdk.ErrorAborted), text("half"))}, []string{"assistant text:half"}},
		"an aborted step of nothing":  {plain, []sdk.MessageWithParts{modelSays(failedWith(sdk.ErrorAborted), &sdk.StepStartPart{})}, nil},
		"results follow their calls": {plain, []sdk.MessageWithParts{modelSays(nil, text("x"), toolCalled("c", done), toolCalled("d", sdk.ToolState{Status: sdk.ToolError, Error: "no"}))},
			[]string{`assistant text:x|call:c{"a":1}|call:d{}`, "tool result:c=out|result:d=no!"}},
		"open calls get a result": {plain, []sdk.MessageWithParts{modelSays(nil, toolCalled("c", sdk.ToolState{Status: sdk.ToolPending}), toolCalled("d", sdk.ToolState{Status: sdk.ToolRunning}))},
			[]string{"assistant call:c{}|call:d{}", "tool result:c=" + interruptedOutput + "!|result:d=" + interruptedOutput + "!"}},
		"arguments that are not an object": {plain, []sdk.MessageWithParts{modelSays(nil, toolCalled("c", sdk.ToolState{Status: sdk.ToolError, Error: "no", Input: json.RawMessage(`[1]`)}))},
			[]string{"assistant call:c{}", "tool result:c=no!"}},
		"pruned output":                    {plain, []sdk.MessageWithParts{modelSays(nil, toolCalled("c", pruned))}, []string{`assistant call:c{"a":1}`, "tool result:c=" + prunedOutput}},
		"metadata goes to the same model":  {plain, []sdk.MessageWithParts{modelSays(nil, &sdk.ReasoningPart{Text: "hm", Metadata: signed}, &sdk.TextPart{Text: "x", Metadata: signed})}, []string{`assistant reasoning:hm{"signature":"s"}|text:x{"signature":"s"}`}},
		"and to no other":                  {other, []sdk.MessageWithParts{modelSays(nil, &sdk.ReasoningPart{Text: "hm", Metadata: signed}, &sdk.TextPart{Text: "x", Metadata: signed})}, []string{`assistant text:hm|text:x`}},
		"empty reasoning with a signature": {plain, []sdk.MessageWithParts{modelSays(nil, &sdk.ReasoningPart{Metadata: signed}, text("x"))}, []string{`assistant reasoning:{"signature":"s"}|text:x`}},
		"of another model it is nothing":   {other, []sdk.MessageWithParts{modelSays(nil, &sdk.ReasoningPart{Metadata: signed}, text("x"))}, []string{`assistant text:x`}},
		"media the model takes":            {sees, []sdk.MessageWithParts{userSays(text("look"), &sdk.FilePart{Mime: "image/png", URL: "data:image/png;base64," + aPNG})}, []string{"user text:look|file:image/png"}},
		"media it does not take":           {sees, []sdk.MessageWithParts{userSays(&sdk.FilePart{Mime: "application/pdf", Filename: "d.pdf"})}, []string{"user text:[d.pdf of type application/pdf left out: the model p/m does not accept it. Tell the user.]"}},
		"text files are there already":     {sees, []sdk.MessageWithParts{userSays(text("x"), &sdk.FilePart{Mime: "text/plain"}, &sdk.FilePart{Mime: MimeDirectory})}, []string{"user text:x"}},
		"a result with an image":           {sees, []sdk.MessageWithParts{modelSays(nil, toolCalled("c", withImage))}, []string{`assistant call:c{"a":1}`, "tool result:c=out+image/png"}},
		"a result with one left out":       {plain, []sdk.MessageWithParts{modelSays(nil, toolCalled("c", withImage))}, []string{`assistant call:c{"a":1}`, "tool result:c=out\n[x.png of type image/png left out: the model p/m does not accept it. Tell the user.]"}},
		"an image of another type":         {sees, attached("image/jpeg", "\x89PNG\r\n\x1a\n"), []string{call, "tool result:c=out+image/png"}},
		"an image that is none":            {sees, attached("image/png", "404 not found"), []string{call, "tool result:c=out\n[x of type image/png" + notRead}},
		"an empty image":                   {sees, attached("image/png", ""), []string{call, "tool result:c=out\n[x of type image/png" + notRead}},
		"an image that models do not read": {sees, attached("image/svg+xml", "<svg/>"), []string{call, "tool result:c=out\n[x of type image/svg+xml" + notRead}},
		"a text as a file":                 {sees, attached("text/plain", "hi"), []string{call, "tool result:c=out\n<file name=\"x\">\nhi\n</file>"}},
		"a text that is not there":         {sees, attached("text/plain", ""), []string{call, "tool result:c=out\n[x of type text/plain left out: the message does not contain its content]"}},
		"a subtask":                        {plain, []sdk.MessageWithParts{userSays(&sdk.SubtaskPart{Agent: "helper", Description: "help"})}, []string{"user text:The user asked the subagent helper: help"}},
		"parts of a later version":         {plain, []sdk.MessageWithParts{userSays(&sdk.UnknownPart{Raw: json.RawMessage(`{"type":"new"}`)}, text("x"))}, []string{"user text:x"}},
	}
	for name, c := range cases {
		if diff := cmp.Diff(c.want, said(new(Cache).Messages(c.in, &c.model))); diff != "" {
			t.Errorf("%s: modelMessages (-want +got):\n%s", name, diff)
		}
	}
}

// A summary has to know how a long output ends: with the failure, and with the status of a command.
func TestTextOfLongOutput(t *testing.T) {
	t.Parallel()
	part := &sdk.ToolPart{Tool: "bash", State: sdk.ToolState{Status: sdk.ToolCompleted, Input: json.RawMessage(`{}`), Output: "begin " + strings.Repeat("ok ", 5000) + "exit status 1"}}
	got := Text(&sdk.MessageWithParts{Info: &sdk.AssistantMessage{}, Parts: sdk.Parts{part}})
	if !strings.Contains(got, "\nbegin ok") || !strings.Contains(got, "[…]") || !strings.HasSuffix(got, "ok exit status 1") || len(got) > 2100 {
		t.Errorf("Text = %d bytes: %s", len(got), got)
	}
}

// A file is sent by its content, on one line, if the model accepts its type.
func TestFileContent(t *testing.T) {
	t.Parallel()
	const png, pdf, jpg = "image/png", "application/pdf", "image/jpeg"
	encode := func(content string) string { return base64.StdEncoding.EncodeToString([]byte(content)) }
	aPNG, aPDF := encode("\x89PNG\r\n\x1a\n"), encode("%PDF-1.4\n")
	for name, test := range map[string]struct {
		takes     []string
		mime, url string
		want      string // the URL, or the text
	}{
		"right":              {[]string{"image"}, png, "data:image/png;base64," + aPNG, "data:image/png;base64," + aPNG},
		"another image":      {[]string{"image"}, jpg, "data:image/jpeg;base64," + aPNG, "data:image/png;base64," + aPNG},
		"another in the URL": {[]string{"image"}, png, "data:image/jpeg;base64," + aPNG, "data:image/png;base64," + aPNG},
		"PDF as image":       {[]string{"image"}, png, "data:image/png;base64," + aPDF, "[x of type application/pdf left out: the model p/m does not accept it. Tell the user.]"},
		"image as PDF":       {[]string{"image"}, pdf, "data:application/pdf;base64," + aPNG, "data:image/png;base64," + aPNG},
		"in lines":           {[]string{"image"}, png, "data:image/png;base64," + aPNG[:4] + "\r\n" + aPNG[4:] + "\n", "data:image/png;base64," + aPNG},
		"not taken, broken":  {[]string{"text"}, png, "data:image/png;base64,AAAA", "[x of type image/png left out: the model p/m does not accept it. Tell the user.]"},
		"on disk":            {[]string{"image"}, png, "file:///x.png", "[x of type image/png left out: its address cannot be sent to the model. Tell the user.]"},
		"not in base64":      {[]string{"image"}, png, "data:image/png,abc", "[x of type image/png left out: its address cannot be sent to the model. Tell the user.]"},
		"elsewhere":          {[]string{"image"}, png, "https://example.com/x.png?secret", "[x of type image/png left out: its address cannot be sent to the model. Tell the user.]"},
		"elsewhere, as data": {[]string{"image"}, png, "https://example.com/x.png?;base64," + aPNG, "[x of type image/png left out: its address cannot be sent to the model. Tell the user.]"},
	} {
		m := &sdk.Model{ProviderID: "p", ID: "m"}
		m.Modalities.Input = test.takes
		c, ok := fileContent(&sdk.FilePart{Mime: test.mime, Filename: "x", URL: test.url}, m)
		if got := c.URL + c.Text; !ok || got != test.want || c.URL != "" && c.Mime != png {
			t.Errorf("%s: %s %s, want %s", name, c.Mime, got, test.want)
		}
	}
}

// The URL of a file of the right type is not copied: it can have megabytes.
func TestFileContentIsNotCopied(t *testing.T) {
	m := &sdk.Model{ProviderID: "p", ID: "m"}
	m.Modalities.Input = []string{"image"}
	allocations := func(mime string) float64 {
		data := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"))
		p := &sdk.FilePart{Mime: mime, Filename: "x", URL: "data:" + mime + ";base64," + data}
		return testing.AllocsPerRun(10, func() { fileContent(p, m) })
	}
	if right, wrong := allocations("image/png"), allocations("image/jpeg"); right >= wrong {
		t.Errorf("%v allocations for the right type, %v for another", right, wrong)
	}
}

// A file that reaches a model has a type that the model takes, and an address that providers accept.
func FuzzFile(f *testing.F) {
	image := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"))
	f.Add("image/jpeg", "a.png", "data:image/jpeg;base64,"+image)
	f.Add("application/pdf", "", "data:application/pdf;charset=x;base64,JVBERi0x\r\nLjQ=")
	f.Add("image/png", "a", "data:;base64,!")
	f.Add("image/png", "a", "https://a.example/b.png")
	f.Add("text/plain", "\n</file>", "data:text/plain;base64,/w==")
	f.Add("video/mp4", "v", "file:///etc/passwd")
	f.Fuzz(func(t *testing.T, mime, name, url string) {
		p := &sdk.FilePart{Mime: mime, Filename: name, URL: url}
		if text := textFile(p); utf8.ValidString(name) && utf8.ValidString(mime) && !utf8.ValidString(text) {
			t.Errorf("%+v: %q", p, text)
		}
		c, shown := fileContent(p, &sdk.Model{Modalities: sdk.Modalities{Input: []string{"text", "image", "pdf"}}})
		if !shown || c.Type != sdk.ContentFile {
			return
		}
		_, data, inline := strings.Cut(c.URL, ";base64,")
		switch {
		case kindOf(c.Mime) != "image" && kindOf(c.Mime) != "pdf" || c.Filename == "":
			t.Errorf("%+v became %+v", p, c)
		case !inline || !strings.HasPrefix(c.URL, "data:"+c.Mime+";base64,") || strings.ContainsAny(data, "\r\n"):
			t.Errorf("%+v became %+v", p, c)
		}
	})
}
