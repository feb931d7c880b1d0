package manifest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/frontmatter"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// host is another program whose plugins have equivalents here.
type host struct {
	name     string // as its users know it
	file     string // its manifest, from the package's root
	commands string // extension of the files of its commands
}

// ClaudeFile is the manifest of Claude Code. The installer writes it for plugins whose marketplace defines them.
const ClaudeFile = ".claude-plugin/plugin.json"

// OnlyListed is a field that the installer writes into the manifest of such a plugin: the field skills lists all skills of the plugin,
// and the usual place contains skills of other plugins.
const OnlyListed = "io.github.tenonhq.onlyListedSkills"

// hosts are in the order of preference: one folder often serves several programs.
var hosts = []host{
	{"Claude Code", ClaudeFile, ".md"},
	{"Codex", ".codex-plugin/plugin.json", ".md"},
	{"Cursor", ".cursor-plugin/plugin.json", ".md"},
	{"Gemini CLI", "gemini-extension.json", ".toml"},
}

func hostNames() string {
	var names []string
	for _, h := range hosts {
		names = append(names, h.name)
	}
	return strings.Join(names, ", ")
}

// withoutEquivalent lists the parts of other hosts' plugins that tenon does not support, as fields and as places.
var withoutEquivalent = map[string]string{
	"lspServers": "LSP servers", "outputStyles": "output styles", "workflows": "workflows", "channels": "channels", "dependencies": "dependencies on other plugins",
	"experimental": "experimental parts", "apps": "apps", "themes": "themes", "plan": "plan settings", "policies": "policies", "excludeTools": "excluded tools", "contextFileName": "instructions of plugins",
	"userConfig": "settings asked from the user", "settings": "settings asked from the user", "rules": "rules", "interface": "",
}

var placesWithoutEquivalent = map[string]string{
	".lsp.json": "LSP servers", "output-styles": "output styles", "themes": "themes", "monitors": "monitors", "workflows": "workflows",
	"bin": "programs for PATH", "settings.json": "settings", "policies": "policies", "rules": "rules",
}

// isForeign reports whether the package has a manifest of another host or, with usual, a part in its usual place.
func (r *reader) isForeign(usual bool) bool {
	for _, h := range hosts {
		if dir, _, _ := strings.Cut(h.file, "/"); r.folder.has(dir) {
			return true
		}
	}
	return usual && slices.ContainsFunc([]string{skillsDir, "commands", "agents", "hooks", ".mcp.json", skillFile}, r.folder.has)
}

// foreign reads a package of another host. Without a manifest, its parts are in the usual places and it has the name that the caller passes.
func (r *reader) foreign(name string) error {
	h, n, err := r.foreignManifest()
	if err != nil {
		return err
	}
	r.p.Host, r.p.Description.Name = h.name, name
	manifest := filepath.Join(r.folder.root, filepath.FromSlash(h.file))
	r.identity(n)
	if !ValidName(r.p.Description.Name) {
		return fmt.Errorf("%w: %s: invalid plugin name %s", sdk.ErrManifest, manifest, quoted(r.p.Description.Name))
	}
	r.foreignSkills(r.places(manifest, n, "skills", skillsDir, n.Get(OnlyListed) == nil))
	for _, t := range r.texts(r.places(manifest, n, "commands", "commands", false), h.commands) {
		if h.file == ClaudeFile {
			t.body = fromOne(t.body)
		}
		r.p.Description.Commands = append(r.p.Description.Commands, sdk.Command{
			Name: r.named(t.name), Description: t.meta.Description, Template: t.body, Source: "command", Origin: t.file,
		})
	}
	for _, t := range r.texts(r.places(manifest, n, "agents", "agents", false), ".md") {
		r.foreignAgent(t)
	}
	r.foreignServers(n, manifest)
	r.foreignHooks(n, manifest)
	r.leftOut(n, manifest)
	if len(r.p.Skills)+len(r.p.Description.Commands)+len(r.p.Description.Agents)+len(r.p.Servers) == 0 && r.p.HookFile == "" {
		return fmt.Errorf("%w: %s: %s", ErrNoEquivalent, r.p.Description.Name,
			cmp.Or(strings.Join(r.p.Warnings, "; "), "expected skills, commands, agents, MCP servers or hooks"))
	}
	return nil
}

