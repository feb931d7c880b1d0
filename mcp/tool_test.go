package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/sdk"
)

func TestTools(t *testing.T) {
	t.Parallel()
	p := ready(t, newTestHost(t), fake(t, "plain"))
	d := find(t, p, "fake_echo").Definition()
	if !strings.Contains(string(d.Parameters), `"x-keep":true`) || !strings.Contains(string(d.Parameters), `"$defs"`) {
		t.Errorf("the schema changed on its way: %s", d.Parameters)
	}
	if got := mustRun(t, p, "fake_echo", `{"text":"hello"}`).Output; got != "hello" {
		t.Errorf("echo = %q", got)
	}
	if got := mustRun(t, p, "fake_structured", `{}`).Output; got != `{"n":1}` {
		t.Errorf("structured = %q", got)
	}
	if got := mustRun(t, p, "fake_utf8", `{}`).Output; got != "a\uFFFD\uFFFDb" {
		t.Errorf("utf8 = %q", got)
	}
	if got := mustRun(t, p, "fake_links", `{}`).Output; !strings.Contains(got, "note://a") {
		t.Errorf("links = %q", got)
	}
	for id, want := range map[string]string{
		"fake_fails": "it went wrong", "fake_badly_structured": "outputSchema",
	} {
		if _, err := run(t.Context(), t, p, id, "{}"); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `"fake"`) {
			t.Errorf("%s: error = %v, want one that names the server and %q", id, err, want)
		}
	}
}

func TestHugeResult(t *testing.T) {
	t.Parallel()
	if got := mustRun(t, ready(t, newTestHost(t), fake(t, "plain")), "fake_big", `{}`).Output; len(got) > 5<<20 || !strings.Contains(got, "too large") {
		t.Errorf("%d bytes", len(got))
	}
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	r := mustRun(t, ready(t, newTestHost(t), fake(t, "plain")), "fake_image", `{}`)
	if len(r.Attachments) != 2 || r.Attachments[0].Mime != "image/png" || r.Attachments[1].Mime != "audio/wav" {
		t.Errorf("attachments = %+v", r.Attachments)
	}
	if url := r.Attachments[1].URL; strings.ContainsAny(url, "\r\n") {
		t.Errorf("the audio has line breaks: %q", url)
	}
	for _, want := range []string{"not valid base64", "application/zip", "x://text", "inside", `"hologram"`} {
		if !strings.Contains(r.Output, want) {
			t.Errorf("the output lacks %q: %s", want, r.Output)
		}
	}
}

func TestUnusableToolsAreWithheld(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	p := ready(t, h, fake(t, "plain"))
	var names []string
	for _, w := range p.Status().Withheld {
		names = append(names, w.Name)
	}
	if want := []string{"no object", "bad schema"}; !slices.Equal(names, want) {
		t.Errorf("withheld = %q, want %q", names, want)
	}
	if !strings.Contains(h.log.String(), "bad schema") {
		t.Error("no notice")
	}
	var none *mcp.Pin
	offered, unusable := none.Offer(p.Current())
	if want := p.Status().Tools - 2; len(offered.Tools) != want || len(unusable) != 2 { // the others are for resources
		t.Errorf("Offer() = %d tools, %d unusable; want %d, 2", len(offered.Tools), len(unusable), want)
	}
}

func TestProgressKeepsACallAlive(t *testing.T) {
	t.Parallel()
	s := fake(t, "plain")
	s.Timeout = 3 * time.Second
	p := ready(t, newTestHost(t), s)
	h := &toolHost{}
	r, err := runOn(t.Context(), t, p, "fake_progress", "{}", h)
	if err != nil || r.Output != "progressed" {
		t.Fatalf("progress: %v, %v", r, err)
	}
	if want := []string{"1 of 3", "2 of 3", "3 of 3"}; !slices.Equal(h.progress, want) {
		t.Errorf("progress = %q, want %q", h.progress, want)
	}
}

func TestDeadlineAndCancel(t *testing.T) {
	t.Parallel()
	cancelled := filepath.Join(t.TempDir(), "cancelled")
	s := fake(t, "plain", "CANCELLED="+cancelled)
	p := ready(t, newTestHost(t), s)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := run(ctx, t, p, "fake_never", "{}"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v, want the caller's deadline", err)
	}
	eventually(t, "notifications/cancelled", func() bool { return len(lines(t, cancelled)) > 0 })
	if got := mustRun(t, p, "fake_echo", `{"text":"still here"}`).Output; got != "still here" {
		t.Errorf("after a cancelled call: %q", got)
	}
}

// A task whose call was cancelled is cancelled, even if the server had not named it yet.
func TestCancelledTask(t *testing.T) {
	t.Parallel()
	for args, until := range map[string]string{`{}`: "result", `{"text":"late"}`: "created"} {
		t.Run(until, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			record, count := filepath.Join(dir, "record"), filepath.Join(dir, "count")
			p := ready(t, newTestHost(t), fake(t, "plain", "LEVEL="+record, "COUNT="+count))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() {
				_, err := run(ctx, t, p, "fake_task", args)
				done <- err
			}()
			eventually(t, until, func() bool { return len(linesWith(t, count, until)) == 1 })
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("error = %v", err)
			}
			eventually(t, "cancelled", func() bool { return len(linesWith(t, record, `{"taskId":"t1"}`)) == 1 })
		})
	}
}

// A call that is cancelled before it is sent starts no task.
func TestTaskCancelledBefore(t *testing.T) {
	t.Parallel()
	count := filepath.Join(t.TempDir(), "count")
	p := ready(t, newTestHost(t), fake(t, "plain", "COUNT="+count))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := run(ctx, t, p, "fake_task", `{}`); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
	mustRun(t, p, "fake_echo", `{"text":"x"}`)
	if got := linesWith(t, count, "created"); len(got) > 0 {
		t.Errorf("the server got %q", got)
	}
}

