package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// described is a tool with a description of its own.
type described struct {
	*tool
	description string
}

func (d *described) Definition() sdk.ToolDefinition {
	def := d.tool.Definition()
	def.Description = d.description
	return def
}

// server is a plugin with n tools of about 200 tokens each, like those of an MCP server.
func server(name string, n int) *plugin {
	p := &plugin{name: name, carrier: sdk.CarrierMCP}
	for i := range n {
		one := echo(fmt.Sprintf("%s_tool%d", name, i))
		one.schema = fmt.Sprintf(`{"type":"object","properties":{"topic":{"type":"string","description":%q},"item%d":{"type":"integer"}},"required":["topic"]}`,
			strings.Repeat("long ", 100), i)
		p.tools = append(p.tools, &described{one, fmt.Sprintf("Works on item number %d. %s", i, strings.Repeat("more ", 40))})
	}
	return p
}

// special is a tool that a search for birds finds.
func special() sdk.Tool {
	one := echo("birds_count")
	one.schema = `{"type":"object","properties":{"region":{"type":"string"}},"required":["region"]}`
	return &described{one, "Counts what flies. " + strings.Repeat("more ", 100)}
}

func search(query string) answer {
	args, _ := json.Marshal(map[string]string{"query": query})
	return call("tool_search", string(args))
}

// crowd returns 200 tools of two servers, and the one of a third.
func crowd() []sdk.Plugin {
	zoo := &plugin{name: "zoo", carrier: sdk.CarrierMCP, tools: []sdk.Tool{special()}}
	return []sdk.Plugin{server("alpha", 100), server("beta", 100), zoo}
}

// Small tools within the budget are hidden if a server would refuse their number, also with those that searches find: the last found are shown.
func TestManySmallTools(t *testing.T) {
	t.Parallel()
	named := func(from, to int) (names []string) {
		for i := from; i < to; i++ {
			names = append(names, fmt.Sprintf("t%d", i))
		}
		return names
	}
	m := newModel(t, search(strings.Join(named(100, 120), " ")), search(strings.Join(named(120, 150), " ")), say("done"))
	b, many := base(m), &plugin{name: "many", carrier: sdk.CarrierMCP}
	for _, name := range named(0, 150) {
		many.tools = append(many.tools, echo(name))
	}
	startIn(t, t.TempDir(), nil, b, many).prompt("go")
	requests := m.of(sdk.PurposeTurn)
	first := add(named(0, 100), "tool_search")
	want(t, "tools of the first request", first, toolNames(requests[0]))
	want(t, "tools after a search", add(first, named(100, 120)...), toolNames(requests[1]))
	last := toolNames(requests[2])
	want(t, "number of tools after another search", 127, len(last))
	for _, name := range add(first, named(120, 140)...) { // 20 of the 30 that the query names
		if !slices.Contains(last, name) {
			t.Errorf("%s is not shown: %q", name, last)
		}
	}
}

// The white space of a schema does not count: the stored schemas of an MCP server are indented, those of the running server are not, and the
// same tools must be shown for both.
func TestIndentedSchemas(t *testing.T) {
	t.Parallel()
	m := newModel(t, say("done"))
	indented := &plugin{name: "indented", carrier: sdk.CarrierMCP}
	for i := range 40 {
		one := echo(fmt.Sprintf("t%d", i))
		one.schema = `{"type":"object",` + strings.Repeat("\n", 2000) + `"properties":{}}`
		indented.tools = append(indented.tools, one)
	}
	startIn(t, t.TempDir(), nil, base(m), indented).prompt("go")
	shown := m.last(sdk.PurposeTurn).Tools
	want(t, "tools", 40, len(shown))
	want(t, "schema", `{"type":"object","properties":{}}`, string(shown[0].Parameters))
}

// Strict model servers refuse every request with a tool in an older draft of JSON schema.
func TestOlderSchemas(t *testing.T) {
	t.Parallel()
	m := newModel(t, say("done"))
	older := &plugin{name: "older", carrier: sdk.CarrierMCP}
	one := echo("old")
	one.schema = `{"type":"object","properties":{"n":{"minimum":0,"exclusiveMinimum":true}},"required":null}`
	older.tools = []sdk.Tool{one}
	startIn(t, t.TempDir(), nil, base(m), older).prompt("go")
	want(t, "schema", `{"properties":{"n":{"exclusiveMinimum":0}},"type":"object"}`, string(m.last(sdk.PurposeTurn).Tools[0].Parameters))
}

