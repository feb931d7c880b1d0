package claude

import (
	"cmp"
	"encoding/json"
	"runtime"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/sdk"
)

// permissions translates rules. Claude Code checks deny, ask and allow in this order; in tenon the last matching rule decides.
func (t *translator) permissions(n *checked.Node) {
	for i := range n.Members {
		m := &n.Members[i]
		key := "permissions." + m.Name
		switch m.Name {
		case "allow", "ask", "deny": // below
		case "defaultMode":
			t.mode(m)
		case "additionalDirectories":
			for j := range m.Value.Items {
				t.directory(key, &m.Value.Items[j])
			}
		default:
			t.note(m.Offset, key, "not imported: tenon has no such setting")
		}
	}
	for _, action := range []sdk.Action{sdk.ActionAllow, sdk.ActionAsk, sdk.ActionDeny} {
		list := n.Get(string(action))
		if list == nil {
			continue
		}
		has := func(text string) bool {
			return slices.ContainsFunc(list.Items, func(item checked.Node) bool { return item.Text == text })
		}
		t.writes = has("Edit") && has("Write")
		for i := range list.Items {
			item := &list.Items[i]
			if reason := t.rule(item.Text, action); reason != "" {
				t.note(item.Offset, "permissions."+string(action), "%q: not imported: %s", item.Text, reason)
			}
		}
	}
}

func (t *translator) add(action sdk.Action, permission string, patterns ...string) {
	for _, pattern := range patterns {
		t.out.Permission = append(t.out.Permission, sdk.PermissionRule{Permission: permission, Pattern: pattern, Action: action})
	}
}

func (t *translator) mode(m *checked.Member) {
	switch m.Value.Text {
	case "default":
	case "acceptEdits":
		t.add(sdk.ActionAllow, "edit", "*")
	case "plan":
		t.out.DefaultAgent = "plan"
	default:
		t.note(m.Offset, "permissions.defaultMode", "not imported: %q has no counterpart; --auto allows what no rule denies, for one run", m.Value.Text)
	}
}

func (t *translator) directory(key string, n *checked.Node) {
	dir := strings.TrimRight(n.Text, "/")
	if !strings.HasPrefix(dir, "/") && !strings.HasPrefix(dir, "~/") {
		t.note(n.Offset, key, "%q: not imported: write the absolute path, or one that begins with ~/", n.Text)
		return
	}
	t.add(sdk.ActionAllow, sdk.PermissionExternalDirectory, dir+"/*")
}

// rule translates a rule such as Bash(npm run test:*), or returns the reason why it is not imported. A rule that allows is not imported if in tenon
// it would allow more.
func (t *translator) rule(text string, action sdk.Action) (reason string) {
	tool, pattern, specific := strings.Cut(text, "(")
	if inner, closed := strings.CutSuffix(pattern, ")"); closed {
		pattern = inner
	} else if specific {
		return "the parenthesis is not closed"
	}
	pattern = cmp.Or(pattern, "*")
	if strings.ContainsAny(pattern, "?[") {
		return "? and [ have another meaning in patterns of tenon"
	}
	if name, ok := strings.CutPrefix(tool, "mcp__"); ok {
		server, of, _ := strings.Cut(name, "__")
		permission := server + "_" + cmp.Or(of, "*")
		if action == sdk.ActionAllow && strings.Contains(permission, "*") {
			return "a rule for " + permission + " may also match tools of another server; allow the tools by name"
		}
		t.add(action, permission, "*")
		return ""
	}
	switch tool {
	case "Bash":
		if prefix, ok := strings.CutSuffix(pattern, ":*"); ok {
			pattern = prefix + " *" // which also matches the prefix alone
		}
		t.add(action, "bash", pattern)
	case "Read":
		return t.files(action, "read", pattern)
	case "Edit", "Write", "MultiEdit":
		switch {
		case action != sdk.ActionAllow:
		case pattern != "*" && tool != "Edit":
			return "Claude Code ignores it, because it allows files by Edit rules only"
		case pattern == "*" && !t.writes:
			return "in tenon it would allow both editing and creating files; allow Edit and Write if that is what you want"
		}
		return t.files(action, "edit", pattern)
	case "WebFetch":
		return t.addresses(action, pattern)
	case "Glob", "Grep", "Skill", "TodoWrite":
		t.add(action, strings.ToLower(tool), pattern)
	case "Task", "Agent":
		builtin := map[string]string{"Explore": "explore", "general-purpose": "general"}
		t.add(action, "task", cmp.Or(builtin[pattern], pattern))
	default:
		return "tenon has no such tool"
	}
	return ""
}

// maxDepths limits the **/ in a pattern: each makes two patterns of one.
const maxDepths = 4

var drive = lazyregexp.New(`^/([A-Za-z])/`)

