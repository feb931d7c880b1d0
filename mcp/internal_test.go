package mcp

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/tenonhq/tenon/sdk"
)

func TestToolIDs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 70)
	ids := toolIDs("my server", []string{"read", "a b", "a_b", "日本", long, long + "2"})
	if ids[0] != "my_server_read" {
		t.Errorf("ids = %q", ids)
	}
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id] || len(id) > maxToolID || strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("id %q is not usable", id)
		}
		seen[id] = true
	}
}

// TestReservedToolIDs: no tool of a server gets the permission of a tool of tenon, some of which need no question.
func TestReservedToolIDs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"tool_search", "apply_patch", "external_directory", "doom_loop", "Tool_Search"} {
		server, tool, _ := strings.Cut(name, "_")
		if id := ToolID(server, tool); !strings.HasPrefix(id, name+"_") {
			t.Errorf("the tool %s of the server %s is called %s", tool, server, id)
		}
	}
}

// A call may take minutes unless the user limits it; a start may not.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	for configured, want := range map[time.Duration]time.Duration{0: DefaultSilence, time.Hour: time.Hour, time.Second: time.Second} {
		p := &Plugin{server: Server{Timeout: configured}}
		if d := p.dialer(nil); d.Silence != want || d.Timeout != cmp.Or(configured, DefaultTimeout) {
			t.Errorf("timeout %s: start in %s, call in %s", configured, d.Timeout, d.Silence)
		}
	}
}

// Records that were written while the clock was ahead count as old.
func TestStartsIn(t *testing.T) {
	t.Parallel()
	at := func(age time.Duration) time.Time { return time.Now().Add(-age) }
	const year = 365 * 24 * time.Hour
	for name, c := range map[string]struct {
		plugin *Plugin
		soon   bool
	}{
		"works":                  {&Plugin{pin: &Pin{Checked: at(0)}}, false},
		"approved long ago":      {&Plugin{pin: &Pin{Checked: at(year)}}, true},
		"approved in the future": {&Plugin{pin: &Pin{Checked: at(-year)}}, true},
		"just failed":            {&Plugin{last: &Check{Error: "x", At: at(0)}}, false},
		"failed long ago":        {&Plugin{last: &Check{Error: "x", At: at(year)}}, true},
		"failed in the future":   {&Plugin{last: &Check{Error: "x", At: at(-year)}}, true},
	} {
		if got := c.plugin.startsIn(); (got == 0) != c.soon || got > retryAfter {
			t.Errorf("%s: startsIn() = %v, want a start now: %v", name, got, c.soon)
		}
	}
}

// docs/mcp.md: after six failed attempts in a row, only a call starts the server.
func TestAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(Server{Name: "gone", Transport: TransportStdio, Command: "tenon-test-no-such-program"}, Options{Dir: t.TempDir(), Environ: []string{"PATH="}})
		p.prepare(sdk.Project{Directory: t.TempDir()})
		p.link = newLink(p)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go p.link.run(ctx, 0)
		time.Sleep(24 * time.Hour)
		if got := p.link.now().failures; got != 6 {
			t.Errorf("%d attempts", got)
		}
	})
}

// A server that keeps changing its lists is asked less often.
func TestPause(t *testing.T) {
	t.Parallel()
	if first, late := pauseAfter(1), pauseAfter(1000); first > time.Second || late < 10*first {
		t.Errorf("pauses of %s and %s", first, late)
	}
}

// An event names its session in its properties.
func TestSessionOfHook(t *testing.T) {
	t.Parallel()
	for _, input := range []string{`{"sessionID":"a"}`, `{"type":"session.idle","properties":{"sessionID":"a"}}`, `{"type":"message.updated","properties":{"info":{"sessionID":"a"}}}`} {
		if got := hookCall(&sdk.RemoteCall{Input: json.RawMessage(input)}).Session; got != "a" {
			t.Errorf("%s: session %q", input, got)
		}
	}
}

// Libraries write null for a field that is not set. It does not clear the value, nor does an answer without text. A value and changes exclude
// each other.
func TestHookAnswerWithNull(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{\"changes\":[],\"value\":null}`, `{\"value\":null}`, "null", " ", ""} {
		raw := json.RawMessage(`{"content":[{"type":"text","text":"` + text + `"}]}`)
		answer, err := decodeHookAnswer(sdk.PointToolAfter, raw, json.RawMessage(`{"output":"x"}`))
		if err != nil || len(answer.Changes) != 0 {
			t.Errorf("%s: changes %v, %v", text, answer.Changes, err)
		}
	}
	both := json.RawMessage(`{"structuredContent":{"changes":[{"path":"/output","value":"y"}],"value":{"output":"z"}}}`)
	if answer, err := decodeHookAnswer(sdk.PointToolAfter, both, json.RawMessage(`{"output":"x"}`)); err == nil {
		t.Errorf("with both: %+v", answer)
	}
}

