// Package inspect holds the read-only commands: statistics, the doctor, configuration, models,
// hooks, agents, commands and skills.
package inspect

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// Commands returns the read-only commands.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		statsCommand(a), doctorCommand(a), explainCommand(a), hooksCommand(a), modelsCommand(a), configCommand(a),
		agentCommand(a), commandCommand(a), skillCommand(a), versionCommand(a),
	}
}

// buildInfo describes how this binary was built.
type buildInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the repository; "-dirty" when it was changed since
	Time     string `json:"time,omitempty"`     // of the revision
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// build reads the build information in the binary.
func build(version string) buildInfo {
	b := buildInfo{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if b.Version == "dev" && info.Main.Version != "" && info.Main.Version != "(devel)" {
		b.Version = info.Main.Version // built by go install
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	b.Revision, b.Time = settings["vcs.revision"], settings["vcs.time"]
	if settings["vcs.modified"] == "true" {
		b.Revision += "-dirty"
	}
	return b
}

func versionCommand(a *cli.App) *cobra.Command {
	return a.FormatFlag(&cobra.Command{
		Use: "version", Short: "Print the version",
		RunE: func(*cobra.Command, []string) error { return PrintVersion(a) },
	})
}

// PrintVersion prints the version of this binary and how it was built.
func PrintVersion(a *cli.App) error {
	b := build(a.Version)
	line := fmt.Sprintf("tenon %s (%s %s/%s", b.Version, b.Go, b.OS, b.Arch)
	if b.Revision != "" {
		line += ", " + b.Revision
	}
	return a.Show(b, func() error { return a.Print(line + ")\n") })
}

func modelsCommand(a *cli.App) *cobra.Command {
	o := host.ModelListOptions{Configured: true}
	cmd := &cobra.Command{
		Use: "models [filter]", Short: "List the available models and the default one",
		Long: `List the available models and the default one. tenon asks the servers whose address is in your configuration for their
models; with --refresh, all servers. With --all, the last column names the variable that each provider's key belongs in.`,
		RunE: a.OnMachine(func(ctx context.Context, m *cli.Machine, args []string) error {
			return ListModels(ctx, a, m, strings.Join(args, ""), o)
		}),
	}
	cmd.Flags().BoolVar(&o.All, "all", false, "also list the models of providers without a key")
	cmd.Flags().BoolVar(&o.Refresh, "refresh", false, "ask all servers for their models")
	return a.FormatFlag(cmd)
}

// listedModel is a model in the list.
type listedModel struct {
	sdk.Model
	Source  string `json:"source"`            // source of the key or the address
	Served  bool   `json:"served,omitempty"`  // listed by the server and not configured
	Default bool   `json:"default,omitempty"` // used if no other model is chosen
	Reason  string `json:"reason,omitempty"`  // why it is the default
}

// ListModels prints the available models whose names contain the filter, and the default model.
func ListModels(ctx context.Context, a *cli.App, m *cli.Machine, filter string, o host.ModelListOptions) error {
	choice, chooseErr := m.DefaultModel(ctx)
	models, failed := m.ListModels(ctx, o)
	var list []listedModel
	for _, info := range models {
		ref := info.Model.Ref()
		if !strings.Contains(strings.ToLower(ref.String()+" "+info.Model.Name), strings.ToLower(filter)) {
			continue
		}
		l := listedModel{Model: info.Model, Source: info.Source, Served: info.Served}
		if chooseErr == nil && ref == choice.Model.Ref() {
			l.Default, l.Reason = true, choice.Reason
		}
		list = append(list, l)
	}
	if failed != nil {
		a.Say("%s", a.Mask.Clean("not listed by the server: "+failed.Error()))
	}
	err := cli.List(a, list, cli.Listing[listedModel]{
		Empty: "no model matches; tenon models lists all models",
		Head:  []string{"", "model", "context", "output", "$/M in", "$/M out", "from"},
		Row:   (*listedModel).row,
	})
	if err != nil || a.JSON {
		return err
	}
	for _, r := range m.Receivers(ctx) {
		a.Say("not approved: %s at %s, chosen by the repository; approve it with tenon permission approve", r.Provider, r.Address)
	}
	if chooseErr == nil {
		a.Say("* is the default: %s", choice.Reason)
	}
	return chooseErr
}

func (l *listedModel) row() []string {
	mark, from := "", l.Source
	if l.Default {
		mark = "*"
	}
	if l.Served {
		from += ", from the server"
	}
	return []string{mark, l.Ref().String(), view.Limit(l.Limit.Context), view.Limit(l.Limit.Output), price(l.Cost.Input), price(l.Cost.Output), from}
}

func price(p sdk.Price) string {
	if p == 0 {
		return "-"
	}
	return p.String()
}

func hooksCommand(a *cli.App) *cobra.Command {
	listing := cli.Listing[hooks.HookInfo]{
		Empty: "no plugin has a hook",
		Head:  []string{"point", "", "plugin", "hook", "priority", "on error", "timeout", "reads", "writes"},
		Row: func(h *hooks.HookInfo) []string {
			plugin := h.Plugin
			if h.Version != "" {
				plugin += " " + h.Version
			}
			if h.Quarantined != "" {
				plugin += " (quarantined: " + h.Quarantined + ")"
			}
			return []string{
				string(h.Point), fmt.Sprint(h.Position), plugin + " (" + string(h.Carrier) + ")", h.Hook, fmt.Sprint(h.Priority),
				string(h.OnError), h.Timeout.String(), fields(h.Reads), fields(h.Writes),
			}
		},
	}
	return a.FormatFlag(&cobra.Command{
		Use: "hooks", Short: "List all hooks in the order they are called",
		RunE: a.OnMachine(func(_ context.Context, m *cli.Machine, _ []string) error { return cli.List(a, m.Hooks(), listing) }),
	})
}

// fields formats a list of JSON pointers. The empty pointer is the whole value.
func fields(pointers []string) string {
	if len(pointers) == 0 {
		return "-"
	}
	out := make([]string, len(pointers))
	for i, p := range pointers {
		out[i] = pointerText(p)
	}
	return strings.Join(out, " ")
}