// TestToolSearch finds a hidden tool and calls it, in whole turns, over a restart and a compaction.
func TestToolSearch(t *testing.T) {
	t.Parallel()
	m := newModel(t, search("birds"), call("birds_count", `{"region":"north"}`), say("done"))
	b := base(m)
	b.tools = []sdk.Tool{echo("read")}
	dir := t.TempDir()
	plugins := append([]sdk.Plugin{b}, crowd()...)
	k := startIn(t, dir, nil, plugins...)
	id, _ := k.prompt("go")
	requests := m.of(sdk.PurposeTurn)
	first := toolNames(requests[0])
	if !slices.Contains(first, "tool_search") || !slices.Contains(first, "read") || !slices.Contains(first, "alpha_tool0") || slices.Contains(first, "birds_count") {
		t.Errorf("tools of the first request: %q", first)
	}
	size := 0
	for _, d := range requests[0].Tools {
		if d.ID == "tool_search" {
			for _, name := range []string{"- from zoo (mcp): birds_count", "beta_tool99", "- from alpha (mcp): alpha_tool"} {
				if !strings.Contains(d.Description, name) {
					t.Errorf("the description does not name %q: %s", name, d.Description)
				}
			}
			if strings.Contains(d.Description, "alpha_tool0,") || len(d.Description) > 5000 {
				t.Errorf("the description has %d bytes, and names tools that are shown: %s", len(d.Description), d.Description)
			}
			continue
		}
		size += len(d.ID) + len(d.Description) + len(d.Parameters)
	}
	if tokens := size / 4; tokens > 10_000 || tokens < 9_000 {
		t.Errorf("the definitions take about %d tokens, want nearly 10,000", tokens)
	}
	want(t, "tools after the search", add(first, "birds_count"), toolNames(requests[1]))
	if diff := cmp.Diff(requests[0].Tools, without(requests[1].Tools, "birds_count")); diff != "" {
		t.Errorf("what else the model is shown changed:\n%s", diff)
	}
	result := k.toolParts(id)[0].State
	if !strings.Contains(result.Output, `<tool name="birds_count" plugin="zoo (mcp)">`) || !strings.Contains(result.Output, `"region"`) {
		t.Errorf("the search gave %q, want the whole definition", result.Output)
	}
	want(t, "result", `{"region":"north"}`, k.results(id)[1])
	k.close()

	m.on(sdk.PurposeTurn, say("again"))
	k = startIn(t, dir, nil, plugins...)
	k.again(id, "after a restart")
	want(t, "tools after a restart", add(first, "birds_count"), toolNames(m.last(sdk.PurposeTurn)))

	// The summary does not hold the definition: the model searches again.
	m.on(sdk.PurposeCompaction, say("We counted birds.")).on(sdk.PurposeTurn, say("compacted"), search("select:birds_count"), say("found"))
	if err := k.Compact(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	k.again(id, "after a compaction")
	compacted := toolNames(m.last(sdk.PurposeTurn))
	k.close()
	k = startIn(t, dir, nil, plugins...)
	k.again(id, "once more")
	restarted := m.of(sdk.PurposeTurn)
	want(t, "a restart changes nothing of what a compaction left", compacted, toolNames(restarted[len(restarted)-2]))
	want(t, "tools after another search", add(first, "birds_count"), toolNames(m.last(sdk.PurposeTurn)))
}

func add(names []string, more ...string) []string {
	out := append(slices.Clone(names), more...)
	slices.Sort(out)
	return out
}

func without(list []sdk.ToolDefinition, id string) []sdk.ToolDefinition {
	return slices.DeleteFunc(slices.Clone(list), func(d sdk.ToolDefinition) bool { return d.ID == id })
}

// TestHiddenToolIsRefused: a tool that was not searched for is not run, and the error says how to load it.
func TestHiddenToolIsRefused(t *testing.T) {
	t.Parallel()
	m := newModel(t, call("birds_count", `{"where":"north"}`), search("select:birds_count"), call("birds_count", `{"region":"north"}`), say("done"))
	k := start(t, nil, append([]sdk.Plugin{base(m)}, crowd()...)...)
	id, _ := k.prompt("go")
	got := k.results(id)
	if !strings.Contains(got[0], "the call was not run") || !strings.Contains(got[0], `"birds_count"`) {
		t.Errorf("result = %q, want the way to load the tool", got[0])
	}
	want(t, "result of the next call", `{"region":"north"}`, got[2])
	ran := 0
	for _, p := range k.toolParts(id) {
		if p.State.Status == sdk.ToolCompleted {
			ran++
		}
	}
	want(t, "calls that ran", 2, ran)
}

// TestWhatHides asks which tools a model is shown.
func TestWhatHides(t *testing.T) {
	t.Parallel()
	budget := func(n int64) func(*host.Options) {
		return func(o *host.Options) { o.Config.ToolSearch.Budget = &n }
	}
	rule := func(permission string, action sdk.Action) func(*host.Options) {
		return func(o *host.Options) {
			o.Config.Permission = append(o.Config.Permission, sdk.PermissionRule{Permission: permission, Pattern: "*", Action: action})
		}
	}
	cases := map[string]struct {
		change func(*host.Options)
		tools  map[string]bool // of the prompt
		shown  int             // of the 201
		search bool
		hides  []string // named by tool_search
		never  []string // named nowhere
	}{
		"by default":            {nil, nil, 45, true, []string{"alpha_tool99", "birds_count"}, nil},
		"no budget":             {budget(0), nil, 0, true, []string{"alpha_tool0", "birds_count"}, nil},
		"a small budget":        {budget(1000), nil, 3, true, []string{"alpha_tool3", "birds_count"}, []string{"alpha_tool2,"}},
		"a large budget":        {budget(1_000_000), nil, 98, true, []string{"alpha_tool98", "birds_count"}, []string{"alpha_tool97,"}},
		"switched off":          {func(o *host.Options) { o.Config.ToolSearch.Disable = true }, nil, 201, false, nil, nil},
		"removed by a rule":     {rule("birds_count", sdk.ActionDeny), nil, 45, true, []string{"alpha_tool99"}, []string{"birds_count"}},
		"removed by a prompt":   {nil, map[string]bool{"birds_count": false}, 45, true, []string{"alpha_tool99"}, []string{"birds_count"}},
		"most removed":          {rule("alpha_*", sdk.ActionDeny), nil, 45, true, []string{"beta_tool99"}, []string{"alpha_"}},
		"all but few removed":   {func(o *host.Options) { rule("alpha_*", sdk.ActionDeny)(o); rule("beta_*", sdk.ActionDeny)(o) }, nil, 1, false, nil, []string{"alpha_"}},
		"no search by a rule":   {rule("tool_search", sdk.ActionDeny), nil, 201, false, nil, nil},
		"no search by a prompt": {nil, map[string]bool{"tool_search": false}, 201, false, nil, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, say("done"))
			b := base(m)
			b.tools = []sdk.Tool{echo("read"), &described{echo("large"), strings.Repeat("more ", 200)}}
			k := start(t, c.change, append([]sdk.Plugin{b}, crowd()...)...)
			in := host.PromptInput{SessionID: k.session(), Text: "go", Tools: c.tools}
			if _, err := k.Prompt(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			request := m.last(sdk.PurposeTurn)
			names := toolNames(request)
			if !slices.Contains(names, "read") || !slices.Contains(names, "large") {
				t.Errorf("a tool that is built in is hidden: %q", names)
			}
			want(t, "search", c.search, slices.Contains(names, "tool_search"))
			shown := len(names) - 2
			if c.search {
				shown--
			}
			want(t, "tools of plugins that are shown", c.shown, shown)
			all, err := json.Marshal(request)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range append(c.hides, c.never...) {
				if has := strings.Contains(string(all), name); has != slices.Contains(c.hides, name) {
					t.Errorf("%q is named: %v", name, has)
				}
			}
		})
	}
}

