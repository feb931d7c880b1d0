package archtest

// policyFile is the file of the exceptions, for messages.
const policyFile = "internal/archtest/policy_test.go"

// anywhere stands for all folders.
const anywhere = "*"

// trees returns the folders of this module that each top folder, or one package, may import, itself included. The arrows go one way:
// cmd → host → hooks → sdk, and extensions of the host import only sdk. A whole path is one package: processes are started with internal/child
// and confined with internal/confine, foreign schemas are checked with internal/schemacost or internal/toolschema, and foreign text is cleaned
// with internal/visible. Tests may import more.
func trees() map[string][]string {
	return map[string][]string{
		"sdk":      {"sdk", "internal/jsontext", "internal/value", "internal/hookpoint", "internal/jsonline"},
		"hooks":    {"hooks", "sdk", "internal/value", "internal/hookpoint", "internal/visible"},
		"host":     {"host", "hooks", "sdk", "internal/jsontext", "internal/jsonpointer", "internal/schemacost", "internal/checked", "internal/nearest", "internal/secret", "internal/projectfs", "internal/value", "internal/envname", "internal/atomicfile", "internal/visible", "internal/toolschema", "internal/npm", "internal/requestfield", "internal/toolname", "internal/lazyregexp", "internal/media", "internal/pause", "internal/gitignore", "internal/filelock"},
		"builtin":  {"builtin", "sdk", "docs", "internal/checked", "internal/value", "internal/jsontext", "internal/jsonpointer", "internal/toolschema", "internal/secret", "internal/child", "internal/projectfs", "internal/confine", "internal/sandbox", "internal/atomicfile", "internal/visible", "internal/httpx", "internal/frontmatter", "internal/npm", "internal/oauth", "internal/requestfield", "internal/toolname", "internal/lazyregexp", "internal/media", "internal/nearest", "internal/ongoing", "internal/linediff", "internal/gitignore"},
		"plugins":  {"plugins", "hooks", "sdk", "internal/jsonpointer", "internal/checked", "internal/child", "internal/confine", "internal/schemacost", "internal/nearest", "internal/projectfs", "internal/visible", "internal/value", "internal/envname", "internal/requestfield", "internal/atomicfile", "internal/hookpoint", "internal/httpx", "internal/frontmatter", "internal/jsontext", "internal/jsonline", "internal/filelock", "internal/lazyregexp", "internal/pause", "internal/ongoing"},
		"mcp":      {"mcp", "hooks", "sdk", "internal/checked", "internal/child", "internal/confine", "internal/schemacost", "internal/secret", "internal/value", "internal/atomicfile", "internal/hookpoint", "internal/visible", "internal/httpx", "internal/toolschema", "internal/jsontext", "internal/credentials", "internal/oauth", "internal/lazyregexp", "internal/pause", "internal/ongoing", "internal/linediff", "internal/media"},
		"examples": {"examples", "sdk"},
		".":        {}, // sources to write out, no code
		"docs":     {},
		"cmd":      {anywhere},
		"internal": {anywhere},

		// parts of every plugin
		"internal/jsontext":    {},
		"internal/value":       {"internal/jsontext", "internal/jsonpointer"},
		"internal/jsonpointer": {},
		"internal/hookpoint":   {"sdk", "internal/jsontext"},
		"internal/jsonline":    {"internal/jsontext"},
	}
}

// layers returns folders whose packages build on each other, each on those before it alone.
func layers() map[string][]string {
	return map[string][]string{
		"cmd/tenon/internal":     {"pages", "terminal", "view", "extensions", "cli", "inspect", "frontend", "manage", "install", "turn", "sessions", "chat", "tui"},
		"cmd/tenon/internal/tui": {"draw", "fuzzy", "list", "edit", "past", "pace", "transcript", "dialog"},
	}
}

