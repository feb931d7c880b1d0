package offline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// Bounds of titles and summaries.
const (
	titleWords  = 8
	titleBytes  = 60
	askedBytes  = 400 // per user message
	askedLatest = 40  // user messages
)

// title returns the first words of the prompt.
func title(req *sdk.ModelRequest) string {
	words := strings.Fields(lastWords(req))
	return cmp.Or(visible.Cut(strings.Join(words[:min(len(words), titleWords)], " "), titleBytes, "…"), "Untitled")
}

// lastWords returns the user's text of the last user message.
func lastWords(req *sdk.ModelRequest) string {
	last := lastUser(req.Messages, len(req.Messages))
	if last < 0 {
		return ""
	}
	return strings.Join(userTexts(&req.Messages[last]), "\n")
}

// The lines of a conversation in a request for a summary, see host/compact.go.
var (
	speaker = lazyregexp.New(`^(user|assistant): ?(.*)`)
	called  = lazyregexp.New(`^(?:assistant: )?\[called ([A-Za-z0-9_-]+) `)
	given   = lazyregexp.New(`\(replies given: (\d+)\)`) // the line of a summary that preserves the position in a script
)

// summary lists the user's messages and the tools called in the conversation that the request contains as text.
func summary(req *sdk.ModelRequest) string {
	_, text, _ := strings.Cut(lastWords(req), "<conversation>")
	text, _, _ = strings.Cut(text, "</conversation>")
	var asked []string
	tools := map[string]int{}
	replies, user := answers(req.Messages), false
	for line := range strings.Lines(text) {
		if n, ok := repliesGiven(line); ok {
			replies = n
			continue
		}
		if m := called().FindStringSubmatch(line); m != nil {
			tools[m[1]]++
		}
		m := speaker().FindStringSubmatch(line)
		switch {
		case m == nil && user:
			asked[len(asked)-1] += " " + line
		case m == nil:
		case m[1] == "user":
			user = true
			asked = append(asked, m[2])
		default:
			user = false
			replies++
		}
	}
	return writeSummary(asked, tools, replies)
}

func writeSummary(asked []string, tools map[string]int, replies int) string {
	var out strings.Builder
	out.WriteString("The user asked for:\n")
	if older := len(asked) - askedLatest; older > 0 {
		fmt.Fprintf(&out, "- (%d older messages)\n", older)
		asked = asked[older:]
	}
	for _, text := range asked {
		if text = strings.Join(strings.Fields(text), " "); text != "" {
			fmt.Fprintf(&out, "- %s\n", visible.Cut(text, askedBytes, "…"))
		}
	}
	var used []string
	for _, tool := range slices.Sorted(maps.Keys(tools)) {
		used = append(used, fmt.Sprintf("%s (%d)", tool, tools[tool]))
	}
	fmt.Fprintf(&out, "Tools used: %s.\n(replies given: %d)", cmp.Or(strings.Join(used, ", "), "none"), replies)
	return out.String()
}

// repliesGiven returns the number in the last line of a summary.
func repliesGiven(text string) (int, bool) {
	m := given().FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil
}
