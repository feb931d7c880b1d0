package scaffold_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonhq/tenon"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/scaffold"
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
			switch {
			case kind == "mcp node":
				runIn(t, dir, nil, "node", "--test")
				wantManifest(t, dir)
				return
			case lang != "go":
				said := describes(t, dir)
				if said.Name != "my-plugin.x" || len(said.Hooks) != 1 || len(said.Tools) != 1 || said.Tools[0].ID != "my-plugin_x_greet" {
					t.Errorf("it describes itself as %+v", said)
				}
				wantManifest(t, dir)
				return
			}
			if out := runIn(t, dir, nil, "gofmt", "-l", "."); out != "" {
				t.Errorf("not formatted: %s", out)
			}
			runIn(t, dir, nil, "go", "vet", "./...")
			runIn(t, dir, nil, "go", "test", "./...")
			build := buildOf(t, dir)
			runIn(t, dir, build.Env, build.Command[0], build.Command[1:]...)
			wantManifest(t, dir)
		})
	}
}

// describes builds a plugin and asks for its description.
func describes(t *testing.T, dir string) sdk.Description {
	t.Helper()
	own := extension(t, dir)
	if own.Build != nil {
		runIn(t, dir, own.Build.Env, own.Build.Command[0], own.Build.Command[1:]...)
	}
	command := own.Runtime.Command
	if strings.HasPrefix(command[0], "./") {
		command[0] = filepath.Join(dir, command[0])
	}
	var d sdk.Description
	if err := json.Unmarshal([]byte(runIn(t, dir, nil, command[0], append(command[1:], "--describe")...)), &d); err != nil {
		t.Fatal(err)
	}
	return d
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

// buildOf returns the build command of a package that is not built yet.
func buildOf(t *testing.T, dir string) *sdk.Build {
	t.Helper()
	build := extension(t, dir).Build
	if build == nil {
		t.Fatal("the manifest names no build command")
	}
	return build
}

// extension returns tenon's part of a manifest.
func extension(t *testing.T, dir string) sdk.Description {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "plugin.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Extensions map[string]sdk.Description `json:"extensions"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m.Extensions[sdk.ExtensionNamespace]
}

// runIn runs a command with the module cache alone.
func runIn(t *testing.T, dir string, env map[string]string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "GOFLAGS=-mod=readonly", "GOPROXY=off", "GOWORK=off")
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
		"a bad name":          {t.TempDir(), scaffold.Options{Name: "Bad Name", Carrier: "wasm"}, sdk.ErrManifest, "a-z"},
		"a folder with files": {full, scaffold.Options{Name: "x", Carrier: "wasm"}, scaffold.ErrExists, full},
		"an unknown language": {t.TempDir(), scaffold.Options{Name: "x", Carrier: "wasm", Lang: "cobol"}, nil, "wasm go"},
		"an unknown carrier":  {t.TempDir(), scaffold.Options{Name: "x", Carrier: "pigeon"}, nil, "process go"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.opts.SDK = tenon.SDKSource
			_, err := scaffold.Write(c.dir, c.opts)
			if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Write = %v", err)
			}
		})
	}
}
