package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/tenonhq/tenon/internal/conformance"
	"github.com/tenonhq/tenon/internal/jsonline"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

// serverSetup is the configuration of the server: the values that other carriers pass from the manifest and the host.
type serverSetup struct {
	Options      json.RawMessage `json:"options"`
	Hooks        []guest.HookRef `json:"hooks"`
	Interceptors bool            `json:"interceptors"`
}

// runServer is the plugin of the suite as an MCP server. Each of its hooks is a tool, which the configuration of the server declares as a hook,
// or an interceptor of an event tenon/<point>. The environment variable CONFORMANCE_SETUP holds a serverSetup. It answers requests until the input
// ends.
func runServer(ctx context.Context, in io.Reader, out io.Writer) error {
	var s serverSetup
	if err := json.Unmarshal([]byte(os.Getenv("CONFORMANCE_SETUP")), &s); err != nil {
		return err
	}
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
	conn := jsonline.New(serverStreams{in, out})
	srv := &mcpGuest{serverSetup: s, guest: g, plugin: plugin, conn: conn}
	defer srv.requests.Wait()
	if err := conn.Serve(func(m *jsonline.Message) { srv.receive(ctx, m) }); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// serverStreams is a connection over the standard streams.
type serverStreams struct {
	io.Reader
	io.Writer
}

// Close does nothing: the streams end with the process.
func (serverStreams) Close() error { return nil }
