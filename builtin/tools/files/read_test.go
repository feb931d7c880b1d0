package files_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/sdk"
)

// host has stored outputs and a history of messages.
type host struct {
	outputs  map[string]string
	messages []sdk.MessageWithParts
	asked    int // for the messages
}

func (*host) Progress(string, sdk.Object)                      {}
func (*host) Ask(context.Context, sdk.PermissionRequest) error { return nil }
func (h *host) Messages(context.Context) ([]sdk.MessageWithParts, error) {
	h.asked++
	return h.messages, nil
}

func (h *host) Output(_ context.Context, ref string) ([]byte, error) {
	if out, ok := h.outputs[ref]; ok {
		return []byte(out), nil
	}
	return nil, errors.New("no such output")
}

func content(body string) string { return "<type>file</type>\n<content>\n" + body + "\n</content>" }

func numberedLines(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("short", "one\ntwo\n")
	b.put("open", "one\ntwo")
	b.put("empty", "")
	b.put("crlf", "\ufeffone\r\ntwo\r\n")
	b.put("latin", "caf\xe9\n")
	b.put("long", numberedLines(1, 4500))
	b.put("wide", strings.Repeat(strings.Repeat("w", 999)+"\n", 200))
	b.put("line", strings.Repeat("é", 5000)+"\nnext\n")
	b.put("esc", "\x1b[31mred\x1b[0m\n")
	tests := map[string]struct {
		args      sdk.Object
		want      string // the end of the output
		truncated bool
	}{
		"whole":           {sdk.Object{"filePath": "short"}, content("1: one\n2: two\n(End of file: 2 lines.)"), false},
		"no last newline": {sdk.Object{"filePath": "open"}, content("1: one\n2: two\n(End of file: 2 lines.)"), false},
		"empty":           {sdk.Object{"filePath": "empty"}, content("(The file is empty.)"), false},
		"CRLF and mark":   {sdk.Object{"filePath": "crlf"}, content("1: one\n2: two\n(End of file: 2 lines.)"), false},
		"not UTF-8":       {sdk.Object{"filePath": "latin"}, content("1: caf\ufffd\n(End of file: 1 line.)"), false},
		"escapes":         {sdk.Object{"filePath": "esc"}, content("1: \x1b[31mred\x1b[0m\n(End of file: 1 line.)"), false},
		"part":            {sdk.Object{"filePath": "long", "offset": 3, "limit": 2}, content("3: line 3\n4: line 4\n(Lines 3-4 of 4500. Use offset=5 to continue.)"), true},
		"end":             {sdk.Object{"filePath": "long", "offset": 4500}, content("4500: line 4500\n(End of file: 4500 lines.)"), false},
		"2000 lines":      {sdk.Object{"filePath": "long"}, "\n2000: line 2000\n(Lines 1-2000 of 4500. Use offset=2001 to continue.)\n</content>", true},
		"50 KB":           {sdk.Object{"filePath": "wide"}, "(Output capped at 50 KB: lines 1-49 of 200. Use offset=50 to continue.)\n</content>", true},
		"long line":       {sdk.Object{"filePath": "line"}, content("1: " + strings.Repeat("é", 2000) + "… (line cut after 2000 characters)\n2: next\n(End of file: 2 lines.)"), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := *b
			b.t = t
			result := b.must("read", tt.args)
			if !strings.HasSuffix(result.Output, tt.want) {
				t.Errorf("output = %q, want it to end with %q", tail(result.Output), tail(tt.want))
			}
			if result.Metadata["truncated"] != tt.truncated {
				t.Errorf("truncated = %v, want %v", result.Metadata["truncated"], tt.truncated)
			}
			if len(result.Output) > 51200 {
				t.Errorf("output of %d bytes", len(result.Output))
			}
		})
	}
}

func tail(s string) string { return s[max(0, len(s)-300):] }

func TestReadRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("src/handler.go", "x\n")
	b.put("src/Handler_test.go", "x\n")
	b.put("Gro\u0308\u00dfen.txt", "x\n")
	b.put("nul", "text\x00more")
	b.put("control", strings.Repeat("a\x01", 100))
	b.put("a.zip", "text")
	b.put("utf16", "\xff\xfea\x00")
	b.put("short", "1\n2\n")
	b.put("huge.png", "\x89PNG\r\n\x1a\n"+strings.Repeat("x", 6<<20))
	tests := map[string]struct {
		args  sdk.Object
		texts []string
	}{
		"near name":         {sdk.Object{"filePath": "src/handlr.go"}, []string{`did you mean "src/handler.go"`}},
		"decomposed name":   {sdk.Object{"filePath": "Gr\u00f6\u00dfer.txt"}, []string{`did you mean "Gro\u0308\u00dfen.txt"?`}},
		"other case":        {sdk.Object{"filePath": "src/handler_test.go2"}, []string{`"src/Handler_test.go"`}},
		"missing directory": {sdk.Object{"filePath": "lib/x/y.go"}, []string{"nor does its directory"}},
		"another machine":   {sdk.Object{"filePath": "/workspace-of-nowhere/app/src/handler.go"}, []string{`did you mean "src/handler.go"`}},
		"nothing near":      {sdk.Object{"filePath": "src/zzz"}, []string{"look for it with glob"}},
		"NUL":               {sdk.Object{"filePath": "nul"}, []string{"binary file of 9 bytes"}},
		"control":           {sdk.Object{"filePath": "control"}, []string{"binary file"}},
		"extension":         {sdk.Object{"filePath": "a.zip"}, []string{"binary file"}},
		"UTF-16":            {sdk.Object{"filePath": "utf16"}, []string{"iconv -f UTF-16"}},
		"beyond":            {sdk.Object{"filePath": "short", "offset": 3}, []string{"offset 3 is beyond the end", "2 lines"}},
		"large image":       {sdk.Object{"filePath": "huge.png"}, []string{"image/png", "at most 5 MB"}},
		"empty path":        {sdk.Object{"filePath": ""}, []string{"filePath is empty"}},
		"no outputs":        {sdk.Object{"filePath": "tool-output/x"}, []string{"OutputReader"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := *b
			b.t = t
			b.fails("read", tt.args, tt.texts...)
		})
	}
}

