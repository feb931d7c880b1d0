package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite"
	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/sdk"
)

// owners maps tools and skills to the plugins that contribute them now.
type owners struct {
	tools, skills map[string]string // plugin by the id of a tool, by the name of a skill
	servers       map[string]string // plugin by the prefix of a server's tool IDs
}

// ownersOf returns the owners for these plugins and servers. It starts none.
func ownersOf(list []*extensions.Candidate) *owners {
	o := &owners{map[string]string{}, map[string]string{}, map[string]string{}}
	for _, c := range list {
		switch {
		case c.Item != nil:
			for _, id := range c.Item.Request.Tools {
				o.tools[id] = c.Name
			}
			for _, name := range c.Item.Request.Skills {
				o.skills[name] = c.Name
			}
		case c.Server != nil:
			o.servers[mcp.ToolID(c.Server.Name, "")] = c.Server.PluginName()
		}
	}
	return o
}

// of returns the plugin of a tool call; empty for built-in tools.
func (o *owners) of(call *sdk.ToolPart) string {
	if name := o.tools[call.Tool]; name != "" {
		return name
	}
	if call.Tool == "skill" {
		var input struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(call.State.Input, &input) == nil {
			return o.skills[input.Name]
		}
	}
	for prefix, name := range o.servers {
		if strings.HasPrefix(call.Tool, prefix) {
			return name
		}
	}
	return ""
}

// thirdParty returns the rows of third-party plugins, in descending order of their time.
func (c *census) thirdParty() []pluginStats {
	out := slices.DeleteFunc(c.total.Plugins.sorted(), func(p pluginStats) bool { return cli.IsShipped(p.Plugin) })
	slices.SortStableFunc(out, func(a, b pluginStats) int { return cmp.Compare(b.time(), a.time()) })
	return out
}

// showPlugins prints the cost of each plugin.
func showPlugins(a *cli.App, c *census, days int) error {
	rows := c.thirdParty()
	if a.JSON {
		return a.PrintJSON(rows)
	}
	if len(rows) == 0 {
		a.Say("no plugin was called in the last %s; --days N looks further back", view.Plural(days, "day"))
		return nil
	}
	table := &view.Table{Head: []string{"plugin", "time", "failed", "hook calls", "time per call", "tool calls", "time per call", "tokens"}}
	for i := range rows {
		p := &rows[i]
		table.Add(p.Plugin, micros(p.time().Microseconds()), fmt.Sprint(p.Failed+p.ToolFailed), fmt.Sprint(p.Calls), micros(p.DurationUS/int64(max(p.Calls, 1))),
			fmt.Sprint(p.ToolCalls), micros(p.ToolMS*1000/int64(max(p.ToolCalls, 1))), view.Count(p.Tokens))
	}
	return a.PrintTable(table)
}

// time returns the time of all calls.
func (p *pluginStats) time() time.Duration {
	return time.Duration(p.DurationUS)*time.Microsecond + time.Duration(p.ToolMS)*time.Millisecond
}

// doctorDays is the period of the doctor's statistics.
const doctorDays = 7

// plugins reports the usage of plugins in the last sessions, with failures as notes.
func (c *checkup) plugins(ctx context.Context, w *cli.Workspace, owners *owners) {
	s, err := w.OpenStore(ctx, sqlite.Options{})
	if err != nil {
		return // the check of the database reports the error
	}
	defer s.Close()
	census := newCensus(doctorDays, func(err error) error { // the check of the database reports damage
		_, err = store.Readable(err)
		return err
	})
	census.owners = owners
	if err := census.take(ctx, s); err != nil {
		c.bad("plugins", err)
		return
	}
	for _, p := range census.thirdParty() {
		text := fmt.Sprintf("%s: %s in %s, %s tokens, in the last %s", terminal.OneLine(p.Plugin), view.Plural(p.Calls+p.ToolCalls, "call"), micros(p.time().Microseconds()),
			view.Count(p.Tokens), view.Plural(doctorDays, "day"))
		if failed := p.Failed + p.ToolFailed; failed > 0 {
			c.note("plugins", "%s; %d failed: tenon explain shows hooks, tenon plugin bisect finds the cause of a failing command", text, failed)
			continue
		}
		c.ok("plugins", "%s", text)
	}
}
