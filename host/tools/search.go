package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unicode"

	"github.com/tenonhq/tenon/host/convert"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// SearchTool is the ID of the tool behind which tools of plugins hide when the definitions of all would take too much of a request.
	SearchTool = "tool_search"
	// maxTools is the maximum number of tools in a request, before the model finds others; with those that it finds, maxWithFound. OpenAI's servers
	// refuse more than 128, of which two are the search tool and that of a structured answer.
	maxTools, maxWithFound = 100, 126
	// Default and maximum number of results of a search.
	defaultFound = 5
	maxFound     = 20
	// maxListing bounds the names in the search tool's description, in bytes.
	maxListing = 16 << 10

	// foundKey lists the found tools in the metadata of a search. The tools that the model knows are read only from this field of the stored
	// conversation.
	foundKey = "tools"
)

// hide puts tools of plugins behind the search tool if all tools together exceed the budget, or are too many. The plugins' tools are listed
// in their order as long as they fit, so that requests stay the same from step to step. Found tools stay visible, the last found if a
// server would refuse all.
func (s *Set) hide(all []*Tool, messages []sdk.MessageWithParts) {
	cfg := s.Generation.Config.ToolSearch
	if allowed, said := s.Listed[SearchTool]; cfg.Disable || said && !allowed || s.Rules.Removed(SearchTool) {
		return
	}
	left, room := *cmp.Or(cfg.Budget, new(int64(sdk.DefaultToolBudget))), maxTools
	for _, one := range all {
		if one.builtin() {
			left -= one.tokens()
			room--
		}
	}
	var hidden []*Tool
	for _, one := range all {
		if one.builtin() {
			continue
		}
		room--
		if left -= one.tokens(); left < 0 || room < 0 {
			one.Hidden = true
			hidden = append(hidden, one)
		}
	}
	if hidden == nil {
		return
	}
	room = maxWithFound - len(all) + len(hidden)
	for _, id := range slices.Backward(knownTools(messages)) {
		if one := s.tools[id]; one != nil && one.Hidden && room > 0 {
			one.Hidden = false
			room--
		}
	}
	s.tools[SearchTool] = ofHost(sdk.ToolDefinition{ // does not change when tools are found, so that requests keep their prefix
		ID: SearchTool, Description: searchDescription + listing(hidden), Parameters: json.RawMessage(searchParameters),
	}, func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
		return s.search(ctx, hidden, call)
	})
}

func (t *Tool) builtin() bool { return t.Origin.Carrier == sdk.CarrierBuiltin }

// tokens estimates the size of the tool's definition in a request.
func (t *Tool) tokens() int64 {
	d := &t.Def
	return int64(len(d.ID)+len(d.Description)+len(d.Parameters)) / convert.BytesPerToken
}

// knownTools returns the hidden tools whose definitions are in the conversation for the model, the last found at the end. After a
// compaction, it has to search again.
func knownTools(messages []sdk.MessageWithParts) (known []string) {
	for call := range store.PartsOf[*sdk.ToolPart](messages...) {
		if call.State.Status == sdk.ToolCompleted && call.Tool == SearchTool && !live.Ignored(call) {
			known = append(known, StringsOf(call.State.Metadata[foundKey])...)
		}
	}
	return known
}

// Hidden returns the error of a call of a hidden tool: the model guessed the arguments.
func Hidden(tool string) error {
	return fmt.Errorf("the call was not run: the definition of %s is not loaded; load it with %s and the query %q, then call it again", tool, SearchTool, tool)
}

// HookError is returned if a hook at tool.definition fails that must not fail. The host then ends the turn.
type HookError struct{ err error }

// Error returns the text of the cause.
func (e *HookError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *HookError) Unwrap() error { return e.err }

// present returns the definition of a tool as text, after the hooks at tool.definition.
func (s *Set) present(ctx context.Context, one *Tool) (string, error) {
	def := one.Def
	if err := s.transform(ctx, one.Origin, &def); err != nil {
		return "", &HookError{err}
	}
	return fmt.Sprintf("<tool name=%q plugin=%q>\n%s\nparameters: %s\n</tool>", def.ID, originName(one.Origin), def.Description, def.Parameters), nil
}

