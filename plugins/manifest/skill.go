package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenonhq/tenon/internal/frontmatter"
	"github.com/tenonhq/tenon/sdk"
)

// The places of skills, by the specification.
const (
	skillsDir = "skills"
	skillFile = "SKILL.md"
)

// Bounds of skills; the first two are those of the Agent Skills specification, in characters.
const (
	maxSkillName        = 64
	maxSkillDescription = 1024
	maxSkillBytes       = 256 << 10 // of a SKILL.md: the limit of the skills plugin
	maxSkills           = 500
)

// errSkills is returned for a skill after the first maxSkills.
var errSkills = fmt.Errorf("more than %d skills", maxSkills)

// skillsIn adds the skills of a place: its immediate children with a SKILL.md.
func (r *reader) skillsIn(place string) {
	where := filepath.Join(r.folder.root, filepath.FromSlash(place))
	dir, err := r.folder.resolve(place)
	if errors.Is(err, fs.ErrNotExist) && r.p.Host != ownHost {
		return // most packages have no skills
	}
	if err != nil {
		r.warn(where, "", "", "no skills are loaded: %v", err)
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		r.warn(where, "", "make it a directory", "no skills are loaded: it is not a directory")
		return
	}
	for _, e := range entries {
		if err := r.addSkill(path.Join(place, e.Name())); errors.Is(err, errSkills) {
			r.warn(where, "", "split the package", "only the first %d skills are loaded", maxSkills)
			return
		}
	}
}

// addSkill adds the skill in a directory, once. An invalid skill is left out and reported. Errors: fs.ErrNotExist without a skill, errSkills.
func (r *reader) addSkill(dir string) error {
	s, err := r.skill(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return err
	case err != nil:
		r.skillOut(dir, err)
	case slices.Contains(r.p.Skills, s): // a manifest often lists the skills that are in the usual place
	case len(r.p.Skills) == maxSkills:
		return errSkills
	default:
		r.p.Skills = append(r.p.Skills, s)
	}
	return nil
}

// skillOut reports a skill that is left out.
func (r *reader) skillOut(dir string, err error) {
	r.warn(filepath.Join(r.folder.root, filepath.FromSlash(dir), skillFile), "", "", "the skill is left out: %v", err)
}

// skill reads the skill in a directory; fs.ErrNotExist without one. Our skills have the name of their directory. Other hosts identify a skill by
// its directory, whose name replaces a missing or invalid one, and do not list one without a description for the model.
func (r *reader) skill(dir string) (s sdk.PackagedSkill, err error) {
	resolved, err := r.folder.resolve(dir)
	if err != nil {
		return s, err
	}
	names, err := os.ReadDir(resolved)
	if err != nil || !slices.ContainsFunc(names, func(e fs.DirEntry) bool { return e.Name() == skillFile }) {
		return s, fs.ErrNotExist
	}
	var meta struct {
		Name        string           `json:"name"`
		Description string           `json:"description"`
		Manual      frontmatter.Flag `json:"disable-model-invocation"` // of Claude Code
	}
	if _, err := r.document(path.Join(dir, skillFile), &meta); err != nil {
		return s, err
	}
	usual := path.Base(dir)
	if dir == "." {
		usual = r.p.Description.Name
	}
	s = sdk.PackagedSkill{
		Name: meta.Name, Description: strings.TrimSpace(meta.Description), Location: filepath.Join(resolved, skillFile), Root: r.folder.root, Manual: bool(meta.Manual),
	}
	own := r.p.Host == ownHost
	if !own && !validSkill(s.Name) {
		s.Name = usual
	}
	s.Manual = s.Manual || !own && s.Description == ""
	switch {
	case s.Name == "":
		err = errors.New("name: is missing from the front matter")
	case !validSkill(s.Name):
		err = fmt.Errorf("name: %s: use 1 to %d of a-z, 0-9 and -, no dash at the start or end and no --", quoted(s.Name), maxSkillName)
	case own && s.Description == "":
		err = errors.New("description: is missing from the front matter")
	case own && utf8.RuneCountInString(s.Description) > maxSkillDescription:
		err = fmt.Errorf("description: has more than %d characters", maxSkillDescription)
	case own && s.Name != usual:
		err = fmt.Errorf("name: %s is not the name of its directory, %s", quoted(s.Name), quoted(usual))
	}
	return s, err
}

// document reads a Markdown file, or a command of Gemini CLI, by its path from the root, and its front matter into meta.
func (r *reader) document(rel string, meta any) (*frontmatter.Document, error) {
	parse, limit := frontmatter.Parse, int64(maxSkillBytes)
	if strings.EqualFold(path.Ext(rel), ".toml") {
		parse, limit = tomlCommand, maxTOML
	}
	data, err := r.folder.read(rel, limit)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(data) {
		return nil, errors.New("is not valid UTF-8")
	}
	doc, err := parse(data)
	if err == nil {
		err = doc.Decode(meta)
	}
	return doc, err
}

func validSkill(name string) bool {
	return name != "" && len(name) <= maxSkillName && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" &&
		name[0] != '-' && name[len(name)-1] != '-' && !strings.Contains(name, "--")
}
