package offline

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// Bounds of titles.
const (
	titleWords = 8
	titleBytes = 60
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

// given is the line of a summary that preserves the position in a script.
var given = lazyregexp.New(`\(replies given: (\d+)\)`)

// summary returns a text with the number of answers that it replaces. They are in the request, as the text of a conversation, see host/compact.
func summary(req *sdk.ModelRequest) string {
	_, text, _ := strings.Cut(lastWords(req), "<conversation>")
	text, _, _ = strings.Cut(text, "</conversation>")
	replies := answers(req.Messages)
	for line := range strings.Lines(text) {
		if n, ok := repliesGiven(line); ok {
			replies = n
		} else if strings.HasPrefix(line, "assistant:") {
			replies++
		}
	}
	return fmt.Sprintf("The offline model does not summarize: earlier messages are left out.\n(replies given: %d)", replies)
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
