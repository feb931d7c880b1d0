package view

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/sdk"
)

// TestAsksNamesEveryArgument: this is so for tools of servers and plugins, whatever their arguments are called.
func TestAsksNamesEveryArgument(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		request sdk.PermissionRequest
		body    string
		notes   []string
	}{
		"a command of a server": {
			request: sdk.PermissionRequest{
				Permission: "ssh_run", Patterns: []string{"*"}, Metadata: sdk.Object{"tool": "ssh_run", "server": "ssh"},
				Args: []byte(`{"command": "uptime", "host": "prod-db", "stdin": "rm -rf /"}`),
			},
			body: "command: uptime\nhost: prod-db\nstdin: rm -rf /",
		},
		"a directory of a command": {
			request: sdk.PermissionRequest{
				Permission: "bash", Patterns: []string{"make install"}, Metadata: sdk.Object{"tool": "bash", "command": "make install"},
				Args: []byte(`{"command": "make install", "workdir": "../other", "timeout": 5, "stdin": "yes"}`),
			},
			body: "make install\nstdin: yes", notes: []string{"in the directory ../other"},
		},
		"a command of a plugin, whose argument is not what would be allowed": {
			request: sdk.PermissionRequest{
				Permission: "bash", Patterns: []string{"rm *"}, Metadata: sdk.Object{"tool": "deploy", "diff": "--- a"}, Args: []byte(`{"command": "ls", "workdir": "a"}`),
			},
			body: "rm *\ncommand: ls\nworkdir: a",
		},
		"a task": {
			request: sdk.PermissionRequest{
				Permission: "task", Patterns: []string{"general"}, Metadata: sdk.Object{"tool": "task"},
				Args: []byte(`{"subagent_type": "general", "prompt": "delete everything"}`),
			},
			body: "prompt: delete everything",
		},
		"a plugin's tool with a pattern": {
			request: sdk.PermissionRequest{
				Permission: "deploy", Patterns: []string{"prod"}, Metadata: sdk.Object{"tool": "deploy"}, Args: []byte(`{"to": "prod", "force": true}`),
			},
			body: "force: true\nto: prod",
		},
		"a file that the question names": {
			request: sdk.PermissionRequest{
				Permission: "read", Patterns: []string{"a.go"}, Metadata: sdk.Object{"tool": "read"}, Args: []byte(`{"filePath": "a.go"}`),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.request.Agent = sdk.AgentBuild
			asked := Asks(&c.request, "/p")
			if diff := cmp.Diff(c.body, asked.Body); diff != "" {
				t.Errorf("body (-want +have):\n%s", diff)
			}
			if diff := cmp.Diff(c.notes, asked.Notes); diff != "" {
				t.Errorf("notes (-want +have):\n%s", diff)
			}
		})
	}
}
