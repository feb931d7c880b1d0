package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
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
	maxSkillBytes       = 256 << 10 // of a SKILL.md, what the skills plugin reads
	maxSkills           = 500
)

// Skill is a valid skill of a package.
type Skill struct {
	Name        string
	Description string
	Dir         string // absolute
}

// skills finds the skills: immediate children of skills/ with a SKILL.md. One that is wrong is left out and reported.
func (r *reader) skills() {
	if !r.folder.has(skillsDir) {
		return
	}
	where := filepath.Join(r.folder.root, skillsDir)
	dir, err := r.folder.resolve(skillsDir)
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
		if e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(where, e.Name(), skillFile)
		s, err := r.skill(e.Name())
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			r.warn(path, "", "", "the skill is left out: %v", err)
		case len(r.p.Skills) == maxSkills:
			r.warn(where, "", "split the package", "only the first %d skills are loaded", maxSkills)
			return
		default:
			r.p.Skills = append(r.p.Skills, s)
		}
	}
	slices.SortFunc(r.p.Skills, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
}

// skill reads one skill; fs.ErrNotExist when the directory holds none.
func (r *reader) skill(name string) (Skill, error) {
	dir, err := r.folder.resolve(skillsDir + "/" + name)
	if err != nil {
		return Skill{}, err
	}
	names, err := os.ReadDir(dir)
	if err != nil || !slices.ContainsFunc(names, func(e fs.DirEntry) bool { return e.Name() == skillFile }) {
		return Skill{}, fs.ErrNotExist
	}
	path, err := r.folder.resolve(skillsDir + "/" + name + "/" + skillFile)
	if err != nil {
		return Skill{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return Skill{}, err
	}
	if !info.Mode().IsRegular() {
		return Skill{}, fs.ErrNotExist
	}
	data, err := readRegular(path, maxSkillBytes)
	if err != nil {
		return Skill{}, err
	}
	s, err := parseSkill(data)
	if err != nil {
		return Skill{}, err
	}
	if s.Name != name {
		return Skill{}, fmt.Errorf("name: %s is not the name of its directory, %s", quoted(s.Name), quoted(name))
	}
	s.Dir = dir
	return s, nil
}

// parseSkill checks the front matter of a SKILL.md: its name and description.
func parseSkill(data []byte) (Skill, error) {
	if !utf8.Valid(data) {
		return Skill{}, errors.New("is not valid UTF-8")
	}
	fields, err := frontMatter(string(data))
	if err != nil {
		return Skill{}, err
	}
	s := Skill{Name: fields["name"], Description: fields["description"]}
	switch {
	case s.Name == "":
		return Skill{}, errors.New("name: is missing from the front matter")
	case len(s.Name) > maxSkillName || strings.Trim(s.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" ||
		s.Name[0] == '-' || s.Name[len(s.Name)-1] == '-' || strings.Contains(s.Name, "--"):
		return Skill{}, fmt.Errorf("name: %s: use 1 to %d of a-z, 0-9 and -, no dash first, last or twice", quoted(s.Name), maxSkillName)
	case s.Description == "":
		return Skill{}, errors.New("description: is missing from the front matter")
	case utf8.RuneCountInString(s.Description) > maxSkillDescription:
		return Skill{}, fmt.Errorf("description: has more than %d characters", maxSkillDescription)
	}
	return s, nil
}

// frontMatter returns the top-level fields of YAML front matter that are text: plain, quoted, or a block. It is not a reader of all
// of YAML: it finds what a skill must have, and the skills plugin reads the file again.
func frontMatter(text string) (map[string]string, error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	lines := strings.Split(text, "\n")
	if strings.TrimRight(lines[0], " \t") != "---" {
		return nil, errors.New(`has no front matter; begin with a line "---"`)
	}
	end := slices.IndexFunc(lines[1:], func(l string) bool { return strings.TrimRight(l, " \t") == "---" })
	if end < 0 {
		return nil, errors.New(`the front matter has no end; close it with a line "---"`)
	}
	fields := map[string]string{}
	lines = lines[1 : end+1]
	for len(lines) > 0 {
		key, value, ok := strings.Cut(lines[0], ":")
		lines = lines[1:]
		n := 0
		for n < len(lines) && (lines[n] == "" || lines[n][0] == ' ' || lines[n][0] == '\t') {
			n++
		}
		block := lines[:n]
		lines = lines[n:]
		if !ok || key == "" || strings.ContainsAny(key[:1], " \t#-") {
			continue
		}
		if _, twice := fields[key]; twice {
			return nil, fmt.Errorf("%s: the field stands twice", quoted(key))
		}
		fields[key] = scalar(value, block)
	}
	return fields, nil
}

// scalar puts the lines of a text together.
func scalar(first string, block []string) string {
	first = strings.TrimSpace(first)
	if first != "" && (first[0] == '|' || first[0] == '>') {
		first = ""
	}
	words := []string{first}
	for _, line := range block {
		words = append(words, strings.TrimSpace(line))
	}
	s := strings.TrimSpace(strings.Join(words, " "))
	if n := len(s); n > 1 && (s[0] == '"' || s[0] == '\'') && s[n-1] == s[0] {
		return s[1 : n-1]
	}
	if i := strings.Index(s, " #"); i >= 0 && len(block) == 0 {
		s = strings.TrimSpace(s[:i])
	}
	return s
}
