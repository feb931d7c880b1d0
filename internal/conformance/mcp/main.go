// Command mcp is the plugin of the conformance suite as an MCP server on stdin and stdout. Each of its hooks is a tool, which the
// configuration of the server declares as a hook, or an interceptor of an event tenon/<point>.
//
// The environment variable CONFORMANCE_SETUP holds the values that other carriers pass from the manifest and the host.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tenonhq/tenon/internal/jsonline"
	"github.com/tenonhq/tenon/plugins/plugintest/conformance"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

// setup is the configuration of the server.
type setup struct {
	Options      json.RawMessage `json:"options"`
	Hooks        []guest.HookRef `json:"hooks"`
	Interceptors bool            `json:"interceptors"`
}

func main() {
	var s setup
	err := json.Unmarshal([]byte(os.Getenv("CONFORMANCE_SETUP")), &s)
	if err == nil {
		err = run(context.Background(), s, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run answers requests until the input ends.
func run(ctx context.Context, s setup, in io.Reader, out io.Writer) error {
	plugin := conformance.New(sdk.CarrierMCP)
	plugin.Exit = os.Exit
	req := &guest.StartRequest{Options: s.Options, Hooks: s.Hooks}
	for _, t := range plugin.Tools() {
		req.Tools = append(req.Tools, t.Definition().ID)
	}
	g := guest.New(plugin)
	// The server keeps the plugin's values itself: MCP has no such ability.
	if err := g.Start(ctx, req, sdktest.New(plugin, sdktest.Options{Options: s.Options})); err != nil {
		return err
	}
	conn := jsonline.New(stdio{in, out})
	srv := &server{setup: s, guest: g, plugin: plugin, conn: conn}
	defer srv.requests.Wait()
	if err := conn.Serve(func(m *jsonline.Message) { srv.receive(ctx, m) }); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// stdio is a connection over the standard streams.
type stdio struct {
	io.Reader
	io.Writer
}

// Close does nothing: the streams end with the process.
func (stdio) Close() error { return nil }
