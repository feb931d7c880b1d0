package manifest_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/sdk"
)

// folder writes the files of an archive to a directory.
func folder(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(text)).Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// summary lists what a package contributes.
func summary(p *manifest.Package) string {
	out := []string{p.Host, p.Description.Name, p.Description.Version}
	for _, s := range p.Skills {
		out = append(out, "skill="+s.Name)
		if s.Manual {
			out = append(out, "(manual)")
		}
	}
	for _, c := range p.Description.Commands {
		out = append(out, "command="+c.Name)
	}
	for _, a := range p.Description.Agents {
		denied := ""
		for _, r := range a.Permission {
			denied += "-" + r.Permission
		}
		out = append(out, "agent="+a.Name+denied)
	}
	var names []string
	for name, s := range p.Servers {
		names = append(names, "server="+name+":"+s.Command+s.URL+strings.Join(s.Args, ","))
	}
	slices.Sort(names)
	out = append(out, names...)
	for _, c := range p.Description.Capabilities {
		out = append(out, c.Name+"="+strings.Join(c.Scope, ","))
	}
	if p.HookFile != "" {
		out = append(out, "hooks="+filepath.Base(p.HookFile))
		if filepath.Base(p.HookFile) != "hooks.json" {
			out = append(out, p.Hooks)
		}
	}
	return strings.Join(out, " ")
}

