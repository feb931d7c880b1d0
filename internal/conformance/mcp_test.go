package conformance_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/tenonhq/tenon/internal/conformance"
	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// mcpServer returns the configuration of the suite's MCP server for a case.
func mcpServer(t *testing.T, c Case, interceptors bool) mcp.Server {
	t.Helper()
	s := serverSetup{Options: c.Options, Interceptors: interceptors}
	server := mcp.Server{Name: conformance.Name, Transport: mcp.TransportStdio, Command: program(t), Cwd: t.TempDir(), Own: true}
	for i, d := range c.Description.Hooks {
		hook, err := hookpoint.Hook(&d, "hook", nil)
		if err != nil {
			t.Fatal(err)
		}
		s.Hooks = append(s.Hooks, guest.HookRef{Point: hook.Point, Name: hook.Name})
		if !interceptors {
			d.Name = hook.Name
			server.Hooks = append(server.Hooks, sdk.MCPHookConfig{Tool: hookTool + strconv.Itoa(i), HookDescription: d})
		}
	}
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	server.Env = map[string]string{guestEnv: guestMCP, "CONFORMANCE_SETUP": string(raw)}
	return server
}

// mcpPlugin returns a server as a plugin. The plugin of a known server has its tools and interceptors from the start.
func mcpPlugin(t *testing.T, s mcp.Server, known bool) *mcp.Plugin {
	t.Helper()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	o := mcp.Options{Dir: t.TempDir()}
	if known {
		definition, err := mcp.Probe(t.Context(), s, sdk.Project{Directory: o.Dir, Worktree: o.Dir}, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := mcp.Approve(mcp.FilePins(o.Dir), s, definition); err != nil {
			t.Fatal(err)
		}
	}
	return mcp.New(s, o)
}

// Features that MCP lacks.
var mcpSkips = map[string]string{
	"start/options and project": "a server receives neither",
	"start/failure":             "a server that does not start is restarted in the background; mcp tests that",
	"tools/definitions":         "a tool of a server has no permission key, no deadline and no preparation of its own",
	"tools/echo":                "a result of a server has no title and no metadata, and a call no session",
	"tools/error":               "the host says which server the error is of",
	"tools/concurrency":         "the host says which server the error is of",
	"tools/progress":            "progress has a message and a number, no metadata",
	"auth":                      "an MCP server signs in its own users only",
	"models":                    "an MCP server has no models",
	"abilities":                 "a server asks for sampling, elicitation and roots only",
}

// mcpCarrier is an MCP server of which tools are configured as hooks.
func mcpCarrier(known bool) Carrier {
	return Carrier{
		Name: "mcp", Foreign: true, ToolID: func(id string) string { return conformance.Name + "_" + id }, Skips: mcpSkips,
		Open: func(t *testing.T, c Case) sdk.Plugin {
			return mcpPlugin(t, mcpServer(t, c, false), known)
		},
	}
}

// interceptorCarrier is an MCP server with interceptors of events of our own.
func interceptorCarrier() Carrier {
	skips := map[string]string{
		"gates":                         "an interceptor refuses or does not; it cannot allow, ask, halt or go on",
		"points/turn.stop":              "an interceptor cannot allow",
		"answers/changes":               "an interceptor answers with a payload, in which many changes of one place are one",
		"order/two hooks of one plugin": "the interceptors of one server at one point are one hook",
	}
	for name, reason := range mcpSkips {
		skips[name] = reason
	}
	return Carrier{
		Name: "mcp interceptors", Foreign: true, ToolID: func(id string) string { return conformance.Name + "_" + id }, Skips: skips,
		Open: func(t *testing.T, c Case) sdk.Plugin {
			p := mcpPlugin(t, mcpServer(t, c, true), true)
			return &described{p, c.Description.Hooks, func(h *sdk.Hook) bool { return h.Name == "interceptors tenon/"+string(h.Point) }}
		},
	}
}

// hooking is a plugin with hooks.
type hooking interface {
	sdk.Plugin
	sdk.Hooker
}

// described gives the hooks of a plugin the names, fields, policies and deadlines of a case, for which its carrier has no words.
type described struct {
	hooking
	hooks []sdk.HookDescription
	is    func(h *sdk.Hook) bool // one of the hooks; the others are left out
}

func (d *described) Hooks() []sdk.Hook {
	var out []sdk.Hook
	for _, own := range d.hooking.Hooks() {
		for _, h := range d.hooks {
			if h.Point != string(own.Point) || !d.is(&own) {
				continue
			}
			if hook, err := hookpoint.Hook(&h, "hook", own.Remote); err == nil {
				hook.Handler = own.Handler
				out = append(out, hook)
			}
		}
	}
	return out
}

func (d *described) Tools() []sdk.Tool {
	if source, ok := d.hooking.(sdk.ToolSource); ok {
		return source.Tools()
	}
	return nil
}

func TestMCP(t *testing.T) {
	t.Parallel()
	Run(t, mcpCarrier(true))
}

func TestInterceptors(t *testing.T) {
	t.Parallel()
	Run(t, interceptorCarrier())
}
