package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/lines"
	sdkprocess "github.com/tenonhq/tenon/sdk/process"
)

// beGuest makes this process a plugin.
func beGuest(kind string) {
	hold()
	if strings.HasPrefix(kind, "raw") {
		serveRaw(kind)
		return
	}
	if strings.HasPrefix(kind, "line") {
		badLines(kind)
		return
	}
	switch kind {
	case "garbage":
		fmt.Println("hello world")
		wait()
	case "silent":
		wait()
	case "exit":
		fmt.Fprintln(os.Stderr, "cannot read settings.toml")
		os.Exit(3)
	case "empty":
		os.Exit(0)
	case "drip":
		for {
			fmt.Print("1")
			<-time.After(20 * time.Millisecond)
		}
	case "flood":
		for {
			fmt.Print(strings.Repeat("x", 4096))
		}
	case "version":
		fmt.Println("1|9|unix|" + os.Getenv("PLUGIN_UNIX_SOCKET_DIR") + "/s|grpc|" + strings.Repeat("A", 80))
		wait()
	case "elsewhere":
		fmt.Println("1|1|unix|/tmp/s|grpc|" + strings.Repeat("A", 80))
		wait()
	case "deaf": // says where it listens and does not
		fmt.Println("1|1|unix|" + os.Getenv("PLUGIN_UNIX_SOCKET_DIR") + "/s|grpc|" + strings.Repeat("A", 80))
		wait()
	default:
		if wire := os.Getenv(guestWire); wire == "lines" || wire == "stdio" {
			lines.Serve(&withModels{ordinary(kind)})
			return
		}
		sdkprocess.Serve(&withModels{ordinary(kind)})
	}
}

// longClose is how long the guest "longclose" takes to stop.
const longClose = 1200 * time.Millisecond

// wait blocks until the host ends the process.
func wait() {
	for {
		<-time.After(time.Hour)
	}
}

// description is what the loader would know of the guest.
func description(kind string) sdk.Description {
	d, err := guest.New(&withModels{ordinary(kind)}).Describe()
	if err != nil {
		return sdk.Description{Name: kind}
	}
	return d
}

// ordinary is a plugin that does what its hooks and tools are named for.
func ordinary(kind string) *sdk.Bundle {
	var host sdk.Host
	b := &sdk.Bundle{
		Info: sdk.Manifest{Name: "guest-" + kind, Version: "1.2.3"},
		OnStart: func(_ context.Context, h sdk.Host) error {
			host = h
			switch kind {
			case "badstart":
				return errors.New("option level: want a number")
			case "slowstart":
				wait()
			}
			return nil
		},
		OnClose: func(ctx context.Context) error {
			switch kind {
			case "slowclose":
				ignoreTerminate()
				wait()
			case "longclose":
				<-time.After(longClose)
			}
			if dir := os.Getenv("PLUGIN_DATA"); dir != "" {
				return os.WriteFile(dir+"/closed", nil, 0o600)
			}
			return nil
		},
	}
	hook := func(name string, run func(ctx context.Context, v *sdk.ChatParams) error) {
		h := sdk.OnChatParams(func(ctx context.Context, _ *sdk.ChatInput, v *sdk.ChatParams) error { return run(ctx, v) })
		h.Name = name
		b.HookList = append(b.HookList, h)
	}
	hook("warm", func(_ context.Context, v *sdk.ChatParams) error { *v.Temperature += 0.5; return nil })
	hook("nothing", func(context.Context, *sdk.ChatParams) error { return nil })
	hook("throw", func(context.Context, *sdk.ChatParams) error { panic("boom") })
	hook("error", func(context.Context, *sdk.ChatParams) error { return errors.New("no luck today") })
	hook("hang", func(context.Context, *sdk.ChatParams) error { wait(); return nil })
	hook("patient", func(ctx context.Context, _ *sdk.ChatParams) error {
		host.Logger().Info("patience")
		<-ctx.Done()
		return ctx.Err()
	})
	hook("crash", func(context.Context, *sdk.ChatParams) error {
		go panic("in a goroutine")
		wait()
		return nil
	})
	hook("recurse", func(context.Context, *sdk.ChatParams) error { return fmt.Errorf("%d", recurse(1)) })
	hook("exit", func(context.Context, *sdk.ChatParams) error { os.Exit(7); return nil })
	hook("huge", func(_ context.Context, v *sdk.ChatParams) error {
		v.Options = sdk.Object{"x": strings.Repeat("x", sdkprocess.MaxMessage)}
		return nil
	})
	hook("print", func(context.Context, *sdk.ChatParams) error {
		fmt.Println("on stdout")
		fmt.Fprintln(os.Stderr, "on stderr")
		host.Logger().Warn("careful", "why", "a test", "n", 3)
		return nil
	})
	hook("forge", func(context.Context, *sdk.ChatParams) error {
		host.Logger().Warn("fine\nWARN approved\x1b[31m", "a\nb", "c\rd")
		return nil
	})
	hook("noise", func(context.Context, *sdk.ChatParams) error {
		for range 3000 {
			fmt.Println(strings.Repeat("x", 8000))
		}
		return nil
	})
	hook("memory", func(context.Context, *sdk.ChatParams) error {
		for all := [][]byte{}; len(all) < 1<<30; {
			all = append(all, []byte(strings.Repeat("x", 8<<20)))
		}
		return nil
	})
	b.ToolList = tools(&host)
	return b
}