// libraries returns the folders that may import each outside library. Wrap a library in one folder, so that its changes concern one place.
// A path within a library allows only that part: all of openai-go, or the clients and servers of mcp-go, would cost each start time and
// memory.
func libraries() map[string][]string {
	return map[string][]string{
		"github.com/tetratelabs/wazero":                     {"plugins/wasm"},
		"github.com/hashicorp/go-plugin":                    {"plugins/process", "sdk/process"},
		"github.com/hashicorp/go-hclog":                     {"plugins/process", "sdk/process"},
		"google.golang.org/grpc":                            {"plugins/process", "sdk/process"},
		"google.golang.org/protobuf":                        {"plugins/process", "sdk/process"},
		"github.com/modelcontextprotocol/go-sdk/auth":       {"mcp/auth"},
		"github.com/modelcontextprotocol/go-sdk/oauthex":    {"mcp/auth"},
		"golang.org/x/oauth2":                               {"mcp/auth", "builtin/providers/internal/vertex"},
		"github.com/mark3labs/mcp-go/mcp":                   {"mcp"},
		"github.com/openai/openai-go/v3/packages/ssestream": {"builtin/providers/internal/wire"},
		"github.com/aws/aws-sdk-go-v2":                      {"builtin/providers/bedrock", "builtin/providers/internal/sigv4"}, // frames; signatures
		"github.com/aws/smithy-go":                          {"builtin/providers/internal/sigv4"},                              // the SDK's interface of logs
		"github.com/knadh/koanf":                            {"host/config"},
		"github.com/tailscale/hujson":                       {"internal/checked", "host/config/opencode", "host/config"},
		"github.com/google/jsonschema-go":                   {"host", "plugins", "mcp", "internal/schemacost", "internal/toolschema"},
		"modernc.org/sqlite":                                {"host/store/sqlite"},
		"github.com/gofrs/flock":                            {"internal/filelock", "host/store/sqlite"},
		"github.com/zalando/go-keyring":                     {"internal/credentials"},
		"github.com/klauspost/compress":                     {"host/store/sqlite"},
		"mvdan.cc/sh/v3":                                    {"builtin/tools/shell"},
		"golang.org/x/net":                                  {"builtin/tools/web", "internal/httpx", "plugins/ability", "plugins/manifest"},
		"github.com/bmatcuk/doublestar/v4":                  {"internal/gitignore", "builtin/tools/search", "builtin/instructions"},
		"github.com/aymanbagabas/go-udiff":                  {"internal/linediff"},
		"github.com/goccy/go-yaml":                          {"internal/frontmatter"},
		"github.com/pelletier/go-toml/v2":                   {"plugins/manifest"},
		"github.com/spf13/cobra":                            {"cmd/tenon"},
		"github.com/spf13/pflag":                            {"cmd/tenon"},
		"charm.land/bubbletea/v2":                           {"cmd/tenon/internal/tui"},
		"charm.land/log/v2":                                 {"cmd/tenon"},
		"github.com/charmbracelet/x/ansi":                   {"cmd/tenon", "internal/markdown"},
		"github.com/yuin/goldmark":                          {"internal/markdown"},
		"golang.org/x/term":                                 {"cmd/tenon"},
		"golang.org/x/sys":                                  {"cmd/tenon", "builtin/tools/shell", "internal/child", "internal/confine", "host/store/sqlite", "host/snapshot", "plugins", "mcp", "sdk/process", "internal/ptytest"},
		"golang.org/x/time":                                 {"plugins/ability"},
		"golang.org/x/text/cases":                           {"internal/projectfs"},
		"golang.org/x/text/unicode/norm":                    {"internal/projectfs", "builtin/tools/files"},
		"github.com/jedisct1/go-minisign":                   {"plugins/signature"},
		"deps.dev/util/semver":                              {"plugins/source"},
		"oras.land/oras-go/v2":                              {"plugins/source/oci"},
		"github.com/opencontainers/go-digest":               {"plugins/source/oci"},
		"github.com/opencontainers/image-spec":              {"plugins/source/oci"},
		"golang.org/x/tools":                                {"internal/lint"},
		"honnef.co/go/tools":                                {"internal/lint"},
	}
}

