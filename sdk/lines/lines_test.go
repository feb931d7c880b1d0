package lines_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/lines"
)

const (
	asPlugin = "TENON_TEST_PLUGIN"
	hangs    = "TENON_TEST_HANGS" // in Close
)

func TestMain(m *testing.M) {
	if os.Getenv(asPlugin) != "" {
		lines.Serve(bundle())
		return
	}
	goleak.VerifyTestMain(m)
}

func bundle() *sdk.Bundle {
	var host sdk.Host
	return &sdk.Bundle{
		Info: sdk.Manifest{Name: "shout", Version: "0.1.0", Description: "answers loudly"},
		HookList: []sdk.Hook{sdk.OnTextComplete(func(ctx context.Context, _ *sdk.TextCompleteInput, v *sdk.TextCompleteValue) error {
			if v.Text == "" {
				return errors.New("no text")
			}
			switch v.Text {
			case "exit":
				runtime.Goexit()
			case "store":
				return host.(sdk.KeyValue).Set(ctx, "large", []byte(strings.Repeat("x", 20<<20)))
			case "log":
				host.Logger().Info(strings.Repeat("x", 20<<20), "text", strings.Repeat("y", 20<<20))
				return nil
			}
			v.Text = strings.ToUpper(v.Text)
			return nil
		})},
		OnStart: func(_ context.Context, h sdk.Host) error {
			host = h
			return nil
		},
		OnClose: func(context.Context) error {
			_, err := os.Stderr.WriteString("closed")
			if os.Getenv(hangs) != "" {
				<-time.After(time.Hour)
			}
			return err
		},
	}
}

// start starts the plugin with lines on its standard streams.
func start(t *testing.T, env ...string) (say func(line string), hear func() string, end func() string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(append(os.Environ(), asPlugin+"=1", "TENON_PLUGIN=tenon.v1.Plugin", "TENON_LINES=stdio"), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
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
	out := bufio.NewScanner(stdout)
	out.Buffer(nil, 17<<20)
	hear = func() string {
		if !out.Scan() {
			t.Fatalf("the output ended: %v", out.Err())
		}
		return out.Text()
	}
	if got := hear(); got != "1|1|stdio||jsonrpc|" {
		t.Errorf("handshake %q", got)
	}
	say = func(line string) {
		if _, err := stdin.Write([]byte(line + "\n")); err != nil {
			t.Error(err)
		}
	}
	return say, hear, func() string {
		if err := errors.Join(stdin.Close(), cmd.Wait()); err != nil {
			t.Error(err)
		}
		return stderr.String()
	}
}

func TestServe(t *testing.T) {
	t.Parallel()
	say, hear, end := start(t)
	for _, step := range []struct{ method, params, want string }{
		{"describe", `{}`, `"name":"shout"`},
		{"hook", `{"hook":0,"request":{}}`, `"error":{"code":1,"message":"hook number 0 not found"}`},
		{"start", `{"request":{"hooks":[{"point":"text.complete","name":"text.complete"}]}}`, `"result":null`},
		{"start", `{"request":{}}`, "the plugin was started before"},
		{"hook", `{"hook":0,"request":{"input":{},"value":{"text":"a"}},"timeout_ms":60000}`, `"result":{"changes":[{"pointer":"/text","value":"A"}]}`},
		{"hook", `{"hook":0,"request":{"input":{},"value":{"text":"A"}}}`, `"result":null`},
		{"hook", `{"hook":0,"request":{"input":{},"value":{"text":""}}}`, `"message":"no text"`},
		{"hook", `{"hook":0,"request":{"input":{},"value":{"text":"exit"}}}`, "the code ended its goroutine"},
		{"hook", `[]`, "cannot unmarshal array"},
		{"dance", `{}`, `"code":-32601`},
	} {
		say(`{"jsonrpc":"2.0","id":5,"method":"` + step.method + `","params":` + step.params + `}`)
		if got := hear(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":5,`) || !strings.Contains(got, step.want) {
			t.Errorf("%s %s = %s, want %s", step.method, step.params, got, step.want)
		}
	}
	if got := end(); got != "closed" {
		t.Errorf("at the end of the connection: %q", got)
	}
}

// A line has at most 16 MiB: the host ends a process that sends a longer one.
func TestLongLines(t *testing.T) {
	t.Parallel()
	say, hear, end := start(t)
	hook := func(text string) {
		say(`{"jsonrpc":"2.0","id":5,"method":"hook","params":{"hook":0,"request":{"input":{},"value":{"text":"` + text + `"}}}}`)
	}
	say(`{"jsonrpc":"2.0","id":5,"method":"start","params":{"request":{"hooks":[{"point":"text.complete","name":"text.complete"}]}}}`)
	hear()
	hook("store")
	if got := hear(); !strings.Contains(got, `"error":{`) || !strings.Contains(got, "kv.set") {
		t.Errorf("a value of 20 MiB: %.200s", got)
	}
	hook("log")
	if got := hear(); !strings.Contains(got, `"method":"log"`) {
		t.Errorf("a message of 20 MiB: %.200s", got)
	}
	if got := hear(); !strings.Contains(got, `"result":null`) {
		t.Errorf("after the message: %.200s", got)
	}
	end()
}

// A plugin that hangs while it is stopped does not outlive its host.
func TestHostIsGoneDuringStop(t *testing.T) {
	t.Parallel()
	say, hear, end := start(t, hangs+"=1")
	say(`{"jsonrpc":"2.0","id":1,"method":"start","params":{"request":{}}}`)
	hear()
	say(`{"jsonrpc":"2.0","id":2,"method":"stop","params":{}}`)
	if got := end(); got != "closed" {
		t.Errorf("it was closed like this: %q", got)
	}
}

func TestByHand(t *testing.T) {
	t.Parallel()
	run := func(args ...string) (string, error) {
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), asPlugin+"=1")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run("--describe")
	var d sdk.Description
	if err != nil || json.Unmarshal([]byte(out), &d) != nil || d.Summary != "answers loudly" || len(d.Hooks) != 1 {
		t.Errorf("--describe: %v\n%s", err, out)
	}
	var exit *exec.ExitError
	if out, err := run(); !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(out, "shout 0.1.0 is a plugin of tenon") {
		t.Errorf("by hand: %v\n%s", err, out)
	}
}
