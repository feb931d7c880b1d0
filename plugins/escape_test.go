package plugins_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

// attempt is one way to get something run, or a grant, that the user did not approve.
type attempt struct {
	// prepare sets the machine up; then everything that asks is approved, unless unapproved is set.
	prepare    func(p *place)
	unapproved bool
	// attack is what happens afterwards.
	attack func(p *place)
	// check looks at what a load gives then. Nil: nothing may run.
	check func(p *place, l *plugins.Loaded)
}

// nothing passes if nothing runs and nothing is contributed.
func nothing(p *place, l *plugins.Loaded) {
	p.t.Helper()
	if len(running(l))+len(l.Skills)+len(l.Servers)+len(l.HookFiles) > 0 {
		p.t.Errorf("something is loaded: %s, %+v", states(l), l)
	}
}

// waits passes if nothing runs and an item asks for approval for the reason.
func waits(name string, why trust.Why) func(p *place, l *plugins.Loaded) {
	return func(p *place, l *plugins.Loaded) {
		p.t.Helper()
		nothing(p, l)
		if i := p.item(l, name); i.State != plugins.StatePending || i.Decision.Why != why {
			p.t.Errorf("%s: %v, want one that waits because it is %s", states(l), i.Decision.Why, why)
		}
	}
}

// rejected passes if nothing runs and an item is rejected with the words.
func rejected(name, words string) func(p *place, l *plugins.Loaded) {
	return func(p *place, l *plugins.Loaded) {
		p.t.Helper()
		nothing(p, l)
		if i := p.item(l, name); i.State != plugins.StateRejected || !strings.Contains(i.Err.Error(), words) {
			p.t.Errorf("%s, want one rejected with %q", states(l), words)
		}
	}
}

const theirs = "project/.tenon/plugins/x"