// TestSearchNeedsNoLeave runs headless with the default rules.
func TestSearchNeedsNoLeave(t *testing.T) {
	t.Parallel()
	m := newModel(t, search("birds"), call("birds_count", `{"region":"north"}`), say("done"))
	k := start(t, func(o *host.Options) { o.Config.Permission = nil }, append([]sdk.Plugin{base(m)}, crowd()...)...)
	id, _ := k.prompt("go")
	want(t, "search", sdk.ToolCompleted, k.toolParts(id)[0].State.Status)
}

// TestSearchQueries asks what a search finds, and in which order.
func TestSearchQueries(t *testing.T) {
	t.Parallel()
	about := func(id, description string, parameters ...string) sdk.Tool {
		properties := map[string]any{}
		for _, p := range parameters {
			properties[p] = map[string]string{"type": "string"}
		}
		schema, _ := json.Marshal(map[string]any{"type": "object", "properties": properties})
		one := echo(id)
		one.schema = string(schema)
		return &described{one, description}
	}
	tools := []sdk.Tool{
		about("github_create_issue", "Opens an issue in the repository.", "title", "body"),
		about("github_list_issues", "Lists the issues of the repository.", "state"),
		about("jiraCreateTicket", "Opens a ticket in the tracker.", "projectKey", "summary"),
		about("mail_send", "Sends a message to a person.", "recipient", "subject", "body"),
		about("files_copy", "Copies a file in the repository.", "from", "to"),
	}
	cases := map[string]struct {
		query string
		most  int
		want  []string
	}{
		"a name":             {"github_create_issue", 1, []string{"github_create_issue"}},
		"words":              {"create an issue", 2, []string{"github_create_issue", "github_list_issues"}},
		"camel case":         {"jira ticket", 1, []string{"jiraCreateTicket"}},
		"a parameter":        {"recipient", 0, []string{"mail_send"}},
		"camel parameter":    {"project key", 1, []string{"jiraCreateTicket"}},
		"the description":    {"person", 0, []string{"mail_send"}},
		"the rare word wins": {"repository copies", 1, []string{"files_copy"}},
		"a beginning":        {"repo", 0, []string{"files_copy", "github_create_issue", "github_list_issues"}},
		"nothing":            {"weather", 0, nil},
		"names":              {"mail_send, files_copy", 1, []string{"files_copy", "mail_send"}},
		"select":             {"select:mail_send,missing", 0, []string{"mail_send"}},
		"no words":           {":", 0, nil},
		"too many":           {"body", 20, []string{"github_create_issue", "mail_send"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := map[string]any{"query": c.query}
			if c.most > 0 {
				args["max_results"] = c.most
			}
			raw, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			m := newModel(t, call("tool_search", string(raw)), say("done"))
			none := int64(0)
			k := start(t, func(o *host.Options) { o.Config.ToolSearch.Budget = &none }, base(m), &plugin{name: "tools", carrier: sdk.CarrierMCP, tools: tools})
			id, _ := k.prompt("go")
			got := without(m.last(sdk.PurposeTurn).Tools, "tool_search")
			var names []string
			for _, d := range got {
				names = append(names, d.ID)
			}
			want(t, "found", c.want, names)
			output := k.toolParts(id)[0].State.Output
			if len(c.want) == 0 && !strings.Contains(output, "No tool matches") {
				t.Errorf("output %q, want that nothing was found", output)
			}
		})
	}
}