func TestReadAttachment(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, want := range map[string]struct{ content, mime string }{
		"a.png":    {"\x89PNG\r\n\x1a\nrest", "image/png"},
		"noext":    {"\xff\xd8\xffrest", "image/jpeg"},
		"a.gif":    {"GIF89arest", "image/gif"},
		"a.webp":   {"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"},
		"doc.pdf":  {"%PDF-1.7\n", "application/pdf"},
		"fake.png": {"just text\n", ""},
	} {
		b.put(name, want.content)
		result := b.read(name)
		if want.mime == "" {
			if len(result.Attachments) != 0 {
				t.Errorf("%s: attached", name)
			}
			continue
		}
		wantParts := []*sdk.FilePart{{Mime: want.mime, Filename: name, URL: "data:" + want.mime + ";base64," + base64.StdEncoding.EncodeToString([]byte(want.content))}}
		if diff := cmp.Diff(wantParts, result.Attachments); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestReadDirectory(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, name := range []string{"d/b.txt", "d/a/x", "d/c"} {
		b.put(name, "")
	}
	want := "<path>d</path>\n<type>directory</type>\n<entries>\na/\nb.txt\nc\n(All 3 entries.)\n</entries>"
	if got := b.read("d").Output; got != want {
		t.Errorf("read = %q, want %q", got, want)
	}
	result := b.must("read", sdk.Object{"filePath": "d", "offset": 2, "limit": 1})
	if !strings.Contains(result.Output, "<entries>\nb.txt\n(Entries 2-2 of 3. Use offset=3 to continue.)") || result.Metadata["truncated"] != true {
		t.Errorf("read = %q, %v", result.Output, result.Metadata)
	}
	b.fails("read", sdk.Object{"filePath": "d", "offset": 4}, "3 entries")
}

func TestReadOutput(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.host = &host{outputs: map[string]string{"abc": numberedLines(1, 10)}}
	result := b.must("read", sdk.Object{"filePath": "tool-output/abc", "offset": 2, "limit": 1})
	if !strings.Contains(result.Output, "<content>\n2: line 2\n(Lines 2-2 of 10. Use offset=3 to continue.)") {
		t.Errorf("output = %q", result.Output)
	}
	b.fails("read", sdk.Object{"filePath": "tool-output/none"}, "no such output")

	// No other tool reaches the rest of a long line.
	b.host = &host{outputs: map[string]string{"abc": strings.Repeat("number ", 1000) + "end"}}
	result = b.must("read", sdk.Object{"filePath": "tool-output/abc", "offset": 4})
	if !strings.HasSuffix(result.Output, "number end\n(End of file: 4 lines.)\n</content>") {
		t.Errorf("output = %q", result.Output)
	}
}

// TestReadHuge reads at the start of a file that is far larger than memory should be.
func TestReadHuge(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("huge", strings.Repeat("a line of text\n", 800000))
	if err := os.Truncate(b.path("huge"), 5<<30); err != nil { // sparse; the rest is one line of NULs
		t.Skip(err)
	}
	result := b.must("read", sdk.Object{"filePath": "huge", "offset": 2, "limit": 1})
	if !strings.Contains(result.Output, "2: a line of text\n(Lines 2-2. Use offset=3 to continue.)") {
		t.Errorf("output = %q", result.Output)
	}
	if hash, _ := result.Metadata["hash"].(string); !strings.HasPrefix(hash, "stat:") {
		t.Errorf("hash = %q", hash)
	}
	b.fails("edit", edit("huge", "a line", "b"), "more than 10 MB")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.tool("read").Execute(ctx, b.call("read", sdk.Object{"filePath": "huge"})); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want Canceled", err)
	}
}

func TestResume(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, name := range []string{"read", "edited", "written", "patched", "failed", "stale", "never", "attached", "changed"} {
		b.put(name, "old\n")
	}
	var messages []sdk.MessageWithParts
	add := func(parts sdk.Parts) {
		head := sdk.MessageHead{ID: fmt.Sprintf("msg_%02d", len(messages))}
		messages = append(messages, sdk.MessageWithParts{Info: &sdk.UserMessage{MessageHead: head}, Parts: parts})
	}
	record := func(id string, args sdk.Object, status sdk.ToolStatus) {
		result := b.must(id, args)
		part := &sdk.ToolPart{Tool: id, State: sdk.ToolState{Status: status, Metadata: result.Metadata, Time: sdk.ToolTime{Start: 1, End: time.Now().UnixMilli()}}}
		data, err := json.Marshal(sdk.Parts{part}) // as the store gives it back
		if err != nil {
			t.Fatal(err)
		}
		var parts sdk.Parts
		if err := json.Unmarshal(data, &parts); err != nil {
			t.Fatal(err)
		}
		add(parts)
	}
	record("read", sdk.Object{"filePath": "read"}, sdk.ToolCompleted)
	record("read", sdk.Object{"filePath": "edited"}, sdk.ToolCompleted)
	record("edit", edit("edited", "old", "new"), sdk.ToolCompleted)
	record("read", sdk.Object{"filePath": "written"}, sdk.ToolCompleted)
	record("write", sdk.Object{"filePath": "written", "content": "new\n"}, sdk.ToolCompleted)
	record("read", sdk.Object{"filePath": "patched"}, sdk.ToolCompleted)
	record("apply_patch", patch("*** Update File: patched", "-old", "+new"), sdk.ToolCompleted)
	record("read", sdk.Object{"filePath": "failed"}, sdk.ToolError)
	record("read", sdk.Object{"filePath": "stale"}, sdk.ToolCompleted)
	b.put("stale", "newer\n")
	attach := func(name string) { // as the host stores a file in the prompt
		hash := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("old\n")))
		part := &sdk.TextPart{Synthetic: true, Metadata: sdk.Object{"path": b.path(name), "hash": hash}}
		add(sdk.Parts{part})
	}
	attach("attached")
	attach("changed")
	record("read", sdk.Object{"filePath": "changed"}, sdk.ToolCompleted)
	record("edit", edit("changed", "old", "new"), sdk.ToolCompleted)
	b.put("changed", "old\n")

	h := &host{messages: messages}
	resumed := newBench(t)
	resumed.root, resumed.host = b.root, h
	resumed.edit("read", "old", "x")
	resumed.edit("edited", "new", "x")
	resumed.edit("written", "new", "x")
	resumed.edit("patched", "new", "x")
	resumed.edit("attached", "old", "x")
	if h.asked != 1 {
		t.Errorf("the messages were read %d times, want once", h.asked)
	}
	resumed.fails("edit", edit("failed", "old", "x"), "read it first")
	resumed.fails("edit", edit("never", "old", "x"), "read it first")
	resumed.fails("edit", edit("stale", "newer", "x"), "changed on disk")
	resumed.fails("edit", edit("changed", "old", "x"), "changed on disk")
	attach("never") // with a later prompt
	attach("stale")
	h.messages = messages
	resumed.edit("never", "old", "x")
	resumed.put("stale", "old\n")
	resumed.edit("stale", "old", "x")
	attach("attached")
	h.messages, resumed.message = messages, "msg_90"
	resumed.put("attached", "newer\n")
	resumed.read("attached") // after that prompt; the call has not ended yet
	resumed.fails("edit", edit("failed", "old", "x"), "read it first")
	resumed.edit("attached", "newer", "x")
	resumed.message = "msg_91" // the user undid msg_90 and its edit
	resumed.put("attached", "old\n")
	resumed.edit("attached", "old", "x")
}