// TestEscapes lists attempts to run, read or be granted what the user did not approve.
func TestEscapes(t *testing.T) {
	t.Parallel()
	given := func(f files) func(p *place) { return func(p *place) { p.write(theirs, f) } }
	change := func(f files) func(p *place) { return func(p *place) { p.write(theirs, f) } }
	for name, a := range map[string]attempt{
		"headless clone with everything": {unapproved: true, prepare: func(p *place) {
			p.write(theirs, wasmPackage("x", ""))
			p.write("project/.tenon/plugins/s", files{"plugin.json": manifestOf("s", ""), "skills/a/SKILL.md": "---\nname: a\ndescription: Obey.\n---\n", "hooks/hooks.json": `{"hooks": {}}`,
				"mcp.json": `{"$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json", "mcpServers": {"x": {"type": "stdio", "command": "sh"}}}`})
			p.write("project/.tenon/plugins", files{"run": "+x#!/bin/sh", "m.wasm": "\x00asm"})
		}, check: func(p *place, l *plugins.Loaded) {
			nothing(p, l)
			if len(pending(l)) != 4 {
				p.t.Errorf("%s, want four that wait", states(l))
			}
		}},
		"module swapped after approval":      {prepare: given(wasmPackage("x", "")), attack: change(files{"p.wasm": "evil"}), check: waits("x", trust.WhyChanged)},
		"manifest swapped after approval":    {prepare: given(wasmPackage("x", "")), attack: change(wasmPackage("x", `"tools": [{"id": "t", "description": "d", "parameters": {"type": "object"}}]`)), check: waits("x", trust.WhyGrown)},
		"capability grown":                   {prepare: given(wasmPackage("x", "")), attack: change(wasmPackage("x", `"capabilities": [{"name": "http", "scope": ["https://evil.example"]}]`)), check: waits("x", trust.WhyGrown)},
		"wasm becomes a process":             {prepare: given(wasmPackage("x", "")), attack: change(files{"plugin.json": manifestOf("x", `{"runtime": {"type": "process", "command": ["sh"]}, `+oneHook+`}`)}), check: waits("x", trust.WhyGrown)},
		"file added after approval":          {prepare: given(wasmPackage("x", "")), attack: change(files{"node_modules/evil/index.js": "x"}), check: waits("x", trust.WhyChanged)},
		"skill added after approval":         {prepare: given(wasmPackage("x", "")), attack: change(files{"skills/a/SKILL.md": "---\nname: a\ndescription: Obey.\n---\n"}), check: waits("x", trust.WhyGrown)},
		"hooks file added after approval":    {prepare: given(wasmPackage("x", "")), attack: change(files{"hooks/hooks.json": `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "evil"}]}]}}`}), check: waits("x", trust.WhyGrown)},
		"executable bit flipped":             {prepare: given(wasmPackage("x", "")), attack: func(p *place) { p.do(os.Chmod(p.path(theirs+"/p.wasm"), 0o755)) }, check: waits("x", trust.WhyChanged)},
		"bare module swapped after approval": {prepare: func(p *place) { p.bare(); p.write("project/.tenon/plugins", files{"m.wasm": "\x00asm good"}) }, attack: func(p *place) { p.write("project/.tenon/plugins", files{"m.wasm": "\x00asm evil"}) }, check: waits("m", trust.WhyChanged)},
		"package replaced by a link": {prepare: given(wasmPackage("x", "")), attack: func(p *place) {
			p.write("elsewhere", wasmPackage("x", ""))
			p.do(errors.Join(os.RemoveAll(p.path(theirs)), os.Symlink(p.path("elsewhere"), p.path(theirs))))
		}, check: rejected("x", "outside of the project")},

		"the same content in another repository": {prepare: given(wasmPackage("x", "")), attack: func(p *place) {
			p.do(os.Rename(p.path("project"), p.path("moved")))
			p.options.Project.Directory, p.options.Project.Worktree = p.path("moved"), p.path("moved")
		}, check: waits("x", trust.WhyNew)},
		"tenon.lock in the repository": {unapproved: true, prepare: func(p *place) {
			other := newPlace(p.t)
			other.write(theirs, wasmPackage("x", ""))
			other.approve()
			lock, err := os.ReadFile(other.path("data/tenon.lock"))
			p.do(err)
			content := strings.ReplaceAll(string(lock), other.root, p.root)
			p.write(theirs, wasmPackage("x", ""))
			p.write("project", files{"tenon.lock": content, ".tenon/tenon.lock": content, "sub/tenon.lock": content})
		}, check: waits("x", trust.WhyNew)},
		"tenon.lock in the package": {unapproved: true, prepare: func(p *place) {
			p.write(theirs, wasmPackage("x", ""))
			p.write(theirs, files{"tenon.lock": `{"version": 1, "entries": []}`})
		}, check: waits("x", trust.WhyNew)},
		"grants in the manifest":       {unapproved: true, prepare: given(wasmPackage("x", `"grants": [{"name": "kv"}]`)), check: rejected("x", "grants: unknown key")},
		"approval in the manifest":     {unapproved: true, prepare: given(wasmPackage("x", `"approved": true`)), check: rejected("x", "approved: unknown key")},
		"approval beside the manifest": {unapproved: true, prepare: given(files{"plugin.json": strings.Replace(manifestOf("x", `{`+wasmRuntime+`, `+oneHook+`}`), `"name"`, `"trusted": true, "name"`, 1), "p.wasm": "x"}), check: waits("x", trust.WhyNew)},
		"every host":                   {unapproved: true, prepare: given(wasmPackage("x", `"capabilities": [{"name": "http", "scope": ["https://*"]}]`)), check: rejected("x", "scope[0]")},
		"every secret":                 {unapproved: true, prepare: given(wasmPackage("x", `"capabilities": [{"name": "secret", "scope": ["*"]}]`)), check: rejected("x", "scope[0]")},
		"link out of the plugin folder": {unapproved: true, prepare: func(p *place) {
			p.write("home/private", wasmPackage("private", ""))
			p.link("../../../home/private", theirs)
		}, check: rejected("x", "outside of the project")},
		"plugin folder is a link": {unapproved: true, prepare: func(p *place) {
			p.write("home/private/in", wasmPackage("in", ""))
			mkdir(p.t, p.path("project/.tenon"))
			p.link("../../home/private", "project/.tenon/plugins")
		}, check: rejected("in", "outside of the project")},
		"module is a link out": {unapproved: true, prepare: given(files{"plugin.json": manifestOf("x", `{`+wasmRuntime+`, `+oneHook+`}`), "p.wasm": "-> /bin/sh"}), check: rejected("x", "leads out")},
		"manifest is a link out": {unapproved: true, prepare: func(p *place) {
			p.write("home", files{"plugin.json": manifestOf("x", "")})
			p.write(theirs, files{"plugin.json": "-> ../../../../home/plugin.json"})
		}, check: rejected("x", "leads out")},
		"manifest is a link to /proc": {unapproved: true, prepare: given(files{"plugin.json": "-> /proc/self/environ"}), check: rejected("x", "leads out")},
		"manifest of another case":    {unapproved: true, prepare: given(files{"PLUGIN.JSON": manifestOf("x", "")}), check: nothing},
		"module in another package": {unapproved: true, prepare: func(p *place) {
			p.write("project/.tenon/plugins/y", wasmPackage("y", ""))
			p.write(theirs, files{"plugin.json": manifestOf("x", `{"runtime": {"type": "wasm", "module": "./../y/p.wasm"}, `+oneHook+`}`)})
		}, check: rejected("x", "leads out")},
		"module through a folder's link": {unapproved: true, prepare: given(files{"plugin.json": manifestOf("x", `{"runtime": {"type": "wasm", "module": "./up/y/p.wasm"}, `+oneHook+`}`), "up": "-> .."}), check: func(p *place, l *plugins.Loaded) { nothing(p, l) }},
		"command in the project":         {unapproved: true, prepare: given(files{"plugin.json": manifestOf("x", `{"runtime": {"type": "process", "command": ["../../../evil"]}}`)}), check: rejected("x", "neither a bare name")},
		"absolute command":               {unapproved: true, prepare: given(files{"plugin.json": manifestOf("x", `{"runtime": {"type": "process", "command": ["/bin/sh", "-c", "evil"]}}`)}), check: rejected("x", "neither a bare name")},
		"huge manifest":                  {unapproved: true, prepare: given(files{"plugin.json": strings.Repeat(" ", 2<<20)}), check: rejected("x", "more than")},
		"deep manifest":                  {unapproved: true, prepare: given(files{"plugin.json": strings.Repeat("[", 100_000)}), check: rejected("x", "brackets, more than 20000")},
		"name with an escape":            {unapproved: true, prepare: given(files{"plugin.json": manifestOf(`x\u001b[2K`, "")}), check: rejected("x", "invalid plugin name")},
		"file name with an escape":       {unapproved: true, prepare: func(p *place) { p.write(theirs, wasmPackage("x", "")); p.write(theirs, files{"a\x1b[2J\nok": ""}) }, check: rejected("x", "cannot be shown")},
		"many directories": {unapproved: true, prepare: func(p *place) {
			p.write(theirs, wasmPackage("x", ""))
			p.write(theirs, files{strings.Repeat("d/", 70) + "f": ""})
		}, check: rejected("x", "more than 64 levels")},

		"name of a plugin that tenon ships":  {unapproved: true, prepare: func(p *place) { p.options.Reserved = []string{"shell"}; p.write(theirs, wasmPackage("shell", "")) }, check: rejected("shell", "built-in plugin")},
		"name of command hooks":              {unapproved: true, prepare: func(p *place) { p.write(theirs, wasmPackage("hooks.user", "")) }, check: rejected("hooks.user", "belong to command hooks")},
		"name of command hooks of a package": {unapproved: true, prepare: func(p *place) { p.write(theirs, wasmPackage("lint.hooks", "")) }, check: rejected("lint.hooks", "belong to command hooks")},
		"name of an MCP server":              {unapproved: true, prepare: func(p *place) { p.write(theirs, wasmPackage("mcp.docs", "")) }, check: rejected("mcp.docs", "belong to command hooks")},
		"name of a plugin of the user": {prepare: func(p *place) { p.write("config/plugins/redact", wasmPackage("redact", "")) }, attack: func(p *place) {
			p.write(theirs, files{"plugin.json": manifestOf("redact", `{`+wasmRuntime+`, "hooks": [{"point": "event"}]}`), "p.wasm": "evil"})
		}, check: func(p *place, l *plugins.Loaded) {
			if names(l) != "redact" || !strings.HasPrefix(l.Items[0].Path, p.path("config")) || !errors.Is(l.Items[1].Err, plugins.ErrTwice) {
				p.t.Errorf("%s, want the user's", states(l))
			}
			for _, path := range []string{p.path("config/plugins/redact"), p.path(theirs)} {
				if !strings.Contains(l.Items[1].Err.Error(), path) {
					p.t.Errorf("error %v does not name %s", l.Items[1].Err, path)
				}
			}
		}},
		"content of a plugin of the user": {prepare: func(p *place) { p.write("config/plugins/redact", wasmPackage("redact", "")) }, attack: func(p *place) {
			p.write(theirs, wasmPackage("redact", ""))
			p.options.Entries = []plugins.Entry{{Path: "../.tenon/plugins/x", From: "project", Project: true, Required: true}}
		}, check: func(p *place, l *plugins.Loaded) {
			if states(l) != "redact ready" || l.Items[0].Project || !l.Items[0].Required {
				p.t.Errorf("%s, want the user's, and that it is required", states(l))
			}
		}},
		"missing, named twice": {unapproved: true, prepare: func(p *place) {
			p.options.Entries = []plugins.Entry{{Path: "./x", From: "user"}, {Path: "./x", From: "--plugin", Flag: true}}
		}, check: func(p *place, l *plugins.Loaded) {
			if len(l.Items) != 1 || !errors.Is(l.Items[0].Err, plugins.ErrMissing) {
				p.t.Errorf("%s, want one that is missing", states(l))
			}
		}},
		"approved name in the same project": {prepare: given(wasmPackage("lint", "")), attack: func(p *place) {
			p.write("project/.tenon/plugins/a", wasmPackage("lint", `"capabilities": [{"name": "kv"}]`))
		}, check: func(p *place, l *plugins.Loaded) {
			if names(l) != "lint" || !errors.Is(l.Items[0].Err, plugins.ErrTwice) {
				p.t.Errorf("%s, want the one that was approved", states(l))
			}
		}},
		"project reaches for a path of the user": {prepare: func(p *place) {
			p.write("home/tool", wasmPackage("tool", ""))
			p.options.Entries = []plugins.Entry{{Path: "~/tool", From: "user"}}
		}, attack: func(p *place) {
			p.options.Entries = []plugins.Entry{{Path: "~/tool", From: "project", Project: true}}
		}, check: rejected("tool", "outside of the project")},
		"project reaches for /proc": {unapproved: true, prepare: func(p *place) {
			p.options.Entries = []plugins.Entry{{Path: "/proc/self/exe", From: "project", Project: true}}
		}, check: rejected("exe", "outside of the project")},
		"project climbs out of itself": {unapproved: true, prepare: func(p *place) {
			p.write("home/tool", wasmPackage("tool", ""))
			p.options.Entries = []plugins.Entry{{Path: "./../../home/tool", From: "project", Project: true}}
		}, check: rejected("tool", "outside of the project")},
		"sealed copy written to": {prepare: given(wasmPackage("x", "")), attack: func(p *place) {
			module := p.wasm.opened[0].Program
			p.do(errors.Join(os.Chmod(module, 0o600), os.WriteFile(module, []byte("evil"), 0o600)))
		}, check: func(p *place, l *plugins.Loaded) {
			module := p.wasm.opened[len(p.wasm.opened)-1].Program
			if got, err := os.ReadFile(module); string(got) != "\x00asm of x" {
				p.t.Errorf("runs %q, %v (%s)", got, err, states(l))
			}
		}},
		"kept description says more": {prepare: func(p *place) { p.bare(); p.write("project/.tenon/plugins", files{"m.wasm": "\x00asm"}) }, attack: func(p *place) {
			list, err := os.ReadDir(p.path("data/plugins/store"))
			p.do(err)
			p.write("data/plugins/store/"+list[0].Name(), files{"description": `{"name": "m", "capabilities": [{"name": "secret", "scope": ["TOKEN"]}]}`})
		}, check: waits("m", trust.WhyGrown)},
		"data of a plugin of the same name": {prepare: given(wasmPackage("x", "")), attack: func(p *place) {
			p.do(os.RemoveAll(p.path(theirs)))
			p.write("config/plugins/other", wasmPackage("x", ""))
			p.approve()
		}, check: func(p *place, l *plugins.Loaded) {
			first, last := p.wasm.opened[0], p.wasm.opened[len(p.wasm.opened)-1]
			if first.DataDir == last.DataDir {
				p.t.Errorf("both have the directory %s (%s)", first.DataDir, states(l))
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			a.prepare(p)
			if !a.unapproved {
				p.approve()
			}
			before := p.wasm.ran() + p.process.ran()
			if a.attack != nil {
				a.attack(p)
			}
			l := p.load()
			if a.check == nil {
				a.check = nothing
			}
			a.check(p, l)
			if a.unapproved && p.wasm.ran()+p.process.ran() > before {
				t.Error("something ran")
			}
		})
	}
}

// TestApprovesWhatWasShown lists changes between the moment a plugin is shown and the one it is approved.
func TestApprovesWhatWasShown(t *testing.T) {
	t.Parallel()
	for name, swap := range map[string]files{
		"module":   {"p.wasm": "evil"},
		"manifest": {"plugin.json": manifestOf("x", `{`+wasmRuntime+`, `+oneHook+`, "capabilities": [{"name": "kv"}]}`)},
		"new file": {"evil": ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write(theirs, wasmPackage("x", ""))
			l := plugins.New(p.options)
			loaded, err := l.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p.write(theirs, swap)
			i := p.item(loaded, "x")
			if err := l.Approve(t.Context(), i, i.Request.Capabilities); !errors.Is(err, trust.ErrChanged) {
				t.Errorf("error %v, want ErrChanged", err)
			}
			if again := p.load(); len(pending(again)) != 1 || p.wasm.ran() > 0 {
				t.Errorf("after that: %s", states(again))
			}
		})
	}
}

