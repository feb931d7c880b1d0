// Package inspect holds the read-only commands: statistics, the doctor, configuration, models,
// hooks, agents, commands and skills.
package inspect

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/sdk"
)

// group is the commands with their flags. One of them runs.
type group struct {
	*cli.App
	models  host.ModelListOptions
	days    int  // of stats
	plugins bool // of stats
	step    int  // of explain; 0: all
	offline bool // of doctor
	project bool // of config
}

// Commands returns the read-only commands.
func Commands(a *cli.App) cli.Commands {
	g := &group{App: a, models: host.ModelListOptions{Configured: true}, days: 30}
	project := cli.Flags{"project": &g.project}
	all := cli.Commands{
		"models":  {Run: g.OnMachine(g.listModels), Flags: cli.Flags{"all": &g.models.All, "refresh": &g.models.Refresh}},
		"hooks":   {Run: g.OnMachine(g.listHooks)},
		"explain": {Run: g.explain, Flags: cli.Flags{"step": &g.step}},
		"stats":   {Run: g.OnStore(g.stats), Flags: cli.Flags{"days": &g.days, "plugins": &g.plugins}},
		"doctor":  {Run: g.doctor, Flags: cli.Flags{"offline": &g.offline}},
		"version": {Run: func(*cobra.Command, []string) error { return PrintVersion(a) }},

		"config show":   {Run: g.OnConfig(showConfig)},
		"config get":    {Run: g.OnConfig(getConfig)},
		"config check":  {Run: func(cmd *cobra.Command, _ []string) error { return checkConfig(cmd.Context(), a) }},
		"config schema": {Run: func(*cobra.Command, []string) error { return a.Print(config.Schema) }},
		"config path":   {Run: g.OnPlace(g.printConfigPath), Flags: project},
		"config edit":   {Run: g.OnPlace(g.editConfig), Flags: project},
		"config set":    {Run: g.OnPlace(g.setConfig), Flags: project},
	}
	for _, v := range inventories() {
		all[v.name+" list"] = cli.Command{Run: g.OnMachine(v.list)}
		all[v.name+" show"] = cli.Command{Run: g.OnMachine(v.show)}
	}
	return all
}

// buildInfo describes how this binary was built.
type buildInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // commit of the repository; ends in "-dirty" if files were modified
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

// PrintVersion prints the version of this binary and how it was built.
func PrintVersion(a *cli.App) error {
	b := build(a.Version)
	line := fmt.Sprintf("tenon %s (%s %s/%s", b.Version, b.Go, b.OS, b.Arch)
	if b.Revision != "" {
		line += ", " + b.Revision
	}
	return a.Show(b, func() error { return a.Print(line + ")\n") })
}

// listedModel is a model in the list.
type listedModel struct {
	sdk.Model
	Source  string `json:"source"`            // source of the key or the address
	Served  bool   `json:"served,omitempty"`  // listed by the server and not configured
	Default bool   `json:"default,omitempty"` // the model that is used if no other is chosen
	Reason  string `json:"reason,omitempty"`  // the reason why it is the default
}

func (g *group) listModels(ctx context.Context, m *cli.Machine, args []string) error {
	return ListModels(ctx, g.App, m, strings.Join(args, ""), g.models)
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
	head := []string{"", "model", "context", "output", "$/M in", "$/M out", "from"}
	err := cli.List(a, list, "no model matches; tenon models --all lists the models of all providers", head, (*listedModel).row)
	if err != nil || a.JSON {
		return err
	}
	for _, r := range m.Receivers(ctx) {
		a.Say("not approved: %s at %s, chosen by the repository; approve it with tenon permission approve", r.Provider, r.Address)
	}
	if slices.ContainsFunc(list, func(l listedModel) bool { return l.Default }) {
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

func (g *group) listHooks(_ context.Context, m *cli.Machine, _ []string) error {
	head := []string{"point", "", "plugin", "hook", "priority", "on error", "timeout", "reads", "writes"}
	return cli.List(g.App, m.Hooks(), "no plugin has a hook", head, func(h *hooks.HookInfo) []string {
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
	})
}

// fields formats a list of JSON pointers. The empty pointer is the whole value.
func fields(pointers []string) string {
	if len(pointers) == 0 {
		return "-"
	}
	return strings.Join(cli.Mapped(pointers, func(p *string) string { return pointerText(*p) }), " ")
}
