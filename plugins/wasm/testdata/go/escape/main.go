// Package main is a guest in Go that tries what a request for leave tells it to: the permission is the attempt, the first pattern its
// argument. The outcome is the reason of the answer, with an error after "error: ". It also marks the arguments of tools.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/wasm"
)

var _ = wasm.Serve(&sdk.Bundle{
	Info:     sdk.Manifest{Name: "escape", Carrier: sdk.CarrierWASM},
	HookList: []sdk.Hook{sdk.OnPermissionAsk(try), sdk.OnToolBefore(mark)},
})

func main() {}

func mark(_ context.Context, _ *sdk.ToolInput, v *sdk.ToolBeforeValue) error {
	v.Args["marked"] = true
	return nil
}

func try(_ context.Context, in *sdk.PermissionRequest) (sdk.Decision, error) {
	text, err := attempt(in.Permission, in.Patterns)
	if err != nil {
		text = "error: " + err.Error()
	}
	return sdk.Decision{Verdict: sdk.VerdictAllow, Reason: text}, nil
}

func attempt(what string, args []string) (string, error) {
	switch what {
	case "env":
		return strings.Join(os.Environ(), " "), nil
	case "args":
		return strings.Join(os.Args, " "), nil
	case "time":
		return time.Now().UTC().Format(time.RFC3339), nil
	case "sleep":
		time.Sleep(time.Hour)
		return "awake", nil
	case "dial":
		conn, err := net.Dial("tcp", args[0])
		if err != nil {
			return "", err
		}
		return "connected", conn.Close()
	case "say":
		fmt.Println(args[0])
		fmt.Fprintln(os.Stderr, args[0])
		return "", nil
	case "exit":
		os.Exit(7)
	}
	return inFiles(what, args)
}

// inFiles tries operations on files.
func inFiles(what string, args []string) (string, error) {
	switch what {
	case "read":
		data, err := os.ReadFile(args[0])
		return string(data), err
	case "write":
		return "", os.WriteFile(args[0], []byte("written"), 0o666)
	case "append":
		file, err := os.OpenFile(args[0], os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return "", err
		}
		defer file.Close()
		_, err = file.WriteString("+")
		return "", err
	case "list":
		entries, err := os.ReadDir(args[0])
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return strings.Join(names, " "), err
	case "stat":
		info, err := os.Stat(args[0])
		if err != nil {
			return "", err
		}
		return fmt.Sprint(info.Size()), nil
	case "mkdir":
		return "", os.Mkdir(args[0], 0o777)
	case "remove":
		return "", os.Remove(args[0])
	case "rename":
		return "", os.Rename(args[0], args[1])
	case "link":
		return "", os.Link(args[0], args[1])
	case "symlink":
		return "", os.Symlink(args[0], args[1])
	case "files":
		for n := range 1000 {
			if _, err := os.Open(args[0]); err != nil {
				return fmt.Sprint(n), nil
			}
		}
		return "1000", nil
	}
	return "", fmt.Errorf("no attempt %q", what)
}
