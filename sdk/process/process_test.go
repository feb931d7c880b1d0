package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"github.com/google/go-cmp/cmp"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/process"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

const asPlugin = "TENON_TEST_PLUGIN"

func TestMain(m *testing.M) {
	if os.Getenv(asPlugin) != "" {
		process.Serve(bundle())
		return
	}
	goleak.VerifyTestMain(m)
}

func bundle() *sdk.Bundle {
	var host sdk.Host
	shout := sdk.OnTextComplete(func(ctx context.Context, in *sdk.TextCompleteInput, v *sdk.TextCompleteValue) error {
		if v.Text == "throw" {
			panic("boom")
		}
		if v.Text == "exit" {
			runtime.Goexit()
		}
		if v.Text == "wait" {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		v.Text = strings.ToUpper(v.Text)
		return nil
	})
	return &sdk.Bundle{
		Info:     sdk.Manifest{Name: "shout", Version: "0.1.0", Description: "answers loudly"},
		HookList: []sdk.Hook{shout},
		ToolList: []sdk.Tool{sdk.FuncTool(sdk.ToolDefinition{ID: "secret"}, func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
			call.Host.Progress("asking", nil)
			value, err := host.(sdk.SecretReader).Secret(ctx, "TOKEN")
			return &sdk.ToolResult{Output: value}, err
		})},
		OnStart: func(_ context.Context, h sdk.Host) error {
			host = h
			h.Logger().Info("started", "dir", h.Project().Directory)
			return nil
		},
		OnClose: func(context.Context) error { return errors.New("a file stayed open") },
	}
}

// dial starts the plugin without certificates, as a host in any language could, and connects to it.
func dial(t *testing.T) (tenonv1.PluginClient, *exec.Cmd) {
	t.Helper()
	dir, err := os.MkdirTemp("", "tenon")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{asPlugin + "=1", process.CookieKey + "=" + process.CookieValue, "PLUGIN_UNIX_SOCKET_DIR=" + dir, "PLUGIN_PROTOCOL_VERSIONS=1", "TMPDIR=" + dir}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the end of its standard input ends the plugin
		_ = stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the plugin: %v", err)
		}
	})
	line := make([]byte, 512)
	n, err := stdout.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(strings.TrimSpace(string(line[:n])), "|")
	if len(parts) < 5 || parts[1] != "1" || parts[4] != "grpc" {
		t.Fatalf("handshake %q", line[:n])
	}
	conn, err := grpc.NewClient("passthrough:plugin", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, parts[2], parts[3])
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return tenonv1.NewPluginClient(conn), cmd
}

