package skills

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/frontmatter"
	"github.com/tenonhq/tenon/builtin/internal/sources"
	"github.com/tenonhq/tenon/sdk"
)

// Bounds: of a SKILL.md, and of what the model is told of all skills and of one.
const (
	maxFile        = 256 << 10
	maxList        = 24 << 10
	maxDescription = 1024 // the limit of the skills format
)

// folders returns where skills may be, the most general first: what is found later replaces a skill of
// the same name.
func (p *Plugin) folders() []string {
	var folders []string
	add := func(dir string, names ...string) {
		if dir == "" {
			return
		}
		for _, name := range names {
			if folder := filepath.Join(dir, name); !slices.Contains(folders, folder) {
				folders = append(folders, folder)
			}
		}
	}
	inside := []string{".agents/skills", ".claude/skills", ".opencode/skill", ".opencode/skills", ".tenon/skill", ".tenon/skills"}
	add(p.project.Home, inside...)
	add(p.project.ConfigDir, "skill", "skills")
	for _, path := range p.config.Paths {
		switch rest, home := strings.CutPrefix(path, "~/"); {
		case home:
			add(p.project.Home, rest)
		case filepath.IsAbs(path):
			add(path, "")
		default:
			add(p.project.Directory, path)
		}
	}
	for _, dir := range sources.Upward(p.project.Directory, p.project.Worktree) {
		add(dir, inside...)
	}
	return folders
}

func (p *Plugin) load() []sdk.Skill {
	found := map[string]sdk.Skill{}
	for _, folder := range p.folders() {
		for _, path := range p.watch.Tree(folder, func(name string) bool { return name == "SKILL.md" }) {
			skill, err := p.read(path)
			if err != nil {
				p.log.Warn("skill left out", "file", path, "err", err)
				continue
			}
			found[skill.Name] = skill
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b sdk.Skill) int { return strings.Compare(a.Name, b.Name) })
}

func (p *Plugin) read(path string) (sdk.Skill, error) {
	data, cut, err := p.watch.ReadFile(path, maxFile)
	if err != nil {
		return sdk.Skill{}, err
	}
	if cut {
		return sdk.Skill{}, fmt.Errorf("larger than %d bytes; move parts of it into files that it names", maxFile)
	}
	doc, err := frontmatter.Parse(data)
	if err != nil {
		return sdk.Skill{}, err
	}
	var meta struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	if err := doc.Decode(&meta); err != nil {
		return sdk.Skill{}, err
	}
	switch {
	case strings.TrimSpace(meta.Name) == "":
		return sdk.Skill{}, errors.New(`the front matter has no key "name"`)
	case strings.TrimSpace(meta.Description) == "":
		return sdk.Skill{}, errors.New(`the front matter has no key "description", by which the model chooses`)
	}
	return sdk.Skill{Name: strings.TrimSpace(meta.Name), Description: strings.TrimSpace(meta.Description), Location: path, Body: doc.Body}, nil
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
		text := strings.Join(strings.Fields(s.Description), " ")
		if len(text) > maxDescription {
			text = strings.ToValidUTF8(text[:maxDescription], "") + "…"
		}
		fmt.Fprintf(&out, "- %s: %s (%s)\n", s.Name, text, s.Location)
	}
	out.WriteString("</skills>")
	return out.String()
}
