package skills

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenonhq/tenon/builtin/internal/sources"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// Bounds, in bytes: of what the model is told of all skills and of one.
const (
	maxList        = 24 << 10
	maxDescription = 1024
)

// Bounds of the Agent Skills specification, in characters, see https://agentskills.io/specification.
const (
	specName        = 64
	specDescription = 1024
)

// specNames are the names of the specification: small letters, digits and single dashes inside.
var specNames = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

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
			if was, ok := found[skill.Name]; ok {
				skill.Replaces = sources.Replacing(was.Location, was.Replaces)
			}
			found[skill.Name] = skill
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b sdk.Skill) int { return strings.Compare(a.Name, b.Name) })
}

// read reads a skill. What the specification asks for and skills in use do well without is logged and let pass.
func (p *Plugin) read(path string) (sdk.Skill, error) {
	var meta struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	doc, err := p.watch.Document(path, &meta)
	if err != nil {
		return sdk.Skill{}, err
	}
	s := sdk.Skill{Name: strings.TrimSpace(meta.Name), Description: strings.TrimSpace(meta.Description), Location: path, Body: doc.Body}
	folder := filepath.Base(filepath.Dir(path))
	switch {
	case s.Name == "":
		return s, errors.New(`the front matter has no key "name"; give it the name of the folder`)
	case strings.ContainsFunc(s.Name, unicode.IsControl) || utf8.RuneCountInString(s.Name) > specName:
		return s, fmt.Errorf("key \"name\": %.80q: want at most %d characters of a-z, 0-9 and -", s.Name, specName)
	case s.Description == "":
		return s, errors.New(`the front matter has no key "description", by which the model chooses`)
	case !specNames.MatchString(s.Name):
		p.log.Info("the name of a skill is not as the format wants it: a-z, 0-9 and single dashes", "file", path, "name", s.Name)
	case s.Name != folder:
		p.log.Info("the name of a skill is not that of its folder, as the format wants it", "file", path, "name", s.Name, "folder", folder)
	case utf8.RuneCountInString(s.Description) > specDescription:
		p.log.Info("the description of a skill is longer than the format allows; the model is told the beginning", "file", path, "characters", specDescription)
	}
	return s, nil
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
