package mcp_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/sdk"
)

var installed sync.Mutex

// npmServer returns a server of testdata/npm, run by node itself; script is its path below @modelcontextprotocol. All are installed once.
func npmServer(t testing.TB, name, script string, args ...string) mcp.Server {
	t.Helper()
	dir, err := filepath.Abs("testdata/npm")
	if err != nil {
		t.Fatal(err)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatalf("the tests need node: %v", err)
	}
	install(t, dir)
	return mcp.Server{
		Name: name, Transport: mcp.TransportStdio, Command: node, Own: true, Timeout: 60 * time.Second,
		Args: append([]string{filepath.Join(dir, "node_modules", "@modelcontextprotocol", script)}, args...),
	}
}

func install(t testing.TB, dir string) {
	t.Helper()
	installed.Lock()
	defer installed.Unlock()
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err == nil {
		return
	}
	cmd := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
}

// reference is a server with a call of each of its tools. "*" stands for what the call returns.
type reference struct {
	server mcp.Server
	calls  []referenceCall
}

type referenceCall struct{ tool, args, want string }

func references(t testing.TB) (list []reference, dir string) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "a.txt"), "first line\nsecond line\n")
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	path := func(name string) string { return `"` + filepath.ToSlash(filepath.Join(dir, name)) + `"` }
	memory := npmServer(t, "memory", "server-memory/dist/index.js")
	memory.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(dir, "memory.jsonl")}
	sqlite := npmServer(t, "sqlite", "../mcp-server-sqlite/dist/cli.js")
	sqlite.Env = map[string]string{"SQLITE_DB_PATH": filepath.Join(dir, "people.db")}
	return []reference{
		{npmServer(t, "everything", "server-everything/dist/index.js"), []referenceCall{
			{"echo", `{"message":"hello"}`, "hello"},
			{"get-annotated-message", `{"messageType":"error","includeImage":true}`, "rror"},
			{"get-env", `{}`, "PATH"},
			{"get-resource-links", `{"count":2}`, "resource"},
			{"get-resource-reference", `{"resourceType":"Text","resourceId":1}`, "resource"},
			{"get-structured-content", `{"location":"New York"}`, "temperature"},
			{"get-sum", `{"a":2,"b":3}`, "5"},
			{"get-tiny-image", `{}`, ""},
			{"gzip-file-as-resource", `{"name":"x.gz","data":"data:text/plain;base64,aGVsbG8=","outputType":"resource"}`, "gz"},
			{"toggle-simulated-logging", `{}`, "ogging"},
			{"toggle-subscriber-updates", `{}`, "ubscri"},
			{"trigger-long-running-operation", `{"duration":0.2,"steps":2}`, "Steps: 2"},
			{"trigger-elicitation-request", `{}`, ""},
			{"trigger-url-elicitation", `{"url":"https://example.com/x"}`, ""},
			{"trigger-sampling-request", `{"prompt":"say hello","maxTokens":10}`, "endTurn"},
			{"get-roots-list", `{}`, "file://"},
			{"simulate-research-query", `{"topic":"plugins","ambiguous":true}`, "plugins"},
		}},
		{npmServer(t, "filesystem", "server-filesystem/dist/index.js", dir), []referenceCall{
			{"list_allowed_directories", `{}`, filepath.Base(dir)},
			{"read_file", `{"path":` + path("a.txt") + `}`, "second line"},
			{"read_text_file", `{"path":` + path("a.txt") + `,"head":1}`, "first line"},
			{"read_media_file", `{"path":` + path("a.txt") + `}`, ""},
			{"read_multiple_files", `{"paths":[` + path("a.txt") + `]}`, "first line"},
			{"write_file", `{"path":` + path("b.txt") + `,"content":"one\n"}`, "b.txt"},
			{"edit_file", `{"path":` + path("b.txt") + `,"edits":[{"oldText":"one","newText":"two"}]}`, "+two"},
			{"create_directory", `{"path":` + path("sub/deep") + `}`, "deep"},
			{"list_directory", `{"path":` + path("") + `}`, "a.txt"},
			{"list_directory_with_sizes", `{"path":` + path("") + `}`, "a.txt"},
			{"directory_tree", `{"path":` + path("") + `}`, "a.txt"},
			{"move_file", `{"source":` + path("b.txt") + `,"destination":` + path("c.txt") + `}`, "c.txt"},
			{"search_files", `{"path":` + path("") + `,"pattern":"**/*.txt"}`, "c.txt"},
			{"get_file_info", `{"path":` + path("c.txt") + `}`, "size"},
		}},
		{memory, []referenceCall{
			{"create_entities", `{"entities":[{"name":"tenon","entityType":"host","observations":["small"]},{"name":"go","entityType":"language","observations":[]}]}`, "tenon"},
			{"create_relations", `{"relations":[{"from":"tenon","to":"go","relationType":"is written in"}]}`, "is written in"},
			{"add_observations", `{"observations":[{"entityName":"tenon","contents":["quick"]}]}`, "quick"},
			{"read_graph", `{}`, "quick"},
			{"search_nodes", `{"query":"small"}`, "tenon"},
			{"open_nodes", `{"names":["go"]}`, "language"},
			{"delete_observations", `{"deletions":[{"entityName":"tenon","observations":["quick"]}]}`, ""},
			{"delete_relations", `{"relations":[{"from":"tenon","to":"go","relationType":"is written in"}]}`, ""},
			{"delete_entities", `{"entityNames":["tenon","go"]}`, ""},
		}},
		{sqlite, []referenceCall{
			{"create-table", `{"name":"people","columns":[{"name":"id","type":"INTEGER","primaryKey":true},{"name":"name","type":"TEXT"}]}`, "created successfully"},
			{"list-tables", `{}`, "people"},
			{"describe-table", `{"tableName":"people"}`, `"columnCount": 2`},
			{"insert-record", `{"table":"people","data":{"id":1,"name":"Ada"}}`, `"insertedId": 1`},
			{"execute", `{"sql":"INSERT INTO people VALUES (2, 'Bob')"}`, `"changes": 1`},
			{"transaction", `{"statements":["INSERT INTO people VALUES (3, 'Cyd')","INSERT INTO people VALUES (4, 'Dan')"]}`, `"totalStatements": 2`},
			{"update-record", `{"table":"people","data":{"name":"Bea"},"where":"id = 2"}`, `"changes": 1`},
			{"delete-record", `{"table":"people","where":"id = 4"}`, `"changes": 1`},
			{"query", `{"sql":"SELECT group_concat(name) AS names FROM people"}`, `"names": "Ada,Bea,Cyd"`},
			{"drop-table", `{"name":"people"}`, "dropped successfully"},
		}},
	}, dir
}

