package claude

import (
	"cmp"
	"encoding/json"
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
		for i := range list.Items {
			item := &list.Items[i]
			rules, reason := translateRule(item.Text)
			if action == sdk.ActionAllow && reason == "" {
				rules, reason = allowed(rules, item.Text)
			} else {
				rules = onAnyPort(rules)
			}
			if reason != "" {
				t.note(item.Offset, "permissions."+string(action), "%q: not imported: %s", item.Text, reason)
			}
			for _, r := range rules {
				r.Action = action
				t.out.Permission = append(t.out.Permission, r)
			}
		}
	}
}

func (t *translator) mode(m *checked.Member) {
	switch m.Value.Text {
	case "default":
	case "acceptEdits":
		t.out.Permission = append(t.out.Permission, rule{"edit", "*", sdk.ActionAllow})
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
	t.out.Permission = append(t.out.Permission, rule{sdk.PermissionExternalDirectory, dir + "/*", sdk.ActionAllow})
}

// translateRule returns the rules, without an action, for a rule such as Bash(npm run test:*), or the reason why it has no translation.
func translateRule(text string) (rules []rule, reason string) {
	tool, pattern, specific := strings.Cut(text, "(")
	if specific {
		inner, closed := strings.CutSuffix(pattern, ")")
		if !closed {
			return nil, "the parenthesis is not closed"
		}
		pattern = inner
	}
	pattern = cmp.Or(pattern, "*")
	if strings.ContainsAny(pattern, "?[") {
		return nil, "? and [ have another meaning in patterns of tenon"
	}
	if name, ok := strings.CutPrefix(tool, "mcp__"); ok {
		server, of, named := strings.Cut(name, "__")
		if !named {
			of = "*"
		}
		return []rule{{Permission: server + "_" + of, Pattern: "*"}}, ""
	}
	switch tool {
	case "Bash":
		if prefix, ok := strings.CutSuffix(pattern, ":*"); ok {
			pattern = prefix + " *" // which also matches the prefix alone
		}
		return []rule{{Permission: "bash", Pattern: pattern}}, ""
	case "Read", "Edit", "Write", "MultiEdit":
		key := "edit"
		if tool == "Read" {
			key = "read"
		}
		if rules := paths(key, pattern); rules != nil {
			return rules, ""
		}
		return nil, "it names no file"
	case "WebFetch":
		return addresses(pattern)
	case "Glob", "Grep", "Skill", "TodoWrite":
		return []rule{{Permission: strings.ToLower(tool), Pattern: pattern}}, ""
	case "Task", "Agent":
		builtin := map[string]string{"Explore": "explore", "general-purpose": "general"}
		return []rule{{Permission: "task", Pattern: cmp.Or(builtin[pattern], pattern)}}, ""
	}
	return nil, "tenon has no such tool"
}

// allowed returns the rules of an allow rule, or the reason why it is not imported: in tenon the rules would allow more.
func allowed(rules []rule, text string) ([]rule, string) {
	tool, pattern, _ := strings.Cut(text, "(")
	ofFiles := slices.ContainsFunc(rules, func(r rule) bool {
		return r.Permission == "edit" || r.Permission == "read" || r.Permission == sdk.PermissionExternalDirectory
	})
	switch {
	case strings.HasPrefix(tool, "mcp__") && strings.Contains(rules[0].Permission, "*"):
		return nil, "a rule for " + rules[0].Permission + " may also match tools of another server; allow the tools by name"
	case !ofFiles:
		return rules, ""
	case tool == "Read" && rules[0].Permission == sdk.PermissionExternalDirectory:
		return nil, "tenon cannot allow only reading outside the project"
	case pattern != "*)" && strings.Contains(strings.ReplaceAll(pattern, "**", ""), "*"):
		return nil, "its * does not match /, but tenon's does; write ** if files below are meant, too"
	}
	return rules, ""
}

// onAnyPort adds rules for addresses with a port to rules that deny or ask.
func onAnyPort(rules []rule) []rule {
	for _, r := range slices.Clone(rules) {
		if address, ok := strings.CutSuffix(r.Pattern, "/*"); ok && r.Permission == "webfetch" {
			rules = append(rules, rule{Permission: r.Permission, Pattern: address + ":*"})
		}
	}
	return rules
}

// paths returns the rules for a pattern of files: //absolute, ~/in the home directory, /from the project, ./ or a relative path. A name without a
// slash, or after **/, matches files at any depth, see https://git-scm.com/docs/gitignore. It returns nil for a pattern without a name.
func paths(key, pattern string) []rule {
	below, anywhere := strings.CutPrefix(pattern, "**/")
	if anywhere {
		pattern = below
	}
	pattern = strings.ReplaceAll(pattern, "**", "*")
	switch {
	case strings.HasPrefix(pattern, "//"):
		return []rule{{Permission: sdk.PermissionExternalDirectory, Pattern: pattern[1:]}}
	case strings.HasPrefix(pattern, "~/"):
		return []rule{{Permission: sdk.PermissionExternalDirectory, Pattern: pattern}}
	case pattern == "*":
		return []rule{{Permission: key, Pattern: "*"}}
	}
	rooted := strings.Contains(strings.TrimSuffix(pattern, "/"), "/")
	pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "./"), "/")
	if strings.HasSuffix(pattern, "/") {
		pattern += "*"
	}
	if pattern == "" {
		return nil
	}
	if rooted && !anywhere {
		return []rule{{Permission: key, Pattern: pattern}}
	}
	return []rule{{Permission: key, Pattern: pattern}, {Permission: key, Pattern: "*/" + pattern}}
}

// addresses returns the rules for domain:example.com.
func addresses(pattern string) ([]rule, string) {
	domain, ok := strings.CutPrefix(pattern, "domain:")
	switch {
	case pattern == "*":
		return []rule{{Permission: "webfetch", Pattern: "*"}}, ""
	case !ok || domain == "":
		return nil, "only domain:NAME can be translated"
	}
	return []rule{{Permission: "webfetch", Pattern: "https://" + domain + "/*"}, {Permission: "webfetch", Pattern: "http://" + domain + "/*"}}, ""
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
