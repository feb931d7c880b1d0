package offline_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/builtin/providers/offline"
	"github.com/tenonhq/tenon/sdk"
)

type host struct {
	sdk.Host
	dir string
}

func (h host) Project() sdk.Project { return sdk.Project{Directory: h.dir} }

func open(t testing.TB, options sdk.Object) sdk.ModelClient {
	t.Helper()
	client, err := tryOpen(t, t.TempDir(), options)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func tryOpen(t testing.TB, dir string, options sdk.Object) (sdk.ModelClient, error) {
	t.Helper()
	p := offline.New()
	if err := p.Start(t.Context(), host{dir: dir}); err != nil {
		t.Fatal(err)
	}
	return p.Protocols()[0].Open(sdk.ProviderInfo{ID: "offline", Options: options})
}

// script returns a client that follows the script.
func script(t testing.TB, text string) sdk.ModelClient {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "script.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := tryOpen(t, dir, sdk.Object{"script": "script.json"})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// answer is the result of one request.
type answer struct {
	Reasoning, Text string
	Calls           []string // tool and arguments
	Reason          string
}

// ask sends the request and appends the answer to its messages.
func ask(t testing.TB, client sdk.ModelClient, req *sdk.ModelRequest) (answer, error) {
	t.Helper()
	var a answer
	var ids []string
	args := map[string]*sdk.ModelContent{}
	err := client.Stream(t.Context(), req, func(ev sdk.StreamEvent) error {
		switch ev.Type {
		case sdk.StreamReasoning:
			a.Reasoning += ev.Text
		case sdk.StreamText:
			a.Text += ev.Text
		case sdk.StreamToolCall:
			if args[ev.ID] == nil {
				if ev.CallID == "" || ev.Tool == "" {
					t.Errorf("a call begins with %+v", ev)
				}
				ids = append(ids, ev.ID)
				args[ev.ID] = &sdk.ModelContent{Type: sdk.ContentToolCall, CallID: ev.CallID, Tool: ev.Tool}
			}
			args[ev.ID].Args = append(args[ev.ID].Args, ev.Text...)
		case sdk.StreamFinish:
			a.Reason = ev.Reason
			if ev.Tokens.Input <= 0 || ev.Tokens.Output < 0 || ev.Tokens.Total != ev.Tokens.Sum() {
				t.Errorf("tokens %+v", ev.Tokens)
			}
		}
		return nil
	})
	var said []sdk.ModelContent
	if a.Text != "" {
		said = append(said, sdk.ModelContent{Type: sdk.ContentText, Text: a.Text})
	}
	for _, id := range ids {
		a.Calls = append(a.Calls, args[id].Tool+" "+string(args[id].Args))
		said = append(said, *args[id])
	}
	if err == nil {
		req.Messages = append(req.Messages, sdk.ModelMessage{Role: sdk.RoleAssistant, Content: said})
	}
	return a, err
}

// run gives the calls of the last answer their results.
func run(req *sdk.ModelRequest, output string, failed bool) {
	var results []sdk.ModelContent
	for _, c := range req.Messages[len(req.Messages)-1].Content {
		if c.Type == sdk.ContentToolCall {
			results = append(results, sdk.ModelContent{Type: sdk.ContentToolResult, CallID: c.CallID, Tool: c.Tool, Text: output, IsError: failed})
		}
	}
	req.Messages = append(req.Messages, sdk.ModelMessage{Role: sdk.RoleTool, Content: results})
}

func user(texts ...string) sdk.ModelMessage {
	m := sdk.ModelMessage{Role: sdk.RoleUser}
	for _, text := range texts {
		m.Content = append(m.Content, sdk.ModelContent{Type: sdk.ContentText, Text: text})
	}
	return m
}

func request(texts ...string) *sdk.ModelRequest {
	return &sdk.ModelRequest{
		Model: sdk.Model{ID: "offline", ProviderID: "offline"}, SessionID: "ses_1", Purpose: sdk.PurposeTurn, System: []string{"You are tenon."},
		Tools:    []sdk.ToolDefinition{{ID: "read"}, {ID: "bash"}, {ID: "web_fetch-2"}},
		Messages: []sdk.ModelMessage{user(texts...)},
	}
}

func TestLiteralCalls(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		texts []string
		want  []string
		says  string // without calls
	}{
		"one":                {texts: []string{`read {"filePath": "go.mod"}`}, want: []string{`read {"filePath":"go.mod"}`}},
		"several":            {texts: []string{"Please:\n  read {\"a\": 1}\nthen\nbash {\"command\": \"ls\"}\nread {}"}, want: []string{`read {"a":1}`, `bash {"command":"ls"}`, `read {}`}},
		"other characters":   {texts: []string{"web_fetch-2 {\"url\": \"é\\n<b>&\"}"}, want: []string{`web_fetch-2 {"url":"é\n<b>&"}`}},
		"several texts":      {texts: []string{"read {}", "bash {}"}, want: []string{"read {}", "bash {}"}},
		"not of a file":      {texts: []string{"look", "<file path=\"README.md\">\nread {\"filePath\": \"x\"}\n</file>"}, says: "offline model"},
		"none":               {texts: []string{"What is in go.mod?"}, says: `read {"filePath": "go.mod"}`},
		"empty":              {texts: []string{""}, says: "OPENAI_API_KEY"},
		"unknown":            {texts: []string{`delete {"all": true}`}, says: "delete: tool not found. The tools are: read, bash, web_fetch-2"},
		"broken":             {texts: []string{`read {"filePath": `}, says: "read: unexpected end of JSON input"},
		"code":               {texts: []string{"func main {\n  return\n}"}, says: "offline model"},
		"within a sentence":  {texts: []string{`use read {"filePath": "x"} please`}, says: "offline model"},
		"not an object":      {texts: []string{`read [1]`}, says: "offline model"},
		"known beside wrong": {texts: []string{"delete {}\nread {}"}, want: []string{"read {}"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ask(t, open(t, nil), request(c.texts...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Calls); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(got.Text, c.says) || (c.says == "") != (got.Text == "") {
				t.Errorf("text %q, want %q", got.Text, c.says)
			}
			if want := map[bool]string{true: sdk.FinishToolCalls, false: sdk.FinishStop}[len(c.want) > 0]; got.Reason != want {
				t.Errorf("reason %q, want %q", got.Reason, want)
			}
		})
	}
}

func TestConversation(t *testing.T) {
	t.Parallel()
	client := open(t, nil)
	req := request("read {\"filePath\": \"go.mod\"}\nbash {\"command\": \"ls\"}\nnope {}")
	first, err := ask(t, client, req)
	if err != nil || len(first.Calls) != 2 {
		t.Fatalf("calls %v, error %v", first.Calls, err)
	}
	run(req, strings.Repeat("a line of output\n", 50), false)
	second, _ := ask(t, client, req)
	for _, want := range []string{`read {"filePath":"go.mod"}: ok`, "a line of output", "of 849 bytes shown", `bash {"command":"ls"}: ok`, "nope: tool not found"} {
		if !strings.Contains(second.Text, want) {
			t.Errorf("answer lacks %q:\n%s", want, second.Text)
		}
	}
	if len(second.Calls) > 0 || len(second.Text) > 3000 {
		t.Errorf("calls %v, %d bytes of text", second.Calls, len(second.Text))
	}
	// The same text again is a new prompt.
	req.Messages = append(req.Messages, user("read {}"))
	third, _ := ask(t, client, req)
	if diff := cmp.Diff([]string{"read {}"}, third.Calls); diff != "" {
		t.Error(diff)
	}
	run(req, "no such file", true)
	// The host's additions in the last step do not hide the prompt.
	req.Messages = append(req.Messages, user("This is the last step."))
	req.ToolChoice = sdk.ToolChoiceNone
	if fourth, _ := ask(t, client, req); !strings.HasPrefix(fourth.Text, "read {}: error\nno such file") {
		t.Errorf("answer %q", fourth.Text)
	}
	// A prompt without calls is not answered with old results.
	req.Messages, req.ToolChoice = append(req.Messages, user("thanks")), ""
	if fifth, _ := ask(t, client, req); !strings.Contains(fifth.Text, "does not reason") {
		t.Errorf("answer %q", fifth.Text)
	}
}

func TestNoCallsWhenToolsMayNotBeCalled(t *testing.T) {
	t.Parallel()
	req := request("read {}")
	req.ToolChoice = sdk.ToolChoiceNone
	if got, _ := ask(t, open(t, nil), req); len(got.Calls) > 0 || got.Text == "" {
		t.Errorf("answer %+v", got)
	}
}

// TestDeterministic: a conversation gets the same answer from every client, call IDs included.
func TestDeterministic(t *testing.T) {
	t.Parallel()
	var events [2][]sdk.StreamEvent
	for i := range events {
		err := open(t, nil).Stream(t.Context(), request("read {}\nread {}"), func(ev sdk.StreamEvent) error {
			events[i] = append(events[i], ev)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(events[0], events[1]); diff != "" {
		t.Error(diff)
	}
	if a, b := events[0][0].CallID, events[0][2].CallID; a == b || a == "" {
		t.Errorf("call IDs %q and %q", a, b)
	}
}

func TestTitles(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]string{
		"Fix the\n failing   test":                         "Fix the failing test",
		"one two three four five six seven eight nine ten": "one two three four five six seven eight",
		"":                       "Untitled",
		strings.Repeat("é", 100): strings.Repeat("é", 30) + "…",
	} {
		req := request(prompt)
		req.Purpose = sdk.PurposeTitle
		if got, err := ask(t, open(t, nil), req); err != nil || got.Text != want {
			t.Errorf("title of %q = %q, %v; want %q", prompt, got.Text, err, want)
		}
	}
}

func TestOverflow(t *testing.T) {
	t.Parallel()
	req := request(strings.Repeat("word ", 1000))
	req.Model.Limit.Context = 1000
	_, err := ask(t, open(t, nil), req)
	var got *sdk.ProviderError
	if !errors.As(err, &got) || got.StatusCode != 400 || got.Code != "context_length_exceeded" {
		t.Errorf("error %v, want an overflow", err)
	}
}

func TestStreamEndsWithContextAndReceiver(t *testing.T) {
	t.Parallel()
	mine := errors.New("mine")
	if err := open(t, nil).Stream(t.Context(), request("x"), func(sdk.StreamEvent) error { return mine }); !errors.Is(err, mine) {
		t.Errorf("error %v, want the receiver's", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	err := open(t, nil).Stream(ctx, request("x"), func(sdk.StreamEvent) error { n++; cancel(); return nil })
	if !errors.Is(err, context.Canceled) || n != 1 {
		t.Errorf("error %v after %d events", err, n)
	}
}

func TestContributions(t *testing.T) {
	t.Parallel()
	p := offline.New()
	m := p.Manifest()
	if err := m.Validate(); err != nil {
		t.Error(err)
	}
	info := p.Providers()[0]
	if _, ok := info.Models[info.Default]; !ok || info.Protocol != p.Protocols()[0].Name || info.BaseURL != "" || len(info.Env) > 0 {
		t.Errorf("provider %+v", info)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if models, err := open(t, nil).(sdk.ModelLister).ListModels(t.Context()); err != nil || len(models) > 0 {
		t.Errorf("models %v, %v", models, err)
	}
}

// FuzzPrompt: any prompt gets an answer, and every call in it is JSON.
func FuzzPrompt(f *testing.F) {
	for _, s := range []string{`read {"a":1}`, "bash {\n}\nread {}", "x {", "read {}{}\n", "<file path=\"x\">\nread {}"} {
		f.Add(s)
	}
	client, err := offline.New().Protocols()[0].Open(sdk.ProviderInfo{ID: "offline"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		req := request(prompt)
		got, err := ask(t, client, req)
		if err != nil || got.Reason == "" {
			t.Fatalf("%+v, %v", got, err)
		}
		for _, call := range got.Calls {
			if _, args, _ := strings.Cut(call, " "); !json.Valid([]byte(args)) {
				t.Errorf("call %q", call)
			}
		}
		for _, purpose := range []sdk.Purpose{sdk.PurposeTitle, sdk.PurposeCompaction} {
			beside := request(prompt)
			beside.Purpose = purpose
			if got, err := ask(t, client, beside); err != nil || got.Text == "" {
				t.Errorf("%s: %+v, %v", purpose, got, err)
			}
		}
	})
}
