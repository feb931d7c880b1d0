package host_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

const pngHeader = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00"

// project fills a directory with one file of each kind.
func project(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"main.go": "package main\n", "notes.txt": "a note", "sub/inner.txt": "inner", "sub/deeper/x": "x", "empty": "",
		"image.png": pngHeader, "doc.pdf": "%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", "program": "\x7fELF\x02\x01\x01\x00\x00\x00\x00",
		"with space.txt": "spaced", "my notes, v2.md": "notes", "it's.md": "its", "long.txt": strings.Repeat("a line of text\n", 5000), "page.html": "<html><body>hello</body></html>",
		"latin1.txt": "caf\xe9 au lait, s'il vous pla\xeet\n", "v1.2": "versioned", "zeros.png": strings.Repeat("\x00", 100), "words.jpg": "no image", "control.log": "\x01" + strings.Repeat("ü", 2500),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// describe renders the parts of a prompt: the type, and what matters of the content.
func describe(dir string, parts sdk.Parts) []string {
	var out []string
	for _, p := range parts {
		switch p := p.(type) {
		case *sdk.TextPart:
			text := strings.ReplaceAll(p.Text, dir+string(filepath.Separator), "")
			if len(text) > 120 {
				text = text[:20] + "…" + text[len(text)-80:]
			}
			out = append(out, fmt.Sprintf("text %v %q", p.Synthetic, text))
		case *sdk.FilePart:
			scheme, _, _ := strings.Cut(p.URL, ":")
			out = append(out, fmt.Sprintf("file %s %s %s", p.Filename, p.Mime, scheme))
		case *sdk.AgentPart:
			out = append(out, "agent "+p.Name)
		}
	}
	return out
}

func TestMentions(t *testing.T) {
	t.Parallel()
	dir := project(t)
	file := func(name, content string) []string {
		return []string{"file " + name + " text/plain file", fmt.Sprintf("text true %q", fmt.Sprintf("<file path=%q>\n%s\n</file>", name, content))}
	}
	listing := []string{"file sub application/x-directory file", fmt.Sprintf("text true %q", "<directory path=\"sub\">\ndeeper/\ninner.txt\n</directory>")}
	cases := map[string]struct {
		text string
		want []string // behind the text itself
	}{
		"a file":                     {"read @main.go please", file("main.go", "package main")},
		"at the start":               {"@main.go", file("main.go", "package main")},
		"a full stop behind it":      {"look at @main.go.", file("main.go", "package main")},
		"a comma behind it":          {"@main.go, please", file("main.go", "package main")},
		"a question mark behind it":  {"what is @main.go?", file("main.go", "package main")},
		"in Chinese":                 {"请看@main.go。", file("main.go", "package main")},
		"in Japanese":                {"見て、@main.go！", file("main.go", "package main")},
		"in brackets":                {"the entry (@main.go) is short", file("main.go", "package main")},
		"in quotes":                  {`the file "@main.go"`, file("main.go", "package main")},
		"a name that ends in digits": {"see @v1.2", file("v1.2", "versioned")},
		"in a folder":                {"@sub/inner.txt", []string{"file inner.txt text/plain file", fmt.Sprintf("text true %q", "<file path=\"sub/inner.txt\">\ninner\n</file>")}},
		"twice is once":              {"@main.go and @main.go", file("main.go", "package main")},
		"a directory":                {"what is in @sub/", listing},
		"a directory without slash":  {"what is in @sub", listing},
		"an empty file":              {"@empty", file("empty", "")},
		"html is text":               {"@page.html", file("page.html", "<html><body>hello</body></html>")},
		"an image":                   {"@image.png", []string{"file image.png image/png data"}},
		"text with an image's name":  {"@words.jpg", file("words.jpg", "no image")},
		"text with a control byte":   {"@control.log", []string{"file control.log text/plain file", fmt.Sprintf("text true %q", `<file path="control.…`+strings.Repeat("ü", 36)+"\n</file>")}},
		"a document":                 {"@doc.pdf", []string{"file doc.pdf application/pdf data"}},
		"missing":                    {"@nothing.go is not there", nil},
		"an address":                 {"write to me@main.go", nil},
		"an at sign alone":           {"a @ b", nil},
		"a subagent":                 {"@helper do it", []string{"agent helper", `text true "Use the task tool with subagent_type \"helper\" for what the message above asks of @helper."`}},
		"a primary agent is none":    {"@build do it", nil},
		"a hidden agent is none":     {"@title do it", nil},
		"by the home directory":      {"@~/main.go", file("main.go", "package main")},
		"quoted":                     {`read @"my notes, v2.md": why?`, file("my notes, v2.md", "notes")},
		"with an apostrophe":         {`(@"it's.md")`, file("it's.md", "its")},
		"quoted needlessly":          {`@"main.go" and @main.go`, file("main.go", "package main")},
		"quoted text":                {`NSLog(@"hello main.go")`, nil},
		"in text of a program":       {`NSLog(@"see @main.go")`, file("main.go", "package main")},
		"between apostrophes":        {`it's @'x and @main.go don't'`, file("main.go", "package main")},
		"behind a quoted at sign":    {`'@' and '@main.go'`, file("main.go", "package main")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := start(t, func(o *host.Options) { o.Project.Directory, o.Project.Home = dir, dir }, base(newModel(t, say("ok"))))
			id, _ := k.prompt(c.text)
			parts := k.messages(id)[0].Parts
			want(t, "parts", append([]string{fmt.Sprintf("text false %q", c.text)}, c.want...), describe(dir, parts))
			if f, ok := first[*sdk.FilePart](parts); ok {
				if s := f.Source; s == nil || s.Text == nil || c.text[s.Text.Start:s.Text.End] != s.Text.Value || !strings.HasPrefix(s.Text.Value, "@") {
					t.Errorf("source = %+v, want the mention in the text", f.Source)
				}
			}
		})
	}
}

