package archtest

// policyFile is where messages send those who want a rule to allow more.
const policyFile = "internal/archtest/policy.go"

// anywhere in a list of folders stands for all of them.
const anywhere = "*"

// trees returns for each top folder the folders of this module whose packages it may import, its own among them. The arrows go
// one way: cmd → host → hooks → sdk, and what extends the host sees the sdk alone. A whole path stands for one package: what starts
// processes does it through internal/child, what confines them through internal/confine, what takes schemas from strangers checks them with internal/schemacost, what shows their
// words cleans them with internal/visible. Tests may import more.
func trees() map[string][]string {
	return map[string][]string{
		"sdk":      {"sdk"},
		"hooks":    {"hooks", "sdk"},
		"host":     {"host", "hooks", "sdk", "internal/schemacost", "internal/nearest", "internal/secret", "internal/projectfs"},
		"builtin":  {"builtin", "sdk", "internal/child", "internal/projectfs", "internal/confine", "internal/sandbox"},
		"plugins":  {"plugins", "hooks", "sdk", "internal/child", "internal/confine", "internal/schemacost", "internal/nearest", "internal/projectfs", "internal/visible"},
		"mcp":      {"mcp", "hooks", "sdk", "internal/child", "internal/confine", "internal/schemacost", "internal/secret"},
		"examples": {"examples", "sdk"},
		".":        {}, // sources to write out, no code
		"cmd":      {anywhere},
		"internal": {anywhere},
	}
}

// libraries returns for each outside library the folders behind which it lives. A library in two places is two
// places to change when it changes: wrap it in one instead. A path within a library allows that part of it alone: openai-go as a
// whole, and the clients and servers of mcp-go, cost every start time and memory for what we do ourselves.
func libraries() map[string][]string {
	return map[string][]string{
		"github.com/tetratelabs/wazero":                     {"plugins/wasm"},
		"github.com/hashicorp/go-plugin":                    {"plugins/process", "sdk/process"},
		"github.com/hashicorp/go-hclog":                     {"plugins/process", "sdk/process"},
		"google.golang.org/grpc":                            {"plugins/process", "sdk/process"},
		"google.golang.org/protobuf":                        {"plugins/process", "sdk/process"},
		"github.com/mark3labs/mcp-go/mcp":                   {"mcp"},
		"github.com/openai/openai-go/v3/packages/ssestream": {"builtin/providers/openai"},
		"github.com/knadh/koanf":                            {"host/config"},
		"github.com/tailscale/hujson":                       {"host/config"},
		"github.com/google/jsonschema-go":                   {"host", "plugins", "mcp", "internal/schemacost"},
		"modernc.org/sqlite":                                {"host/store/sqlite"},
		"github.com/gofrs/flock":                            {"host/store/sqlite", "plugins"},
		"github.com/klauspost/compress":                     {"host/store/sqlite"},
		"mvdan.cc/sh/v3":                                    {"builtin/tools/shell", "host/permission"},
		"golang.org/x/net":                                  {"builtin/tools/web", "plugins/ability"},
		"github.com/bmatcuk/doublestar/v4":                  {"builtin/tools/search", "builtin/instructions"},
		"github.com/aymanbagabas/go-udiff":                  {"builtin/tools/files", "cmd/tenon"},
		"github.com/goccy/go-yaml":                          {"builtin/internal/frontmatter"},
		"github.com/spf13/cobra":                            {"cmd/tenon"},
		"github.com/charmbracelet/log":                      {"cmd/tenon"},
		"golang.org/x/term":                                 {"cmd/tenon"},
		"golang.org/x/sys":                                  {"cmd/tenon", "builtin/tools/shell", "internal/child", "internal/confine", "builtin/internal/gitkeep", "host/store/sqlite", "host/snapshot", "plugins", "mcp", "sdk/process"},
		"golang.org/x/time":                                 {"plugins/ability"},
		"github.com/fsnotify/fsnotify":                      {"cmd/tenon"},
	}
}

// testLibraries are outside libraries that tests may use, wherever they are. Packages that are test suites for others
// (their names end in "test") count as tests.
func testLibraries() []string {
	return []string{
		"github.com/google/go-cmp", "go.uber.org/goleak", "github.com/rogpeppe/go-internal",
		"github.com/bufbuild/protocompile", "github.com/mark3labs/mcp-go",
		"github.com/google/jsonschema-go", // tests of tools check their schemas
	}
}

// maxLines is the length at which a file is to be split. Generated files are excepted, and tables of data
// that say so with the comment //arch:table.
const maxLines = 600

// projectFiles are the folders whose packages read and write files of the project.
func projectFiles() []string {
	return []string{
		"builtin/internal/paths", "builtin/internal/sources", "builtin/tools/files", "builtin/tools/search", "builtin/tools/search/ignore",
		"builtin/tools/interact", "builtin/instructions", "builtin/agents", "builtin/commands", "builtin/skills", "host/input", "host/config",
	}
}

// bannedNames are names of packages that say nothing about what is in them.
func bannedNames() []string {
	return []string{"util", "utils", "common", "helper", "helpers", "types", "models", "misc", "shared"}
}

// panics returns the functions that may panic, as folder.function, with the reason why that is right.
func panics() map[string]string {
	return map[string]string{
		"sdk.quote":                           "a string always encodes",
		"sdk.New":                             "the random source of the system is documented never to fail",
		"hooks.JSON":                          "strings and numbers always encode",
		"builtin/providers/catalog.Providers": "its table is part of the program, and a test decodes it",
		"internal/fakellm.Overflow":           "the mistake of a test's author",
		"internal/fakellm.appendJSON":         "what tests script always encodes",
	}
}

// leakExempt returns the packages that start goroutines and whose tests need not look for leaks, with the reason.
func leakExempt() map[string]string {
	return map[string]string{}
}

// documented are the trees in which every exported name needs a comment: the ones that plugin authors read.
func documented() []string { return []string{"sdk", "hooks"} }
