package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

func (a *app) statsCommand() *cobra.Command {
	var form string
	var days int
	var project bool
	cmd := &cobra.Command{
		Use: "stats", Short: "Count tokens, cost, tools, models and plugins, by day",
		Long: `Count what the sessions of the last days took: tokens and cost, by day and by model; tool calls and hook calls of plugins,
with failures. Cost is exact: the sum of what the steps cost by the price table of their models. What a session paid for its
title, or for messages that are gone, counts on the day it was created. Days are those of the local time zone.`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if days < 1 || days > maxDays {
				return usageError(fmt.Sprintf("pass a number from 1 to %d", maxDays), "--days %d cannot be counted", days)
			}
			return a.withStore(cmd.Context(), func(w *workspace, s store.Store) error {
				y, m, d := time.Now().Date()
				c := newCensus(time.Date(y, m, d-days+1, 0, 0, 0, 0, time.Local).UnixMilli())
				q := store.Query{Children: true, Archived: true, Limit: censusPage}
				if project {
					q.ProjectID, q.Directory = w.scope()
				}
				if err := c.take(cmd.Context(), s, q); err != nil {
					return err
				}
				return a.showStats(c.stats(days), form)
			})
		},
	}
	format(cmd, &form)
	cmd.Flags().IntVar(&days, "days", 30, "how many days back, today included")
	cmd.Flags().BoolVar(&project, "project", false, "only the sessions of this project")
	return cmd
}

// maxDays is how far back the statistics can look: a hundred years.
const maxDays = 36_500

// usage is what requests to models took.
type usage struct {
	Steps  int        `json:"steps"`
	Tokens sdk.Tokens `json:"tokens"`
	Cost   sdk.USD    `json:"cost"`
}

func (u *usage) add(steps int, t sdk.Tokens, cost sdk.USD) {
	u.Steps += steps
	u.Tokens = u.Tokens.Add(t)
	u.Cost += cost
}

// The rows of the statistics.
type (
	dayStats struct {
		Day string `json:"day"`
		usage
	}
	modelStats struct {
		Model string `json:"model"`
		usage
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
		DurationUS int64  `json:"durationUS"` // of all calls
	}
	stats struct {
		Days     int           `json:"days"`
		Sessions int           `json:"sessions"`
		Turns    int           `json:"turns"`
		Total    usage         `json:"total"`
		ByDay    []dayStats    `json:"byDay"`
		Models   []modelStats  `json:"models"`
		Tools    []toolStats   `json:"tools"`
		Plugins  []pluginStats `json:"plugins"`
	}
)

// censusPage is how many sessions or messages are in memory at once.
const censusPage = 256

// census counts what happened since a point in time.
type census struct {
	since           sdk.Millis
	sessions, turns int
	total           usage
	days, models    map[string]*usage
	tools           map[string]*toolStats
	plugins         map[string]*pluginStats
}

func newCensus(since sdk.Millis) *census {
	return &census{
		since: since, days: map[string]*usage{}, models: map[string]*usage{},
		tools: map[string]*toolStats{}, plugins: map[string]*pluginStats{},
	}
}