// The contract as it goes over the wire, without tenon's own host.
func TestContract(t *testing.T) {
	t.Parallel()
	plugin, _ := dial(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	described, err := plugin.Describe(ctx, &tenonv1.DescribeRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var d sdk.Description
	if err := json.Unmarshal(described.Description, &d); err != nil || d.Name != "shout" || len(d.Hooks) != 1 || len(d.Tools) != 1 {
		t.Errorf("description %s, %v", described.Description, err)
	}

	host, err := plugin.Host(ctx)
	if err != nil {
		t.Fatal(err)
	}
	start := `{"options":null,"project":{"Directory":"/p"},"hooks":[{"point":"text.complete","name":"text.complete"}],"tools":["secret"]}`
	if _, err := plugin.Start(ctx, &tenonv1.StartRequest{Request: []byte(start)}); err != nil {
		t.Fatal(err)
	}
	if req, err := host.Recv(); err != nil || req.GetLog().GetMessage() != "started" || string(req.GetLog().GetAttributes()) != `{"dir":"/p"}` {
		t.Errorf("log %v, %v", req, err)
	}
	if _, err := plugin.Start(ctx, &tenonv1.StartRequest{Request: []byte(start)}); err == nil {
		t.Error("a second start")
	}
	t.Run("hooks", func(t *testing.T) { testHooks(ctx, t, plugin, host) })
	t.Run("tool", func(t *testing.T) { testTool(ctx, t, plugin, host) })
	if _, err := plugin.Stop(ctx, &tenonv1.StopRequest{}); err == nil || !strings.Contains(err.Error(), "a file stayed open") {
		t.Errorf("stop: %v", err)
	}
}

type hostStream = grpc.BidiStreamingClient[tenonv1.HostResponse, tenonv1.HostRequest]

func testHooks(ctx context.Context, t *testing.T, plugin tenonv1.PluginClient, host hostStream) {
	stream, err := plugin.Hooks(ctx)
	if err != nil {
		t.Fatal(err)
	}
	request := func(text string) []byte { return []byte(`{"input":{"sessionID":"s"},"value":{"text":"` + text + `"}}`) }
	for _, req := range []*tenonv1.HookRequest{
		{Id: 1, Request: request("wait"), TimeoutMs: 60_000},
		{Id: 2, Request: request("wait"), TimeoutMs: 10},
		{Id: 3, Request: request("loud")},
		{Id: 4, Request: request("LOUD")},
		{Id: 5, Request: request("throw")},
		{Id: 6, Hook: 9, Request: request("")},
		{Id: 7, Request: []byte("{")},
		{Id: 8, Request: request("exit")},
		{Id: 1, Cancel: true},
	} {
		if err := stream.Send(req); err != nil {
			t.Fatal(err)
		}
	}
	got := map[uint64]string{}
	for range 8 {
		answer, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		got[answer.Id] = string(answer.Answer) + answer.Error
	}
	want := map[uint64]string{
		1: "context canceled", 2: "context deadline exceeded", 3: `{"changes":[{"pointer":"/text","value":"LOUD"}]}`, 4: "",
		5: "panic: boom", 6: "hook number 9 not found", 7: got[7],
		8: "the code ended its goroutine (runtime.Goexit, as by FailNow of package testing) instead of returning",
	}
	if diff := cmp.Diff(want, got); diff != "" || got[7] == "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if req, err := host.Recv(); err != nil || req.GetLog().GetMessage() != "panic" || req.GetLog().GetLevel() != int32(slog.LevelDebug) {
		t.Errorf("log of the panic: %v, %v", req, err)
	}
}

func testTool(ctx context.Context, t *testing.T, plugin tenonv1.PluginClient, host hostStream) {
	for _, tt := range []struct {
		status tenonv1.Status
		body   string
		want   string
	}{
		{tenonv1.Status_STATUS_OK, `{"value":"t-1"}`, "t-1"},
		{tenonv1.Status_STATUS_DENIED, "grant secret", "grant secret"},
		{tenonv1.Status_STATUS_UNKNOWN, "", "no such operation"},
	} {
		stream, err := plugin.Tool(ctx, &tenonv1.ToolRequest{Call: []byte(`{"args":{}}`), Token: "tok"})
		if err != nil {
			t.Fatal(err)
		}
		if event, err := stream.Recv(); err != nil || event.GetProgress().GetTitle() != "asking" {
			t.Errorf("progress %v, %v", event, err)
		}
		req, err := host.Recv()
		if err != nil || req.Token != "tok" || req.GetOperation().GetName() != "secret" || string(req.GetOperation().GetRequest()) != `{"name":"TOKEN"}` {
			t.Fatalf("request %v, %v", req, err)
		}
		if err := host.Send(&tenonv1.HostResponse{Id: req.Id, Status: tt.status, Body: []byte(tt.body)}); err != nil {
			t.Fatal(err)
		}
		event, err := stream.Recv()
		if err != nil || !strings.Contains(string(event.GetResult())+event.GetFailure().GetMessage(), tt.want) {
			t.Errorf("result %v, %v, want %q", event, err, tt.want)
		}
		if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
			t.Errorf("after the result: %v", err)
		}
	}
}

// When the connection to the host breaks, the plugin ends.
func TestHostGone(t *testing.T) {
	t.Parallel()
	plugin, _ := dial(t)
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := plugin.Host(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plugin.Start(ctx, &tenonv1.StartRequest{Request: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	cancel()
	for err == nil {
		_, err = stream.Recv()
	}
	for { // until the server is gone
		if _, err := plugin.Describe(t.Context(), &tenonv1.DescribeRequest{}); err != nil {
			return
		}
	}
}

func TestByHand(t *testing.T) {
	t.Parallel()
	run := func(args ...string) (string, string, error) {
		var stdout, stderr strings.Builder
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = []string{asPlugin + "=1"}
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		return stdout.String(), stderr.String(), err
	}
	stdout, stderr, err := run("--describe")
	var d sdk.Description
	if err != nil || stderr != "" || json.Unmarshal([]byte(stdout), &d) != nil || d.Name != "shout" || d.Summary != "answers loudly" {
		t.Errorf("--describe: %v\n%s%s", err, stdout, stderr)
	}
	stdout, stderr, err = run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || stdout != "" || !strings.Contains(stderr, "shout 0.1.0 is a plugin of tenon") || !strings.Contains(stderr, "--plugin "+os.Args[0]) {
		t.Errorf("by hand: %v\n%s%s", err, stdout, stderr)
	}
}
