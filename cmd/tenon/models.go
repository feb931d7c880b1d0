package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// withMachine runs f with a host whose plugins are started, for commands that run no turn.
func (a *app) withMachine(ctx context.Context, f func(w *workspace, m *machine) error) error {
	w, err := a.configured(ctx)
	if err != nil {
		return err
	}
	m, err := w.open(ctx, hostOptions{})
	if err != nil {
		return err
	}
	return errors.Join(f(w, m), m.Close(ctx))
}

func (a *app) modelsCommand() *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use: "models [filter]", Short: "List the models that can be used, and the one that would be",
		Args: arguments(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withMachine(cmd.Context(), func(_ *workspace, m *machine) error {
				return a.listModels(cmd.Context(), m, strings.Join(args, ""), form)
			})
		},
	}
	format(cmd, &form)
	return cmd
}

// listedModel is a model in the JSON listing.
type listedModel struct {
	sdk.Model
	Source  string `json:"source"`            // where the key or the address came from
	Default bool   `json:"default,omitempty"` // it is used when nobody names another
	Reason  string `json:"reason,omitempty"`  // why it is the default
}

func (a *app) listModels(ctx context.Context, m *machine, filter, form string) error {
	choice, chooseErr := m.DefaultModel(ctx)
	var list []listedModel
	for _, info := range m.Models(ctx) {
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
	if form == "json" {
		if list == nil {
			list = []listedModel{}
		}
		return a.writeJSON(list)
	}
	if err := a.writeTable(modelTable(list)); err != nil {
		return err
	}
	if len(list) == 0 {
		a.screen.line("no model matches; tenon models lists all")
	}
	for _, r := range m.Receivers(ctx) {
		a.screen.line(fmt.Sprintf("not approved: %s at %s, by choice of the repository; tenon permission approve approves it", visible(r.Provider), visible(r.Address)))
	}
	return a.tellDefault(choice, chooseErr)
}

func (a *app) tellDefault(choice host.ModelChoice, err error) error {
	if err != nil {
		return err
	}
	a.screen.line("* is used when nobody names another: " + visible(choice.Reason))
	return nil
}

func modelTable(list []listedModel) *table {
	t := &table{}
	if len(list) > 0 {
		t.add("", "model", "context", "output", "$/M in", "$/M out", "from")
	}
	for _, l := range list {
		mark := ""
		if l.Default {
			mark = "*"
		}
		t.add(mark, oneLine(l.Ref().String()), limit(l.Limit.Context), limit(l.Limit.Output), price(l.Cost.Input), price(l.Cost.Output), oneLine(l.Source))
	}
	return t
}

// limit writes a number of tokens, and nothing for one that is unknown.
func limit(n int64) string {
	if n == 0 {
		return "-"
	}
	return count(n)
}

func price(p sdk.Price) string {
	if p == 0 {
		return "-"
	}
	return p.String()
}