func originName(o sdk.Origin) string {
	return fmt.Sprintf("%s (%s)", cmp.Or(o.Server, o.Plugin), o.Carrier)
}

const (
	searchDescription = "Finds more tools, whose definitions are not listed to save space. Search for words that describe the task, " +
		"or for the names of tools. The tools found can be called from the next step on. The tools are:"
	searchParameters = `{"type":"object","properties":{` +
		`"query":{"type":"string","description":"words that describe the task, or names of tools"},` +
		`"max_results":{"type":"integer","minimum":0,"description":"maximum number of tools to show, default 5, at most 20; of tools that the query names, the first 20 are always shown"}` +
		`},"required":["query"],"additionalProperties":false}`
)

// listing names hidden tools, which are in the order of their plugins, by plugin, up to maxListing.
func listing(hidden []*Tool) string {
	var out strings.Builder
	var last sdk.Origin
	for i, one := range hidden {
		if out.Len() > maxListing {
			fmt.Fprintf(&out, " and %d more, which a search also finds", len(hidden)-i)
			break
		}
		if one.Origin == last {
			out.WriteString(", " + one.Def.ID)
			continue
		}
		last = one.Origin
		fmt.Fprintf(&out, "\n- from %s: %s", originName(last), one.Def.ID)
	}
	return out.String()
}

// search returns the definitions of the tools found.
func (s *Set) search(ctx context.Context, hidden []*Tool, call *sdk.ToolCall) (*sdk.ToolResult, error) {
	var args struct {
		Query string  `json:"query"`
		Max   float64 `json:"max_results"` // models also write 5.0, which is an integer in a schema
	}
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return nil, err
	}
	found := find(hidden, args.Query, int(min(args.Max, maxFound)))
	ids, texts := []string{}, []string{}
	for _, one := range found {
		text, err := s.present(ctx, one)
		if err != nil {
			return nil, err
		}
		ids, texts = append(ids, one.Def.ID), append(texts, text)
	}
	if len(found) > 0 {
		texts = append(texts, "Call them by their names from the next step on.")
	} else {
		texts = append(texts, "No tool matches. Try other words, or names from the list of this tool.")
	}
	return &sdk.ToolResult{
		Title: fmt.Sprintf("%d tools for %q", len(found), args.Query), Output: strings.Join(texts, "\n\n"), Metadata: sdk.Object{foundKey: ids},
	}, nil
}

// find returns the tools that a query names; if it names none, those that match it, the best first.
func find(hidden []*Tool, query string, limit int) []*Tool {
	names := strings.FieldsFunc(query, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;:\"'`()", r) })
	named := slices.DeleteFunc(slices.Clone(hidden), func(one *Tool) bool { return !slices.Contains(names, one.Def.ID) })
	if len(named) > 0 {
		return named[:min(len(named), maxFound)]
	}
	if limit <= 0 {
		limit = defaultFound
	}
	found := rank(hidden, query)
	return found[:min(len(found), limit, maxFound)]
}

// rank returns the tools that contain words of the query, the best first. Words count more if they occur in a name or in few tools.
func rank(tools []*Tool, query string) []*Tool {
	names, texts := make([]string, len(tools)), make([]string, len(tools))
	for i, one := range tools {
		names[i], texts[i] = strings.ToLower(one.Def.ID), strings.ToLower(one.Def.Description+string(one.Def.Parameters))
	}
	separator := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	words := strings.FieldsFunc(strings.ToLower(query), separator)
	slices.Sort(words)
	scores := map[*Tool]int{}
	for _, word := range slices.Compact(words) {
		hits := map[*Tool]int{}
		for i, one := range tools {
			if strings.Contains(names[i], word) {
				hits[one] += 4
			}
			if strings.Contains(texts[i], word) {
				hits[one]++
			}
		}
		for one, hit := range hits {
			scores[one] += hit * bits.Len(uint(len(tools)/len(hits)))
		}
	}
	out := slices.DeleteFunc(slices.Clone(tools), func(one *Tool) bool { return scores[one] == 0 })
	slices.SortStableFunc(out, func(a, b *Tool) int { return cmp.Compare(scores[b], scores[a]) })
	return out
}