// files translates a file pattern: //path is absolute, ~/path is in the home directory, /path starts at the project, and ./path and path are
// relative. A name without a slash matches files at any depth, **/ may match nothing, and a directory means the files in it, see
// https://git-scm.com/docs/gitignore.
func (t *translator) files(action sdk.Action, permission, pattern string) (reason string) {
	allow := action == sdk.ActionAllow
	if !allow && pattern != "./" {
		pattern = strings.TrimPrefix(pattern, "./") // Claude Code 2.1.197 refuses ./.env at any depth
	}
	outside := strings.HasPrefix(pattern, "//") || strings.HasPrefix(pattern, "~/")
	names := strings.Split(strings.TrimSuffix(pattern, "/"), "/")
	switch {
	case strings.Trim(pattern, "*") == "":
		t.add(action, permission, "*")
		return ""
	case strings.Trim(pattern, "./") == "" || slices.Contains(names, ".."):
		return "it names no file of the project; an absolute path begins with //"
	case strings.Count(pattern, "**/") > maxDepths:
		return "it has too many **"
	case allow && outside && permission == "read":
		return "tenon cannot allow only reading outside the project"
	case allow && (strings.HasSuffix(pattern, "**/") || slices.ContainsFunc(names, func(name string) bool { return name != "**" && strings.Contains(name, "*") })):
		return "its * does not match /, but tenon's does; write ** if files below are meant, too"
	case allow && outside && !strings.HasSuffix(pattern, "/") && !strings.HasSuffix(pattern, "/**"):
		return "tenon allows whole directories outside the project; write " + pattern + "/** if it is one"
	case allow && !outside && (slices.Contains(names, "~") || slices.Contains(names, "$HOME")):
		return "in tenon it may name your home directory"
	}
	if rest := strings.TrimLeft(pattern, "/~"); !allow && outside && (rest == "" || rest == "*" || strings.HasPrefix(rest, "**")) {
		t.files(action, permission, rest) // the project may be there, too
	}
	if len(names) == 1 && !outside {
		pattern = "**/" + pattern
	}
	pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "./"), "/")
	if outside && runtime.GOOS == "windows" { // Claude Code writes a drive as //c
		pattern = drive().ReplaceAllString(pattern, "$1:/")
	}
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	parts := strings.Split(pattern, "**/")
	patterns := parts[:1:1]
	for _, part := range parts[1:] {
		for i, before := range patterns {
			patterns[i] = before + part
			patterns = append(patterns, before+"*/"+part)
		}
	}
	for _, p := range patterns {
		p = strings.ReplaceAll(p, "**", "*")
		files := strings.TrimSuffix(p, "/*") + "/*" // if it is a directory
		if !allow || !outside {
			t.add(action, permission, p)
		}
		if !allow && !strings.HasSuffix(p, "*") {
			t.add(action, permission, files)
		}
		if outside {
			t.add(action, sdk.PermissionExternalDirectory, files) // of commands, too
		}
	}
	return ""
}

// addresses translates domain:example.com. A rule that denies or asks applies to any port.
func (t *translator) addresses(action sdk.Action, pattern string) (reason string) {
	domain, ok := strings.CutPrefix(pattern, "domain:")
	domain = strings.TrimRight(strings.ToLower(domain), ".")
	switch {
	case pattern == "*":
		t.add(action, "webfetch", "*")
		return ""
	case !ok || domain == "":
		return "only domain:NAME can be translated"
	case action == sdk.ActionAllow && pattern != "domain:*" && strings.ContainsAny(strings.TrimPrefix(domain, "*."), "*/:@"):
		return "tenon would allow other hosts, too: its * matches dots, and it compares whole addresses"
	}
	t.add(action, "webfetch", "https://"+domain+"/*", "http://"+domain+"/*")
	if action != sdk.ActionAllow {
		t.add(action, "webfetch", "https://"+domain+":*", "http://"+domain+":*")
	}
	return ""
}

// servers translates MCP servers.
func (t *translator) servers(n *checked.Node) {
	for i := range n.Members {
		m := &n.Members[i]
		key := checked.Join("mcpServers", m.Name)
		var server struct {
			Type, Command, URL string
			Args               []string
			Env, Headers       map[string]string
		}
		if err := json.Unmarshal(m.Value.Raw, &server); err != nil {
			t.note(m.Offset, key, "not imported: %v", err)
			continue
		}
		if untranslatable().MatchString(string(m.Value.Raw)) {
			t.note(m.Offset, key, "not imported: {env:, {file: and variables with a default have no counterpart; add the server with tenon mcp add")
			continue
		}
		out := sdk.MCPConfig{Type: "remote", URL: variables(server.URL), Headers: each(server.Headers)}
		if server.Command != "" {
			out = sdk.MCPConfig{Type: "local", Command: []string{variables(server.Command)}, Environment: each(server.Env)}
			for _, arg := range server.Args {
				out.Command = append(out.Command, variables(arg))
			}
		}
		t.out.MCP[m.Name] = out
	}
}

// untranslatable matches texts that mean a variable or a file in tenon alone, and variables with a default.
var untranslatable = lazyregexp.New(`\{env:|\{file:|\$\{[^}]*:-`)

// variable matches a variable.
var variable = lazyregexp.New(`\$\{([^}]*)\}`)

// variables writes ${NAME} as {env:NAME}.
func variables(text string) string { return variable().ReplaceAllString(text, "{env:$1}") }

func each(values map[string]string) map[string]string {
	for name, value := range values {
		values[name] = variables(value)
	}
	return values
}