// testLibraries are outside libraries that tests may use, wherever they are. Packages that are test suites for others
// (their names end in "test") count as tests.
func testLibraries() []string {
	return []string{
		"github.com/charmbracelet/x/vt", "github.com/google/go-cmp", "go.uber.org/goleak", "github.com/rogpeppe/go-internal",
		"github.com/bufbuild/protocompile", "github.com/mark3labs/mcp-go",
		"golang.org/x/mod", // the examples as modules
		"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream", // frames of recorded answers
		"github.com/google/jsonschema-go",                       // tests of tools check their schemas
		"github.com/google/go-containerregistry",                // an OCI registry
	}
}

// maxLines is the maximum length of a file, except generated files and tables of data, which have the comment //arch:table.
const maxLines = 600

// places returns the operations that one package offers to all others.
func places() []place {
	return []place{{
		home: "internal/atomicfile", names: []string{"Rename"}, remedy: "replace files with internal/atomicfile",
		reasons: map[string]string{
			"builtin/internal/gitkeep": "sets changed hooks aside",
			"host/snapshot":            "renames inside the worktree, which links must not leave",
			"host/store/sqlite":        "SQLite writes the copy of a database",
			"mcp/protocol":             "rotates logs",
			"plugins/install":          "moves a directory",
			"plugins/source":           "gives a complete download its digest as its name",
			"plugins/trust":            "moves a directory",
			"plugins/wasm":             "renames files for guests, and a file that wazero looks for by name",
		},
	}, {
		home: "internal/visible", pkg: "unicode", names: []string{"Cc", "Cf", "Zl", "Zp", "C", "Bidi_Control", "IsControl", "IsPrint", "IsGraphic"},
		remedy: "clean text from outside with internal/visible",
		reasons: map[string]string{
			"builtin/skills": "checks names",
		},
	}, {
		home: "internal/httpx", pkg: "net/http", names: []string{"Client", "DefaultClient", "Get", "Head", "Post", "PostForm"},
		remedy: "use the client of the folder, which judges redirects",
		reasons: map[string]string{
			"builtin/tools/web":                 "asks the user before each redirect",
			"builtin/providers/catalog":         "stays with one origin",
			"builtin/providers/signin":          "requests tokens from fixed addresses",
			"mcp/auth":                          "checks each address that a server names",
			"mcp/auth/authtest":                 "is a browser",
			"mcp/protocol":                      "stays with one origin",
			"plugins/ability":                   "compares each redirect with the grants",
			"plugins/source":                    "checks the address of each connection",
			"plugins/source/oci":                "uses the client of plugins/source",
			"examples/process-provider":         "is a plugin",
			"internal/perf/bareclient":          "measures",
			"builtin/providers/internal/wire":   "stays with one origin",
			"builtin/providers/internal/vertex": "stays with one origin",
		},
	}, {
		home: "internal/httpx", pkg: "io", names: []string{"LimitReader", "ReadAll"}, importing: "net/http",
		remedy: "read bodies with internal/httpx",
		reasons: map[string]string{
			"builtin/providers/internal/wire":     "limits the whole exchange",
			"builtin/providers/internal/wiretest": "reads requests in tests",
			"builtin/tools/web":                   "decodes a body that was read",
			"examples/process-provider":           "is a plugin",
			"host/input":                          "reads attached files",
			"internal/fakellm":                    "reads requests in tests",
		},
	}, {
		home: "internal/child", helper: "internal/child", pkg: "os/exec", names: []string{"Command", "CommandContext"},
		remedy: "start processes with internal/child",
		reasons: map[string]string{
			"builtin/commandhooks":          "chooses the shell of a command",
			"builtin/tools/shell":           "has its own groups of processes",
			"cmd/tenon/internal/inspect":    "runs the user's editor",
			"host/snapshot":                 "runs git without the project's settings",
			"internal/perf/bareclient":      "measures",
			"internal/perf/launch":          "measures",
			"internal/testdeps":             "runs npm for tests",
			"plugins/scaffold/scaffoldtest": "runs compilers for tests",
			"plugins/source/sourcetest":     "runs go for tests",
		},
	}, {
		home: "internal/checked", pkg: "encoding/json", names: []string{"Delim"}, remedy: "check JSON that people write with internal/checked",
	}, {
		pkg: "context", names: []string{"Background", "TODO"}, mains: true, remedy: "take the caller's context, or context.WithoutCancel of it",
		reasons: map[string]string{
			"hooks":     "observers outlive the call that makes an engine, and end in Close",
			"sdk/guest": "is bounded by its host, and ending an instance cannot be canceled",
		},
	}, {
		pkg: "text/template", names: []string{"New", "Must", "ParseFS", "ParseFiles", "ParseGlob"},
		remedy: "fill in texts with strings.Replacer: templates call methods by name, so the linker would keep all exported methods of the program",
	}, {
		pkg: "log/slog", remedy: "log through the *slog.Logger of the options", names: []string{
			"Default", "SetDefault", "With", "Debug", "Info", "Warn", "Error", "Log", "LogAttrs", "DebugContext", "InfoContext", "WarnContext", "ErrorContext",
		},
		reasons: map[string]string{"cmd/tenon": "discards what libraries log without a logger"},
	}, {
		pkg: "os", names: []string{"Exit"}, mains: true, remedy: "return an error; only main exits",
		reasons: map[string]string{"sdk/lines": "its Serve is all that main does"},
	}, {
		pkg: "syscall", names: []string{"Exit"}, mains: true, remedy: "return an error; only main exits",
	}, {
		pkg: "os", folders: projectFiles(), remedy: "open it with internal/projectfs, which follows no link out of the project", names: []string{
			"Open", "OpenFile", "OpenRoot", "OpenInRoot", "ReadFile", "ReadDir", "WriteFile", "Create", "CreateTemp", "Stat", "DirFS", "CopyFS",
			"Rename", "Remove", "RemoveAll", "Mkdir", "MkdirAll", "MkdirTemp", "Chmod", "Chown", "Chtimes", "Symlink", "Link", "Truncate",
		},
	}, {
		pkg: "path/filepath", folders: projectFiles(), remedy: "open it with internal/projectfs, which follows no link out of the project",
		names: []string{"EvalSymlinks", "Glob"},
	}}
}

