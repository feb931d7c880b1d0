package interact

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/sources"
	"github.com/tenonhq/tenon/docs"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// manual is the name of the skill about tenon itself. A skill of the user with this name replaces it, but none of a repository.
const manual = "tenon"

// intro begins this skill. A model knows nothing else about tenon.
const intro = `This is the manual of tenon, the program that you run in. Load the pages that the task needs: this tool, with "tenon/PAGE" as the name.

- Configuration: the user's file is ~/.config/tenon/tenon.json; the project's is tenon.json in its root. tenon reads them, and plugins, when it starts.
- To allow calls without asking: permissions-by-example. MCP servers: mcp. Agents, commands, skills: agents-commands-skills.
- To run a shell command on an event: hooks-by-example. To write a plugin: carriers, the page of the language, hooks;
  "tenon plugin new --help" lists the templates.
- You can run "tenon plugin new", "build" and "test". Commands that read or change tenon's own files, such as "tenon explain" (what happened in
  a session), "tenon permission explain", "tenon hooks", "tenon plugin info", "tenon config set" and "tenon mcp add", require
  unconfined: true, which asks the user. edit and write can change tenon.json and .tenon; they ask, too.
- Rules, hooks, servers and plugins of a project take effect only after the user approves them. Never approve anything yourself: tell the user which
  command to run (tenon permission approve, tenon plugin trust, tenon mcp trust).

`

// maxSkillFiles is the maximum number of listed files of a skill.
const maxSkillFiles = 10

type skillArgs struct {
	Name string `json:"name"`
}

// prepareSkill requests the permission skill with the skill's name.
func prepareSkill(_ context.Context, _ *sdk.ToolCall, a skillArgs) ([]sdk.PermissionRequest, error) {
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
	i := slices.IndexFunc(skills, func(s sdk.Skill) bool {
		return s.Name == args.Name && !(s.Name == manual && projectfs.Within(call.Worktree, s.Location))
	})
	if i < 0 {
		if page, ok := manualPage(args.Name); ok {
			return &sdk.ToolResult{Title: "skill " + args.Name, Output: page, Metadata: sdk.Object{"name": args.Name}}, nil
		}
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

// manualPage returns the skill about tenon itself or, for "tenon/PAGE", a page of the manual.
func manualPage(name string) (string, bool) {
	if name == manual {
		return intro + docs.List(), true
	}
	page, ok := strings.CutPrefix(name, manual+"/")
	text, found := docs.Page(page)
	return text, ok && found
}

func known(skills []sdk.Skill) string {
	names := []string{manual}
	for _, s := range skills {
		if !s.Manual {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
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