// foreignManifest returns the first manifest of another host. Without one it is an empty manifest of the first host.
func (r *reader) foreignManifest() (h host, n *checked.Node, err error) {
	for _, h := range hosts {
		data, err := r.folder.read(h.file, checked.MaxBytes)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		path := filepath.Join(r.folder.root, filepath.FromSlash(h.file))
		if err != nil {
			return h, nil, fmt.Errorf("%w: %s: %w", sdk.ErrManifest, path, err)
		}
		rep := newReport(path)
		if n = rep.object(data); n == nil {
			return h, nil, rep.err()
		}
		return h, n, nil
	}
	return hosts[0], &checked.Node{Kind: checked.Object}, nil
}

// ReadClaude returns the content of ClaudeFile in a directory; nil without one.
func ReadClaude(dir string) ([]byte, error) {
	f, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	data, err := f.read(ClaudeFile, checked.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// places returns the files and directories of a component: those in the field, which replace the usual place or,
// with adds, are added to it.
func (r *reader) places(manifest string, n *checked.Node, field, usual string, adds bool) []string {
	var out []string
	v := n.Get(field)
	if v == nil || adds {
		out = append(out, usual)
	}
	if v == nil {
		return out
	}
	for _, e := range elements(v) {
		rel := cmp.Or(strings.TrimSuffix(strings.TrimPrefix(e.Text, "./"), "/"), ".")
		if e.Kind != checked.String || !filepath.IsLocal(filepath.FromSlash(rel)) {
			r.warn(manifest, field, "write a path inside of the package", "%s is left out", visible.Cut(string(e.Raw), 100, "…"))
			continue
		}
		if !slices.Contains(out, rel) {
			out = append(out, rel)
		}
	}
	return out
}

// foreignSkills finds skills: directories with a SKILL.md in one of the places, or a place that is one itself or its SKILL.md.
func (r *reader) foreignSkills(places []string) {
	if slices.Equal(places, []string{skillsDir}) && !r.folder.has(skillsDir) && r.folder.has(skillFile) {
		places = []string{"."}
	}
	for _, place := range places {
		if path.Base(place) == skillFile {
			place = path.Dir(place)
		}
		switch err := r.addSkill(place); {
		case errors.Is(err, fs.ErrNotExist):
			r.skillsIn(place)
		case err != nil:
			r.skillOut(place, err)
		}
	}
}

const (
	maxTexts = 500      // commands, and agents, of a package
	maxTOML  = 64 << 10 // bytes of a command in TOML, whose decoder takes longer than linear time
)

// text is a file of a package: a command or an agent.
type text struct {
	name string // from the place: "git/commit"
	file string // from the root
	body string
	keys []string // unknown ones of the front matter
	meta struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Tools       any    `json:"tools"`
		Disallowed  any    `json:"disallowedTools"`
		Model       any    `json:"model"`

		ReadOnly frontmatter.Flag `json:"readonly"` // of Cursor
	}
}

// texts returns the files with the extension in places, which are files or directories.
func (r *reader) texts(places []string, extension string) (out []text) {
	for _, place := range places {
		root, err := r.folder.resolve(place)
		if err != nil {
			continue
		}
		err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.EqualFold(filepath.Ext(file), extension) || strings.EqualFold(d.Name(), "README.md") {
				return err
			}
			if len(out) == maxTexts {
				return fmt.Errorf("more than %d files", maxTexts)
			}
			t := text{name: d.Name(), file: file} // of a place that is a file
			if file != root {
				t.name = slashed(root, file)
			}
			t.name = strings.TrimSuffix(strings.TrimSuffix(t.name, filepath.Ext(t.name)), ".agent")
			doc, err := r.document(slashed(r.folder.root, file), &t.meta)
			if err != nil {
				r.warn(file, "", "", "is left out: %v", err)
				return nil
			}
			t.keys, _ = doc.Keys(&t.meta)
			t.body = strings.ReplaceAll(doc.Body, "${CLAUDE_PLUGIN_ROOT}", r.folder.root)
			out = append(out, t)
			return nil
		})
		if err != nil {
			r.warn(root, "", "", "the rest is left out: %v", err)
		}
	}
	return out
}

// tomlCommand reads a command of Gemini CLI, see https://geminicli.com/docs/cli/custom-commands.
func tomlCommand(data []byte) (*frontmatter.Document, error) {
	var c struct{ Description, Prompt string }
	if err := toml.Unmarshal(data, &c); err != nil {
		return nil, err
	}
	body := strings.TrimSpace(strings.ReplaceAll(c.Prompt, "{{args}}", "$ARGUMENTS"))
	if body == "" {
		return nil, errors.New("it has no prompt")
	}
	meta, err := json.Marshal(map[string]string{"description": c.Description})
	return &frontmatter.Document{Meta: meta, Body: body}, err
}