// TestHiddenDefinitionsPassHooks shows no definition that hooks did not see.
func TestHiddenDefinitionsPassHooks(t *testing.T) {
	t.Parallel()
	clean := sdk.OnToolDefinition(func(_ context.Context, in *sdk.ToolDefinitionInput, v *sdk.ToolDefinitionValue) error {
		if in.ToolID == "birds_count" {
			v.Description = "cleaned"
		}
		return nil
	})
	m := newModel(t, search("birds"), say("done"))
	k := start(t, nil, append([]sdk.Plugin{base(m), &plugin{name: "cleaner", hooks: []sdk.Hook{clean}}}, crowd()...)...)
	id, _ := k.prompt("go")
	for _, text := range k.results(id) {
		if strings.Contains(text, "Counts what flies") || !strings.Contains(text, "cleaned") {
			t.Errorf("the model got %q, want what the hook left", text)
		}
	}
}

// TestPluginsCallHiddenTools knows what it calls: nothing hides from a plugin.
func TestPluginsCallHiddenTools(t *testing.T) {
	t.Parallel()
	c := newCaller(sdk.CarrierWASM)
	c.tools = []sdk.Tool{&tool{id: "outer", run: func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
		return &sdk.ToolResult{}, c.callTool(ctx, call.SessionID, "birds_count", `{"region":"x"}`)
	}}}
	m := newModel(t, call("outer", `{}`), say("done"))
	k := start(t, nil, append([]sdk.Plugin{base(m), c}, crowd()...)...)
	k.prompt("go")
	want(t, "results", []string{`{"region":"x"}`}, c.got())
}

// BenchmarkToolSearchStep is the host's work per step with 201 tools of plugins.
func BenchmarkToolSearchStep(b *testing.B) {
	const n = 20
	for _, hidden := range []bool{true, false} {
		b.Run(fmt.Sprintf("hidden %v", hidden), func(b *testing.B) {
			p := base(nil)
			p.client, p.tools = steps(n, nil), []sdk.Tool{noop()}
			k := start(b, func(o *host.Options) { o.Config.ToolSearch.Disable = !hidden }, append([]sdk.Plugin{p}, crowd()...)...)
			b.ReportAllocs()
			for b.Loop() {
				k.again(k.titled(), "go")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*(n+1)), "ns/step")
		})
	}
}
