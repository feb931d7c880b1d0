package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tenonhq/tenon/sdk"
)

// fetch holds the plugin's options and the ability it needs.
type fetch struct {
	Proxy string `json:"proxy"` // without a trailing slash

	web sdk.Fetcher
}

// parameters is the schema of the tool's arguments.
const parameters = `{
	"type": "object",
	"properties": {"module": {"type": "string", "description": "The path of the module, such as golang.org/x/text"}},
	"required": ["module"],
	"additionalProperties": false
}`

func plugin() *sdk.Bundle {
	f := &fetch{Proxy: "https://proxy.golang.org"}
	return &sdk.Bundle{
		Info: sdk.Manifest{
			Name: "wasm-fetch", Version: "1.0.0", Description: "A tool that finds the latest version of a Go module", Carrier: sdk.CarrierWASM,
			Capabilities: []sdk.Capability{{Name: sdk.CapabilityHTTP, Scope: []string{"https://proxy.golang.org"}, Reason: "to ask for versions"}},
		},
		ToolList: []sdk.Tool{sdk.FuncTool(sdk.ToolDefinition{
			ID: "go_module_version", Description: "Finds the latest version of a Go module.", Parameters: json.RawMessage(parameters),
		}, f.version)},
		Options: f,
		OnStart: f.start,
	}
}

func (f *fetch) start(_ context.Context, h sdk.Host) error {
	var ok bool
	if f.web, ok = h.(sdk.Fetcher); !ok {
		return errors.New("wasm-fetch: this host sends no HTTP requests")
	}
	return nil
}

func (f *fetch) version(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
	var args struct {
		Module string `json:"module"`
	}
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return nil, err
	}
	call.Host.Progress("asking for "+args.Module, nil)
	resp, err := f.web.Fetch(ctx, &sdk.FetchRequest{
		URL: f.Proxy + "/" + escape(args.Module) + "/@latest", Headers: map[string]string{"accept": "application/json"},
	})
	if err != nil {
		return nil, err // ErrNotGranted says what to grant
	}
	if resp.Status != 200 {
		return nil, fmt.Errorf("no version of %s: status %d: %s", args.Module, resp.Status, bytes.TrimSpace(resp.Body))
	}
	var latest struct {
		Version string
		Time    time.Time
	}
	if err := json.Unmarshal(resp.Body, &latest); err != nil {
		return nil, fmt.Errorf("answer of the proxy: %w", err)
	}
	return &sdk.ToolResult{
		Title:  args.Module + " " + latest.Version,
		Output: fmt.Sprintf("%s %s, of %s", args.Module, latest.Version, latest.Time.Format(time.DateOnly)),
	}, nil
}

// escape writes capital letters in the form that the proxy requires, !x for X, and escapes characters that would end the path. See
// https://go.dev/ref/mod#goproxy-protocol
func escape(module string) string {
	var out strings.Builder
	for i := range len(module) {
		switch c := module[i]; {
		case 'A' <= c && c <= 'Z':
			out.WriteByte('!')
			out.WriteByte(c + 'a' - 'A')
		case c == '?' || c == '#' || c == '%' || c <= ' ' || c > '~':
			fmt.Fprintf(&out, "%%%02X", c)
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}