// The hash of an attached file allows the model to change the file without reading it. One of which the model sees only the beginning has none.
func TestAttachmentsHaveHashes(t *testing.T) {
	t.Parallel()
	dir := project(t)
	for name, want := range map[string]string{"main.go": fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("package main\n"))), "long.txt": ""} {
		k := start(t, func(o *host.Options) { o.Project.Directory = dir }, base(newModel(t, say("ok"))))
		id, _ := k.prompt("@" + name)
		parts := k.messages(id)[0].Parts
		metadata := parts[len(parts)-1].(*sdk.TextPart).Metadata
		if metadata["hash"] != want || metadata["path"] != filepath.Join(dir, name) {
			t.Errorf("%s: metadata %v, want hash %q", name, metadata, want)
		}
	}
}

// A server may refuse images that tenon does not know to be refused. The session continues without them, and the next turn does not try again.
func TestRefusedFiles(t *testing.T) {
	t.Parallel()
	refused := &sdk.ProviderError{ProviderID: "test", StatusCode: 400, Message: "image_url is only supported by certain models."}
	m := newModel(t, call("shot", `{}`), answer{err: refused}, say("no image"), say("still none"))
	b := base(m)
	b.tools = []sdk.Tool{&tool{id: "shot", run: func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) {
		url := "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(pngHeader))
		return &sdk.ToolResult{Output: "taken", Attachments: []*sdk.FilePart{{Mime: "image/png", Filename: "a.png", URL: url}}}, nil
	}}}
	k := start(t, func(o *host.Options) {
		o.Config.Provider = map[string]sdk.ProviderConfig{"test": {Models: map[string]sdk.ModelConfig{"m": {Attachment: new(true)}}}}
	}, b)
	id, got := k.prompt("go")
	want(t, "answer", "no image", textOf(got))
	k.again(id, "again")
	for i, files := range []int{0, 1, 0, 0} {
		sent, text := 0, ""
		for _, message := range m.of(sdk.PurposeTurn)[i].Messages {
			for _, c := range message.Content {
				sent += len(c.Files)
				text += c.Text
			}
		}
		if sent != files || strings.Contains(text, "a.png of type image/png left out") != (i > 1) {
			t.Errorf("request %d has %d files, want %d: %s", i, sent, files, text)
		}
	}
}