// TestApproveRefuses lists approvals that give more than was requested, or that were not requested.
func TestApproveRefuses(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(theirs, wasmPackage("x", `"capabilities": [{"name": "http", "scope": ["https://a.example"]}]`))
	l := plugins.New(p.options)
	loaded, err := l.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := p.item(loaded, "x")
	for name, grant := range map[string]sdk.Capability{
		"another host":  {Name: "http", Scope: []string{"https://b.example"}},
		"a wildcard":    {Name: "http", Scope: []string{"*"}},
		"another thing": {Name: "kv"},
	} {
		if err := l.Approve(t.Context(), i, []sdk.Capability{grant}); err == nil {
			t.Errorf("%s is granted", name)
		}
	}
	if err := l.Approve(t.Context(), i, nil); err != nil {
		t.Fatal(err)
	}
	ready := p.load()
	if got := p.item(ready, "x"); got.State != plugins.StateReady || len(got.Grants) > 0 {
		t.Errorf("approved without grants: %s %v", got.State, got.Grants)
	}
	if err := l.Approve(t.Context(), p.item(ready, "x"), nil); err == nil {
		t.Error("what does not wait is approved")
	}
}

func (p *place) do(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) link(target, name string) {
	p.t.Helper()
	mkdir(p.t, filepath.Dir(p.path(name)))
	p.do(os.Symlink(filepath.FromSlash(target), p.path(name)))
}

// bare makes modules describe themselves.
func (p *place) bare() { p.wasm.describe = `{"name": "m", "hooks": [{"point": "event"}]}` }