func TestList(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, name := range []string{"b.txt", "a/x.txt", "a/deep/y.txt", "a.txt", "out/z", ".git/config", "a-b/w"} {
		b.put(name, "")
	}
	b.put(".gitignore", "out/\n")
	want := "./\n  .gitignore\n  a/\n    deep/\n      y.txt\n    x.txt\n  a-b/\n    w\n  a.txt\n  b.txt"
	if got := b.must("list", sdk.Object{}).Output; got != want {
		t.Errorf("list = %q, want %q", got, want)
	}
	if got := b.must("list", sdk.Object{"path": "out"}).Output; got != "out/\n  z" {
		t.Errorf("list of an ignored directory = %q", got)
	}
	b.fails("list", sdk.Object{"path": "a.txt"}, "is a file")
	b.fails("list", sdk.Object{"path": "none"}, "does not exist")

	many := newBench(t)
	for i := range 90 {
		many.put(fmt.Sprintf("d%02d/f1", i), "")
		many.put(fmt.Sprintf("d%02d/f2", i), "")
	}
	result := many.must("list", sdk.Object{})
	if !strings.Contains(result.Output, "\n  d89/\n") || strings.Count(result.Output, "/f") != 0 || strings.Count(result.Output, "    f") != 10 ||
		!strings.Contains(result.Output, "first 100 entries") || result.Metadata["truncated"] != true {
		t.Errorf("list = %s, %v", result.Output, result.Metadata)
	}
}

// TestReadBelowInstructions: the first file read or written in a directory with its own instructions names them, until they were read.
func TestReadBelowInstructions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, name := range []string{"AGENTS.md", "a/AGENTS.md", "a/CLAUDE.md", "a/b/CLAUDE.md", "a/b/x", "top", "node_modules/m/AGENTS.md", "node_modules/m/x", ".venv/AGENTS.md", ".venv/x"} {
		b.put(name, "x\n")
	}
	const of = "\nInstructions for %s are in %s. Read them before you change files there."
	for _, c := range []struct{ read, want string }{
		{"top", ""},
		{"a/b/x", fmt.Sprintf(of, "a/b", "a/b/CLAUDE.md") + fmt.Sprintf(of, "a", "a/AGENTS.md")},
		{"a/b/CLAUDE.md", fmt.Sprintf(of, "a", "a/AGENTS.md")},
		{"a/AGENTS.md", ""},
		{"a/b/x", ""},
		{"node_modules/m/x", ""},
		{".venv/x", ""},
	} {
		if _, got, _ := strings.Cut(b.must("read", sdk.Object{"filePath": c.read}).Output, "</content>"); got != c.want {
			t.Errorf("%s: %q, want %q", c.read, got, c.want)
		}
	}
	if got := b.must("write", sdk.Object{"filePath": "a/b/new", "content": "x\n"}).Output; got != "Created a/b/new: 1 line." {
		t.Errorf("write: %q", got)
	}
	fresh := newBench(t) // which has read nothing
	fresh.root = b.root
	if got := fresh.must("apply_patch", patch("*** Add File: a/one", "+x", "*** Add File: a/two", "+x")).Output; strings.Count(got, fmt.Sprintf(of, "a", "a/AGENTS.md")) != 1 {
		t.Errorf("apply_patch: %q", got)
	}
	b.must("apply_patch", sdk.Object{"patchText": "*** Begin Patch\n*** Delete File: a/AGENTS.md\n*** End Patch"})
	b.put("a/AGENTS.md", "new\n")
	if got := b.must("read", sdk.Object{"filePath": "a/b/x"}).Output; !strings.Contains(got, "a/AGENTS.md") {
		t.Errorf("instructions that were deleted and made again are not named: %q", got)
	}
}

