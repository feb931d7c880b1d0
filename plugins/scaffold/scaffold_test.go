package scaffold_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/plugintest"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/plugins/scaffold"
	"github.com/tenonhq/tenon/plugins/scaffold/scaffoldtest"
	"github.com/tenonhq/tenon/plugins/wasm"
	"github.com/tenonhq/tenon/sdk"
)

// TestBuildsAndPasses: what is written builds and passes its own tests at once, without a network.
func TestBuildsAndPasses(t *testing.T) {
	t.Parallel()
	for _, kind := range scaffold.Kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			carrier, lang, _ := strings.Cut(kind, " ")
			dir := filepath.Join(t.TempDir(), "new")
			files, err := scaffold.Write(dir, scaffold.Options{Name: "my-plugin.x", Carrier: carrier, Lang: lang, SDK: tenon.SDKSource})
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range files {
				text, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil || strings.Contains(string(text), "{{"+".") {
					t.Errorf("%s: %v, or a template's field was left in it", name, err)
				}
			}
			if lang == "rust" && carrier != "mcp" {
				return // scripts of cmd/tenon build and test it
			}
			build(t, dir)
			wantManifest(t, dir)
			switch {
			case carrier == "mcp":
				speaksMCP(t, dir)
			case lang != "go":
				wantDescription(t, dir)
			}
			switch {
			case kind == "mcp node":
				runIn(t, dir, nil, "node", "--test")
			case lang == "go":
				if out := runIn(t, dir, nil, "gofmt", "-l", "."); out != "" {
					t.Errorf("not formatted: %s", out)
				}
				runIn(t, dir, nil, "go", "vet", "./...")
				runIn(t, dir, nil, "go", "test", "./...")
			}
		})
	}
}

// build runs the build command of the manifest, if it has one.
func build(t *testing.T, dir string) {
	t.Helper()
	build := extension(t, dir).Build
	if build == nil {
		return
	}
	env := maps.Clone(build.Env)
	if build.Command[0] == "rustc" {
		env = map[string]string{"PATH": scaffoldtest.RustDir(t) + string(os.PathListSeparator) + os.Getenv("PATH")}
	}
	// The shell finds the compiler by the PATH in env.
	runIn(t, dir, env, "sh", append([]string{"-c", `exec "$@"`, "sh"}, build.Command...)...)
}

// wantDescription compares the manifest of a built plugin with its code.
func wantDescription(t *testing.T, dir string) {
	t.Helper()
	own := extension(t, dir)
	var code sdk.Description
	if own.Runtime.Type == string(sdk.CarrierWASM) {
		code = moduleDescription(t, filepath.Join(dir, own.Runtime.Module))
	} else {
		command := own.Runtime.Command
		if strings.HasPrefix(command[0], "./") {
			command[0] = filepath.Join(dir, command[0])
		}
		if err := json.Unmarshal([]byte(runIn(t, dir, nil, command[0], append(command[1:], "--describe")...)), &code); err != nil {
			t.Fatal(err)
		}
	}
	own.Runtime, own.Build = nil, nil
	if diff := cmp.Diff(normal(t, own), normal(t, code)); diff != "" {
		t.Errorf("plugin.json and the code differ (-plugin.json +code):\n%s", diff)
	}
}

// normal returns a description as its JSON value.
func normal(t *testing.T, d sdk.Description) (out any) {
	t.Helper()
	text, err := json.Marshal(d)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func moduleDescription(t *testing.T, path string) sdk.Description {
	t.Helper()
	r := wasm.New(wasm.Options{CacheDir: plugintest.CompiledModules(t.TempDir())})
	d, err := r.Describe(t.Context(), remote.Unit{Program: path})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// speaksMCP sends requests to the server of a package until its input ends.
func speaksMCP(t *testing.T, dir string) {
	t.Helper()
	p, err := manifest.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	server := p.Servers["my-plugin.x"]
	name := strings.ReplaceAll(server.Command, "${PLUGIN_ROOT}", dir)
	if strings.HasPrefix(name, "./") {
		name = filepath.Join(dir, name)
	}
	var args []string
	for _, arg := range server.Args {
		args = append(args, strings.ReplaceAll(arg, "${PLUGIN_ROOT}", dir))
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"}}}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"nope","arguments":{}}}
{"jsonrpc":"2.0","id":5,"method":"nope"}
`)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(out), `": `, `":`)), "\n")
	wants := []string{`"protocolVersion":"2025-06-18"`, `"name":"greet"`, `Hello, Ada!`, `"isError":true`, `-32601`}
	if len(answers) != len(wants) {
		t.Fatalf("answers %q, want %d", answers, len(wants))
	}
	for i, want := range wants {
		if !strings.Contains(answers[i], want) {
			t.Errorf("answer %s, want %s in it", answers[i], want)
		}
	}
}

func wantManifest(t *testing.T, dir string) {
	t.Helper()
	p, err := manifest.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Warnings) > 0 {
		t.Errorf("warnings: %v", p.Warnings)
	}
}

// extension returns tenon's part of a manifest.
func extension(t *testing.T, dir string) sdk.Description {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "plugin.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Name, Version, Description string
		Extensions                 map[string]sdk.Description `json:"extensions"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	d := m.Extensions[sdk.ExtensionNamespace]
	d.Name, d.Version, d.Summary = m.Name, m.Version, m.Description
	return d
}

// runIn runs a command with the module cache alone.
func runIn(t *testing.T, dir string, env map[string]string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=readonly", "GOPROXY=off", "GOWORK=off")
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		dir  string
		opts scaffold.Options
		is   error
		says string
	}{
		"a bad name":                 {t.TempDir(), scaffold.Options{Name: "Bad Name", Carrier: "wasm"}, sdk.ErrManifest, "a-z"},
		"a folder with files":        {full, scaffold.Options{Name: "x", Carrier: "wasm"}, scaffold.ErrExists, full},
		"an unknown language":        {t.TempDir(), scaffold.Options{Name: "x", Carrier: "wasm", Lang: "cobol"}, nil, "wasm go"},
		"a file that is not written": {t.TempDir(), scaffold.Options{Name: "x", Carrier: "wasm", SDK: fstest.MapFS{}}, fs.ErrNotExist, "hookpoint"},
		"an unknown carrier":         {t.TempDir(), scaffold.Options{Name: "x", Carrier: "pigeon"}, nil, "process go"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.opts.SDK == nil {
				c.opts.SDK = tenon.SDKSource
			}
			before, _ := os.ReadDir(c.dir)
			_, err := scaffold.Write(c.dir, c.opts)
			if after, _ := os.ReadDir(c.dir); len(after) != len(before) {
				t.Errorf("the folder has %d files, had %d", len(after), len(before))
			}
			if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Write = %v", err)
			}
		})
	}
}