func TestForeign(t *testing.T) {
	t.Parallel()
	const skill = "---\nname: review\ndescription: Reviews.\n---\nx\n"
	for name, c := range map[string]struct {
		files, want string
		out         []string // words of the warnings
	}{
		"claude": {`
-- .claude-plugin/plugin.json --
{"name": "Tools", "version": "1.2.0", "description": "d", "author": {"name": "a"}, "lspServers": {}, "unknown": 1}
-- skills/other/SKILL.md --
` + skill + `
-- commands/commit.md --
---
description: Commits.
allowed-tools: Bash(git:*)
---
Commit $ARGUMENTS
-- commands/git/push.md --
Push
-- commands/README.md --
Not a command
-- agents/reviewer.md --
---
name: reviewer
description: d
tools: Read, Grep, Bash(git diff:*)
model: sonnet
---
You review.
-- agents/free.md --
---
name: free
description: d
disallowedTools: [WebFetch]
color: red
permissionMode: plan
---
You are free.
-- .mcp.json --
{"db": {"command": "${CLAUDE_PLUGIN_ROOT}/bin/db", "args": ["--data", "${CLAUDE_PLUGIN_DATA}"]}, "web": {"type": "http", "url": "https://example.com/mcp"},
 "secret": {"command": "x", "env": {"KEY": "${API_KEY}"}}, "default": {"command": "x", "args": ["${LEVEL:-info}"]},
 "elsewhere": {"type": "http", "url": "https://${HOST}/mcp"}, "fallback": {"type": "http", "url": "${HOST:-https://example.com}/mcp", "headers": {"Authorization": "Bearer ${API_KEY}"}}}
-- hooks/hooks.json --
{"hooks": {}}
-- bin/db --
x
`, "Claude Code tools 1.2.0 skill=review command=tools:commit command=tools:git:push agent=tools:free-webfetch " +
			"agent=tools:reviewer-edit-glob-list-mcp:*-plugin:*-skill-task-todowrite-webfetch-websearch server=db:./bin/db--data,${PLUGIN_DATA} server=default:x${LEVEL:-info} " +
			"server=fallback:https://example.com/mcp server=secret:x server=web:https://example.com/mcp env=API_KEY,LEVEL hooks=hooks.json",
			[]string{"agents/free.md: permissionMode: is left out", "agents: model: is left out", "LSP servers", "${HOST}", "programs for PATH"}},
		"hooks in the manifest": {`
-- .claude-plugin/plugin.json --
{"name": "p", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "inline"}]}]}}
-- hooks/hooks.json --
{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "usual"}]}], "PreToolUse": []}}
`, `Claude Code p  hooks=plugin.json {"hooks":{"Stop":[{"hooks":[{"type":"command","command":"usual"}]},{"hooks":[{"type":"command","command":"inline"}]}]}}`, nil},
		"hooks in other files": {`
-- .claude-plugin/plugin.json --
{"name": "p", "hooks": ["./a.json", "./b.json", "../c.json"]}
-- a.json --
{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "a"}]}]}}
-- b.json --
{"description": "flat", "SessionEnd": [{"hooks": [{"type": "command", "command": "b"}]}]}
`, `Claude Code p  hooks=plugin.json {"hooks":{"SessionEnd":[{"hooks":[{"type":"command","command":"b"}]}],"Stop":[{"hooks":[{"type":"command","command":"a"}]}]}}`, []string{"leads out"}},
		"the usual file, named": {`
-- .claude-plugin/plugin.json --
{"name": "p", "hooks": "./hooks/hooks.json"}
-- hooks/hooks.json --
{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "usual"}]}]}}
`, `Claude Code p  hooks=hooks.json`, nil},
		"fields replace places": {`
-- .claude-plugin/plugin.json --
{"name": "p", "commands": ["./more/a.md"], "skills": "./extra", "mcpServers": {"s": {"command": "x"}}, "agents": "../out"}
-- commands/b.md --
b
-- more/a.md --
a
-- skills/review/SKILL.md --
` + skill + `
-- extra/two/SKILL.md --
` + strings.ReplaceAll(skill, "review", "two") + `
`, "Claude Code p  skill=review skill=two command=p:a server=s:x", []string{"../out"}},
		"places that are skills": {`
-- .claude-plugin/plugin.json --
{"name": "p", "skills": ["./two", "./one/SKILL.md", "./skills/three"]}
-- one/SKILL.md --
` + skill + `
-- skills/three/SKILL.md --
` + strings.ReplaceAll(skill, "review", "three") + `
-- two/SKILL.md --
` + strings.ReplaceAll(skill, "review", "two") + `
`, "Claude Code p  skill=review skill=three skill=two", nil},
		"defaults that form variables": {`
-- .claude-plugin/plugin.json --
{"name": "p", "mcpServers": {"url": {"type": "http", "url": "https://example.com/${X:-$}{TOKEN}", "headers": {"A": "${TOKEN}"}},
 "command": {"command": "${X:-$}{PROGRAM}"}, "cwd": {"command": "x", "cwd": "${CLAUDE_PLUGIN_ROOT}/${X:-${FOLDER}}"}, "good": {"command": "${CLAUDE_PLUGIN_ROOT}/${X:-s}"}}}
`, "Claude Code p  server=good:./s", []string{"${TOKEN}", "${PROGRAM}", "${FOLDER}"}},
		"skills known by their directories": {`
-- .claude-plugin/plugin.json --
{"name": "p"}
-- skills/skill-development/SKILL.md --
` + strings.ReplaceAll(skill, "review", "Skill Development") + `
-- skills/unnamed/SKILL.md --
` + strings.ReplaceAll(skill, "name: review\n", "") + `
-- skills/Bad Name/SKILL.md --
` + strings.ReplaceAll(skill, "review", "-x") + `
-- skills/undescribed/SKILL.md --
# Undescribed
`, "Claude Code p  skill=skill-development skill=undescribed (manual) skill=unnamed", []string{`name: "Bad Name": use 1 to 64`}},
		"an unnamed skill at the root": {`
-- .claude-plugin/plugin.json --
{"name": "p", "mcpServers": {"s": {"type": "sse", "url": "https://example.com/sse", "variables": {"ours": "not theirs"}}, "c": {"command": "x", "cwd": "${CLAUDE_PLUGIN_ROOT}"}}}
-- SKILL.md --
` + strings.ReplaceAll(skill, "name: review\n", ""), "Claude Code p  skill=p server=c:x server=s:https://example.com/sse", nil},
		"a skill at the root": {`
-- .claude-plugin/plugin.json --
{"name": "p"}
-- SKILL.md --
` + skill, "Claude Code p  skill=review", nil},
		"a skill at the root, named": {`
-- .claude-plugin/plugin.json --
{"name": "p", "skills": ["./SKILL.md"]}
-- SKILL.md --
` + skill, "Claude Code p  skill=review", nil},
		"no manifest": {`
-- skills/review/SKILL.md --
` + skill, "Claude Code given  skill=review", nil},
		"codex": {`
-- .codex-plugin/plugin.json --
{"name": "p", "version": "2", "apps": "./apps", "interface": {"displayName": "P"}, "mcpServers": "./.mcp.json"}
-- .mcp.json --
{"mcpServers": {"s": {"command": "x", "cwd": "."}}}
-- skills/long/SKILL.md --
` + strings.ReplaceAll(strings.ReplaceAll(skill, "review", "long"), "Reviews.", strings.Repeat("Reviews. ", 200)) + `
-- skills/review/SKILL.md --
` + skill, "Codex p 2 skill=long skill=review server=s:x", []string{"apps"}},
		"cursor": {`
-- .cursor-plugin/plugin.json --
{"name": "p", "rules": "./rules", "mcpServers": {"s": {"command": "x", "args": ["--user=${env:NAME}"]}}}
-- commands/a.md --
a
-- agents/careful.md --
---
description: d
readonly: true
---
Look.
-- agents/linked.md --
---
description: d
tools: Bash, Edit, Glob, Grep, LS, Read, Skill, Task, TodoWrite, WebFetch, WebSearch, mcp__s__find
---
Look.
`, "Cursor p  command=p:a agent=p:careful-edit agent=p:linked server=s:x--user=${NAME} env=NAME", []string{"rules"}},
		"gemini": {`
-- gemini-extension.json --
{"name": "p", "version": "1", "mcpServers": {"s": {"command": "node", "args": ["${extensionPath}${/}s.js"]}, "h": {"httpUrl": "https://example.com/", "url": "https://example.com/sse"}}, "excludeTools": ["x"], "contextFileName": "GEMINI.md"}
-- commands/notes/add.toml --
description = "Adds a note."
prompt = """
Add {{args}} to "notes.md".
"""
-- commands/empty.toml --
description = "Nothing."
prompt = " "
-- commands/broken.toml --
prompt = 1
-- commands/large.toml --
# ` + strings.Repeat("x", 65<<10) + `
-- commands/other.md --
Not a command of Gemini CLI.
`, "Gemini CLI p 1 command=p:notes:add server=h:https://example.com/ server=s:node${PLUGIN_ROOT}/s.js",
			[]string{"excluded tools", "instructions of plugins", "empty.toml: is left out: it has no prompt", "broken.toml: is left out", "large.toml: is left out"}},
		"several manifests": {`
-- gemini-extension.json --
{"name": "gemini"}
-- .claude-plugin/plugin.json --
{"name": "claude"}
-- skills/review/SKILL.md --
` + skill, "Claude Code claude  skill=review", nil},
		"ours first": {`
-- plugin.json --
{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "ours"}
-- .claude-plugin/plugin.json --
{"name": "claude"}
`, "tenon ours ", nil},
		"a plugin.json of another host": {`
-- plugin.json --
{"name": "goose"}
-- .claude-plugin/plugin.json --
{"name": "claude"}
-- commands/a.md --
a
`, "Claude Code claude  command=claude:a", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := manifest.ReadNamed(folder(t, c.files), "given")
			if err != nil {
				t.Fatal(err)
			}
			if have := summary(p); have != c.want {
				t.Errorf("have %s\nwant %s", have, c.want)
			}
			text := strings.Join(p.Warnings, "\n")
			for _, word := range c.out {
				if !strings.Contains(text, word) {
					t.Errorf("%q is not named in:\n%s", word, text)
				}
			}
			if len(p.Warnings) != len(c.out) {
				t.Errorf("%d warnings, want %d:\n%s", len(p.Warnings), len(c.out), text)
			}
		})
	}
}

func TestForeignRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files string
		want  error
	}{
		"nothing":            {"-- README.md --\nx\n", manifest.ErrNone},
		"not JSON":           {"-- .claude-plugin/plugin.json --\n{\n-- commands/a.md --\na\n", sdk.ErrManifest},
		"no equivalent":      {"-- .claude-plugin/plugin.json --\n{\"name\": \"p\", \"lspServers\": {}}\n", manifest.ErrNoEquivalent},
		"a name like a path": {"-- .claude-plugin/plugin.json --\n{\"name\": \"../p\"}\n-- commands/a.md --\na\n", sdk.ErrManifest},
		"of opencode":        {"-- package.json --\n{\"peerDependencies\": {\"@opencode-ai/plugin\": \"*\"}}\n", manifest.ErrNoEquivalent},
	} {
		if p, err := manifest.ReadNamed(folder(t, c.files), "given"); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v; want %v", name, p, err, c.want)
		}
	}
}

// FuzzForeign reads any manifest and any list of servers.
func FuzzForeign(f *testing.F) {
	const skill = "---\nname: s\ndescription: D\ndisable-model-invocation: true\n---\nb"
	f.Add(false, `{"name": "p", "skills": ["./a"], "mcpServers": "./m.json", "commands": 1}`, `{"mcpServers": {"s": {"command": "${CLAUDE_PLUGIN_ROOT}/x"}}}`, "---\nname: a\n---\nb", "{}")
	f.Add(false, `{"name": "p", "hooks": ["./hooks/hooks.json", {"hooks": {"Stop": [{}]}}, "../x", 7], "skills": ["skills/s", "../x"], "lspServers": {}, "x": 1}`,
		`{"s": {"type": "http", "url": "https://x", "headers": {"A": "${B}"}}, "t": {"command": "npx", "args": [1], "env": {"": "x"}}, "u": {"url": "ftp://x"}}`,
		"---\nname: a\ntools: Read, Bash(git *), mcp__x\ndisallowedTools: [Edit, 1]\nmodel: opus\nreadonly: true\nhooks: {}\n---\n${CLAUDE_PLUGIN_ROOT}/x", `{"hooks": {"PreToolUse": [{"hooks": []}], "d": "x"}}`)
	f.Add(false, ``, `[]`, skill, `{"PreToolUse": [`)
	f.Add(false, `{"name": "p", "mcpServers": {"a": {"command": "/x", "cwd": ".."}, "b": null}}`, `{`, "---\ntools: [\n---", `[]`)
	f.Add(true, `{"name": "p", "contextFileName": "X.md"}`, `{}`, "description = \"D\"\nprompt = \"\"\"\na {{args}} !{ls}\n\"\"\"\n[x]\na = [1, {b = 1e3}]\n", "")
	f.Fuzz(func(t *testing.T, gemini bool, text, servers, doc, hooks string) {
		dir, file := t.TempDir(), ".claude-plugin/plugin.json"
		if gemini {
			file = "gemini-extension.json"
		}
		for name, body := range map[string]string{
			file: text, ".mcp.json": servers, "agents/a.md": doc, "commands/a.md": doc, "commands/b.toml": doc, "skills/s/SKILL.md": doc, "hooks/hooks.json": hooks,
		} {
			path := filepath.Join(dir, name)
			if body == "" {
				continue
			}
			if os.MkdirAll(filepath.Dir(path), 0o755) != nil || os.WriteFile(path, []byte(body), 0o644) != nil {
				t.Fatal(path)
			}
		}
		p, err := manifest.ReadNamed(dir, "given")
		if err != nil {
			return
		}
		for name, s := range p.Servers {
			if strings.HasPrefix(s.Command, "/") || strings.Contains(s.Command, "..") && strings.HasPrefix(s.Command, "./") && !filepath.IsLocal(s.Command) {
				t.Errorf("server %q leads out: %+v", name, s)
			}
		}
		for _, a := range p.Description.Agents {
			for _, r := range a.Permission {
				if r.Action != "deny" {
					t.Errorf("agent %s has the rule %+v", a.Name, r)
				}
			}
		}
		for _, c := range p.Description.Commands {
			if gemini != strings.HasSuffix(c.Origin, ".toml") || !strings.HasPrefix(c.Name, p.Description.Name+":") {
				t.Errorf("command %+v", c)
			}
		}
		for _, s := range p.Skills {
			if s.Name == "" || !strings.HasPrefix(s.Location, s.Root+string(filepath.Separator)) {
				t.Errorf("skill %+v", s)
			}
		}
		if !manifest.ValidName(p.Description.Name) || p.HookFile != "" && !json.Valid([]byte(p.Hooks)) && !strings.Contains(hooks, "/") {
			t.Errorf("%q, command hooks %q", p.Description.Name, p.Hooks)
		}
	})
}

