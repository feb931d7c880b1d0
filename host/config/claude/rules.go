package claude

import (
	"cmp"
	"encoding/json"
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
		for i := range list.Items {
			item := &list.Items[i]
			permission, patterns, reason := translateRule(item.Text, action == sdk.ActionAllow)
			if reason != "" {
				t.note(item.Offset, "permissions."+string(action), "%q: not imported: %s", item.Text, reason)
			}
			for _, pattern := range patterns {
				t.add(permission, pattern, action)
				if (permission == "read" || permission == "edit") && strings.ContainsAny(pattern[:1], "/~") && strings.HasSuffix(pattern, "/*") {
					t.add(sdk.PermissionExternalDirectory, pattern, action) // of commands, too
				}
			}
		}
	}
}

func (t *translator) add(permission, pattern string, action sdk.Action) {
	t.out.Permission = append(t.out.Permission, sdk.PermissionRule{Permission: permission, Pattern: pattern, Action: action})
}

func (t *translator) mode(m *checked.Member) {
	switch m.Value.Text {
	case "default":
	case "acceptEdits":
		t.add("edit", "*", sdk.ActionAllow)
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
	t.add(sdk.PermissionExternalDirectory, dir+"/*", sdk.ActionAllow)
}

// translateRule returns the permission and the patterns for a rule such as Bash(npm run test:*), or the reason why it is not imported. A rule that
// allows is not imported if in tenon it would allow more.
func translateRule(text string, allow bool) (permission string, patterns []string, reason string) {
	tool, pattern, specific := strings.Cut(text, "(")
	if inner, closed := strings.CutSuffix(pattern, ")"); closed {
		pattern = inner
	} else if specific {
		return "", nil, "the parenthesis is not closed"
	}
	pattern = cmp.Or(pattern, "*")
	if strings.ContainsAny(pattern, "?[") {
		return "", nil, "? and [ have another meaning in patterns of tenon"
	}
	if name, ok := strings.CutPrefix(tool, "mcp__"); ok {
		server, of, _ := strings.Cut(name, "__")
		permission = server + "_" + cmp.Or(of, "*")
		if allow && strings.Contains(permission, "*") {
			return "", nil, "a rule for " + permission + " may also match tools of another server; allow the tools by name"
		}
		return permission, []string{"*"}, ""
	}
	switch tool {
	case "Bash":
		if prefix, ok := strings.CutSuffix(pattern, ":*"); ok {
			pattern = prefix + " *" // which also matches the prefix alone
		}
		return "bash", []string{pattern}, ""
	case "Read":
		return files("read", pattern, allow)
	case "Edit", "Write", "MultiEdit":
		return files("edit", pattern, allow)
	case "WebFetch":
		patterns, reason = addresses(pattern, allow)
		return "webfetch", patterns, reason
	case "Glob", "Grep", "Skill", "TodoWrite":
		return strings.ToLower(tool), []string{pattern}, ""
	case "Task", "Agent":
		builtin := map[string]string{"Explore": "explore", "general-purpose": "general"}
		return "task", []string{cmp.Or(builtin[pattern], pattern)}, ""
	}
	return "", nil, "tenon has no such tool"
}

// files translates a pattern of files: //absolute, ~/in the home directory, /from the project, ./ or a relative path. A name without a slash, or
// after **/, matches files at any depth, and a directory stands for the files in it, see https://git-scm.com/docs/gitignore.
func files(permission, pattern string, allow bool) (_ string, patterns []string, reason string) {
	if strings.Trim(pattern, "./") == "" || strings.HasPrefix(pattern, "../") {
		return "", nil, "it names no file of the project; an absolute path begins with //"
	}
	single := pattern != "*" && strings.Contains(strings.ReplaceAll(pattern, "**", ""), "*")
	if !allow && (strings.HasPrefix(pattern, "//**") || strings.HasPrefix(pattern, "~/**")) {
		pattern = pattern[len("//"):] // the project may be there, too
	}
	pattern, anywhere := strings.CutPrefix(pattern, "**/")
	pattern = strings.ReplaceAll(pattern, "**", "*")
	outside := strings.HasPrefix(pattern, "//") || strings.HasPrefix(pattern, "~/")
	rooted := strings.Contains(strings.TrimSuffix(pattern, "/"), "/")
	pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "./"), "/")
	if strings.HasSuffix(pattern, "/") {
		pattern += "*"
	}
	switch {
	case allow && outside && permission == "read":
		return "", nil, "tenon cannot allow only reading outside the project"
	case allow && single:
		return "", nil, "its * does not match /, but tenon's does; write ** if files below are meant, too"
	case allow && outside:
		return sdk.PermissionExternalDirectory, []string{pattern}, ""
	}
	patterns = []string{pattern}
	if pattern != "*" && (anywhere || !rooted) {
		patterns = append(patterns, "*/"+pattern)
	}
	if !allow && !strings.HasSuffix(pattern, "*") {
		for _, directory := range patterns {
			patterns = append(patterns, directory+"/*")
		}
	}
	return permission, patterns, ""
}

// addresses returns the patterns for domain:example.com; unless the rule allows, those for any port, too.
func addresses(pattern string, allow bool) (patterns []string, reason string) {
	domain, ok := strings.CutPrefix(pattern, "domain:")
	switch {
	case pattern == "*":
		return []string{"*"}, ""
	case !ok || domain == "":
		return nil, "only domain:NAME can be translated"
	}
	patterns = []string{"https://" + domain + "/*", "http://" + domain + "/*"}
	if !allow {
		patterns = append(patterns, "https://"+domain+":*", "http://"+domain+":*")
	}
	return patterns, ""
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