// Every tool of the reference servers can be called, and the test names each.
func TestReferenceServers(t *testing.T) {
	t.Parallel()
	list, dir := references(t)
	for _, r := range list {
		t.Run(r.server.Name, func(t *testing.T) {
			t.Parallel()
			h := newTestHost(t)
			h.project.Directory, h.project.Worktree = dir, dir // the root that the file server works in
			h.sample = func(sdk.SampleRequest) (*sdk.SampleResult, error) {
				return &sdk.SampleResult{Text: "sampled", Model: "a/b", FinishReason: "stop"}, nil
			}
			p := begin(t, h, r.server, mcp.Options{})
			var called []string
			for _, c := range r.calls {
				id := toolID(r.server.Name, c.tool)
				called = append(called, id)
				result, err := runOn(t.Context(), t, p, id, c.args, &toolHost{})
				if err != nil {
					t.Errorf("%s: %v", id, err)
				} else if !strings.Contains(result.Output, c.want) {
					t.Errorf("%s = %q, want %q in it", id, result.Output, c.want)
				}
			}
			for _, one := range p.Tools() {
				id := one.Definition().ID
				if !slices.Contains(called, id) && !strings.HasSuffix(id, "_resource") && !strings.HasSuffix(id, "_list_resources") {
					t.Errorf("%s was not called", id)
				}
			}
			if r.server.Name == "everything" {
				testEverything(t, p)
			}
		})
	}
}

func toolID(server, tool string) string { return server + "_" + tool }

// testEverything reads resources and prompts of the server that has both.
func testEverything(t *testing.T, p *mcp.Plugin) {
	list := mustRun(t, p, "everything_list_resources", "{}").Output
	uri, _, _ := strings.Cut(list, " - ")
	args, err := json.Marshal(map[string]string{"uri": uri})
	if err != nil {
		t.Fatal(err)
	}
	if r := mustRun(t, p, "everything_read_resource", string(args)); r.Output == "" && len(r.Attachments) == 0 {
		t.Errorf("the resource %s is empty", uri)
	}
	commands, err := p.Commands(t.Context())
	if err != nil || len(commands) == 0 {
		t.Fatalf("Commands = %v, %v", commands, err)
	}
	for _, c := range commands {
		arguments := "Rome Italy"
		switch c.Name {
		case "everything:simple-prompt":
			arguments = ""
		case "everything:completable-prompt":
			arguments = "Engineering Alice"
		case "everything:resource-prompt":
			arguments = "Text 1"
		}
		if parts, err := p.RenderCommand(t.Context(), c.Name, arguments); err != nil || len(parts) == 0 {
			t.Errorf("%s: %v, %v", c.Name, parts, err)
		}
	}
}
