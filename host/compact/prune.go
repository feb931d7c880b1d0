package compact

import (
	"slices"

	"github.com/tenonhq/tenon/host/convert"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// Limits of pruning; opencode's figures.
const (
	pruneTurns   = 2      // the newest user turns are never pruned
	pruneKeep    = 40_000 // tokens of tool output before them that stay
	pruneMinimum = 20_000 // fewer tokens than this are not worth it
	pruneExempt  = "skill"
)

// Prune removes old tool output from the conversation. The output itself stays stored.
func Prune(c *live.Conversation) {
	messages := c.Snapshot()
	var old []*sdk.ToolPart
	kept, freed, turns := int64(0), int64(0), 0
	for _, m := range slices.Backward(messages) {
		if a, ok := m.Info.(*sdk.AssistantMessage); ok && a.Summary {
			break
		}
		if m.Info.Role() == sdk.RoleUser {
			turns++
		}
		if turns < pruneTurns {
			continue
		}
		for tool := range store.PartsOf[*sdk.ToolPart](m) {
			if tool.State.Status != sdk.ToolCompleted || tool.State.Time.Compacted != 0 || tool.Tool == pruneExempt {
				continue
			}
			size := int64(len(tool.State.Output) / convert.BytesPerToken)
			if kept += size; kept <= pruneKeep {
				continue
			}
			freed += size
			old = append(old, tool)
		}
	}
	if freed < pruneMinimum {
		return
	}
	for _, tool := range old {
		live.ReplacePart(c, tool.MessageID, func(p *sdk.ToolPart) bool {
			p.State.Time.Compacted = live.Now()
			return p.ID == tool.ID
		})
	}
}
