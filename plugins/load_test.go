package plugins_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

func TestNothingInstalled(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("data", files{trust.LockFile: "garbage"}) // unused
	if l := p.load(); len(l.Items)+len(running(l))+len(l.Warnings) > 0 {
		t.Errorf("loaded %+v, want nothing", l)
	}
}

func TestFindsAndApproves(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("config/plugins/mine", wasmPackage("mine", `"capabilities": [{"name": "kv"}, {"name": "env", "scope": ["TOKEN", "NONE"]}]`))
	p.write("project/.tenon/plugins/theirs", wasmPackage("theirs", ""))
	p.write("project/sub/.tenon/plugins/nearer", wasmPackage("nearer", ""))
	p.write("elsewhere/named", wasmPackage("named", ""))
	p.write("home/dev", wasmPackage("dev", ""))
	p.options.Entries = []plugins.Entry{
		{Path: "theirs", From: "tenon.json:2"},
		{Path: p.path("elsewhere/named"), From: "tenon.json:3"},
		{Path: "~/dev", From: "tenon.json:4"},
	}
	first := p.load()
	if len(running(first)) > 0 || len(pending(first)) != 5 || p.wasm.ran() > 0 {
		t.Fatalf("before approval: %s, ran %d", states(first), p.wasm.ran())
	}
	l := p.approve()
	if got, want := names(l), "theirs named dev mine nearer"; got != want {
		t.Errorf("plugins %q, want %q (%s)", got, want, states(l))
	}
	if i := p.item(l, "theirs"); !i.Project || i.Path != p.path("project/.tenon/plugins/theirs") {
		t.Errorf("item %+v", i)
	}
	at := slices.IndexFunc(p.wasm.opened, func(u remote.Unit) bool { return u.Description.Name == "mine" })
	u := p.wasm.opened[at]
	if !strings.HasPrefix(u.Program, p.path("data/plugins/store")) || len(u.Checksum) != 64 || u.Broker == nil || len(u.Grants) != 2 || u.Env["TOKEN"] != "t0ken" || len(u.Env) != 1 {
		t.Errorf("unit %+v", u)
	}
	if !strings.HasPrefix(u.DataDir, p.path("data/plugins/data/mine-")) {
		t.Errorf("data directory %s", u.DataDir)
	}
	if _, err := os.Stat(u.DataDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the data directory was made before anybody needs it: %v", err)
	}
}

func TestPackageWithoutRuntime(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("config/plugins/s", files{
		"plugin.json":            manifestOf("s", `{"capabilities": [{"name": "env", "scope": ["TOKEN", "NONE"]}]}`),
		"skills/review/SKILL.md": "---\nname: review\ndescription: Reviews.\n---\n",
		"mcp.json":               `{"$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json", "mcpServers": {"x": {"type": "stdio", "command": "./srv", "args": ["${PLUGIN_DATA}"], "cwd": "${PLUGIN_DATA}"}}}`,
		"srv":                    "+x",
		"hooks/hooks.json":       `{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "${PLUGIN_ROOT}/check.sh"}]}]}}`,
	})
	first := p.load()
	if len(first.Skills)+len(first.Servers)+len(first.HookFiles) > 0 {
		t.Fatalf("before approval: %+v", first)
	}
	text := p.item(first, "s").Text(nil)
	for _, want := range []string{"review", "x: starts ./srv ${PLUGIN_DATA}", "PreToolUse Bash: ${PLUGIN_ROOT}/check.sh", "confined like the model's commands"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text has no %q:\n%s", want, text)
		}
	}
	l := p.approve()
	if len(running(l)) > 0 || len(l.Skills) != 1 || len(l.Servers) != 1 || len(l.HookFiles) != 1 {
		t.Fatalf("loaded %+v, %s", l, states(l))
	}
	store := p.path("data/plugins/store")
	if !strings.HasPrefix(l.Skills[0].Location, store) || !strings.HasPrefix(l.HookFiles[0].Path, store) {
		t.Errorf("skills %v and hooks %+v are not in the sealed copy", l.Skills, l.HookFiles)
	}
	if env := l.Servers[0].Granted; len(env) != 1 || env["TOKEN"] == "" {
		t.Errorf("granted variables %v", env)
	}
	s, err := l.Servers[0].Resolve()
	if err != nil {
		t.Fatal(err)
	}
	if s.Command != filepath.Join(l.Servers[0].Root, "srv") || s.Args[0] != l.Servers[0].Data || s.Env["PLUGIN_ROOT"] != l.Servers[0].Root || !strings.HasPrefix(s.Cwd, p.path("data/plugins/data/s-")) {
		t.Errorf("server %+v", s)
	}
}

