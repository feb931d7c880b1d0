// Package skills is the plugin that finds skills, folders with a SKILL.md, and lists them for the model.
package skills

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenonhq/tenon/builtin/internal/sources"
	"github.com/tenonhq/tenon/internal/frontmatter"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// Plugin is the skills plugin.
type Plugin struct {
	// Loader has the skills sorted by name; those of packages have no body.
	sources.Loader[[]sdk.Skill]

	rules sdk.RuleReader // nil if the host has none
}

var (
	_ sdk.Plugin        = (*Plugin)(nil)
	_ sdk.SkillSource   = (*Plugin)(nil)
	_ sdk.CommandSource = (*Plugin)(nil)
	_ sdk.Hooker        = (*Plugin)(nil)
)

// New returns the plugin.
func New() *Plugin { return &Plugin{} }

// Manifest describes the plugin.
func (*Plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{Name: "skills", Description: "skills of the user and the project", Carrier: sdk.CarrierBuiltin}
}

// Start stores the host's project and configuration. It reads no files.
func (p *Plugin) Start(ctx context.Context, h sdk.Host) error {
	err := p.Loader.Start(ctx, h)
	p.rules, _ = h.(sdk.RuleReader)
	if len(p.Config.Skills.URLs) > 0 {
		p.Log.Warn("skills.urls is not supported: save the skills in a directory and add it to skills.paths")
	}
	return err
}

// Skills returns the skills, sorted by name. It rereads the folders if something in them has changed. A skill with an error is
// logged and skipped. It reads the skills of packages, which the list for the model does not need.
func (p *Plugin) Skills(context.Context) ([]sdk.Skill, error) {
	roots := map[string]string{} // of packages, by location
	for _, s := range p.Config.Skills.Packaged {
		roots[s.Location] = s.Root
	}
	var out []sdk.Skill
	for _, s := range p.Current(p.load) {
		if root, ok := roots[s.Location]; ok {
			data, err := projectfs.ReadRegular(s.Location, maxFile)
			doc := &frontmatter.Document{}
			if err == nil {
				doc, err = frontmatter.Parse(data)
			}
			if err != nil {
				p.Log.Warn("file left out", "file", s.Location, "err", err)
				continue
			}
			s.Body = strings.ReplaceAll(doc.Body, "${CLAUDE_PLUGIN_ROOT}", root)
		}
		out = append(out, s)
	}
	return out, nil
}

// plain matches names that mean nothing else in a template.
var plain = lazyregexp.New(`^[\pL\d_.:-]+$`)

// Commands returns a command for each skill with a plain name, through which the user asks for it. Commands of later plugins replace those with
// the same name.
func (p *Plugin) Commands(context.Context) ([]sdk.Command, error) {
	var out []sdk.Command
	for _, s := range p.Current(p.load) {
		if plain().MatchString(s.Name) {
			out = append(out, sdk.Command{
				Name: s.Name, Description: s.Description, Template: "Load the skill " + s.Name + " with the tool skill, and follow it.",
				Source: "skill", Origin: sources.Shorten(p.Project, s.Location),
			})
		}
	}
	return out, nil
}

// Hooks returns the hook that lists the skills in the system prompt.
func (p *Plugin) Hooks() []sdk.Hook {
	return []sdk.Hook{sources.SystemHook("list", func(in *sdk.ChatInput) string { return p.listFor(in.SessionID) })}
}

// listFor returns the list for the model of a session, without manual skills and those that the session's rules deny.
func (p *Plugin) listFor(session string) string {
	return describe(slices.DeleteFunc(slices.Clone(p.Current(p.load)), func(s sdk.Skill) bool {
		return s.Manual || p.rules != nil && p.rules.Denies(session, "skill", s.Name)
	}))
}

// Maximum size in bytes of the list for the model, and of each description in it.
const (
	maxList        = 24 << 10
	maxDescription = 1024
)

// maxFile is the maximum size of a SKILL.md in bytes, which packages were checked for.
const maxFile = 256 << 10