// projectFiles returns the folders whose packages read and write files of the project: a file may be replaced between the check of its name
// and the time it is opened.
func projectFiles() []string {
	return []string{
		"builtin/internal/paths", "builtin/internal/sources", "builtin/tools/files", "builtin/tools/search", "builtin/tools/search/ignore",
		"builtin/tools/interact", "builtin/instructions", "builtin/agents", "builtin/commands", "builtin/skills", "host/input", "host/config",
	}
}

// bannedNames returns names of packages that do not describe their content.
func bannedNames() []string {
	return []string{"util", "utils", "common", "helper", "helpers", "types", "models", "misc", "shared"}
}

// panics returns the functions that may panic, as folder.function, with the reason.
func panics() map[string]string {
	return map[string]string{
		"builtin/agents.builtins":             "its list is part of the program, and a test decodes it",
		"builtin/providers/catalog.Providers": "its table is part of the program, and a test decodes it",
		"internal/fakellm.encode":             "scripts of tests always encode",
	}
}

// leakExempt returns the packages that start goroutines without a check for leaks in their tests, with the reason.
func leakExempt() map[string]string {
	return map[string]string{"internal/perf/bareclient": "a program that waits for its goroutines and ends"}
}

// documented returns the trees in which every exported name needs a comment.
func documented() []string {
	return []string{"sdk", "hooks", "host", "builtin", "plugins", "mcp", "internal", "cmd"}
}