// A gate whose verdict cannot be read does not let the call pass.
func TestHookAnswerWithoutVerdict(t *testing.T) {
	t.Parallel()
	for text, valid := range map[string]bool{`{"result":null}`: true, `{"result":{"verdict":"deny"}}`: true, `{"result":{"verdit":"deny"}}`: false, `{}`: true, `{"reason":"r"}`: true, `{"decision":"deny"}`: false, `{"verdit":"deny","reason":"r"}`: false} {
		raw := json.RawMessage(`{"content":[],"structuredContent":` + text + `}`)
		if answer, err := decodeHookAnswer(sdk.PointPermissionAsk, raw, nil); errors.Is(err, sdk.ErrWire) == valid {
			t.Errorf("%s: answer %+v, %v", text, answer, err)
		}
	}
}

// A provider refuses every later request of a session with too many images.
func TestManyAttachments(t *testing.T) {
	t.Parallel()
	image := `{"type":"image","data":"aGk=","mimeType":"image/png"},`
	for _, n := range []int{maxAttachments, maxAttachments + 1, 300} {
		raw := `{"content":[` + strings.Repeat(image, n) + `{"type":"text","text":"the end"}]}`
		r, err := decodeResult(json.RawMessage(raw), &Tool{Name: "t"})
		if err != nil || len(r.Attachments) != maxAttachments {
			t.Fatalf("%d images: %d attachments, %v", n, len(r.Attachments), err)
		}
		if notes := strings.Count(r.Output, "left out"); notes != min(n-maxAttachments, 1) || !strings.HasSuffix(r.Output, "the end") {
			t.Errorf("%d images: %d notes in %q", n, notes, r.Output)
		}
	}
}

// The official SDK for Python calls every resource text/plain, unless its author names a type.
func TestWrongType(t *testing.T) {
	t.Parallel()
	const resource = `{"content":[{"type":"resource","resource":{"uri":"x://a","mimeType":"text/plain","blob":%q}}]}`
	for data, want := range map[string]string{"\x89PNG\r\n\x1a\n": "image/png", "%PDF-1.4\n\xff": "application/pdf", "\xff\x00": ""} {
		r, err := decodeResult(json.RawMessage(fmt.Sprintf(resource, base64.StdEncoding.EncodeToString([]byte(data)))), &Tool{Name: "t"})
		if err != nil || want == "" && r.Output != "[resource x://a, text/plain, about 2 bytes, not shown: models do not read this kind of file]" ||
			want != "" && (len(r.Attachments) != 1 || r.Attachments[0].Mime != want) {
			t.Errorf("%q: %+v, %v, want an attachment of type %q", data, r, err, want)
		}
	}
}

// Contents behind a result that is already too large are not read.
func TestManyContents(t *testing.T) {
	t.Parallel()
	unknown := `{"type":"` + strings.Repeat("a", 40) + `"},`
	raw := `{"content":[` + strings.Repeat(unknown, maxResultText/50) + `{"type":"image","data":"aGk=","mimeType":"image/png"}]}`
	r, err := decodeResult(json.RawMessage(raw), &Tool{Name: "t"})
	if err != nil || len(r.Attachments) > 0 || !strings.HasSuffix(r.Output, "too large]") {
		t.Errorf("%d attachments and %q, %v", len(r.Attachments), r.Output[max(0, len(r.Output)-100):], err)
	}
}

