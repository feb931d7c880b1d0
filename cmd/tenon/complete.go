package main

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// maxCompletedSessions limits the sessions that a shell offers.
	maxCompletedSessions = 50
	// completedTitle is the maximum length of a description, in runes.
	completedTitle = 40
)

// names returns the words that a shell offers, each with an optional description after a tab.
type names func(ctx context.Context, a *cli.App) []string

// addCompletions lets shells complete the names of sessions, models, agents, plugins, servers and others. It is called only if a shell requests
// completions.
func addCompletions(a *cli.App, root *cobra.Command) {
	arguments := map[string]names{
		"agent show": fromMachine(agentNames), "skill show": fromMachine(skillNames), "command show": fromMachine(commandNames), "models": fromMachine(modelNames),
		"auth login": providerNames,
	}
	for _, name := range strings.Fields("show delete compact uncompact revert unrevert diff fork export rename archive unarchive repair") {
		arguments["session "+name] = sessionIDs
	}
	arguments["explain"] = sessionIDs
	for _, name := range strings.Fields("info trust untrust enable disable remove update why") {
		arguments["plugin "+name] = candidates(trust.KindPlugin)
	}
	for _, name := range strings.Fields("get remove tools call logs trust enable disable login logout") {
		arguments["mcp "+name] = candidates(trust.KindServer)
	}
	flags := map[string]names{
		"session": sessionIDs, "model": fromMachine(modelNames), "agent": fromMachine(agentNames), "command": fromMachine(commandNames),
	}
	visit(root, func(cmd *cobra.Command) {
		path := strings.TrimPrefix(cmd.CommandPath(), root.Name()+" ")
		if list := arguments[path]; list != nil {
			many := strings.Contains(cmd.Use, "…") || strings.Contains(cmd.Use, "...")
			cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
				if len(args) > 0 && !many {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return matching(list(cmd.Context(), a), args, prefix), cobra.ShellCompDirectiveNoFileComp
			}
		}
		for name, list := range flags {
			if f := cmd.LocalFlags().Lookup(name); f != nil && f.Value.Type() == "string" {
				// The only errors are an unknown flag and a second registration.
				_ = cmd.RegisterFlagCompletionFunc(name, func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
					return matching(list(cmd.Context(), a), nil, prefix), cobra.ShellCompDirectiveNoFileComp
				})
			}
		}
	})
}

// visit calls f for a command and all commands below it.
func visit(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		visit(sub, f)
	}
}

// matching returns the words with the prefix that are not on the command line yet.
func matching(list, given []string, prefix string) []string {
	return slices.DeleteFunc(list, func(line string) bool {
		word, _, _ := strings.Cut(line, "\t")
		return !strings.HasPrefix(word, prefix) || slices.Contains(given, word)
	})
}

// Completions cannot report errors: the following functions return the names that they find.

func sessionIDs(ctx context.Context, a *cli.App) (out []string) {
	_ = a.WithStore(ctx, func(w *cli.Workspace, s store.Store) error {
		q := store.Query{Limit: maxCompletedSessions, Archived: true}
		q.ProjectID, q.Directory = w.Scope()
		list, err := s.List(ctx, q)
		out = completions(list, func(l *store.Listed) (word, about string) { return l.ID, l.Title })
		return err
	})
	return out
}

// completions returns the words of a list's entries, each with a description, which is cut.
func completions[T any](list []T, entry func(*T) (word, about string)) []string {
	return cli.Mapped(list, func(one *T) string {
		word, about := entry(one)
		return cobra.CompletionWithDesc(word, view.Clip(terminal.OneLine(about), completedTitle))
	})
}

// fromMachine returns the names that a host knows.
func fromMachine(list func(context.Context, *cli.Machine) []string) names {
	return func(ctx context.Context, a *cli.App) (out []string) {
		_ = a.WithMachine(ctx, func(m *cli.Machine) error {
			out = list(ctx, m)
			return nil
		})
		return out
	}
}

func modelNames(ctx context.Context, m *cli.Machine) []string {
	list, _ := m.ListModels(ctx, host.ModelListOptions{})
	return completions(list, func(l *host.ModelInfo) (word, about string) { return l.Model.Ref().String(), l.Model.Name })
}

func agentNames(_ context.Context, m *cli.Machine) []string {
	visible := slices.DeleteFunc(slices.Clone(m.Agents()), func(agent sdk.Agent) bool { return agent.Hidden })
	return completions(visible, func(agent *sdk.Agent) (word, about string) { return agent.Name, agent.Description })
}

func commandNames(ctx context.Context, m *cli.Machine) []string {
	return completions(m.CommandInfos(ctx), func(c *host.CommandInfo) (word, about string) { return c.Name, c.Description })
}

func skillNames(ctx context.Context, m *cli.Machine) []string {
	return completions(m.SkillInfos(ctx), func(s *generation.SkillInfo) (word, about string) { return s.Name, s.Description })
}

// candidates returns the names of third-party extensions of a kind.
func candidates(kind trust.Kind) names {
	return func(ctx context.Context, a *cli.App) (out []string) {
		_ = a.WithExtensions(ctx, nil, func(_ *cli.Workspace, s *extensions.Set) error {
			list := slices.DeleteFunc(slices.Clone(s.Candidates), func(c *extensions.Candidate) bool { return c.Kind != kind })
			out = completions(list, func(c **extensions.Candidate) (word, about string) {
				return (*c).Name, cmp.Or((*c).Version, string((*c).State))
			})
			return nil
		})
		return out
	}
}

// providerNames returns the built-in providers, which do not depend on the configuration: it may be invalid or missing.
func providerNames(context.Context, *cli.App) (out []string) {
	for _, p := range cli.Shipped() {
		if source, ok := p.(sdk.ProviderSource); ok {
			out = append(out, completions(source.Providers(), func(info *sdk.ProviderInfo) (word, about string) { return info.ID, info.Name })...)
		}
	}
	return out
}