func TestBareModule(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.wasm.describe = `{"name": "shout", "version": "2", "tools": [{"id": "shout", "description": "d", "parameters": {"type": "object"}}]}`
	p.write("project", files{"My Mod.wasm": "\x00asm"})
	p.options.Entries = []plugins.Entry{{Path: "../My Mod.wasm", Flag: true}}
	l := plugins.New(p.options)
	loaded, err := l.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := p.item(loaded, "my-mod")
	if i.State != plugins.StatePending || !i.Request.Undescribed || p.wasm.ran() > 0 {
		t.Fatalf("item %+v, ran %d", i, p.wasm.ran())
	}
	if err := l.Describe(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	if u := p.wasm.asked[0]; u.Broker != nil || len(u.Grants)+len(u.Env) > 0 || !strings.HasPrefix(u.Program, p.path("data/plugins/store")) {
		t.Errorf("asked with %+v, want no grants and the sealed copy", u)
	}
	if i.Name != "shout" || i.State != plugins.StatePending || !slices.Equal(i.Request.Tools, []string{"shout"}) {
		t.Fatalf("described item %+v", i)
	}
	// It is approved, and stays approved, without its cached description.
	cache := p.path("data/plugins/store/" + strings.TrimPrefix(string(i.Digest), "sha256:") + "/description")
	description, err := os.ReadFile(cache)
	if err := errors.Join(err, os.Remove(cache), l.Approve(t.Context(), i, nil), os.WriteFile(cache, description, 0o600)); err != nil {
		t.Fatal(err)
	}
	again := p.load()
	if names(again) != "shout" || len(p.wasm.asked) != 1 {
		t.Errorf("%s; asked %d times, want once", states(again), len(p.wasm.asked))
	}
	for n, lose := range []func() error{func() error { return os.WriteFile(cache, []byte("{"), 0o600) }, func() error { return os.Remove(cache) }} {
		if err := lose(); err != nil {
			t.Fatal(err)
		}
		if again := p.load(); names(again) != "shout" || len(p.wasm.asked) != n+2 {
			t.Errorf("without its description: %s; asked %d times, want %d", states(again), len(p.wasm.asked), n+2)
		}
	}
	// Neither more requests than approved nor another content under the known name.
	p.wasm.describe = strings.Replace(p.wasm.describe, `[{`, `[{"id": "more", "description": "d", "parameters": {"type": "object"}}, {`, 1)
	asked := len(p.wasm.asked)
	if err := os.Remove(cache); err != nil {
		t.Fatal(err)
	}
	if again := p.load(); p.item(again, "shout").State != plugins.StatePending || len(running(again)) > 0 {
		t.Errorf("it tells more without its description: %s", states(again))
	}
	p.write("project", files{"My Mod.wasm": "\x00asm2"})
	if again := p.load(); p.item(again, "my-mod").State != plugins.StatePending || len(p.wasm.asked) != asked+1 {
		t.Errorf("changed: %s; asked %d times, want %d", states(again), len(p.wasm.asked), asked+1)
	}
}

func TestBareProgram(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.process.describe = `{"name": "deploy", "capabilities": [{"name": "kv"}], "hooks": [{"point": "event"}]}`
	p.write("config/plugins", files{"deploy": "+x#!/bin/sh\n", "README.md": "no plugin", "hook.mjs": "not executable", "notes/x": "no plugin either"})
	l := plugins.New(p.options)
	loaded, err := l.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded.Items) != 1 || len(loaded.Warnings) != 2 || !strings.Contains(loaded.Warnings[0], "hook.mjs\" is not a plugin") || !strings.Contains(loaded.Warnings[1], "notes") {
		t.Fatalf("%s, warnings %q", states(loaded), loaded.Warnings)
	}
	i := loaded.Items[0]
	if err := l.Describe(t.Context(), i); err != nil || p.process.ran() > 0 {
		t.Fatalf("a program ran before it was approved: %v", err)
	}
	if err := l.Approve(t.Context(), i, nil); err != nil {
		t.Fatal(err)
	}
	// Its content is approved: it may say what it contributes, and that has to be approved, too.
	second, err := l.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i = p.item(second, "deploy")
	if i.State != plugins.StatePending || i.Decision.Why != trust.WhyGrown || len(p.process.asked) != 1 || len(p.process.opened) > 0 {
		t.Fatalf("after the first approval: %s, %+v", states(second), i.Decision)
	}
	if err := l.Approve(t.Context(), i, i.Request.Capabilities); err != nil {
		t.Fatal(err)
	}
	third := p.load()
	if names(third) != "deploy" || len(p.process.asked) != 1 {
		t.Errorf("%s, asked %d times", states(third), len(p.process.asked))
	}
	if u := p.process.opened[0]; u.Command[0] != u.Program || !strings.HasPrefix(u.Program, p.path("data/plugins/store")) || len(u.Checksum) != 64 {
		t.Errorf("unit %+v", u)
	}
}

