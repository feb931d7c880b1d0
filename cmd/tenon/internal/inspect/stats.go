package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/convert"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

func (g *group) stats(ctx context.Context, _ *cli.Workspace, s store.Store, _ []string) error {
	if g.days < 1 || g.days > maxDays {
		return cli.UsageError(fmt.Sprintf("pass a number from 1 to %d", maxDays), "invalid --days %d", g.days)
	}
	c, show := newCensus(g.days, g.WithoutDamage), showStats
	if g.plugins {
		show = showPlugins
		err := g.WithExtensions(ctx, nil, func(_ *cli.Workspace, e *extensions.Set) error {
			c.owners = ownersOf(e.Candidates)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := c.take(ctx, s); err != nil {
		return err
	}
	return show(g.App, c, g.days)
}

// maxDays is the maximum period, about a hundred years.
const maxDays = 36_500

// Usage is the usage of model requests.
type Usage struct {
	Steps  int        `json:"steps"`
	Tokens sdk.Tokens `json:"tokens"`
	Cost   sdk.USD    `json:"cost"`
}

// Add adds the usage of further requests.
func (u *Usage) Add(steps int, t sdk.Tokens, cost sdk.USD) {
	u.Steps += steps
	u.Tokens = u.Tokens.Add(t)
	u.Cost += cost
}

// The rows of the statistics.
type (
	modelStats struct {
		Model string `json:"model"`
		Usage
	}
	toolStats struct {
		Tool   string `json:"tool"`
		Calls  int    `json:"calls"`
		Failed int    `json:"failed"`
	}
	pluginStats struct {
		Plugin     string `json:"plugin"`
		Calls      int    `json:"calls"`
		Failed     int    `json:"failed"`
		DurationUS int64  `json:"durationUS"` // of all hook calls
		// The following fields are counted with --plugins.
		ToolCalls  int   `json:"toolCalls,omitempty"` // of its tools and skills
		ToolFailed int   `json:"toolFailed,omitempty"`
		ToolMS     int64 `json:"toolMS,omitempty"` // of all tool calls, including the time that questions waited for the user
		Tokens     int64 `json:"tokens,omitempty"` // of arguments and results of its tools, estimated
	}
)

// tally counts usage in a period.
type tally struct {
	Usage
	breakdown
}

type breakdown struct {
	Models  ranking[modelStats]  `json:"models"`
	Tools   ranking[toolStats]   `json:"tools"`
	Plugins ranking[pluginStats] `json:"plugins"`
}

// ranking holds rows by name. JSON lists them by usage, the highest first.
type ranking[R interface{ Compare(R) int }] map[string]*R

// row returns the row of a name, and adds it if it is missing.
func (r *ranking[R]) row(name string) *R {
	if *r == nil {
		*r = ranking[R]{}
	}
	if (*r)[name] == nil {
		(*r)[name] = new(R)
	}
	return (*r)[name]
}

// sorted returns the rows by usage; equal ones by name.
func (r ranking[R]) sorted() []R {
	out := []R{}
	for _, name := range slices.Sorted(maps.Keys(r)) {
		out = append(out, *r[name])
	}
	slices.SortStableFunc(out, R.Compare)
	return out
}

// MarshalJSON implements json.Marshaler.
func (r ranking[R]) MarshalJSON() ([]byte, error) { return json.Marshal(r.sorted()) }

// Compare orders the rows by cost, then by tokens, the highest first.
func (m modelStats) Compare(other modelStats) int {
	return cmp.Or(cmp.Compare(other.Cost, m.Cost), cmp.Compare(other.Tokens.Sum(), m.Tokens.Sum()))
}

// Compare orders the rows by calls.
func (t toolStats) Compare(other toolStats) int { return cmp.Compare(other.Calls, t.Calls) }

// Compare orders the rows by calls.
func (p pluginStats) Compare(other pluginStats) int { return cmp.Compare(other.Calls, p.Calls) }

// censusPage is the number of sessions or messages that are read at a time.
const censusPage = 256

// census counts usage since a point in time.
type census struct {
	since           sdk.Millis
	sessions, turns int
	total           tally
	days            map[string]*tally
	owners          *owners           // empty: tool calls are not counted by plugin
	withoutDamage   func(error) error // reports damaged rows and returns other errors
}

// newCensus counts the usage of the last days, including today.
func newCensus(days int, withoutDamage func(error) error) *census {
	y, m, d := time.Now().Date()
	since := time.Date(y, m, d-days+1, 0, 0, 0, 0, time.Local).UnixMilli()
	return &census{since: since, days: map[string]*tally{}, owners: &owners{}, withoutDamage: withoutDamage}
}

// tallies returns the tallies for a point in time: the total and the day's.
func (c *census) tallies(at sdk.Millis) [2]*tally {
	day := time.UnixMilli(at).Format(time.DateOnly)
	if c.days[day] == nil {
		c.days[day] = &tally{}
	}
	return [2]*tally{&c.total, c.days[day]}
}

// take counts the sessions of all projects page by page, in the order of their last update, the latest first.
func (c *census) take(ctx context.Context, s store.Store) error {
	q := store.Query{Children: true, Archived: true, Limit: censusPage}
	for {
		list, err := s.Sessions(ctx, q)
		if err = c.withoutDamage(err); err != nil {
			return err
		}
		for i := range list {
			if list[i].Time.Updated < c.since {
				return nil
			}
			if err := c.session(ctx, s, &list[i]); err != nil {
				return err
			}
		}
		if len(list) < q.Limit {
			return nil
		}
		q.Before = &list[len(list)-1]
	}
}

func (c *census) session(ctx context.Context, s store.Store, info *sdk.Session) error {
	paid := sdk.USD(0)
	seen := map[string]sdk.Millis{}          // creation times of the counted messages
	since := max(c.since, info.Time.Created) // earlier messages are copies in a fork and count in the original
	page := store.Page{Limit: censusPage}
	for more := true; more; {
		messages, err := s.Messages(ctx, info.ID, page)
		damaged, _ := store.Readable(err)
		if err = c.withoutDamage(err); err != nil {
			return err
		}
		more = len(messages) > 0 && len(messages)+len(damaged) >= censusPage
		for i := range slices.Backward(messages) {
			cost, at, counts := c.message(&messages[i], since)
			if !counts {
				more = false
				continue
			}
			paid += cost
			if at != 0 {
				seen[messages[i].Info.Head().ID] = at
			}
		}
		if more {
			page.Before = messages[0].Info.Head().ID
		}
	}
	if len(seen) > 0 {
		c.sessions++
	}
	if rest := info.Cost - paid; rest > 0 && info.Time.Created >= c.since {
		for _, t := range c.tallies(info.Time.Created) {
			t.Cost += rest
		}
	}
	return c.ledger(ctx, s, info.ID, seen)
}

// message counts a message and returns its cost and creation time (0 if unknown). Messages before since do not count.
func (c *census) message(m *sdk.MessageWithParts, since sdk.Millis) (cost sdk.USD, at sdk.Millis, counts bool) {
	switch info := m.Info.(type) {
	case *sdk.UserMessage:
		if counts = info.Time.Created >= since; counts {
			c.turns++
		}
		return 0, info.Time.Created, counts
	case *sdk.AssistantMessage:
		if info.Time.Created < since {
			return 0, 0, false
		}
		for _, t := range c.tallies(info.Time.Created) {
			t.Add(1, info.Tokens, info.Cost)
			name := info.ProviderID + "/" + info.ModelID
			model := t.Models.row(name)
			model.Model = name
			model.Add(1, info.Tokens, info.Cost)
			for call := range store.PartsOf[*sdk.ToolPart](*m) {
				t.call(call, c.owners.of(call))
			}
		}
		return info.Cost, info.Time.Created, true
	}
	return 0, 0, true
}

// call counts a tool call, in total and for its plugin, if any.
func (t *tally) call(call *sdk.ToolPart, plugin string) {
	failed := 0
	if call.State.Status == sdk.ToolError {
		failed = 1
	}
	row := t.Tools.row(call.Tool)
	row.Tool = call.Tool
	row.Calls++
	row.Failed += failed
	if plugin == "" {
		return
	}
	own := t.Plugins.row(plugin)
	own.Plugin = plugin
	own.ToolCalls++
	if call.State.Metadata["denied"] != true { // the plugin did not fail: its call was refused
		own.ToolFailed += failed
	}
	own.ToolMS += max(0, int64(call.State.Time.End-call.State.Time.Start))
	own.Tokens += int64(len(call.State.Input)+len(call.State.Output)+len(call.State.Error)) / convert.BytesPerToken
}

func (c *census) ledger(ctx context.Context, s store.Store, session string, seen map[string]sdk.Millis) error {
	rows, err := s.Ledger(ctx, session, "")
	if err = c.withoutDamage(err); err != nil {
		return err
	}
	for _, row := range rows {
		at, counts := seen[row.MessageID]
		if !counts {
			continue
		}
		var entries []hooks.Entry
		if err := json.Unmarshal(row.Entries, &entries); err != nil {
			_ = c.withoutDamage(ledgerDamage(session, row.MessageID)) // reports it
			continue
		}
		for _, t := range c.tallies(at) {
			t.hooks(entries)
		}
	}
	return nil
}

func (t *tally) hooks(entries []hooks.Entry) {
	for i := range entries {
		if entries[i].Outcome == hooks.OutcomeSkipped || entries[i].Point == host.PointPluginCall && entries[i].Plugin == "user" {
			continue // a hook that was not called because of a quarantine, or a shell line that the user typed
		}
		p := t.Plugins.row(entries[i].Plugin)
		p.Plugin = entries[i].Plugin
		p.Calls++
		p.DurationUS += entries[i].DurationUS
		if o := entries[i].Outcome; o == hooks.OutcomeError || o == hooks.OutcomeTimeout {
			p.Failed++
		}
	}
}

// dayStats is the usage of a day as JSON.
type dayStats struct {
	Day string `json:"day"`
	*tally
}

// stats is the JSON output.
type stats struct {
	Days     int        `json:"days"`
	Sessions int        `json:"sessions"`
	Turns    int        `json:"turns"`
	Total    Usage      `json:"total"`
	ByDay    []dayStats `json:"byDay"`
	breakdown
}

func showStats(a *cli.App, c *census, days int) error {
	if a.JSON {
		out := &stats{days, c.sessions, c.turns, c.total.Usage, []dayStats{}, c.total.breakdown}
		for _, day := range slices.Sorted(maps.Keys(c.days)) {
			out.ByDay = append(out.ByDay, dayStats{day, c.days[day]})
		}
		return a.PrintJSON(out)
	}
	if c.sessions == 0 && c.total.Usage == (Usage{}) {
		a.Say("no activity in the last %s; --days N looks further back", view.Plural(days, "day"))
		return nil
	}
	head := fmt.Sprintf("%s, %s, %s, $%s\n\n", view.Plural(c.sessions, "session"), view.Plural(c.turns, "prompt"), view.Plural(c.total.Steps, "step"), c.total.Cost)
	if err := a.Print(head); err != nil {
		return err
	}
	byDay, models := &view.Table{Head: usageHead("day", "tools", "hooks")}, &view.Table{Head: usageHead("model")}
	for _, name := range slices.Sorted(maps.Keys(c.days)) {
		byDay.Add(c.days[name].row(name)...)
	}
	byDay.Add(c.total.row("all")...)
	for _, m := range c.total.Models.sorted() {
		models.Add(m.cells(m.Model)...)
	}
	tools := &view.Table{Head: []string{"tool", "calls", "failed"}}
	for _, t := range c.total.Tools.sorted() {
		tools.Add(t.Tool, fmt.Sprint(t.Calls), fmt.Sprint(t.Failed))
	}
	plugins := &view.Table{Head: []string{"plugin", "calls", "failed", "time per call"}}
	for _, p := range c.total.Plugins.sorted() {
		plugins.Add(p.Plugin, fmt.Sprint(p.Calls), fmt.Sprint(p.Failed), micros(p.DurationUS/int64(max(p.Calls, 1))))
	}
	return a.PrintTable(byDay, models, tools, plugins)
}

// usageHead returns the head of a table of cells. The most important columns come first, because a narrow terminal cuts off the rest.
func usageHead(name string, more ...string) []string {
	return slices.Concat([]string{name, "cost", "steps"}, more, []string{"input", "output", "reasoning", "cached", "to cache"})
}

// cells returns a row of usage, with more cells after cost and steps.
func (u *Usage) cells(name string, more ...string) []string {
	t := u.Tokens
	return slices.Concat([]string{name, view.Money(u.Cost), fmt.Sprint(u.Steps)}, more,
		[]string{view.Count(t.Input), view.Count(t.Output), view.Count(t.Reasoning), view.Count(t.Cache.Read), view.Count(t.Cache.Write)})
}

// row returns a row of usage with the number of tool calls and hook calls.
func (t *tally) row(name string) []string {
	tools, hooks := 0, 0
	for _, tool := range t.Tools {
		tools += tool.Calls
	}
	for _, p := range t.Plugins {
		hooks += p.Calls
	}
	return t.cells(name, view.Count(int64(tools)), view.Count(int64(hooks)))
}
