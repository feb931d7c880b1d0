package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/plugins/marketplace"
)

// maxDescription limits a plugin's description in a list, in characters.
const maxDescription = 100

func (j *job) addMarket(ctx context.Context, args []string) error {
	dir, err := j.Directory()
	if err != nil {
		return err
	}
	m, err := j.installer.Markets.Add(ctx, args[0], dir)
	if path, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(path, fs.ErrNotExist) {
		return cli.UsageError(cli.CheckPath, "%w", path)
	}
	if err != nil {
		return err
	}
	j.showProblems(m)
	j.Say("added %s (%s): %s; install one with tenon plugin install NAME@%s", m.Name, m.Address, view.Plural(len(m.Entries), "plugin"), m.Name)
	return nil
}

// showProblems warns about the entries of a catalogue that were left out.
func (j *job) showProblems(m *marketplace.Market) {
	for _, problem := range m.Problems {
		j.Log.Warn(problem, "marketplace", m.Name)
	}
}

func (j *job) listMarkets(context.Context, []string) error {
	markets, err := j.installer.Markets.List()
	if err != nil {
		return err
	}
	type row struct {
		Name    string `json:"name"`
		Address string `json:"address"`
		Commit  string `json:"commit,omitempty"`
		Fetched string `json:"fetched,omitempty"`
		Plugins int    `json:"plugins"`
	}
	var list []row
	for _, m := range markets {
		r := row{Name: m.Name, Address: m.Address, Commit: m.Commit}
		if m.Catalogue != nil {
			r.Fetched, r.Plugins = m.Fetched.Format(time.DateOnly), len(m.Entries)
		}
		list = append(list, r)
	}
	return cli.List(j.App, list, noMarkets, []string{"name", "address", "commit", "fetched", "plugins"}, func(r *row) []string {
		return []string{r.Name, r.Address, r.Commit[:min(12, len(r.Commit))], r.Fetched, fmt.Sprint(r.Plugins)}
	})
}

const noMarkets = "no marketplaces; tenon plugin marketplace add owner/repo adds one"

func (j *job) updateMarkets(ctx context.Context, names []string) error {
	if len(names) == 0 {
		markets, err := j.installer.Markets.List()
		if err != nil {
			return err
		}
		names = cli.Mapped(markets, func(m *marketplace.Market) string { return m.Name })
	}
	var problems []error
	for _, name := range names {
		m, err := j.installer.Markets.Update(ctx, name)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		j.showProblems(m)
		j.Say("%s: %s", m.Name, view.Plural(len(m.Entries), "plugin"))
	}
	return errors.Join(problems...)
}

func (j *job) removeMarkets(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := j.installer.Markets.Remove(ctx, name); err != nil {
			return err
		}
		j.Say("removed %s", name)
	}
	return nil
}

// offer is a plugin in a marketplace.
type offer struct {
	Ref         string `json:"ref"`
	Version     string `json:"version,omitempty"`
	Description string `json:"description,omitempty"`
}

func (j *job) searchMarkets(_ context.Context, words []string) error {
	markets, err := j.installer.Markets.List()
	if err != nil {
		return err
	}
	empty := "nothing found"
	if len(markets) == 0 {
		empty = noMarkets
	}
	for _, m := range markets {
		if m.Catalogue == nil {
			j.Say("%s: %v; run: tenon plugin marketplace update", m.Name, marketplace.ErrStale)
		}
	}
	return cli.List(j.App, matching(markets, words), empty, []string{"install with tenon plugin install", "version", ""}, func(o *offer) []string {
		return []string{o.Ref, o.Version, view.Clip(terminal.OneLine(o.Description), maxDescription)}
	})
}

// matching returns the plugins that contain all words; those with all words in the name come first.
func matching(markets []marketplace.Market, words []string) []offer {
	has := func(text string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(strings.ToLower(text), strings.ToLower(w)) })
	}
	var byName, others []offer
	for _, m := range markets {
		if m.Catalogue == nil {
			continue
		}
		for _, e := range m.Entries {
			o := offer{e.Name + "@" + m.Name, e.Version, e.Description}
			switch {
			case has(e.Name):
				byName = append(byName, o)
			case has(e.Name + " " + e.Description + " " + strings.Join(e.Words, " ")):
				others = append(others, o)
			}
		}
	}
	return append(byName, others...)
}
