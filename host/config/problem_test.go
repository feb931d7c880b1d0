package config_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/host/config"
)

func TestProblems(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"unknown key":              {`{"modle": "a/b"}`, `1:2: modle: unknown key; did you mean "model"?`},
		"unknown nested key":       {"{\n  \"provider\": {\"x\": {\n    \"optionz\": {}}}}", `3:5: provider.x.optionz: unknown key; did you mean "options"?`},
		"wrong case":               {`{"Model": "a/b"}`, `1:2: Model: unknown key; did you mean "model"?`},
		"nothing near":             {`{"skills": {"quux": 1}}`, `1:13: skills.quux: unknown key; known here: paths, urls`},
		"name with a dot":          {`{"agent": {"a.b": {"promt": ""}}}`, `1:20: agent."a.b".promt: unknown key; did you mean "prompt"?`},
		"column in characters":     {`{"username": "ünï", "modl": 1}`, `1:21: modl: unknown key; did you mean "model"?`},
		"string":                   {`{"model": 5}`, `1:2: model: want a string, have 5`},
		"object":                   {`{"provider": []}`, `1:2: provider: want an object, have a list`},
		"list":                     {`{"instructions": "a.md"}`, `1:2: instructions: want a list, have "a.md"`},
		"element":                  {`{"instructions": ["a.md", 3]}`, `1:27: instructions[1]: want a string, have 3`},
		"bool":                     {`{"snapshot": "yes"}`, `1:2: snapshot: want true or false, have "yes"`},
		"null":                     {`{"model": null}`, `1:2: model: want a string, have null`},
		"top":                      {`[]`, `1:1: want an object, have a list`},
		"number":                   {`{"retry": {"max": "3"}}`, `1:12: retry.max: want a number, have "3"`},
		"fraction":                 {`{"retry": {"max": 1.5}}`, `1:12: retry.max: want a whole number, have 1.5`},
		"negative":                 {`{"retry": {"max": -1}}`, `1:12: retry.max: want 0 or more, have -1`},
		"negative temperature":     {`{"agent": {"a": {"temperature": -0.5}}}`, `1:18: agent.a.temperature: want 0 or more, have -0.5`},
		"huge number":              {`{"agent": {"a": {"temperature": 1e999}}}`, `1:18: agent.a.temperature: number out of range: 1e999`},
		"negative price":           {`{"provider": {"p": {"models": {"m": {"cost": {"input": -2}}}}}}`, `1:47: provider.p.models.m.cost.input: want 0 or more, have -2`},
		"model":                    {`{"model": "gpt"}`, `1:2: model: want provider/model, have "gpt"; write the provider's name first, such as "openai/gpt-5"`},
		"model of no variable":     {`{"model": "{env:NO_SUCH}"}`, `1:2: model: environment variable "NO_SUCH" is not set and counts as empty; want provider/model, have ""; write the provider's name first, such as "openai/gpt-5"`},
		"model of agent":           {`{"agent": {"a": {"model": "/m"}}}`, `1:18: agent.a.model: want provider/model, have "/m"; write the provider's name first, such as "openai/gpt-5"`},
		"log level":                {`{"logLevel": "wran"}`, `1:2: logLevel: want one of debug, info, warn, error, have "wran"; did you mean "warn"?`},
		"mode":                     {`{"agent": {"a": {"mode": "main"}}}`, `1:18: agent.a.mode: want one of primary, subagent, all, have "main"`},
		"mode, older":              {`{"mode": {"a": {}}}`, `1:2: mode: older key of opencode; move its agents to "agent" and add "mode": "primary"; tenon import opencode does so`},
		"servers of .mcp.json":     {`{"mcpServers": {"a": {"command": "x"}}}`, `1:2: mcpServers: key of the file .mcp.json; move it to .mcp.json in the project, or add each server with tenon mcp add`},
		"on error":                 {`{"hook": {"p": {"onError": "skp"}}}`, `1:17: hook.p.onError: want one of skip, deny, stop, have "skp"; did you mean "skip"?`},
		"action":                   {`{"permission": {"bash": "alow"}}`, `1:17: permission.bash: want one of allow, ask, deny, have "alow"; did you mean "allow"?`},
		"action of pattern":        {`{"permission": {"bash": {"git *": true}}}`, `1:26: permission.bash."git *": want an action (allow, ask or deny), have true`},
		"action at the top":        {`{"permission": "maybe"}`, `1:2: permission: want one of allow, ask, deny, have "maybe"`},
		"permission type":          {`{"permission": 3}`, `1:2: permission: want an action (allow, ask or deny) or an object, have 3`},
		"rule without pattern":     {`{"permission": [{"permission": "bash", "action": "ask"}]}`, `1:17: permission[0]: a rule needs permission and pattern; "*" stands for any`},
		"tools":                    {`{"tools": {"bash": "no"}}`, `1:12: tools.bash: want true or false, have "no"`},
		"timeout":                  {`{"provider": {"p": {"options": {"timeout": true}}}}`, `1:33: provider.p.options.timeout: want milliseconds, a whole number, or false`},
		"timeout of the answer":    {`{"provider": {"p": {"options": {"answerTimeout": "1h"}}}}`, `1:33: provider.p.options.answerTimeout: want milliseconds, a whole number, or false`},
		"timeout of all":           {`{"provider": {"p": {"options": {"totalTimeout": true}}}}`, `1:33: provider.p.options.totalTimeout: want milliseconds, a whole number, or false`},
		"oauth":                    {`{"mcp": {"m": {"type": "remote", "url": "u", "oauth": true}}}`, `1:46: mcp.m.oauth: want an object or false`},
		"hooks":                    {`{"hooks": []}`, `1:2: hooks: want an object`},
		"npm":                      {`{"provider": {"p": {"npm": "mine"}}}`, `1:21: provider.p.npm: npm packages are not installed, and no protocol is known for "mine"; set protocol to one of openai-chat, openai-responses, anthropic-messages, gemini, bedrock-converse`},
		"mcp type":                 {`{"mcp": {"m": {"type": "locale"}}}`, `1:16: mcp.m.type: want one of local, remote, have "locale"; did you mean "local"?`},
		"mcp without type":         {`{"mcp": {"m": {"url": "u"}}}`, `1:16: mcp.m: has no type; add "type": "remote"`},
		"mcp without command":      {`{"mcp": {"m": {"type": "local"}}}`, `1:16: mcp.m: a local server needs command; add "command": ["program", "argument"]`},
		"mcp without url":          {`{"mcp": {"m": {"type": "remote"}}}`, `1:16: mcp.m: a remote server needs url; add "url": "https://…"`},
		"mcp without all":          {`{"mcp": {"m": {}}}`, `1:10: mcp.m: has neither command nor url; add one of them`},
		"plugin without path":      {`{"plugins": [{"options": {}}]}`, `1:14: plugins[0]: a plugin needs a path or a name`},
		"plugin pair":              {`{"plugins": [["a", {}, 3]]}`, `1:14: plugins[0]: want a path and options; write ["./plugin", {…}]`},
		"plugin key":               {`{"plugins": [{"path": "a", "option": {}}]}`, `1:28: plugins[0].option: unknown key; did you mean "options"?`},
		"twice":                    {"{\"model\": \"a/b\",\n\"model\": \"a/c\"}", `2:1: model: duplicate key, first on line 1; remove one`},
		"secret value not shown":   {`{"provider": {"p": {"options": {"headers": "sk-secret"}}}}`, `1:33: provider.p.options.headers: want an object, have a string`},
		"file reference":           {`{"username": "{file:none.txt}"}`, `1:2: username: file "none.txt" cannot be read: no such file or directory; paths are relative to DIR`},
		"file reference, model":    {`{"model": "{file:none.txt}"}`, `1:2: model: file "none.txt" cannot be read: no such file or directory; paths are relative to DIR`},
		"file reference, action":   {`{"permission": {"bash": "{file:none.txt}"}}`, `1:17: permission.bash: file "none.txt" cannot be read: no such file or directory; paths are relative to DIR`},
		"file reference to device": {`{"username": "{file:/dev/zero}"}`, `1:2: username: file "/dev/zero" is outside the project; a project's file must not read it; put the value into your own configuration`},
		"missing comma":            {"{\n \"model\": \"a/b\"\n \"username\": \"x\"}", `3:2: not valid JSON: invalid character '"' after object value (expecting ',' or '}')`},
		"bad literal":              {`{"snapshot": True}`, `1:14: not valid JSON: invalid value`},
		"cut off":                  {"{\n \"model\":\n\n", `2:9: not valid JSON: it ends in the middle`},
		"open string":              {"{\"model\": \"a/b,\n\"username\": \"x\"}", `1:11: not valid JSON: invalid value`},
		"text after it":            {"{} {}", `1:4: not valid JSON: invalid character '{' after top-level value`},
		"not UTF-8":                {"{\"username\": \"\xff\"}", `1:15: not UTF-8; save the file as UTF-8`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" && strings.HasPrefix(name, "file reference") {
				t.Skip("the system's words differ")
			}
			p := newPlace(t, map[string]string{nearestFile: tt.text})
			l, err := config.Load(t.Context(), p.opts)
			if !errors.Is(err, config.ErrConfig) || l != nil {
				t.Fatalf("Load = %v, %v, want an error that wraps ErrConfig", l, err)
			}
			want := "tenon.json:" + strings.ReplaceAll(tt.want, "DIR", p.opts.Directory)
			if diff := cmp.Diff(want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProblemsOfAllSourcesComeTogether(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{
		userFile:    `{"model": 1, "x": 2}`,
		outerFile:   `{`,
		nearestFile: `{"share": "auto", "username": 3}`,
	})
	p.opts.Environ = []string{"TENON_MODEL=gpt", "TENON_CONFIG=/none/at/all.json", `TENON_PERMISSION={"bash": 1}`, `TENON_CONFIG_CONTENT={"y": 1}`}
	_, err := config.Load(t.Context(), p.opts)
	var list *config.Error
	if !errors.As(err, &list) {
		t.Fatalf("error = %v, want *config.Error", err)
	}
	var got []string
	for _, problem := range list.Problems {
		got = append(got, fmt.Sprintf("%s:%d %s", filepath.Base(problem.File), problem.Line, problem.Key))
	}
	want := []string{
		"tenon.json:1 ", "all.json:0 ", // what cannot be parsed
		"tenon.json:1 model", "tenon.json:1 x", "tenon.json:1 username",
		"TENON_CONFIG_CONTENT:1 y", "TENON_MODEL:0 model", "TENON_PERMISSION:1 permission.bash",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if lines := strings.Count(err.Error(), "\n") + 1; lines != len(want) {
		t.Errorf("%d lines, want one for each of %d problems:\n%v", lines, len(want), err)
	}
}

// TestUnsetVariableOfAnotherFile: a variable that is not set is named only in the problem with its own value.
func TestUnsetVariableOfAnotherFile(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{userFile: `{"model": "p/m{env:NO_SUCH}"}`, nearestFile: `{"model": "gpt"}`})
	if _, err := config.Load(t.Context(), p.opts); !errors.Is(err, config.ErrConfig) || strings.Contains(err.Error(), "NO_SUCH") {
		t.Errorf("Load = %v, want a problem without the variable", err)
	}
}

func TestTooManyProblemsAreCounted(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 80 {
		fmt.Fprintf(&b, `"unknown%d": 1,`, i)
	}
	_, err := inline(t, "{"+b.String()+"}")
	if err == nil || !strings.HasSuffix(err.Error(), "\nand 30 more") {
		t.Errorf("error ends with %q", err.Error()[max(0, len(err.Error())-40):])
	}
}

func TestUnreadableSources(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 5_000_000)
	tests := map[string]struct {
		prepare func(p *place)
		want    string
	}{
		"a directory": {
			func(p *place) { p.write(nearestFile+"/x", "") },
			"tenon.json: cannot be read: not a regular file: it is a directory",
		},
		"too large": {
			func(p *place) { p.write(nearestFile, strings.Repeat(" ", 2<<20)) },
			"tenon.json: cannot be read: 2097152 bytes, more than 1048576",
		},
		"inline too large": {
			func(p *place) { p.opts.Environ = []string{"TENON_CONFIG_CONTENT=" + deep} },
			"TENON_CONFIG_CONTENT: 5000000 bytes, more than 1048576",
		},
		"too deep to parse": {
			func(p *place) { p.opts.Environ = []string{"TENON_CONFIG_CONTENT=" + deep[:1_000_000]} },
			"TENON_CONFIG_CONTENT:1:1: 1000000 brackets, more than 20000",
		},
		"too many values": {
			func(p *place) { p.write(nearestFile, `{"instructions": [`+strings.Repeat(`"a",`, 20_000)+`]}`) },
			"tenon.json:1:1: 20003 values and names, more than 20000",
		},
		"keys too long": {
			func(p *place) {
				p.write(nearestFile, `{"command": {"`+strings.Repeat("a", 100_000)+`": {"env": {`+strings.Repeat(`"a":1,`, 1000)+`}}}}`)
			},
			"tenon.json:1:1: the keys of all values have 100215030 bytes, more than 67108864; shorten long names",
		},
		"too deep to make sense": {
			func(p *place) {
				p.opts.Environ = []string{`TENON_CONFIG_CONTENT={"hooks": {"a": ` + deep[:10_000] + strings.Repeat("]", 10_000) + "}}"}
			},
			"TENON_CONFIG_CONTENT:1:80: nested deeper than 64 levels",
		},
		"too large with its references": {
			func(p *place) {
				p.write(nearestFile, `{"agent": {"a": {"prompt": "{file:big}{file:big}{file:big}{file:big}{file:big}{file:big}"}}}`)
				p.write(filepath.Dir(nearestFile)+"/big", "x"+strings.Repeat(" ", 1<<20-1))
			},
			"tenon.json:1:18: agent.a.prompt: the references up to here read more than 4194304 bytes; insert less",
		},
		"named but missing": {
			func(p *place) { p.opts.Environ = []string{"TENON_CONFIG=none.json"} },
			"none.json: cannot be read: no such file or directory; correct or omit --config or TENON_CONFIG",
		},
		"no permission": {
			func(p *place) {
				p.write(nearestFile, "{}")
				if err := os.Chmod(p.path(nearestFile), 0); err != nil {
					p.t.Fatal(err)
				}
				if f, err := os.Open(p.path(nearestFile)); err == nil {
					f.Close()
					p.t.Skip("this user may read everything")
				}
			},
			"tenon.json: cannot be read: permission denied; make it readable, or move it away",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, nil)
			tt.prepare(p)
			_, err := config.Load(t.Context(), p.opts)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" && runtime.GOOS != "windows" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFileInPlaceOfTheDirectoryIsNoError(t *testing.T) {
	t.Parallel()
	newPlace(t, map[string]string{"project/.tenon": "not a directory"}).load()
}

// A name that is most likely a typo is reported; a name that may be a tool of a plugin or MCP server, or a pattern, is not.
func TestMisspeltPermissions(t *testing.T) {
	t.Parallel()
	l, err := inline(t, `{"permission": {
  "bsah": {"rm *": "deny"}, "externaldirectory": "deny", "unconfind": {"git push": "allow"},
  "github_list": "allow", "deploy": "ask", "b*": "ask", "bash": "ask", "doom_loop": "deny"},
  "agent": {"build": {"permission": [{"permission": "webfech", "pattern": "*", "action": "deny"}]}}}`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range l.Warnings {
		got = append(got, w.Key+" "+w.Remedy)
	}
	want := []string{
		`permission.bsah did you mean "bash"?`, `permission.externaldirectory did you mean "external_directory"?`,
		`permission.unconfind did you mean "unconfined"?`,
		`agent.build.permission[0] did you mean "webfetch"?`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// A file with comments alone is an empty file.
func TestFileOfComments(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty": "", "blank": " \n\t", "line": "// nothing yet", "lines": "// a\n// b\n", "block": "/* a\n */\n", "byte order mark": "\ufeff// a",
	} {
		if _, err := inline(t, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{"not closed": "/* a", "a value behind": "// a\n1", "a brace": "// a\n{"} {
		if _, err := inline(t, text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestCancelledLoad(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := config.Load(ctx, newPlace(t, nil).opts); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	l, err := inline(t, `{
  "$schema": "https://opencode.ai/config.json", "theme": "x", "share": "auto", "autoshare": true, "plugin": ["a"],
  "experimental": {"batch_tool": true},
  "provider": {"p": {"options": {"apikey": "k"}, "models": {"m": {"interleaved": true}}}},
  "permission": {"write": "deny", "edit": "ask"},
  "tools": {"bsh": false, "write": false, "mcp_*": true},
}`)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`TENON_CONFIG_CONTENT:2:49: theme: tenon has no such setting`,
		`TENON_CONFIG_CONTENT:2:63: share: tenon has no such setting`,
		`TENON_CONFIG_CONTENT:2:80: autoshare: tenon has no such setting`,
		`TENON_CONFIG_CONTENT:2:99: plugin: plugins of opencode run in a package: see tenon docs plugin-opencode; "plugins" lists tenon's`,
		`TENON_CONFIG_CONTENT:3:20: experimental.batch_tool: tenon has no such setting`,
		`TENON_CONFIG_CONTENT:4:34: provider.p.options.apikey: unknown key, passed on unchanged; did you mean "apiKey"?`,
		`TENON_CONFIG_CONTENT:5:18: permission.write: has no effect: the permission for tools that change files is edit; use "edit"`,
		`TENON_CONFIG_CONTENT:6:13: tools.bsh: unknown permission; it applies only if a plugin or MCP server has a tool with this name; did you mean "bash"?`,
	}
	var got []string
	for _, w := range l.Warnings {
		got = append(got, w.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
