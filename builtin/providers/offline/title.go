package offline

import (
	"cmp"
	"strings"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// Bounds of titles.
const (
	titleWords = 8
	titleBytes = 60
)

// title returns the first words of the last prompt.
func title(req *sdk.ModelRequest) string {
	var words []string
	if last := lastUser(req.Messages, len(req.Messages)); last >= 0 {
		words = strings.Fields(strings.Join(userTexts(&req.Messages[last]), "\n"))
	}
	return cmp.Or(visible.Cut(strings.Join(words[:min(len(words), titleWords)], " "), titleBytes, "…"), "Untitled")
}