func FuzzReadConfig(f *testing.F) {
	f.Add([]byte(`{"mcpServers":{"a":{"command":"x","args":["${A:-b}"],"env":{"A":"${B}"}},"b":{"type":"sse","url":"https://x"}}}`))
	f.Add([]byte(`{"mcpServers":{"":{},"a":null,"c":{"hooks":[{"tool":"x","point":"event"}]}}}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		servers, _, err := ReadConfig(data, "f", func(name string) (string, bool) { return "v", name == "A" })
		if err != nil && !errors.Is(err, ErrConfig) {
			t.Errorf("error %v does not wrap ErrConfig", err)
		}
		for i := range servers {
			if err := servers[i].Validate(); err != nil && !servers[i].Disabled {
				t.Errorf("a server that is not valid came through: %v", err)
			}
			if !json.Valid(servers[i].Definition()) {
				t.Errorf("definition %q", servers[i].Definition())
			}
			m := New(servers[i], Options{}).Manifest()
			if err := m.Validate(); err != nil {
				t.Error(err)
			}
		}
	})
}

func FuzzResult(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"a"},{"type":"image","data":"aGk=","mimeType":"image/png"},7,null],"structuredContent":{"n":1}}`))
	f.Add([]byte(`{"content":[{"type":"resource","resource":{"uri":"a","blob":"!"}}],"isError":true}`))
	f.Add([]byte(`{"content":{},"isError":"yes"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		tool := &Tool{Name: "t", OutputSchema: json.RawMessage(`{"type":"object","required":["n"]}`)}
		result, err := decodeResult(data, tool)
		if (result == nil) == (err == nil) {
			t.Fatalf("result %v and error %v", result, err)
		}
		if result == nil {
			return
		}
		if !utf8.ValidString(result.Output) || len(result.Output) > maxResultText+1024 {
			t.Errorf("output of %d bytes, valid: %v", len(result.Output), utf8.ValidString(result.Output))
		}
		if _, err := json.Marshal(result); err != nil {
			t.Error(err)
		}
	})
}

// An approved definition is still approved after it was stored.
func FuzzDefinition(f *testing.F) {
	f.Add([]byte(`[{"name":"a","description":"d","inputSchema":{"type":"object","properties":{"x":{"$ref":"#/$defs/y"}},"$defs":{"y":{"enum":[1.0,1e2]}}}},{"name":"b","inputSchema":{}}]`))
	f.Add([]byte(`[{"name":"a\ud800","inputSchema":{"type":"object","required":["<"]},"outputSchema":null,"annotations":{"readOnlyHint":true,"destructiveHint":false}}, null, 7]`))
	f.Add([]byte(`[{"name":"p","arguments":[{"name":"a","required":true}]},{"name":"p"},{"name":"r","uri":"x://y","mimeType":"text/plain","execution":{"taskSupport":"required"}}]`))
	f.Add([]byte(`[{"name":"a","inputSchema":{"type":["object"]}},{"name":"c","inputSchema":{"$ref":"https://x"}},{"name":"d","title":"t","inputSchema":{"type":"object","pattern":"("}}]`))
	f.Fuzz(func(t *testing.T, list []byte) {
		var elements []json.RawMessage
		if json.Unmarshal(list, &elements) != nil {
			return
		}
		tools, _, _ := readList[Tool](elements, false, nil)
		prompts, _, _ := readList[Prompt](elements, false, nil)
		resources, _, _ := readList[listed](elements, false, nil)
		for i := range resources {
			if line := resources[i].line(); strings.Contains(strings.TrimPrefix(line, cmp.Or(resources[i].URI, resources[i].Template)), "\n") {
				t.Errorf("a resource in several lines: %q", line)
			}
		}
		current := &Definition{
			Tools:   firstOfEach(tools, func(t Tool) string { return t.Name }),
			Prompts: firstOfEach(prompts, func(p Prompt) string { return p.Name }),
		}
		stored := &Pin{}
		if content, err := json.MarshalIndent(newPin(current), "", "  "); err != nil || json.Unmarshal(content, stored) != nil { // as FilePins does
			t.Fatalf("%s, %v", content, err)
		}
		if changed := Compare(&stored.Definition, current); len(changed) > 0 || stored.Definition.Sum() != current.Sum() {
			t.Errorf("not approved any more: %v", changed)
		}
		for i := range current.Tools {
			tool := &current.Tools[i]
			if _, withheld := stored.Unusable[tool.Name]; withheld {
				continue
			}
			parameters, err := tool.parameters()
			if err != nil || !json.Valid(parameters) || tool.usable() != nil {
				t.Errorf("tool %q: %s, %v", tool.Name, parameters, err)
			}
			others := *current
			others.Tools = slices.Clone(current.Tools)
			others.Tools[i].InputSchema = json.RawMessage(`{"type":"object","title":"a title that no input has"}`)
			if len(Compare(current, &others)) != 1 {
				t.Errorf("a changed schema of %q is not noticed", tool.Name)
			}
		}
	})
}

func FuzzPrompt(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"assistant","content":{"type":"text","text":"a"}},{"role":"user","content":{"type":"image","data":"aGk=","mimeType":"image/png"}}]}`))
	f.Add([]byte(`{"messages":[{"content":{"type":"resource","resource":{"uri":"x","text":"\u0000","mimeType":"text/plain"}}},{"content":{"type":"resource_link","uri":"a","name":"b"}},{"content":[]}]}`))
	f.Add([]byte(`{"messages":[{"content":"text"},{"content":{"type":"audio","data":"!","mimeType":"audio/wav"}},{}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		parts, err := decodePromptResult(raw)
		if (len(parts) == 0) == (err == nil) {
			t.Fatalf("%d parts and error %v", len(parts), err)
		}
		size := 0
		for _, p := range parts {
			if text, ok := p.(*sdk.TextPart); ok {
				size += len(text.Text)
				if !utf8.ValidString(text.Text) {
					t.Errorf("text %q", text.Text)
				}
			}
		}
		if size > maxResultText+1024 {
			t.Errorf("%d bytes of text", size)
		}
		if _, err := json.Marshal(parts); err != nil {
			t.Error(err)
		}
	})
}

func FuzzHookAnswer(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"{\"value\":{\"output\":\"x\"}}"}]}`))
	f.Add([]byte(`{"structuredContent":{"verdict":"deny","reason":"r"}}`))
	f.Add([]byte(`{"structuredContent":{"changes":[{"pointer":"/a"}],"value":{}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		answer, err := decodeHookAnswer(sdk.PointToolAfter, raw, json.RawMessage(`{"output":"a"}`))
		if err == nil {
			if _, err := json.Marshal(answer); err != nil {
				t.Error(err)
			}
		}
	})
}
