package process_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/plugins/plugintest"
	"github.com/tenonhq/tenon/plugins/process"
	"github.com/tenonhq/tenon/sdk"
)

// badLines is a guest that speaks lines badly: it answers each line with the same text.
func badLines(kind string) {
	wire := os.NewFile(3, "lines")
	fmt.Println("1|1|stdio||jsonrpc|")
	lines := 0
	for in := bufio.NewScanner(wire); in.Scan(); {
		switch kind {
		case "linegarbage":
			_, _ = wire.WriteString("plain text, and no message\n")
		case "linetypes":
			_, _ = wire.WriteString(`{"jsonrpc": 2, "id": 1}` + "\n")
		case "lineflood":
			for {
				if _, err := wire.WriteString(strings.Repeat("x", 1<<16)); err != nil {
					return
				}
			}
		case "lineclose":
			_ = wire.Close()
			wait()
		case "lineexit":
			fmt.Fprintln(os.Stderr, "out of paper")
			os.Exit(4)
		case "linedeaf":
			lines++
			_, _ = fmt.Fprintf(wire, `{"jsonrpc":"2.0","id":%d,"result":null}`+"\n", lines)
			if lines == 2 { // the start, and a hook
				wait()
			}
		case "lineempty":
			_, _ = wire.WriteString(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}` + "\n")
		case "linestranger":
			_, _ = wire.WriteString(`{"jsonrpc":"2.0","id":77,"result":{}}` + "\n" + `{"jsonrpc":"2.0","method":"progress","params":{"id":1}}` + "\n")
			_, _ = wire.WriteString(`{"jsonrpc":"2.0","id":9,"method":"dance"}` + "\n" + `{"jsonrpc":"2.0","method":"event","params":7}` + "\n")
			_, _ = wire.WriteString(`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"enough"}}` + "\n")
		}
	}
}

// A process that violates the line protocol does not start, and the error says what it sent.
func TestBadLines(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("lines use the standard streams there")
	}
	for kind, want := range map[string]string{
		"linegarbage":  `it does not speak the line protocol: bad message: invalid character 'p' looking for beginning of value: "plain text, and no message"`,
		"linetypes":    `bad message: want an object with the fields of a message`,
		"lineflood":    `line too long: more than 16842752 bytes: "xxxx`,
		"lineclose":    "it closed the connection",
		"lineexit":     "exit status 4: out of paper",
		"lineempty":    "method start not implemented",
		"linestranger": "enough",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			_, err := callTool(t, started(t, process.Options{}, guestSpec(t, kind), nil), "echo", `{}`, nil)
			if !errors.Is(err, process.ErrStart) || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}

// A process that does not read delays no call beyond its deadline, even if the connection takes only a part of a request.
func TestDeafLines(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("lines use the standard streams there")
	}
	spec := guestSpec(t, "linedeaf")
	spec.Description = description("plain")
	p := started(t, unbounded(), spec, nil)
	if _, err := callHook(t, p, "warm"); err != nil {
		t.Fatal(err)
	}
	hook, call := p.(sdk.Hooker).Hooks()[0], payload()
	call.Value = json.RawMessage(`{"options":{"text":"` + strings.Repeat("x", 4<<20) + `"}}`)
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		if _, err := hook.Remote.HandleRemote(ctx, call); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		cancel()
	}
}

// A process that still works on a hook whose time is over has less time to stop.
func TestLinesCloseOverdue(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("lines use the standard streams there")
	}
	const stop = 3 * time.Second
	spec := guestSpec(t, "linedeaf")
	spec.Description = description("plain")
	plugintest.InTime(t, stop/4, stop/2, func() time.Duration {
		log := &logged{}
		p := started(t, process.Options{StopTimeout: stop}, spec, &testHost{log: log.logger()})
		if _, err := callHook(t, p, "warm"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := callHookIn(ctx, t, p, "warm"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		begin := time.Now()
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if text := log.String(); !strings.Contains(text, `"plugin did not answer stop in time"`) || strings.Contains(text, "canceled") {
			t.Errorf("log %s", text)
		}
		return time.Since(begin)
	})
}

// The process ends with its connection to the host, and a crash is an error that says how it ended.
func TestLinesCrash(t *testing.T) {
	t.Parallel()
	p := wire("lines").started(t, unbounded(), "plain", nil)
	if _, err := callHook(t, p, "exit"); err == nil || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("error %v", err)
	}
	if _, err := callHook(t, p, "warm"); err != nil {
		t.Errorf("after a crash: %v", err)
	}
}