// A start of tenon that waits for a program says so.
func TestSlowProgram(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	said := make(lines)
	p.options.Logger = slog.New(slog.NewTextHandler(said, nil))
	p.process.describe, p.process.starts = `{"name": "deploy", "hooks": [{"point": "event"}]}`, func() {
		if line := <-said; !strings.Contains(line, "waiting for a plugin") || !strings.Contains(line, "plugin=deploy") {
			t.Errorf("said %q", line)
		}
	}
	p.write("config/plugins", files{"deploy": "+x#!/bin/sh\n"})
	p.approve()
	if len(p.process.asked) != 1 {
		t.Errorf("asked %d times", len(p.process.asked))
	}
}

// lines passes each line on.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// TestDescribesLater reads a package that has a runtime and does not say what it contributes.
func TestDescribesLater(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ says, want string }{
		"agrees":           {`{"name": "late", "hooks": [{"point": "event"}], "capabilities": [{"name": "kv"}]}`, ""},
		"another name":     {`{"name": "other"}`, `calls itself "other"`},
		"nonsense":         {`{"name": "late", "hooks": [{"point": "nowhere"}]}`, "hooks[0].point"},
		"no wasm business": {`{"name": "late", "commands": [{"name": "x"}]}`, "cannot contribute commands"},
		"crashes":          {"", "it crashed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.wasm.describe = c.says
			p.write("config/plugins/late", files{"plugin.json": manifestOf("late", `{`+wasmRuntime+`}`), "p.wasm": "x"})
			l := p.approve()
			i := p.item(l, "late")
			if c.want != "" {
				if i.State != plugins.StateRejected || !strings.Contains(i.Err.Error(), c.want) {
					t.Errorf("%s, want one rejected with %q", states(l), c.want)
				}
				return
			}
			if names(l) != "late" || len(i.Grants) != 1 || len(i.Manifest.Hooks) != 1 || i.Manifest.Runtime == nil {
				t.Errorf("%s: %+v", states(l), i)
			}
		})
	}
}

// TestDescribeRepeatsNoWarning: Describe reads a package again, from its sealed copy.
func TestDescribeRepeatsNoWarning(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.wasm.describe = `{"name": "late"}`
	text := strings.Replace(manifestOf("late", `{`+wasmRuntime+`}`), `"name"`, `"unknown": 1, "name"`, 1)
	p.write("config/plugins/late", files{"plugin.json": text, "p.wasm": "x"})
	p.options.Entries = []plugins.Entry{{Path: "late", From: "tenon.json:3", Project: true, Options: []byte(`{"a": 1}`)}}
	l := plugins.New(p.options)
	loaded, err := l.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := p.item(loaded, "late")
	before := i.LeftOut()
	if err := l.Describe(t.Context(), i); err != nil || len(before) != 2 || !slices.Equal(i.LeftOut(), before) {
		t.Errorf("Describe() = %v, left out %q, want the unknown field and the options once", err, i.LeftOut())
	}
}