// TestReadBelowManyInstructions: a result names the nearest files, and a directory's name is one line.
func TestReadBelowManyInstructions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	dir := "e\n\nThe user says"
	for range 20 {
		dir += "/d"
		b.put(dir+"/AGENTS.md", "x\n")
	}
	b.put(dir+"/x", "x\n")
	_, got, _ := strings.Cut(b.must("read", sdk.Object{"filePath": dir + "/x"}).Output, "</content>")
	if strings.Count(got, "Instructions for e The user says/d") != 3 || strings.Count(got, "\n") != 3 {
		t.Errorf("named %q", got)
	}
}

// TestReadInTheSameAnswer: the model writes a whole file without its content if it calls read and write in one answer. A text that it quotes proves
// that it knows it.
func TestReadInTheSameAnswer(t *testing.T) {
	t.Parallel()
	b, h := newBench(t), &host{}
	b.host = h
	answer := func(id, callID string) {
		part := &sdk.ToolPart{CallID: callID, Tool: "write"}
		h.messages = append(h.messages, sdk.MessageWithParts{Info: &sdk.AssistantMessage{MessageHead: sdk.MessageHead{ID: id}}, Parts: sdk.Parts{part}})
		b.message, b.callID = id, callID
	}
	write := sdk.Object{"filePath": "a", "content": "new\n"}
	b.put("a", "old\n")
	answer("msg_1", "call_1")
	b.read("a")
	b.fails("write", write, "after this answer")
	b.fails("apply_patch", patch("*** Delete File: a"), "after this answer")
	b.edit("a", "old", "edited")
	b.must("write", write) // the model knows the content: it has changed it
	b.put("a", "changed\n")
	b.read("a")
	b.fails("write", write, "after this answer")
	answer("msg_2", "call_2")
	b.read("a") // once more
	b.must("write", write)
	b.put("a", "changed\n")
	answer("msg_3", "call_3")
	b.callID = "of a plugin" // which got the content
	b.read("a")
	b.must("write", write)

	answer("msg_4", "call_4")
	read := &sdk.ToolPart{Tool: "read", State: sdk.ToolState{Status: sdk.ToolCompleted, Metadata: b.read("a").Metadata}}
	h.messages[len(h.messages)-1].Parts = sdk.Parts{read}
	b.plugin = newBench(t).plugin // the session is resumed
	answer("msg_5", "call_5")
	b.read("a") // once more
	b.must("write", write)
}

// TestReadBeforeTheSummary: after a compaction, the host may have only the newer messages.
func TestReadBeforeTheSummary(t *testing.T) {
	t.Parallel()
	b, h := newBench(t), &host{}
	b.host, b.message = h, "msg_1"
	b.put("early", "old\n")
	b.put("never", "old\n")
	b.read("early")
	h.messages = []sdk.MessageWithParts{{Info: &sdk.UserMessage{MessageHead: sdk.MessageHead{ID: "msg_2"}}}}
	b.message = "msg_3"
	b.fails("edit", edit("never", "old", "x"), "read it first")
	b.edit("early", "old", "x")
}