// take counts the sessions that the query selects, page by page; they come with the one updated last first.
func (c *census) take(ctx context.Context, s store.Store, q store.Query) error {
	for {
		list, err := s.Sessions(ctx, q)
		if err != nil {
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
	seen := map[string]bool{} // the messages that count
	page := store.Page{Limit: censusPage}
	for more := true; more; {
		messages, err := s.Messages(ctx, info.ID, page)
		if err != nil {
			return err
		}
		more = len(messages) == censusPage
		for i := range slices.Backward(messages) {
			cost, counts := c.message(&messages[i])
			if !counts {
				more = false
				continue
			}
			paid += cost
			seen[messages[i].Info.Head().ID] = true
		}
		if more {
			page.Before = messages[0].Info.Head().ID
		}
	}
	if len(seen) > 0 {
		c.sessions++
	}
	if rest := info.Cost - paid; rest > 0 && info.Time.Created >= c.since {
		c.total.Cost += rest
		entry(c.days, dayOf(info.Time.Created)).Cost += rest
	}
	return c.ledger(ctx, s, info.ID, seen)
}

// message counts a message and returns its cost. One from before does not count.
func (c *census) message(m *sdk.MessageWithParts) (sdk.USD, bool) {
	switch info := m.Info.(type) {
	case *sdk.UserMessage:
		if info.Time.Created < c.since {
			return 0, false
		}
		c.turns++
		return 0, true
	case *sdk.AssistantMessage:
		if info.Time.Created < c.since {
			return 0, false
		}
		for _, u := range []*usage{&c.total, entry(c.days, dayOf(info.Time.Created)), entry(c.models, info.ProviderID+"/"+info.ModelID)} {
			u.add(1, info.Tokens, info.Cost)
		}
		c.calls(m.Parts)
		return info.Cost, true
	}
	return 0, true
}

func (c *census) calls(parts sdk.Parts) {
	for _, p := range parts {
		t, ok := p.(*sdk.ToolPart)
		if !ok {
			continue
		}
		row := entry(c.tools, t.Tool)
		row.Calls++
		if t.State.Status == sdk.ToolError {
			row.Failed++
		}
	}
}

func (c *census) ledger(ctx context.Context, s store.Store, session string, seen map[string]bool) error {
	rows, err := s.Ledger(ctx, session, "")
	if err != nil {
		return err
	}
	for _, row := range rows {
		if !seen[row.MessageID] {
			continue
		}
		var entries []hooks.Entry
		if err := json.Unmarshal(row.Entries, &entries); err != nil {
			return fmt.Errorf("%w: ledger of message %s: %w", store.ErrCorrupt, row.MessageID, err)
		}
		for i := range entries {
			if entries[i].Outcome == hooks.OutcomeSkipped {
				continue // quarantined: it was not called
			}
			p := entry(c.plugins, entries[i].Plugin)
			p.Calls++
			p.DurationUS += entries[i].DurationUS
			if o := entries[i].Outcome; o == hooks.OutcomeError || o == hooks.OutcomeTimeout {
				p.Failed++
			}
		}
	}
	return nil
}

// entry returns the value of a key, a new one if there is none.
func entry[V any](m map[string]*V, key string) *V {
	if m[key] == nil {
		m[key] = new(V)
	}
	return m[key]
}

func dayOf(t sdk.Millis) string { return time.UnixMilli(t).Format(time.DateOnly) }

// stats returns the rows in order: days by time, the others by what took most.
func (c *census) stats(days int) *stats {
	out := &stats{
		Days: days, Sessions: c.sessions, Turns: c.turns, Total: c.total,
		ByDay: []dayStats{}, Models: []modelStats{}, Tools: []toolStats{}, Plugins: []pluginStats{},
	}
	for _, day := range slices.Sorted(maps.Keys(c.days)) {
		out.ByDay = append(out.ByDay, dayStats{day, *c.days[day]})
	}
	for _, name := range slices.Sorted(maps.Keys(c.models)) {
		out.Models = append(out.Models, modelStats{name, *c.models[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(c.tools)) {
		c.tools[name].Tool = name
		out.Tools = append(out.Tools, *c.tools[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.plugins)) {
		c.plugins[name].Plugin = name
		out.Plugins = append(out.Plugins, *c.plugins[name])
	}
	slices.SortStableFunc(out.Models, func(a, b modelStats) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Tokens.Sum(), a.Tokens.Sum()))
	})
	slices.SortStableFunc(out.Tools, func(a, b toolStats) int { return cmp.Compare(b.Calls, a.Calls) })
	slices.SortStableFunc(out.Plugins, func(a, b pluginStats) int { return cmp.Compare(b.Calls, a.Calls) })
	return out
}

func (a *app) showStats(s *stats, form string) error {
	if form == "json" {
		return a.writeJSON(s)
	}
	if s.Sessions == 0 && s.Total == (usage{}) {
		a.screen.line(fmt.Sprintf("nothing happened in the last %s; --days N looks further back", plural(s.Days, "day")))
		return nil
	}
	head := fmt.Sprintf("%s, %s, %s, $%s\n\n", plural(s.Sessions, "session"), plural(s.Turns, "prompt"), plural(s.Total.Steps, "step"), s.Total.Cost)
	if err := a.write(head); err != nil {
		return err
	}
	usages := &table{}
	row := func(name string, u *usage) {
		t := u.Tokens
		usages.add(oneLine(name), fmt.Sprint(u.Steps), count(t.Input), count(t.Output), count(t.Reasoning), count(t.Cache.Read), count(t.Cache.Write), money(u.Cost))
	}
	usages.add("day", "steps", "input", "output", "reasoning", "cache read", "cache write", "cost")
	for i := range s.ByDay {
		row(s.ByDay[i].Day, &s.ByDay[i].usage)
	}
	row("all", &s.Total)
	usages.add("")
	usages.add("model", "steps", "input", "output", "reasoning", "cache read", "cache write", "cost")
	for i := range s.Models {
		row(s.Models[i].Model, &s.Models[i].usage)
	}
	if err := a.writeTable(usages); err != nil {
		return err
	}
	calls := &table{}
	if len(s.Tools) > 0 {
		calls.add("")
		calls.add("tool", "calls", "failed")
	}
	for _, t := range s.Tools {
		calls.add(oneLine(t.Tool), fmt.Sprint(t.Calls), fmt.Sprint(t.Failed))
	}
	if len(s.Plugins) > 0 {
		calls.add("")
		calls.add("plugin", "calls", "failed", "a call took")
	}
	for _, p := range s.Plugins {
		calls.add(oneLine(p.Plugin), fmt.Sprint(p.Calls), fmt.Sprint(p.Failed), micros(p.DurationUS/int64(p.Calls)))
	}
	return a.writeTable(calls)
}