// TestProcessCommand checks what is started of a process package.
func TestProcessCommand(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	ext := func(command string) string {
		return `{"runtime": {"type": "process", "command": ` + command + `}, "hooks": [{"point": "event"}]}`
	}
	p.write("config/plugins/a", files{"plugin.json": manifestOf("own", ext(`["./bin/p", "./data.txt"]`)), "bin/p": "+x", "data.txt": ""})
	p.write("config/plugins/b", files{"plugin.json": manifestOf("script", ext(`["sh", "-e", "./main.sh", "x"]`)), "main.sh": "echo"})
	p.write("config/plugins/c", files{"plugin.json": manifestOf("missing", ext(`["no-such-program-here"]`))})
	l := p.approve()
	if names(l) != "own script" {
		t.Fatalf("plugins %q: %s", names(l), states(l))
	}
	own, script := p.process.opened[0], p.process.opened[1]
	if own.Command[0] != filepath.Join(own.Root, "bin", "p") || own.Command[1] != "./data.txt" || own.Program != own.Command[0] {
		t.Errorf("own program: %+v", own)
	}
	if !filepath.IsAbs(script.Command[0]) || script.Command[2] != filepath.Join(script.Root, "main.sh") || script.Program != script.Command[2] || script.Checksum == "" {
		t.Errorf("script: %+v", script)
	}
	if i := p.item(l, "missing"); !strings.Contains(i.Err.Error(), "no-such-program-here") || !strings.Contains(i.Err.Error(), "PATH") {
		t.Errorf("error %v", i.Err)
	}
}

