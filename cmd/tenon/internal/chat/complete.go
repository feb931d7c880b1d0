package chat

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/sdk"
)

// maxChoices is the maximum number of completions of a word.
const maxChoices = 500

// completions returns the completions of the last word before the cursor: commands, their arguments, and files and subagents
// after @.
func (c *conversation) completions(ctx context.Context, before string) completion {
	from := strings.LastIndexAny(before, " \t\n") + 1
	word := before[from:]
	if rest, ok := strings.CutPrefix(before, "/"); ok && !strings.HasPrefix(word, "@") {
		if from == 0 {
			return matching(from+1, word[1:], c.commandNames(ctx))
		}
		name, _, _ := strings.Cut(rest, " ")
		if command, ok := findChatCommand(name); ok && command.choices != nil {
			return matching(from, word, command.choices(c, ctx))
		}
		_, arguments, _ := strings.Cut(rest, " ")
		return matching(from, word, typeable(c.m.CompleteCommand(ctx, name, arguments)))
	}
	if rest, ok := strings.CutPrefix(word, "@"); ok {
		return matching(from+1, rest, append(c.files(rest), c.subagentNames()...))
	}
	return completion{}
}

// typeable omits words that cannot be written as one.
func typeable(list []string) []string {
	return slices.DeleteFunc(list, func(word string) bool {
		return word == "" || strings.ContainsAny(word, " \t") || strings.ContainsFunc(word, terminal.Controls)
	})
}

// matching returns the choices that start with the word.
func matching(from int, word string, all []string) completion {
	out := completion{from: from}
	for _, choice := range all {
		if strings.HasPrefix(choice, word) && len(out.choices) < maxChoices {
			out.choices = append(out.choices, choice)
		}
	}
	slices.Sort(out.choices)
	out.choices = slices.Compact(out.choices)
	return out
}

// subagentNames returns the agents that @ can call.
func (c *conversation) subagentNames() []string {
	var out []string
	for _, agent := range c.m.Agents() {
		if agent.Mode != sdk.ModePrimary && !agent.Hidden {
			out = append(out, agent.Name)
		}
	}
	return out
}

// files returns the entries of the directory of a path, in the form in which they are written after @. It omits names that cannot be
// written there, and hidden files unless the path names one.
func (c *conversation) files(path string) []string {
	cut := strings.LastIndexByte(path, '/') + 1
	written, start := path[:cut], path[cut:]
	dir := filepath.Join(c.m.Workspace.Project.Directory, filepath.FromSlash(written))
	if rest, ok := strings.CutPrefix(written, "~/"); ok {
		dir = filepath.Join(c.m.Workspace.Project.Home, filepath.FromSlash(rest))
	} else if filepath.IsAbs(written) {
		dir = filepath.FromSlash(written)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // nothing to complete
	}
	var out []string
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, start) || strings.HasPrefix(name, ".") && !strings.HasPrefix(start, ".") {
			continue
		}
		if strings.ContainsAny(name, " \t`,;\"')]") || strings.ContainsFunc(name, terminal.Controls) {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.IsDir() {
			name += "/"
		}
		out = append(out, written+name)
	}
	return out
}