// maxName is the maximum length of a name in characters, see https://agentskills.io/specification.
const maxName = 64

// folders returns the folders that can contain skills, each once, the most general first: a later skill replaces an earlier one
// of the same name. Packages come before the folders of the project.
func (p *Plugin) folders() (folders, project []string) {
	add := func(dir string, names ...string) {
		for _, name := range names {
			if folder := filepath.Join(dir, name); dir != "" && !slices.Contains(folders, folder) {
				folders = append(folders, folder)
			}
		}
	}
	inside := []string{".agents/skills", ".claude/skills", ".opencode/skill", ".opencode/skills", ".tenon/skill", ".tenon/skills"}
	add(p.Project.Home, inside...)
	add(p.Project.ConfigDir, "skill", "skills")
	for _, path := range p.Config.Skills.Paths {
		add(projectfs.Join(p.Project.Directory, projectfs.FromHome(p.Project.Home, path)), "")
	}
	before := len(folders)
	for _, dir := range projectfs.Upward(p.Project.Directory, p.Project.Worktree) {
		add(dir, inside...)
	}
	return folders[:before], folders[before:]
}

type frontMatter struct {
	Name        string           `json:"name"`
	Description string           `json:"description"`
	Manual      frontmatter.Flag `json:"disable-model-invocation"` // of Claude Code
}

func (p *Plugin) load(w *sources.Watch) []sdk.Skill {
	byName := map[string]sdk.Skill{}
	add := func(s sdk.Skill) error {
		s.Name, s.Description = strings.TrimSpace(s.Name), strings.TrimSpace(s.Description)
		if err := check(&s); err != nil {
			return err
		}
		byName[s.Name] = s
		return nil
	}
	isSkill := func(name string) bool { return name == "SKILL.md" }
	read := func(folders []string) {
		for _, folder := range folders {
			sources.Documents(w, folder, isSkill, func(doc *sources.Document, meta *frontMatter) error {
				name := cmp.Or(strings.TrimSpace(meta.Name), filepath.Base(filepath.Dir(doc.Path))) // as in Claude Code
				return add(sdk.Skill{Name: name, Description: meta.Description, Location: doc.Path, Body: doc.Body, Manual: bool(meta.Manual)})
			})
		}
	}
	folders, project := p.folders()
	read(folders)
	for _, s := range p.Config.Skills.Packaged {
		if err := add(sdk.Skill{Name: s.Name, Description: s.Description, Location: s.Location, Manual: s.Manual}); err != nil {
			p.Log.Warn("file left out", "file", s.Location, "err", err)
		}
	}
	read(project)
	return slices.SortedFunc(maps.Values(byName), func(a, b sdk.Skill) int { return strings.Compare(a.Name, b.Name) })
}

// check returns an error for a skill that cannot be used. Other violations of the specification are common in practice.
func check(s *sdk.Skill) error {
	switch {
	case strings.ContainsFunc(s.Name, unicode.IsControl) || utf8.RuneCountInString(s.Name) > maxName:
		return fmt.Errorf("key \"name\": %.80q: want at most %d characters of a-z, 0-9 and -", s.Name, maxName)
	case s.Description == "" && !s.Manual:
		return errors.New(`the front matter has no key "description", which the model needs to choose the skill`)
	}
	return nil
}

// describe lists the skills for the model.
func describe(skills []sdk.Skill) string {
	if len(skills) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString("<skills>\nInstructions for kinds of tasks. When one fits, load it with the tool skill before you begin.\n")
	for i, s := range skills {
		if out.Len() > maxList {
			fmt.Fprintf(&out, "… and %d more; the tool skill names them\n", len(skills)-i)
			break
		}
		text := visible.Cut(strings.Join(strings.Fields(s.Description), " "), maxDescription, "…")
		fmt.Fprintf(&out, "- %s: %s (%s)\n", s.Name, text, s.Location)
	}
	out.WriteString("</skills>")
	return out.String()
}
