// Package agents is the plugin that contributes agents: the built-in ones (build, plan, general, explore, and the hidden title,
// compaction and summary), and those that users and repositories define in Markdown.
package agents

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/sources"
	"github.com/tenonhq/tenon/internal/frontmatter"
	"github.com/tenonhq/tenon/internal/requestfield"
	"github.com/tenonhq/tenon/internal/toolname"
	"github.com/tenonhq/tenon/sdk"
)

// Plugin is the agents plugin.
type Plugin struct {
	sources.Loader[[]sdk.Agent]
	sessions sdk.SessionReader
}

var (
	_ sdk.Plugin       = (*Plugin)(nil)
	_ sdk.AgentSource  = (*Plugin)(nil)
	_ sdk.PromptSource = (*Plugin)(nil)
	_ sdk.Hooker       = (*Plugin)(nil)
)

// New returns the plugin.
func New() *Plugin { return &Plugin{} }

// Start stores the host. It reads no files.
func (p *Plugin) Start(ctx context.Context, h sdk.Host) error {
	p.sessions, _ = h.(sdk.SessionReader)
	return p.Loader.Start(ctx, h)
}

// Manifest describes the plugin.
func (*Plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{Name: "agents", Description: "the agents of tenon and those defined in Markdown", Carrier: sdk.CarrierBuiltin}
}

// Agents returns the agents, the default one first. It rereads the files if one of them, or a folder that can contain one, has
// changed. A file with an error is logged once and skipped.
func (p *Plugin) Agents() []sdk.Agent { return p.Current(p.load) }

// folders lists the subfolders of a configuration folder that contain agents, and the default mode of those agents. The last two
// are opencode's older names, for primary agents.
var folders = []struct{ name, mode string }{
	{"agent", sdk.ModeAll}, {"agents", sdk.ModeAll}, {"mode", sdk.ModePrimary}, {"modes", sdk.ModePrimary},
}

// load returns the built-in agents and those of all folders. A file with the name of an existing agent changes that agent; if the file is left
// out, its rules are unknown, and the agent may do nothing. An agent that only this file defines is disabled, which keeps its name.
func (p *Plugin) load(w *sources.Watch) []sdk.Agent {
	list := builtins()
	var leftOut []string
	for _, folder := range sources.ConfigFolders(p.Project) {
		for _, sub := range folders {
			broken := sources.Documents(w, filepath.Join(folder, sub.name), sources.Markdown, func(doc *sources.Document, config *sdk.AgentConfig) error {
				return p.add(&list, doc, config, sub.mode)
			})
			for _, doc := range broken {
				leftOut = append(leftOut, doc.Name, doc.Named())
			}
		}
	}
	slices.Sort(leftOut)
	for _, name := range slices.Compact(leftOut) {
		i := slices.IndexFunc(list, func(a sdk.Agent) bool { return a.Name == name })
		if _, configured := p.Config.Agent[name]; configured || i >= 0 {
			p.Log.Warn("agent has no tools until its file can be read", "agent", name)
		}
		if i < 0 {
			i = len(list)
			list = append(list, sdk.Agent{Name: name, Mode: sdk.ModeAll, Disabled: true})
		}
		list[i].Permission = append(list[i].Permission, sdk.PermissionRule{Permission: "*", Pattern: "*", Action: sdk.ActionDeny, Origin: "agent " + name + " (file left out)"})
	}
	return list
}

func (p *Plugin) add(list *[]sdk.Agent, doc *sources.Document, config *sdk.AgentConfig, mode string) error {
	if err := check(doc, config); err != nil {
		return err
	}
	if !sources.Users(p.Project, doc.Path) {
		if names := requestfield.Restrict(config.Options); len(names) > 0 {
			p.Log.Warn("options are left out: an agent of the project may set only how an answer is generated; put the agent in your own configuration",
				"file", doc.Path, "options", strings.Join(names, ", "))
		}
	}
	name := doc.Named()
	for _, r := range config.Permission {
		if toolname.Permission(r.Permission) != r.Permission {
			p.Log.Warn("a rule has no effect: the permission for tools that change files is edit", "file", doc.Path, "permission", r.Permission)
		}
	}
	i := slices.IndexFunc(*list, func(a sdk.Agent) bool { return a.Name == name })
	if i < 0 {
		*list = append(*list, sdk.Agent{Name: name, Mode: mode})
		i = len(*list) - 1
	}
	a := &(*list)[i]
	own := a.Permission
	config.Prompt = cmp.Or(doc.Body, config.Prompt)
	a.Configure(config)
	a.Origin = sources.Shorten(p.Project, doc.Path)
	// Rules carry the full path of their file: a repository's rules may need the user's approval.
	more := slices.Concat(toolRules(config.Tools), config.Permission)
	for i := range more {
		more[i].Origin, more[i].Digest = cmp.Or(more[i].Origin, doc.Path), doc.Digest
	}
	if a.Permission = slices.Concat(own, more); a.Strict && !sources.Users(p.Project, doc.Path) {
		a.Permission = slices.Concat(more, own) // a repository cannot allow anything that a strict agent denies
	}
	return nil
}

