package inspect

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

func modelsCommand(a *cli.App) *cobra.Command {
	var o host.ModelListOptions
	cmd := &cobra.Command{
		Use: "models [filter]", Short: "List the available models and the default one",
		Args: cli.Args(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithMachine(cmd.Context(), func(m *cli.Machine) error {
				return ListModels(cmd.Context(), a, m, strings.Join(args, ""), o)
			})
		},
	}
	cmd.Flags().BoolVar(&o.All, "all", false, "list the models of providers without a key, too")
	cmd.Flags().BoolVar(&o.Refresh, "refresh", false, "ask the servers for their models")
	return a.FormatFlag(cmd)
}

// listedModel is a model in the list.
type listedModel struct {
	sdk.Model
	Source  string `json:"source"`            // source of the key or the address
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
		l := listedModel{Model: info.Model, Source: info.Source}
		if chooseErr == nil && ref == choice.Model.Ref() {
			l.Default, l.Reason = true, choice.Reason
		}
		list = append(list, l)
	}
	if failed != nil {
		a.Screen.Line(terminal.Visible("not listed by the server: " + failed.Error()))
	}
	if a.JSON {
		return a.PrintJSON(append([]listedModel{}, list...))
	}
	if err := a.PrintTable(modelTable(list)); err != nil {
		return err
	}
	if len(list) == 0 {
		a.Screen.Line("no model matches; tenon models lists all models")
	}
	for _, r := range m.Receivers(ctx) {
		a.Screen.Line(fmt.Sprintf("not approved: %s at %s, chosen by the repository; approve it with tenon permission approve", terminal.Visible(r.Provider), terminal.Visible(r.Address)))
	}
	return tellDefault(a, choice, chooseErr)
}

func tellDefault(a *cli.App, choice host.ModelChoice, err error) error {
	if err != nil {
		return err
	}
	a.Screen.Line("* is the default: " + terminal.Visible(choice.Reason))
	return nil
}

func modelTable(list []listedModel) *view.Table {
	t := &view.Table{}
	if len(list) > 0 {
		t.Add("", "model", "context", "output", "$/M in", "$/M out", "from")
	}
	for _, l := range list {
		mark := ""
		if l.Default {
			mark = "*"
		}
		t.Add(mark, terminal.OneLine(l.Ref().String()), view.Limit(l.Limit.Context), view.Limit(l.Limit.Output), price(l.Cost.Input), price(l.Cost.Output), terminal.OneLine(l.Source))
	}
	return t
}

func price(p sdk.Price) string {
	if p == 0 {
		return "-"
	}
	return p.String()
}