// numbered matches Claude Code's placeholders for one argument, see https://code.claude.com/docs/en/skills.
var numbered = lazyregexp.New(`\$(?:ARGUMENTS\[[0-8]\]|[0-8]\b)`)

// fromOne returns a command's text with tenon's placeholders. Those of Claude Code count from 0; in texts for older versions, which have no $0,
// they count from 1.
func fromOne(body string) string {
	if !strings.Contains(body, "$0") && !strings.Contains(body, "$ARGUMENTS[") {
		return body
	}
	return numbered().ReplaceAllStringFunc(body, func(place string) string {
		return "$" + string(place[strings.IndexAny(place, "012345678")]+1)
	})
}

// slashed returns the path of a file relative to a directory above it.
func slashed(dir, file string) string {
	return strings.TrimPrefix(filepath.ToSlash(file), filepath.ToSlash(dir)+"/")
}

// named returns the name of a component with the plugin's name as a prefix, as its own program shows it.
func (r *reader) named(name string) string {
	return r.p.Description.Name + ":" + strings.ReplaceAll(name, "/", ":")
}

func (r *reader) foreignAgent(t text) {
	for _, key := range t.keys {
		if slices.Contains([]string{"hooks", "mcpServers", "permissionMode", "skills"}, key) {
			r.warn(t.file, key, "", "is left out: agents of plugins have no such key")
		}
	}
	if t.meta.Model != nil && t.meta.Model != "inherit" {
		r.models = true
	}
	excluded := words(t.meta.Disallowed)
	if t.meta.ReadOnly {
		excluded = append(excluded, "Edit")
	}
	r.p.Description.Agents = append(r.p.Description.Agents, sdk.Agent{
		Name: r.named(cmp.Or(t.meta.Name, t.name)), Description: t.meta.Description, Mode: sdk.ModeSubagent, Prompt: t.body, Origin: t.file,
		Permission: restrictions(words(t.meta.Tools), excluded, t.file),
	})
}

// words returns a list that is written as a list or as text with commas.
func words(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		out = strings.Split(v, ",")
	case []any:
		for _, e := range v {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
	}
	for i := range out {
		out[i], _, _ = strings.Cut(strings.TrimSpace(out[i]), "(")
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// permissionOf maps tools of other hosts to the permissions that they need in tenon.
var permissionOf = map[string]string{
	"Read": "read", "Write": "edit", "Edit": "edit", "MultiEdit": "edit", "NotebookEdit": "edit", "Bash": "bash", "Grep": "grep", "Glob": "glob", "LS": "list",
	"WebFetch": "webfetch", "WebSearch": "websearch", "Task": "task", "Agent": "task", "TodoWrite": "todowrite", "Skill": "skill",
}

// restrictions returns rules that deny tools that an agent does not list or excludes. They allow nothing, because a plugin must not
// loosen the user's rules.
func restrictions(tools, excluded []string, origin string) (out sdk.PermissionRules) {
	deny := map[string]bool{}
	if len(tools) > 0 && !slices.Contains(tools, "*") {
		for _, permission := range permissionOf {
			deny[permission] = true
		}
		for _, tool := range tools {
			delete(deny, permissionOf[tool])
		}
		if !slices.ContainsFunc(tools, func(tool string) bool { return strings.HasPrefix(tool, "mcp__") }) {
			deny["mcp:*"], deny["plugin:*"] = true, true // every tool of servers and plugins
		}
	}
	for _, tool := range excluded {
		if permission, ok := permissionOf[tool]; ok {
			deny[permission] = true
		}
	}
	for _, permission := range sortedKeys(deny) {
		out = append(out, sdk.PermissionRule{Permission: permission, Pattern: "*", Action: sdk.ActionDeny, Origin: origin})
	}
	return out
}

// leftOut warns about parts without an equivalent.
func (r *reader) leftOut(n *checked.Node, manifest string) {
	if r.models {
		r.warn("agents", "model", "", "is left out: agents of plugins use the session's model")
	}
	for i := range n.Members {
		if what := withoutEquivalent[n.Members[i].Name]; what != "" {
			r.warn(manifest, n.Members[i].Name, "", "is left out: tenon has no %s", what)
		}
	}
	for _, place := range sortedKeys(placesWithoutEquivalent) {
		if r.folder.has(place) {
			r.warn(filepath.Join(r.folder.root, place), "", "", "is left out: tenon has no %s", placesWithoutEquivalent[place])
		}
	}
}

// reference matches a variable in an entry of a server.
var reference = lazyregexp.New(`\$\{[^}]*\}`)