// check returns an error for unknown keys and invalid values. Settings of generation, which opencode reads in addition to its keys, become options.
func check(doc *sources.Document, config *sdk.AgentConfig) error {
	unknown, known := doc.Keys(config)
	var values sdk.Object
	if err := doc.Decode(&values); err != nil {
		return err
	}
	for _, key := range unknown {
		switch {
		case slices.Contains([]string{"name", "id", "title", "category", "type", "version", "author", "tags", "license"}, key): // about the file
		case requestfield.Generates(key):
			if config.Options == nil {
				config.Options = sdk.Object{}
			}
			config.Options[key] = values[key]
		default:
			return fmt.Errorf("%w: unknown key %q; the keys are %s (put options of the model request under options)",
				frontmatter.ErrFrontMatter, key, strings.Join(known, ", "))
		}
	}
	switch config.Mode {
	case "", sdk.ModePrimary, sdk.ModeSubagent, sdk.ModeAll:
	default:
		return fmt.Errorf("%w: key \"mode\": want primary, subagent or all, have %q", frontmatter.ErrFrontMatter, config.Mode)
	}
	if config.Model != "" && !strings.Contains(config.Model, "/") {
		return fmt.Errorf("%w: key \"model\": want provider/model, have %q", frontmatter.ErrFrontMatter, config.Model)
	}
	return nil
}

// toolRules converts the older form, a switch per tool, into rules. Patterns come first. If tools share a permission, the denial decides.
func toolRules(tools map[string]bool) sdk.PermissionRules {
	var out sdk.PermissionRules
	for name, on := range tools {
		rule := sdk.PermissionRule{Permission: toolname.Permission(name), Pattern: "*", Action: sdk.ActionDeny}
		if on {
			rule.Action = sdk.ActionAllow
		}
		out = append(out, rule)
	}
	specific := func(r sdk.PermissionRule) int {
		return 1 - min(strings.Count(r.Permission, "*")+strings.Count(r.Permission, "?"), 1)
	}
	slices.SortFunc(out, func(a, b sdk.PermissionRule) int {
		return cmp.Or(specific(a)-specific(b), strings.Compare(a.Permission, b.Permission), strings.Compare(string(a.Action), string(b.Action)))
	})
	return out
}

// Hooks returns the hook that reminds the model of its mode. It only changes the prompt: the cost of a hook
// over all messages of each request would grow with the conversation.
func (p *Plugin) Hooks() []sdk.Hook {
	h := sdk.OnChatMessage(p.remind)
	h.Name = "mode"
	h.Reads, h.Writes = []string{"/parts"}, []string{"/parts"}
	return []sdk.Hook{h}
}

// remind adds a note to each prompt for plan that changes are forbidden, and to the next prompt for another agent that
// they are allowed again.
func (p *Plugin) remind(ctx context.Context, in *sdk.ChatMessageInput, v *sdk.ChatMessageValue) error {
	reminder := sdk.AgentPlan
	if in.Agent != sdk.AgentPlan {
		if planned, err := p.planned(ctx, in); err != nil || !planned {
			return err
		}
		reminder = "build-switch"
	}
	v.Parts = append(v.Parts, &sdk.TextPart{Text: prompt(reminder), Synthetic: true})
	return nil
}

// planned reports whether the prompt before this one was for plan.
func (p *Plugin) planned(ctx context.Context, in *sdk.ChatMessageInput) (bool, error) {
	messages, err := p.sessions.SessionMessages(ctx, in.SessionID)
	for i := len(messages) - 1; i >= 0; i-- {
		if u, ok := messages[i].Info.(*sdk.UserMessage); ok && u.ID != in.MessageID {
			return u.Agent == sdk.AgentPlan, nil
		}
	}
	return false, err
}