func recurse(n int) int {
	if n < 0 {
		return n
	}
	return recurse(n+1) + 1
}

func tools(host *sdk.Host) []sdk.Tool {
	var stashed context.Context // of a call that is over
	tool := func(id string, run func(ctx context.Context, call *sdk.ToolCall) (string, error)) sdk.Tool {
		return sdk.FuncTool(sdk.ToolDefinition{ID: id, Parameters: json.RawMessage(`{"type":"object"}`)},
			func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
				text, err := run(ctx, call)
				if err != nil {
					return nil, err
				}
				return &sdk.ToolResult{Title: id, Output: text}, nil
			})
	}
	return []sdk.Tool{
		tool("pid", func(context.Context, *sdk.ToolCall) (string, error) { return fmt.Sprint(os.Getpid()), nil }),
		tool("fds", func(context.Context, *sdk.ToolCall) (string, error) { return descriptors() }),
		tool("env", func(context.Context, *sdk.ToolCall) (string, error) { return strings.Join(os.Environ(), "\n"), nil }),
		tool("echo", func(_ context.Context, call *sdk.ToolCall) (string, error) { return string(call.Args), nil }),
		tool("throw", func(context.Context, *sdk.ToolCall) (string, error) { panic("boom") }),
		tool("refuse", func(context.Context, *sdk.ToolCall) (string, error) { return "", sdk.Halt("not on a Sunday") }),
		tool("wait", func(ctx context.Context, call *sdk.ToolCall) (string, error) {
			call.Host.Progress("waiting", nil)
			<-ctx.Done()
			return "", ctx.Err()
		}),
		tool("steps", func(_ context.Context, call *sdk.ToolCall) (string, error) {
			if strings.Contains(string(call.Args), "huge") {
				call.Host.Progress("huge", sdk.Object{"x": strings.Repeat("x", sdkprocess.MaxMessage)})
			}
			for i := range 3 {
				call.Host.Progress(fmt.Sprintf("step %d", i), sdk.Object{"n": i})
			}
			return "done", nil
		}),
		tool("ask", func(ctx context.Context, call *sdk.ToolCall) (string, error) {
			return "granted", call.Host.Ask(ctx, sdk.PermissionRequest{Permission: "deploy", Patterns: []string{"prod"}})
		}),
		tool("kv", func(ctx context.Context, _ *sdk.ToolCall) (string, error) {
			kv := (*host).(sdk.KeyValue)
			if err := kv.Set(ctx, "k", []byte("v")); err != nil {
				return "", err
			}
			value, found, err := kv.Get(ctx, "k")
			return fmt.Sprint(string(value), found), err
		}),
		tool("events", func(ctx context.Context, _ *sdk.ToolCall) (string, error) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			var types []string
			for e := range (*host).(sdk.EventSource).Events(ctx, 8) {
				if types = append(types, e.Type); len(types) == 2 {
					break
				}
			}
			return strings.Join(types, " "), nil
		}),
		tool("stash", func(ctx context.Context, _ *sdk.ToolCall) (string, error) {
			stashed = context.WithoutCancel(ctx)
			return "", (*host).(sdk.KeyValue).Set(ctx, "k", []byte("v"))
		}),
		tool("reuse", func(_ context.Context, _ *sdk.ToolCall) (string, error) {
			return "", (*host).(sdk.KeyValue).Set(stashed, "k", []byte("v"))
		}),
		deployTool{},
		tool("read", func(_ context.Context, call *sdk.ToolCall) (string, error) {
			text, err := os.ReadFile(pathOf(call))
			return string(text), err
		}),
		tool("write", func(_ context.Context, call *sdk.ToolCall) (string, error) {
			return "", os.WriteFile(pathOf(call), []byte("new"), 0o600)
		}),
		tool("inherit", func(context.Context, *sdk.ToolCall) (string, error) {
			return fmt.Sprint(exec.Command("sh", "-c", "exec 2>/dev/null; : >&3").Run() == nil), nil
		}),
		tool("child", func(context.Context, *sdk.ToolCall) (string, error) { return startChild() }),
	}
}

// pathOf returns the path that a call names. In it $TEMP is the temporary directory of the guest.
func pathOf(call *sdk.ToolCall) string {
	var path string
	_ = json.Unmarshal(call.Args, &path) // of a test
	return strings.Replace(path, "$TEMP", os.Getenv("TMPDIR"), 1)
}

// deployTool lists the permissions that it requires.
type deployTool struct{}

func (deployTool) Definition() sdk.ToolDefinition { return sdk.ToolDefinition{ID: "deploy"} }
func (deployTool) Permission() string             { return "release" }
func (deployTool) Deadline() time.Duration        { return 3 * time.Second }

func (deployTool) Prepare(_ context.Context, call *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	var args struct{ To string }
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return nil, err
	}
	if args.To == "" {
		return nil, errors.New("to: missing")
	}
	return []sdk.PermissionRequest{{Permission: "deploy", Patterns: []string{args.To}}}, nil
}

func (deployTool) Execute(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) {
	return &sdk.ToolResult{Output: "deployed"}, nil
}