// TestFilesRefusedAtOnce: two requests with files are under way. The second is refused after the first was sent again, and it is sent again, too.
func TestFilesRefusedAtOnce(t *testing.T) {
	t.Parallel()
	refused := &sdk.ProviderError{ProviderID: "test", StatusCode: 400, Message: "image_url is only supported by certain models."}
	second, again := make(chan struct{}), make(chan struct{})
	m := newModel(t, answer{err: refused, hold: second}, answer{err: refused, begun: second, hold: again}, answer{text: "no image", begun: again}, say("no image"))
	k := start(t, func(o *host.Options) {
		o.Config.Provider = map[string]sdk.ProviderConfig{"test": {Models: map[string]sdk.ModelConfig{"m": {Attachment: new(true)}}}}
	}, base(m))
	url := "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(pngHeader))
	var both sync.WaitGroup
	for range 2 {
		id := k.session()
		both.Go(func() {
			got, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go", Parts: sdk.Parts{&sdk.FilePart{Mime: "image/png", Filename: "a.png", URL: url}}})
			if err != nil || textOf(got) != "no image" {
				t.Errorf("Prompt = %+v, %v", got, err)
			}
		})
	}
	both.Wait()
}

func first[P sdk.Part](parts sdk.Parts) (P, bool) {
	for _, p := range parts {
		if p, ok := p.(P); ok {
			return p, true
		}
	}
	var none P
	return none, false
}

func TestAttachmentsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	dir := project(t)
	for name, size := range map[string]int64{"huge.png": 21 << 20, "large.png": 19 << 20} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(pngHeader), 0o644), os.Truncate(path, size)); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		in   host.PromptInput
		want []string
	}{
		"binary":            {host.PromptInput{Text: "@program"}, []string{"program", "binary"}},
		"no image":          {host.PromptInput{Text: "@zeros.png"}, []string{"zeros.png", "binary"}},
		"too large":         {host.PromptInput{Text: "@huge.png"}, []string{"huge.png", "exceed"}},
		"too many":          {host.PromptInput{Text: strings.Repeat("@large.png ", 5) + "@./large.png @sub/../large.png @././large.png @zeros.png"}, []string{"zeros.png", "exceed"}},
		"no such file":      {host.PromptInput{Parts: sdk.Parts{&sdk.FilePart{URL: "file:///no/such/file"}}}, []string{"/no/such/file", "no such file"}},
		"on another host":   {host.PromptInput{Parts: sdk.Parts{&sdk.FilePart{URL: "file://server/x"}}}, []string{"not the URL of a file on this machine"}},
		"broken data":       {host.PromptInput{Parts: sdk.Parts{&sdk.FilePart{Mime: "text/plain", Filename: "x", URL: "data:text/plain;base64,%%%"}}}, []string{`attach "x"`}},
		"data without data": {host.PromptInput{Parts: sdk.Parts{&sdk.FilePart{Mime: "text/plain", Filename: "x", URL: "data:text/plain"}}}, []string{`attach "x"`}},
		"too much data":     {host.PromptInput{Parts: sdk.Parts{&sdk.FilePart{Mime: "text/plain", Filename: "x", URL: "data:text/plain," + strings.Repeat("a", 51<<10)}}}, []string{`attach "x"`, "exceed"}},
		"nothing at all":    {host.PromptInput{}, []string{"the prompt is empty"}},
	}
	if runtime.GOOS != "windows" && os.Getuid() != 0 {
		secret := filepath.Join(dir, "secret")
		if err := os.WriteFile(secret, []byte("x"), 0); err != nil {
			t.Fatal(err)
		}
		cases["unreadable"] = struct {
			in   host.PromptInput
			want []string
		}{host.PromptInput{Text: "@secret"}, []string{"secret", "permission denied"}}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, say("ok"))
			logs := &records{}
			k := start(t, func(o *host.Options) { o.Project.Directory, o.Logger = dir, logs.logger() }, base(m))
			c.in.SessionID = k.session()
			_, err := k.Prompt(t.Context(), c.in)
			if err == nil {
				t.Fatal("the prompt was taken")
			}
			if logs.has("not found") {
				t.Errorf("a file that is there was not found: %q", logs.all())
			}
			for _, piece := range c.want {
				if !strings.Contains(err.Error(), piece) {
					t.Errorf("Prompt = %v, want %q in it", err, piece)
				}
			}
			want(t, "the next answer", "ok", textOf(k.again(c.in.SessionID, "hello")))
			want(t, "the model's messages", []string{"user: hello"}, lines(m.last(sdk.PurposeTurn)))
		})
	}
}

