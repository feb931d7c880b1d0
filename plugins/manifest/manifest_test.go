package manifest_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/sdk"
)

// TestRejects lists what rejects a whole package, with what the error has to say.
func TestRejects(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files files
		want  []string
	}{
		"no plugin.json":            {files{"x": ""}, []string{"plugin.json", "plugin.json: not found"}},
		"other case of plugin.json": {files{"Plugin.json": plain("")}, []string{"plugin.json: not found"}},
		"a directory":               {files{"plugin.json/": ""}, []string{"not a regular file"}},
		"not JSON":                  {files{"plugin.json": "{,}"}, []string{"plugin.json:1:2: not valid JSON"}},
		"no object":                 {files{"plugin.json": "[]"}, []string{"want an object, have a list"}},
		"something behind":          {files{"plugin.json": plain("") + "{}"}, []string{"not valid JSON", "after top-level value"}},
		"byte order mark":           {files{"plugin.json": "\ufeff" + plain("")}, []string{"byte order mark"}},
		"not UTF-8":                 {files{"plugin.json": plain(`"version": "` + "\xff" + `"`)}, []string{"UTF-8"}},
		"too large":                 {files{"plugin.json": plain(`"version": "` + strings.Repeat("1", 1<<20) + `"`)}, []string{"more than 1048576 bytes"}},
		"too deep":                  {files{"plugin.json": plain(`"extensions": {"a.b": ` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`)}, []string{"nested deeper"}},
		"field twice":               {files{"plugin.json": plain(`"name": "other"`)}, []string{"name: duplicate key"}},
		"no schema":                 {files{"plugin.json": `{"name": "demo"}`}, []string{"$schema: is missing", manifest.PluginSchema}},
		"other version":             {files{"plugin.json": `{"$schema": "https://agent-plugins.org/schemas/2.0.0/plugin.schema.json", "name": "demo"}`}, []string{"$schema", "unknown version"}},
		"schema with a slash":       {files{"plugin.json": `{"$schema": "` + manifest.PluginSchema + `/", "name": "demo"}`}, []string{"$schema"}},
		"no name":                   {files{"plugin.json": `{"$schema": "` + manifest.PluginSchema + `"}`}, []string{"name: is missing"}},
		"empty name":                {files{"plugin.json": strings.Replace(plain(""), "demo", "", 1)}, []string{"name"}},
		"capital name":              {files{"plugin.json": strings.Replace(plain(""), "demo", "Demo", 1)}, []string{`invalid plugin name "Demo"`}},
		"name with ..":              {files{"plugin.json": strings.Replace(plain(""), "demo", "a..b", 1)}, []string{"name"}},
		"name that is a path":       {files{"plugin.json": strings.Replace(plain(""), "demo", "../x", 1)}, []string{"name"}},
		"name with an escape":       {files{"plugin.json": strings.Replace(plain(""), "demo", `a\u001b[2J`, 1)}, []string{`"a\x1b[2J"`}},
		"version of another kind":   {files{"plugin.json": plain(`"version": 1`)}, []string{"version: want a string, have 1"}},
		"null":                      {files{"plugin.json": plain(`"description": null`)}, []string{"description: want a string, have null"}},
		"keywords of another kind":  {files{"plugin.json": plain(`"keywords": ["a", 1]`)}, []string{"keywords[1]: want a string"}},
		"author is text":            {files{"plugin.json": plain(`"author": "me"`)}, []string{"author: want an object"}},
		"author with a phone":       {files{"plugin.json": plain(`"author": {"name": "a", "phone": "1"}`)}, []string{"author.phone: unknown key"}},
		"author field in capitals":  {files{"plugin.json": plain(`"author": {"Name": "a"}`)}, []string{"author.Name: unknown key", `did you mean "name"`}},
		"namespace twice":           {files{"plugin.json": plain(`"extensions": {"a.b": {}, "a.b": {}}`)}, []string{"duplicate key"}},
		"extension is a list":       {files{"plugin.json": extended(`[]`)}, []string{`extensions."io.github.tenonhq": want an object`}},
		"extension repeats name":    {files{"plugin.json": extended(`{"name": "demo"}`)}, []string{`extensions."io.github.tenonhq".name`, "remove it"}},
		"slip in the extension":     {files{"plugin.json": extended(`{"hoks": []}`)}, []string{".hoks: unknown key", `did you mean "hooks"`}},
		"field in capitals":         {files{"plugin.json": extended(`{"Hooks": []}`)}, []string{".Hooks: unknown key"}},
		"hooks without runtime":     {files{"plugin.json": extended(`{"hooks": [{"point": "event"}]}`)}, []string{"hooks: needs a runtime"}},
		"build without command":     {files{"plugin.json": extended(`{"build": {"command": []}}`)}, []string{"build.command: is empty"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := manifest.Read(c.files.write(t))
			wantError(t, err, c.want)
		})
	}
}

func wantError(t *testing.T, err error, want []string) {
	t.Helper()
	if !errors.Is(err, sdk.ErrManifest) {
		t.Fatalf("error %v, want one that wraps sdk.ErrManifest", err)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q, want one with %q", err, w)
		}
	}
}

// TestRuntime lists runtimes that are refused.
func TestRuntime(t *testing.T) {
	t.Parallel()
	other := "plan9/mips"
	for name, c := range map[string]struct {
		runtime string
		want    []string
	}{
		"no type":                  {`{"module": "./p.wasm"}`, []string{"runtime.type: is missing"}},
		"unknown type":             {`{"type": "native"}`, []string{`unknown type "native"`}},
		"no module":                {`{"type": "wasm"}`, []string{"runtime.module: is missing"}},
		"module without ./":        {`{"type": "wasm", "module": "p.wasm"}`, []string{"runtime.module", `does not begin with "./"`}},
		"module above":             {`{"type": "wasm", "module": "./../p.wasm"}`, []string{"leads out"}},
		"module in the middle":     {`{"type": "wasm", "module": "./a/../../p.wasm"}`, []string{"leads out"}},
		"absolute module":          {`{"type": "wasm", "module": "/etc/passwd"}`, []string{"./"}},
		"module is the root":       {`{"type": "wasm", "module": "./"}`, []string{"leads out"}},
		"module is a directory":    {`{"type": "wasm", "module": "./dir"}`, []string{"not a regular file"}},
		"module is not there":      {`{"type": "wasm", "module": "./none.wasm"}`, []string{"file not found", "build the plugin"}},
		"module with NUL":          {`{"type": "wasm", "module": "./p\u0000.wasm"}`, []string{"invisible characters"}},
		"module with a backslash":  {`{"type": "wasm", "module": "./..\\p.wasm"}`, []string{"backslash"}},
		"module leads out by link": {`{"type": "wasm", "module": "./out.wasm"}`, []string{"leads out"}},
		"module in /proc":          {`{"type": "wasm", "module": "./proc"}`, []string{"leads out"}},
		"wasm with a command":      {`{"type": "wasm", "module": "./p.wasm", "command": ["x"]}`, []string{"has a module and no command"}},
		"too much memory":          {`{"type": "wasm", "module": "./p.wasm", "memory": 1025}`, []string{"runtime.memory"}},
		"memory is a fraction":     {`{"type": "wasm", "module": "./p.wasm", "memory": 1.5}`, []string{"runtime.memory", "whole number"}},
		"negative memory":          {`{"type": "wasm", "module": "./p.wasm", "memory": -1}`, []string{"runtime.memory"}},
		"unknown state":            {`{"type": "wasm", "module": "./p.wasm", "state": "host"}`, []string{"runtime.state"}},
		"no command":               {`{"type": "process"}`, []string{"runtime.command: is missing"}},
		"empty command":            {`{"type": "process", "command": [""]}`, []string{"runtime.command[0]", "is empty"}},
		"command with a slash":     {`{"type": "process", "command": ["bin/p"]}`, []string{"neither a bare name nor a path"}},
		"command is absolute":      {`{"type": "process", "command": ["/bin/sh"]}`, []string{"neither a bare name"}},
		"command above":            {`{"type": "process", "command": ["./../sh"]}`, []string{"leads out"}},
		"command is ..":            {`{"type": "process", "command": [".."]}`, []string{"neither a bare name"}},
		"command is an option":     {`{"type": "process", "command": ["-x"]}`, []string{"begins with a dash"}},
		"command with an escape":   {`{"type": "process", "command": ["a\u001b"]}`, []string{"invisible characters"}},
		"argument with NUL":        {`{"type": "process", "command": ["node", "a\u0000b"]}`, []string{"command[1]", "NUL"}},
		"not executable":           {`{"type": "process", "command": ["./p.wasm"]}`, []string{"is not executable", "chmod +x"}},
		"process with memory":      {`{"type": "process", "command": ["./run"], "memory": 5}`, []string{"for wasm plugins"}},
		"process with a module":    {`{"type": "process", "command": ["./run"], "module": "./p.wasm"}`, []string{"runtime.module: a process plugin"}},
		"another platform":         {`{"type": "process", "platforms": {"` + other + `": ["./run"]}}`, []string{"does not run on " + runtime.GOOS + "/" + runtime.GOARCH}},
		"no platform":              {`{"type": "process", "command": ["./run"], "platforms": {"linux": ["./run"]}}`, []string{`platforms.linux: invalid platform "linux"`}},
		"empty platform":           {`{"type": "process", "platforms": {"` + runtime.GOOS + `/` + runtime.GOARCH + `": []}}`, []string{"is empty"}},
		"platform leads out":       {`{"type": "process", "command": ["./run"], "platforms": {"` + other + `": ["../x"]}}`, []string{"neither a bare name"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := files{
				"plugin.json": extended(`{"runtime": ` + c.runtime + `}`), "p.wasm": "x", "dir/x": "", "run": "+x",
				"out.wasm": "-> ../outside.wasm", "proc": "-> /proc/self/exe", "../outside.wasm": "x",
			}.write(t)
			_, err := manifest.Read(dir)
			wantError(t, err, c.want)
		})
	}
}

// TestDescription lists contributions that are refused.
func TestDescription(t *testing.T) {
	t.Parallel()
	const tool = `{"id": "a", "description": "d", "parameters": {"type": "object"}`
	for name, c := range map[string]struct {
		files files
		want  []string
	}{
		"unknown point":           {withHook(`{"point": "tool.execute.befor"}`), []string{".hooks[0].point", `did you mean "tool.execute.before"`}},
		"no point":                {withHook(`{}`), []string{".hooks[0].point"}},
		"point of another kind":   {withHook(`{"point": 1}`), []string{".hooks[0].point: want a string"}},
		"the same hook twice":     {withHook(`{"point": "event"}, {"point": "event"}`), []string{`duplicate of "event" at extensions."io.github.tenonhq".hooks[0]`}},
		"alias of the same hook":  {withHook(`{"point": "chat.params"}, {"point": "experimental.chat.params", "name": "chat.params"}`), []string{"duplicate of"}},
		"no pointer":              {withHook(`{"point": "chat.params", "reads": ["temperature"]}`), []string{".reads[0]", "invalid JSON pointer"}},
		"bad escape":              {withHook(`{"point": "chat.params", "reads": ["/options/~2"]}`), []string{".reads[0]", "invalid JSON pointer"}},
		"unknown field of value":  {withHook(`{"point": "chat.params", "writes": ["/temprature"]}`), []string{".writes[0]", `did you mean "temperature"`}},
		"below a number":          {withHook(`{"point": "chat.params", "writes": ["/temperature/x"]}`), []string{".writes[0]"}},
		"pointer twice":           {withHook(`{"point": "chat.params", "reads": ["/topP", "/topP"]}`), []string{"duplicate field"}},
		"fields without a value":  {withHook(`{"point": "event", "reads": ["/type"]}`), []string{"have no value"}},
		"many fields":             {withHook(`{"point": "chat.params", "reads": [` + strings.TrimSuffix(strings.Repeat(`"/topP",`, 257), ",") + `]}`), []string{".reads", "at most 256"}},
		"unknown policy":          {withHook(`{"point": "event", "onError": "ignore"}`), []string{".onError", "skip, deny or stop"}},
		"observer that denies":    {withHook(`{"point": "event", "onError": "deny"}`), []string{"does not fit event"}},
		"transform that denies":   {withHook(`{"point": "chat.params", "onError": "deny"}`), []string{"does not fit chat.params"}},
		"negative timeout":        {withHook(`{"point": "event", "timeout": -1}`), []string{".timeout"}},
		"long timeout":            {withHook(`{"point": "event", "timeout": 60001}`), []string{"60000 milliseconds"}},
		"before itself":           {withHook(`{"point": "event", "before": ["demo"]}`), []string{"names the plugin itself"}},
		"after a bad name":        {withHook(`{"point": "event", "after": ["A"]}`), []string{".after[0]"}},
		"hook name with spaces":   {withHook(`{"point": "event", "name": "a b"}`), []string{".hooks[0].name"}},
		"bad tool id":             {withTool(`{"id": "a b", "description": "d", "parameters": {"type": "object"}}`), []string{".tools[0].id"}},
		"tool without text":       {withTool(`{"id": "a", "description": " ", "parameters": {"type": "object"}}`), []string{".tools[0].description"}},
		"tool without parameters": {withTool(`{"id": "a", "description": "d"}`), []string{".tools[0].parameters: is missing"}},
		"tool with a long text":   {withTool(`{"id": "a", "description": "` + strings.Repeat("d", 8193) + `", "parameters": {"type": "object"}}`), []string{".tools[0].description", "at most 8192"}},
		"parameters are a list":   {withTool(`{"id": "a", "description": "d", "parameters": []}`), []string{".tools[0].parameters", "want an object"}},
		"parameters are a string": {withTool(`{"id": "a", "description": "d", "parameters": {"type": "string"}}`), []string{".tools[0].parameters.type"}},
		"bad schema":              {withTool(`{"id": "a", "description": "d", "parameters": {"type": "object", "properties": {"x": {"type": "string", "pattern": "("}}}}`), []string{".tools[0].parameters"}},
		"schema with a reference": {withTool(`{"id": "a", "description": "d", "parameters": {"type": "object", "properties": {"x": {"$ref": "https://example.com/s"}}}}`), []string{"$ref", "pointer into the schema"}},
		"schema of itself":        {withTool(`{"id": "a", "description": "d", "parameters": {"type": "object", "$ref": "#"}}`), []string{"with itself"}},
		"schema in a circle":      {withTool(`{"id": "a", "description": "d", "parameters": {"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}}}`), []string{"with itself"}},
		"schema that doubles":     {withTool(`{"id": "a", "description": "d", "parameters": ` + doubling(20) + `}`), []string{"too many schemas"}},
		"field of schema twice":   {withTool(`{"id": "a", "description": "d", "parameters": {"type": "object", "type": "object"}}`), []string{"parameters.type: duplicate key"}},
		"the same tool twice":     {withTool(tool + "}, " + tool + "}"), []string{`duplicate of "a" at`}},
		"long tool timeout":       {withTool(tool + `, "timeout": 120001}`), []string{".tools[0].timeout"}},
		"bad permission":          {withTool(tool + `, "permission": "a b"}`), []string{".tools[0].permission"}},
		"command in wasm":         {files{"plugin.json": extended(`{` + wasmRuntime + `, "commands": [{"name": "x"}]}`), "p.wasm": ""}, []string{"a wasm plugin cannot contribute commands"}},
		"sign-in not requested":   {files{"plugin.json": extended(`{` + wasmRuntime + `, "auth": [{"provider": "acme", "id": "x"}]}`), "p.wasm": ""}, []string{".auth[0].provider", `the capability auth does not name "acme"`}},
		"sign-in without id":      {files{"plugin.json": extended(`{` + wasmRuntime + `, "auth": [{"provider": "acme"}], "capabilities": [{"name": "auth", "scope": ["acme"]}]}`), "p.wasm": ""}, []string{".auth[0].id"}},
		"every provider":          {withCapability(`{"name": "auth", "scope": ["*"]}`), []string{"want the ID of a provider"}},
		"agent of another mode":   {files{"plugin.json": extended(`{"runtime": {"type": "process", "command": ["node"]}, "agents": [{"name": "a", "mode": "x"}]}`)}, []string{".agents[0].mode"}},
		"unknown capability":      {withCapability(`{"name": "htp", "scope": ["https://a.example"]}`), []string{".capabilities[0].name", `did you mean "http"`}},
		"capability twice":        {withCapability(`{"name": "kv"}, {"name": "kv"}`), []string{"duplicate of"}},
		"scope that is missing":   {withCapability(`{"name": "http"}`), []string{".scope: http needs a scope"}},
		"scope too many":          {withCapability(`{"name": "kv", "scope": ["x"]}`), []string{"kv has no scope"}},
		"every host":              {withCapability(`{"name": "http", "scope": ["*"]}`), []string{".scope[0]"}},
		"every host by scheme":    {withCapability(`{"name": "http", "scope": ["https://*"]}`), []string{".scope[0]"}},
		"every host of a country": {withCapability(`{"name": "http", "scope": ["https://*.co.uk"]}`), []string{".scope[0]"}},
		"every secret":            {withCapability(`{"name": "secret", "scope": ["*"]}`), []string{".scope[0]"}},
		"some secrets":            {withCapability(`{"name": "secret", "scope": ["B", "A_*"]}`), []string{".scope[1]", "exact name"}},
		"secret without a name":   {withCapability(`{"name": "secret", "scope": [""]}`), []string{".scope[0]"}},
		"tool without a name":     {withCapability(`{"name": "tool", "scope": [""]}`), []string{".scope[0]"}},
		"tool with a space":       {withCapability(`{"name": "tool", "scope": ["a b"]}`), []string{".scope[0]", "want a name"}},
		"every variable":          {withCapability(`{"name": "env", "scope": ["A*"]}`), []string{".scope[0]", "exact name"}},
		"PLUGIN_ROOT":             {withCapability(`{"name": "env", "scope": ["PLUGIN_ROOT"]}`), []string{"tenon sets this variable"}},
		"home directory":          {withCapability(`{"name": "fs.read", "scope": ["~/x"]}`), []string{"$PROJECT"}},
		"relative directory":      {withCapability(`{"name": "fs.read", "scope": ["src"]}`), []string{"$PROJECT"}},
		"directory above":         {withCapability(`{"name": "fs.read", "scope": ["$PROJECT/../.."]}`), []string{"without ., .."}},
		"other variable":          {withCapability(`{"name": "fs.read", "scope": ["/home/$USER"]}`), []string{"not supported"}},
		"variable as a prefix":    {withCapability(`{"name": "fs.write", "scope": ["$PROJECTOR"]}`), []string{"want $PROJECT"}},
		"hidden in the scope":     {withCapability(`{"name": "tool", "scope": ["read\u202e"]}`), []string{"invisible characters"}},
		"long reason":             {withCapability(`{"name": "kv", "reason": "` + strings.Repeat("a", 501) + `"}`), []string{".reason"}},
		"many scopes":             {withCapability(`{"name": "tool", "scope": [` + strings.TrimSuffix(strings.Repeat(`"a",`, 33), ",") + `]}`), []string{"at most 32"}},
		"options of no object":    {files{"plugin.json": extended(`{` + wasmRuntime + `, "options": {"type": "array"}}`), "p.wasm": ""}, []string{".options.type"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := manifest.Read(c.files.write(t))
			wantError(t, err, append(c.want, "plugin.json:1:"))
		})
	}
}

// doubling is a schema whose references double n times.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`{"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {`)
	for i := range n {
		next := `#/$defs/` + strings.Repeat("a", i+2)
		b.WriteString(`"` + strings.Repeat("a", i+1) + `": {"allOf": [{"$ref": "` + next + `"}, {"$ref": "` + next + `"}]}, `)
	}
	b.WriteString(`"` + strings.Repeat("a", n+1) + `": {"type": "string"}}}`)
	return b.String()
}

// TestIgnores lists what is reported and ignored.
func TestIgnores(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files files
		want  []string // of the warnings, in order; each a part of one
	}{
		"nothing":                        {files{"plugin.json": plain("")}, nil},
		"unknown field":                  {files{"plugin.json": plain(`"versoin": 1`)}, []string{`plugin.json:1:91: versoin: is ignored: the specification has no such field; did you mean "version"?`}},
		"extensions are a list":          {files{"plugin.json": plain(`"extensions": []`)}, []string{"extensions: is ignored"}},
		"extensions are null":            {files{"plugin.json": plain(`"extensions": null`)}, []string{"extensions: is ignored"}},
		"other namespaces stay unread":   {files{"plugin.json": plain(`"extensions": {"com.example": {"hooks": 1, "hooks": 2, "x": [null]}}`)}, nil},
		"unusual metadata":               {files{"plugin.json": plain(`"version": "one", "homepage": "no url", "license": "mine", "author": {"email": "x", "url": "y"}`)}, nil},
		"skills is a file":               {files{"plugin.json": plain(""), "skills": ""}, []string{"skills: no skills are loaded: it is not a directory; make it a directory"}},
		"skills is missing":              {files{"plugin.json": plain(""), "skills": "-> ./nowhere"}, []string{"skills: no skills are loaded: "}},
		"skills leads out":               {files{"plugin.json": plain(""), "skills": "-> ../other", "../other/": ""}, []string{"no skills are loaded: leads out"}},
		"skill leads out":                {files{"plugin.json": plain(""), "skills/a": "-> ../../other", "../other/SKILL.md": skill("a")}, []string{"the skill is left out: leads out"}},
		"SKILL.md leads out":             {files{"plugin.json": plain(""), "skills/a/SKILL.md": "-> ../../../other.md", "../other.md": skill("a")}, []string{"leads out"}},
		"skill with another name":        {files{"plugin.json": plain(""), "skills/a/SKILL.md": skill("b")}, []string{`"b" is not the name of its directory`}},
		"skill without description":      {files{"plugin.json": plain(""), "skills/a/SKILL.md": "---\nname: a\n---\n"}, []string{"description: is missing"}},
		"skill with a name for display":  {files{"plugin.json": plain(""), "skills/a/SKILL.md": skill("A skill")}, []string{`"A skill": use 1 to 64`}},
		"skill without front matter":     {files{"plugin.json": plain(""), "skills/a/SKILL.md": "hello"}, []string{"name: is missing from the front matter"}},
		"skill without end":              {files{"plugin.json": plain(""), "skills/a/SKILL.md": "---\nname: a\n"}, []string{"not closed"}},
		"skill with a long description":  {files{"plugin.json": plain(""), "skills/a/SKILL.md": "---\nname: a\ndescription: " + strings.Repeat("x", 1025) + "\n---\n"}, []string{"more than 1024"}},
		"skill is not UTF-8":             {files{"plugin.json": plain(""), "skills/a/SKILL.md": skill("a") + "caf\xe9"}, []string{"is not valid UTF-8"}},
		"description is not UTF-8":       {files{"plugin.json": plain(""), "skills/a/SKILL.md": "---\nname: a\ndescription: caf\xe9\n---\n"}, []string{"is not valid UTF-8"}},
		"skill of another case":          {files{"plugin.json": plain(""), "skills/a/skill.md": skill("a")}, nil},
		"deeper skill":                   {files{"plugin.json": plain(""), "skills/a/b/SKILL.md": skill("b")}, nil},
		"mcp.json is a directory":        {files{"plugin.json": plain(""), "mcp.json/": ""}, []string{"no MCP servers are loaded"}},
		"mcp.json is not JSON":           {files{"plugin.json": plain(""), "mcp.json": "{"}, []string{"no MCP servers are loaded"}},
		"mcp.json leads out":             {files{"plugin.json": plain(""), "mcp.json": "-> ../mcp.json", "../mcp.json": mcpHead + "{}}"}, []string{"leads out"}},
		"mcp.json of another version":    {files{"plugin.json": plain(""), "mcp.json": `{"$schema": "x", "mcpServers": {}}`}, []string{"$schema: no MCP servers"}},
		"mcp.json is a dangling link":    {files{"plugin.json": plain(""), "mcp.json": "-> missing.json"}, []string{"no MCP servers are loaded"}},
		"mcp.json without servers":       {files{"plugin.json": plain(""), "mcp.json": `{"$schema": "` + manifest.MCPSchema + `"}`}, []string{"mcpServers: no MCP servers are loaded: is missing"}},
		"server without a name":          {withServers(`{"": {"type": "stdio", "command": "node"}}`), []string{"the server has no name"}},
		"mcp.json without schema":        {files{"plugin.json": plain(""), "mcp.json": `{"mcpServers": {}}`}, []string{"$schema"}},
		"mcp.json with an unknown field": {files{"plugin.json": plain(""), "mcp.json": mcpHead + `{}, "x": 1}`}, []string{"x: no MCP servers"}},
		"servers are a list":             {withServers(`[]`), []string{"mcpServers: no MCP servers"}},
		"hooks file is not JSON":         {files{"plugin.json": plain(""), "hooks/hooks.json": "{"}, []string{"no command hooks are loaded"}},
		"hooks file leads out":           {files{"plugin.json": plain(""), "hooks/hooks.json": "-> ../../h.json", "../h.json": "{}"}, []string{"leads out"}},
		"parts of Claude Code": {
			files{"plugin.json": plain(""), "commands/ship.md": "", ".mcp.json": "{}"},
			[]string{"commands: is left out: packages of Agent Plugins have no such part; move plugin.json to .claude-plugin/plugin.json", ".mcp.json: is left out"},
		},
		"their names for source files": {files{"plugin.json": plain(""), "agents/a.py": "", "commands/ship.go": ""}, nil},
		"their names beside a runtime": {files{"plugin.json": extended(`{` + wasmRuntime + `}`), "p.wasm": "", "agents/a.go": ""}, nil},
		"two hooks files":              {files{"plugin.json": plain(""), "hooks/hooks.json": "{}", "io.github.tenonhq/hooks/hooks.json": "{}"}, []string{"is not read"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := manifest.Read(c.files.write(t))
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Warnings) != len(c.want) {
				t.Fatalf("warnings %q, want %d", p.Warnings, len(c.want))
			}
			for i, w := range c.want {
				if !strings.Contains(p.Warnings[i], w) {
					t.Errorf("warning %q, want one with %q", p.Warnings[i], w)
				}
			}
			if len(p.Skills)+len(p.Servers) > 0 {
				t.Errorf("skills %v, servers %v; want none", p.Skills, p.Servers)
			}
		})
	}
}

// TestManySkills checks that one warning reports skills beyond the limit, for our packages and those of other programs.
func TestManySkills(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plugin.json", ".claude-plugin/plugin.json"} {
		f := files{name: plain("")}
		for i := range 503 {
			f[fmt.Sprintf("skills/s%03d/SKILL.md", i)] = skill(fmt.Sprintf("s%03d", i))
		}
		p, err := manifest.Read(f.write(t))
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Skills) != 500 || p.Skills[499].Name != "s499" {
			t.Errorf("%s: %d skills", name, len(p.Skills))
		}
		if len(p.Warnings) != 1 || !strings.HasSuffix(p.Warnings[0], "skills: only the first 500 skills are loaded; split the package") {
			t.Errorf("%s: warnings %q", name, p.Warnings)
		}
	}
}

func skill(name string) string {
	return "---\nname: " + name + "\ndescription: Does things.\n---\nBody\n"
}

// TestReads reads a package that has everything.
func TestReads(t *testing.T) {
	t.Parallel()
	dir := files{
		"plugin.json": plain(`"version": "1.2.0", "description": "All of it", "author": {"name": "A"}, "repository": "r", "license": "MIT", "keywords": [],
			"extensions": {"io.github.tenonhq": {
				"runtime": {"type": "process", "command": ["./bin/p", "--x"], "platforms": {"` + runtime.GOOS + `/` + runtime.GOARCH + `": ["./bin/own"]}},
				"build": {"command": ["make"]},
				"hooks": [{"point": "tool.execute.before", "reads": ["/args/path"], "writes": ["/args"], "onError": "deny", "timeout": 500, "priority": -1, "before": ["other"]},
					{"point": "experimental.chat.messages.transform", "name": "m", "reads": ["/messages/*/parts/0/text"], "writes": [""]},
					{"point": "event", "reads": [""]}],
				"tools": [{"id": "a", "description": "d", "parameters": {"type": "object", "properties": {"tree": {"$ref": "#/$defs/tree"}}, "$defs": {"tree": {"type": "object", "properties": {"next": {"$ref": "#/$defs/tree"}}}}}}],
				"capabilities": [{"name": "http", "scope": ["https://*.example.com", "http://127.0.0.1:8080"], "reason": "to ask"}, {"name": "kv"},
					{"name": "fs.read", "scope": ["$PROJECT/docs", "$DATA", "/srv/x/", "/"]}],
				"options": {"type": "object", "properties": {"n": {"type": "integer"}}}
			}}`),
		"bin/p": "+x", "bin/own": "+x",
		"skills/deploy/SKILL.md": skill("deploy"), "skills/again/SKILL.md": "---\nname: \"again\"\ndescription: >\n  Two\n  lines\ndisable-model-invocation: yes\n---\n", "skills/empty/": "", "skills/README": "",
		"skills/linked": "-> deploy2", "skills/deploy2/x": "",
		"mcp.json":         mcpHead + `{"s": {"type": "stdio", "command": "node"}}}`,
		"hooks/hooks.json": "{}",
	}.write(t)
	p, err := manifest.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Warnings) > 0 {
		t.Errorf("warnings %q, want none", p.Warnings)
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	wantSkills := []sdk.PackagedSkill{
		{Name: "again", Description: "Two lines", Location: filepath.Join(root, "skills/again/SKILL.md"), Root: root, Manual: true},
		{Name: "deploy", Description: "Does things.", Location: filepath.Join(root, "skills/deploy/SKILL.md"), Root: root},
	}
	if diff := cmp.Diff(wantSkills, p.Skills); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	d := p.Description
	if p.Root != root || d.Name != "demo" || d.Version != "1.2.0" || p.Carrier != sdk.CarrierProcess || len(d.Capabilities) != 3 || p.Homepage != "r" {
		t.Errorf("package %+v", p)
	}
	if !slices.Equal(p.Description.Runtime.Command, []string{"./bin/own"}) || len(p.Description.Hooks) != 3 || p.Undescribed || p.Description.Name != "demo" {
		t.Errorf("description %+v", p.Description)
	}
	if p.HookFile != filepath.Join(root, "hooks", "hooks.json") || p.Servers["s"].Command != "node" {
		t.Errorf("hooks file %q, servers %v", p.HookFile, p.Servers)
	}
}

func TestReadUnbuilt(t *testing.T) {
	t.Parallel()
	dir := files{"plugin.json": extended(`{"runtime": {"type": "wasm", "module": "./p.wasm"}, "build": {"command": ["make"]}}`)}.write(t)
	if _, err := manifest.Read(dir); err == nil {
		t.Error("Read accepts a package whose module is missing")
	}
	p, err := manifest.ReadUnbuilt(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Undescribed || p.Description.Build.Command[0] != "make" {
		t.Errorf("package %+v, want one that is undescribed and has a build", p)
	}
}

func TestCarrierOfPackagesWithoutRuntime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files files
		want  sdk.Carrier
	}{
		"servers": {withServers(`{"s": {"type": "sse", "url": "https://example.com"}}`), sdk.CarrierMCP},
		"skills":  {files{"plugin.json": plain("")}, sdk.CarrierCommand},
	} {
		p, err := manifest.Read(c.files.write(t))
		if err != nil {
			t.Fatal(err)
		}
		if p.Carrier != c.want {
			t.Errorf("%s: carrier %q, want %q", name, p.Carrier, c.want)
		}
	}
}