func TestServerDeadline(t *testing.T) {
	t.Parallel()
	s := fake(t, "plain")
	p := ready(t, newTestHost(t), s)
	quick := ready(t, newTestHost(t), withTimeout(s, 2*time.Second))
	if _, err := run(t.Context(), t, quick, "fake_never", "{}"); err == nil || !strings.Contains(err.Error(), "in 2s; raise its timeout") {
		t.Errorf("error = %v", err)
	}
	if _, ok := find(t, p, "fake_echo").(sdk.ToolDeadline); !ok {
		t.Error("the tool does not say how long a call may take")
	}
}

// A local server that stops responding is ended after as many calls as quarantine a plugin, and then works again.
func TestServerThatIsStuck(t *testing.T) {
	t.Parallel()
	p := ready(t, newTestHost(t), fake(t, "plain"))
	before := mustRun(t, p, "fake_pid", "{}").Output
	late := func() {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := run(ctx, t, p, "fake_never", "{}"); err == nil {
			t.Error("a call without an answer succeeded")
		}
	}
	late()
	late()
	if got := mustRun(t, p, "fake_pid", "{}").Output; got != before {
		t.Error("the server was ended though it answers other calls")
	}
	for range 3 {
		late()
	}
	eventually(t, "another process", func() bool {
		r, err := run(t.Context(), t, p, "fake_pid", "{}")
		return err == nil && r.Output != before
	})
}

func withTimeout(s mcp.Server, d time.Duration) mcp.Server {
	s.Timeout = d
	return s
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	s := fake(t, "plain", "GIVEN=yes")
	h := newTestHost(t)
	p := begin(t, h, s, mcp.Options{
		Environ: []string{"PATH=/bin", "HOME=/home/x", "OPENAI_API_KEY=sk-1", "AWS_SECRET_ACCESS_KEY=2", "LANG=C", "https_proxy=http://p:1"},
	})
	got := strings.Split(mustRun(t, p, "fake_env", "{}").Output, "\n")
	slices.Sort(got)
	want := []string{"GIVEN=yes", "GORACE=atexit_sleep_ms=0", "HOME=/home/x", "LANG=C", "PATH=/bin", "TENON_MCP_FAKE=plain", "https_proxy=http://p:1"}
	if !slices.Equal(got, want) {
		t.Errorf("the server's environment is %q, want %q", got, want)
	}
}

func TestResources(t *testing.T) {
	t.Parallel()
	p := ready(t, newTestHost(t), fake(t, "plain"))
	if got := mustRun(t, p, "fake_list_resources", "{}").Output; !strings.Contains(got, "note://a") || !strings.Contains(got, "note://{name}") {
		t.Errorf("list = %q", got)
	}
	if got := mustRun(t, p, "fake_read_resource", `{"uri":"note://a"}`).Output; !strings.Contains(got, "the note") {
		t.Errorf("read = %q", got)
	}
	parts, found, err := p.Reference(t.Context(), "fake:note://a")
	if err != nil || !found || len(parts) != 1 || !strings.Contains(parts[0].(*sdk.TextPart).Text, "the note") {
		t.Errorf("Reference = %v, %v, %v", parts, found, err)
	}
	for _, name := range []string{"other:note://a", "fake", "fake:"} {
		if _, found, err := p.Reference(t.Context(), name); found || err != nil {
			t.Errorf("Reference(%q) = %v, %v, want nothing", name, found, err)
		}
	}
}

func TestPrompts(t *testing.T) {
	t.Parallel()
	p := ready(t, newTestHost(t), fake(t, "plain"))
	commands, err := p.Commands(t.Context())
	if err != nil || len(commands) != 1 || commands[0].Name != "fake:review_code" || commands[0].Source != "mcp" {
		t.Fatalf("Commands = %+v, %v", commands, err)
	}
	for arguments, want := range map[string]string{
		"main.go":                    `{"file":"main.go"}`,
		"main.go look at the tests":  `{"file":"main.go","note":"look at the tests"}`,
		`note="don't care" main.go`:  `{"file":"main.go","note":"don't care"}`,
		`"my file.go" don't stop=me`: `{"file":"my file.go","note":"don't stop=me"}`,
	} {
		parts, err := p.RenderCommand(t.Context(), "fake:review_code", arguments)
		if err != nil {
			t.Errorf("%s: %v", arguments, err)
			continue
		}
		var params struct {
			Arguments json.RawMessage `json:"arguments"`
		}
		text := strings.TrimPrefix(parts[0].(*sdk.TextPart).Text, "review ")
		if err := json.Unmarshal([]byte(text), &params); err != nil || string(params.Arguments) != want {
			t.Errorf("%s: arguments = %s, want %s", arguments, params.Arguments, want)
		}
	}
	if _, err := p.RenderCommand(t.Context(), "fake:review_code", ""); err == nil || !strings.Contains(err.Error(), `missing argument "file"`) {
		t.Errorf("without arguments: %v", err)
	}
}

func TestInstructions(t *testing.T) {
	t.Parallel()
	p := ready(t, newTestHost(t), fake(t, "plain"))
	v := &sdk.ChatSystemValue{System: []string{"base"}}
	for _, h := range p.Hooks() {
		if _, err := h.Handler.Handle(t.Context(), &sdk.HookCall{Point: h.Point, Input: &sdk.ChatInput{Purpose: sdk.PurposeTurn}, Value: v}); err != nil {
			t.Fatal(err)
		}
	}
	if len(v.System) != 2 || !strings.Contains(v.System[1], "MCP server fake") || !strings.Contains(v.System[1], "Call echo") {
		t.Errorf("system = %q", v.System)
	}
}
