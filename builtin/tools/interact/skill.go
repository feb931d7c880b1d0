package interact

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/sources"
	"github.com/tenonhq/tenon/sdk"
)

// maxSkillFiles is the maximum number of listed files of a skill.
const maxSkillFiles = 10

type skillArgs struct {
	Name string `json:"name"`
}

// Requests implements tool.Requester.
func (a *skillArgs) Requests(*sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	name := []string{a.Name}
	return []sdk.PermissionRequest{{Permission: "skill", Patterns: name, Always: name, Metadata: sdk.Object{"name": a.Name}}}, nil
}

// loadSkill returns the instructions and the location of their files.
func loadSkill(ctx context.Context, call *sdk.ToolCall, args skillArgs) (*sdk.ToolResult, error) {
	finder, err := ability[sdk.SkillFinder](call, "sdk.SkillFinder")
	if err != nil {
		return nil, err
	}
	skills, err := finder.Skills(ctx)
	if err != nil {
		return nil, fmt.Errorf("skill: %w", err)
	}
	i := slices.IndexFunc(skills, func(s sdk.Skill) bool { return s.Name == args.Name })
	if i < 0 {
		return nil, fmt.Errorf("skill %q not found; %s", args.Name, known(skills))
	}
	s := skills[i]
	dir := filepath.Dir(s.Location)
	body := strings.ReplaceAll(strings.TrimSpace(s.Body), "${CLAUDE_SKILL_DIR}", dir) // see https://code.claude.com/docs/en/skills
	var out strings.Builder
	fmt.Fprintf(&out, "<skill name=%q>\n%s\n\nBase directory: %s\nPaths in the skill are relative to it.\n", s.Name, body, dir)
	if files := folder(call, dir); len(files) > 0 {
		fmt.Fprintf(&out, "Files in it:\n%s\n", strings.Join(files, "\n"))
	}
	out.WriteString("</skill>")
	return &sdk.ToolResult{Title: "skill " + s.Name, Output: out.String(), Metadata: sdk.Object{"name": s.Name, "dir": dir}}, nil
}

func known(skills []sdk.Skill) string {
	var names []string
	for _, s := range skills {
		if !s.Manual {
			names = append(names, s.Name)
		}
	}
	if len(names) == 0 {
		return "no skills are available"
	}
	slices.Sort(names)
	return "the skills are: " + strings.Join(names, ", ")
}

// folder lists the first files of a skill's folder except SKILL.md. It skips unreadable folders, and folders of the
// project that are now links to the outside.
func folder(call *sdk.ToolCall, dir string) []string {
	w := sources.NewWatch(sdk.Project{Worktree: call.Worktree, Directory: call.Directory}, slog.New(slog.DiscardHandler))
	var names []string
	for _, path := range w.Tree(dir, func(name string) bool { return name != "SKILL.md" }) {
		if name, err := filepath.Rel(dir, path); err == nil && len(names) < maxSkillFiles {
			names = append(names, filepath.ToSlash(name))
		}
	}
	return names
}