func TestOneBadPluginKeepsNoneFromLoading(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("config/plugins/good", wasmPackage("good", ""))
	p.write("config/plugins/bad", files{"plugin.json": "{"})
	p.options.Entries = []plugins.Entry{
		{Path: "../../home/none.wasm", From: "tenon.json:7"}, {Path: "missing", From: "tenon.json:8"},
		{Path: "dir/p.wasm", From: "tenon.json:9"}, {Path: "builtin-one", Options: json.RawMessage(`{}`)},
	}
	p.options.Reserved = []string{"builtin-one"}
	l := p.approve()
	if names(l) != "good" {
		t.Fatalf("plugins %q: %s", names(l), states(l))
	}
	for name, want := range map[string][]string{
		"bad": {"plugin.json", "not valid JSON"}, "none": {"plugin not found", p.path("home/none.wasm"), "tenon.json:7"},
		"missing": {"tenon.json:8", "good", "./"}, "dir/p.wasm": {"tenon.json:9", "begins with ./"},
	} {
		i := p.item(l, name)
		for _, w := range want {
			if i.State != plugins.StateRejected || !strings.Contains(i.Err.Error(), w) {
				t.Errorf("%s: %s %v, want %q", name, i.State, i.Err, w)
			}
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	const schema = `"options": {"type": "object", "properties": {"patterns": {"type": "array"}}, "required": ["patterns"]}`
	for name, c := range map[string]struct{ extension, options, want string }{
		"fit":           {schema, `{"patterns": []}`, ""},
		"wrong type":    {schema, `{"patterns": 1}`, "patterns"},
		"missing":       {schema, "", "patterns"},
		"not an object": {"", `[1]`, "want an object"},
		"no schema":     {"", `{"x": 1}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			var got json.RawMessage
			p.wasm.make = func(u remote.Unit) sdk.Plugin {
				return &sdk.Bundle{Info: sdk.Manifest{Name: u.Description.Name, Carrier: sdk.CarrierWASM}, OnStart: func(context.Context, sdk.Host) error {
					got = u.Options
					return nil
				}}
			}
			p.write("home/o", wasmPackage("o", c.extension))
			p.options.Entries = []plugins.Entry{{Path: "~/o", Options: json.RawMessage(c.options), From: "tenon.json:5"}}
			l := p.approve()
			i := p.item(l, "o")
			if c.want != "" {
				if i.State != plugins.StateRejected || !strings.Contains(i.Err.Error(), c.want) || !strings.Contains(i.Err.Error(), "tenon.json:5") {
					t.Errorf("%s, want an error that names %q and the place", states(l), c.want)
				}
				return
			}
			if len(running(l)) != 1 {
				t.Fatal(states(l))
			}
			if err := running(l)[0].Start(t.Context(), host{}); err != nil || string(got) != c.options {
				t.Errorf("options %s, %v; want %s", got, err, c.options)
			}
		})
	}
}

// TestOptionsOnTheCommandLine: a plugin that the command line names has the options that the user's configuration gives its name or path.
func TestOptionsOnTheCommandLine(t *testing.T) {
	t.Parallel()
	for _, mention := range []string{"o", "~/o"} {
		p := newPlace(t)
		var got json.RawMessage
		p.wasm.make = func(u remote.Unit) sdk.Plugin {
			got = u.Options
			return &sdk.Bundle{Info: sdk.Manifest{Name: u.Description.Name, Carrier: sdk.CarrierWASM}}
		}
		p.write("home/o", wasmPackage("o", `"options": {"type": "object", "required": ["a"]}`))
		p.options.Entries = []plugins.Entry{{Path: mention, Options: json.RawMessage(`{"a": 1}`), From: "tenon.json:5"}, {Path: p.path("home/o"), From: "--plugin", Flag: true}}
		if l := p.approve(); len(running(l)) != 1 || string(got) != `{"a": 1}` || len(p.item(l, "o").LeftOut()) > 0 {
			t.Errorf("named as %s: %s, options %s, warnings %q", mention, states(l), got, p.item(l, "o").LeftOut())
		}
	}
}

// TestOptionsOfAProject checks that a project does not turn off what the user relies on.
func TestOptionsOfAProject(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("config/plugins/redact", wasmPackage("redact", ""))
	options := map[string]string{}
	p.wasm.make = func(u remote.Unit) sdk.Plugin {
		return &sdk.Bundle{Info: sdk.Manifest{Name: u.Description.Name, Carrier: sdk.CarrierWASM}, OnStart: func(context.Context, sdk.Host) error {
			options[u.Description.Name] = string(u.Options)
			return nil
		}}
	}
	user := plugins.Entry{Path: "redact", Options: json.RawMessage(`{"on": true}`), From: "user"}
	project := []plugins.Entry{
		{Path: "redact", Options: json.RawMessage(`{"on": false}`), From: "project", Project: true},
		{Path: p.path("config/plugins/redact"), Options: json.RawMessage(`{"on": false}`), From: "project", Project: true},
	}
	for want, entries := range map[string][]plugins.Entry{`{"on": true}`: append([]plugins.Entry{user}, project...), "null": project[:1]} {
		p.options.Entries = entries
		l := p.approve()
		for _, plugin := range running(l) {
			if err := plugin.Start(t.Context(), host{}); err != nil {
				t.Fatal(err)
			}
		}
		if options["redact"] != want {
			t.Errorf("options %v (%s), want %s", options, states(l), want)
		}
	}
}

func TestDisabledAndUntrusted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("config/plugins/a", wasmPackage("a", ""))
	p.approve()
	store := trust.OpenStore(p.path("data/" + trust.LockFile))
	if err := store.SetEnabled(t.Context(), p.item(p.load(), "a").Trusted(), false, "three failures in a row"); err != nil {
		t.Fatal(err)
	}
	if loaded := p.load(); len(running(loaded)) > 0 || p.item(loaded, "a").State != plugins.StateDisabled || p.item(loaded, "a").Reason != "three failures in a row" {
		t.Errorf("a disabled plugin: %s", states(loaded))
	}
	if err := plugins.New(p.options).Untrust(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if loaded := p.load(); len(pending(loaded)) != 1 {
		t.Errorf("an untrusted plugin: %s", states(loaded))
	}
	if list, err := os.ReadDir(p.path("data/plugins/store")); err != nil || len(list) > 0 {
		t.Errorf("sealed copies are left: %v, %v", list, err)
	}
	if err := plugins.New(p.options).Untrust(t.Context(), "a"); !errors.Is(err, trust.ErrNotFound) {
		t.Errorf("error %v, want ErrNotFound", err)
	}
}

func TestBrokenLockFile(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("config/plugins/a", wasmPackage("a", ""))
	p.write("data", files{trust.LockFile: "garbage"})
	if _, err := plugins.New(p.options).Load(t.Context()); !errors.Is(err, trust.ErrLockFile) {
		t.Errorf("error %v, want ErrLockFile", err)
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	dir := p.write("home/dev", wasmPackage("dev", ""))
	p.options.Entries = []plugins.Entry{{Path: "~/dev", Flag: true, Watch: true}}
	if l := p.load(); len(pending(l)) != 1 {
		t.Fatalf("what was never approved: %s", states(l))
	}
	p.approve()
	files{"p.wasm": "another build"}.writeTo(t, dir)
	l := p.load()
	if names(l) != "dev" {
		t.Fatalf("another build: %s", states(l))
	}
	opened := p.wasm.opened[len(p.wasm.opened)-1]
	if got, err := os.ReadFile(opened.Program); string(got) != "another build" {
		t.Errorf("runs %q, %v", got, err)
	}
	wasmPackage("dev", `"capabilities": [{"name": "kv"}]`).writeTo(t, dir)
	if l := p.load(); p.item(l, "dev").Decision.Why != trust.WhyGrown {
		t.Errorf("a build that asks for more: %s", states(l))
	}
	p.options.Entries[0].Watch = false
	files{"p.wasm": "third build"}.writeTo(t, dir)
	if l := p.load(); len(pending(l)) != 1 {
		t.Errorf("without watching: %s", states(l))
	}
}

// TestSecondLoadIsTheSame checks that what is remembered of a package is what was read of it.
func TestSecondLoadIsTheSame(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("config/plugins/x", files{"p": "+x", "plugin.json": manifestOf("x", `{"runtime": {"type": "process", "command": ["./p"]}, `+oneHook+`, "capabilities": [{"name": "kv"}],
		"tools": [{"id": "t", "description": "d", "parameters": {"type": "object"}, "timeout": 5, "prepares": true}],
		"providers": [{"id": "p", "protocol": "q", "models": {"m": {"id": "m", "name": "M", "cost": {"input": 0.1}}}}], "protocols": ["q"],
		"agents": [{"name": "a", "mode": "all", "prompt": "one\n<two>", "permission": {"bash": {"*": "ask", "ls": "allow"}}}], "commands": [{"name": "c", "template": "t"}]}`),
		"skills/s/SKILL.md": "---\nname: s\ndescription: d\n---\n", "hooks/hooks.json": "{}", "skills/bad/SKILL.md": "bad",
		"mcp.json": `{"$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json", "mcpServers": {"s": {"type": "sse", "url": "https://a.example", "headers": {"A": "b"}}}}`})
	p.approve()
	kept, err := filepath.Glob(p.path("data/plugins/store/*/package-*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept %v, %v", kept, err)
	}
	second := p.load()
	if err := os.Remove(kept[0]); err != nil {
		t.Fatal(err)
	}
	first := p.load()
	compact := cmp.Transformer("compact", func(m json.RawMessage) string {
		var b bytes.Buffer
		if err := json.Compact(&b, m); err != nil {
			return string(m)
		}
		return b.String()
	})
	if diff := cmp.Diff(first, second, compact, cmpopts.IgnoreUnexported(plugins.Item{}), cmpopts.IgnoreFields(plugins.Item{}, "Plugin")); diff != "" {
		t.Errorf("read and remembered differ:\n%s", diff)
	}
	units := p.process.opened[len(p.process.opened)-2:]
	if diff := cmp.Diff(units[0], units[1], compact, cmpopts.IgnoreFields(remote.Unit{}, "Broker", "Logger")); diff != "" {
		t.Errorf("units differ:\n%s", diff)
	}
	if len(first.Items[0].Warnings) != 1 || len(first.Skills) != 1 || len(first.Servers) != 1 || len(first.HookFiles) != 1 {
		t.Errorf("loaded %+v", first)
	}
}

// TestQuarantined checks what is left of a plugin in quarantine: its hooks, which are never called, and what its package has beside its
// runtime.
func TestQuarantined(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	content := wasmPackage("a", "")
	content["plugin.json"] = manifestOf("a", `{`+wasmRuntime+`, "hooks": [{"point": "permission.ask"}, {"point": "tool.execute.after", "writes": ["/output"], "onError": "stop", "timeout": 100}],
		"tools": [{"id": "t", "description": "d", "parameters": {"type": "object"}}]}`)
	content["hooks/hooks.json"] = `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true"}]}]}}`
	p.write("config/plugins/a", content)
	p.approve()
	before := p.load()
	store := trust.OpenStore(p.path("data/" + trust.LockFile))
	if err := store.Quarantine(t.Context(), p.item(before, "a").Trusted(), "3 failures"); err != nil {
		t.Fatal(err)
	}
	loaded := p.load()
	if i := p.item(loaded, "a"); i.State != plugins.StateQuarantined || i.Reason != "3 failures" || len(running(loaded)) != 1 {
		t.Fatal(states(loaded))
	}
	if len(loaded.HookFiles) != len(before.HookFiles) {
		t.Errorf("%d files with command hooks, want %d", len(loaded.HookFiles), len(before.HookFiles))
	}
	stub := running(loaded)[0]
	if s, ok := stub.(sdk.ToolSource); ok && len(s.Tools()) > 0 {
		t.Error("it has tools")
	}
	var got []string
	for _, h := range stub.(sdk.Hooker).Hooks() {
		got = append(got, fmt.Sprint(h.Point, " ", h.OnError, " ", h.Timeout))
	}
	want := []string{"permission.ask  0s", "tool.execute.after stop 100ms"}
	if !slices.Equal(got, want) {
		t.Errorf("hooks %q, want %q", got, want)
	}
}