// Claude Code counts arguments from 0, older versions from 1.
func TestForeignArguments(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"$0 of $1, $10, $0x": "$1 of $2, $10, $0x",
		"$ARGUMENTS[2]: $1":  "$3: $2",
		"$1 of $2":           "$1 of $2",
		"$ARGUMENTS":         "$ARGUMENTS",
	} {
		p, err := manifest.ReadNamed(folder(t, "-- commands/a.md --\n"+text+"\n"), "p")
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Description.Commands[0].Template; got != want {
			t.Errorf("template of %q = %q, want %q", text, got, want)
		}
		p, err = manifest.ReadNamed(folder(t, "-- gemini-extension.json --\n{\"name\": \"p\"}\n-- commands/a.toml --\nprompt = '"+text+"'\n"), "p")
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Description.Commands[0].Template; got != text {
			t.Errorf("template of Gemini's %q = %q", text, got)
		}
	}
}

// TestForeignRoot: in texts of another host's plugin, its root is the directory of the package.
func TestForeignRoot(t *testing.T) {
	t.Parallel()
	dir := folder(t, "-- commands/a.md --\nRun ${CLAUDE_PLUGIN_ROOT}/a.sh\n-- agents/b.md --\nRun ${CLAUDE_PLUGIN_ROOT}/b.sh\n")
	p, err := manifest.ReadNamed(dir, "p")
	if err != nil {
		t.Fatal(err)
	}
	if d := p.Description; d.Commands[0].Template != "Run "+p.Root+"/a.sh" || d.Agents[0].Prompt != "Run "+p.Root+"/b.sh" {
		t.Errorf("%q, %q", d.Commands[0].Template, d.Agents[0].Prompt)
	}
}