// A file outside of the project is not attached, even if a link in the repository leads to it.
func TestMentionedLinks(t *testing.T) {
	t.Parallel()
	outside := project(t)
	cases := map[string]struct{ link, target, text, problem string }{
		"a file outside":               {"docs.md", filepath.Join(outside, "notes.txt"), "@docs.md", "leads out of the project"},
		"a directory outside":          {"docs", outside, "@docs/", "leads out of the project"},
		"a file behind a link":         {"docs", outside, "@docs/notes.txt", "leads out of the project"},
		"a link that stays":            {"docs.md", "main.go", "@docs.md", ""},
		"an absolute one that stays":   {"docs.md", "ABSOLUTE/main.go", "@docs.md", ""},
		"outside, by its own name":     {"docs.md", "main.go", "@" + filepath.Join(outside, "notes.txt"), ""},
		"a directory by its own name":  {"docs.md", "main.go", "@" + outside, ""},
		"a directory behind two links": {"docs", "sub", "@docs/deeper", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := project(t)
			if err := os.Symlink(strings.Replace(c.target, "ABSOLUTE", dir, 1), filepath.Join(dir, c.link)); err != nil {
				t.Skip(err)
			}
			m := newModel(t, say("ok"))
			k := start(t, func(o *host.Options) { o.Project.Directory, o.Project.Worktree = dir, dir }, base(m))
			_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: k.session(), Text: c.text})
			if c.problem == "" {
				if err != nil || len(m.last(sdk.PurposeTurn).Messages[0].Content) != 2 {
					t.Errorf("Prompt = %v, want an attachment", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("Prompt = %v, want %q in it", err, c.problem)
			}
		})
	}
}

func TestFileParts(t *testing.T) {
	t.Parallel()
	dir := project(t)
	url := "file://" + filepath.ToSlash(filepath.Join(dir, "with space.txt"))
	cases := map[string]struct {
		part sdk.Part
		want []string // what the model gets
	}{
		"a file on disk":     {&sdk.FilePart{Mime: "text/plain", URL: strings.ReplaceAll(url, " ", "%20")}, []string{"<file path="}},
		"an image as data":   {&sdk.FilePart{Mime: "image/png", Filename: "x.png", URL: "data:image/png;base64,AAAA"}, []string{"[x.png of type image/png left out: the model test/m does not accept it. Tell the user.]"}},
		"text as data":       {&sdk.FilePart{Mime: "text/plain", Filename: "x.txt", URL: "data:text/plain;base64,aGVsbG8="}, []string{"<file path=\"x.txt\">\nhello\n</file>"}},
		"text as plain data": {&sdk.FilePart{Mime: "text/plain", Filename: "x.txt", URL: "data:text/plain,hello%20you"}, []string{"<file path=\"x.txt\">\nhello you\n</file>"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, say("ok"))
			k := start(t, func(o *host.Options) { o.Project.Directory = dir }, base(m))
			id := k.session()
			if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "look", Parts: sdk.Parts{c.part}}); err != nil {
				t.Fatal(err)
			}
			got := m.last(sdk.PurposeTurn).Messages[0].Content
			if len(got) != 2 || !strings.HasPrefix(got[1].Text, c.want[0]) {
				t.Errorf("the model got %+v, want the text and %q", got, c.want)
			}
			stored, ok := first[*sdk.FilePart](k.messages(id)[0].Parts)
			if !ok || !strings.HasPrefix(stored.ID, "prt_") || stored.SessionID != id {
				t.Errorf("stored part = %+v, want it with identifiers of its own", stored)
			}
		})
	}
}

// TestLongAttachment checks that the model learns what was left out.
func TestLongAttachment(t *testing.T) {
	t.Parallel()
	dir := project(t)
	m := newModel(t, say("ok"))
	k := start(t, func(o *host.Options) { o.Project.Directory = dir }, base(m))
	k.prompt("@long.txt")
	text := m.last(sdk.PurposeTurn).Messages[0].Content[1].Text
	if n := strings.Count(text, "a line of text"); n != 2000 || !strings.Contains(text, "of 75000 bytes; read the rest with the read tool") {
		t.Errorf("%d lines came, want 2000 and a note on the rest: …%s", n, text[len(text)-120:])
	}
}
