package host

import (
	"slices"

	"github.com/tenonhq/tenon/sdk"
)

// What pruning leaves; opencode's figures.
const (
	pruneTurns   = 2      // the newest user turns are never pruned
	pruneKeep    = 40_000 // tokens of tool output before them that stay
	pruneMinimum = 20_000 // fewer tokens than this are not worth it
	pruneExempt  = "skill"
)

// prune takes old tool output out of the conversation, when the configuration wants that. The output
// itself stays stored.
func (t *turn) prune() {
	if !t.g.config.Compaction.Prune || t.failure != nil {
		return
	}
	type place struct{ message, part int }
	var old []place
	kept, freed := int64(0), int64(0)
	turns := 0
	t.c.mu.Lock()
	for i := len(t.c.messages) - 1; i >= 0; i-- {
		m := &t.c.messages[i]
		if a, ok := m.Info.(*sdk.AssistantMessage); ok && a.Summary {
			break
		}
		if m.Info.Role() == sdk.RoleUser {
			turns++
		}
		if turns < pruneTurns {
			continue
		}
		for k, p := range m.Parts {
			tool, ok := p.(*sdk.ToolPart)
			if !ok || tool.State.Status != sdk.ToolCompleted || tool.State.Time.Compacted != 0 || tool.Tool == pruneExempt {
				continue
			}
			size := int64(len(tool.State.Output) / bytesPerToken)
			if kept += size; kept <= pruneKeep {
				continue
			}
			freed += size
			old = append(old, place{i, k})
		}
	}
	t.c.mu.Unlock()
	if freed < pruneMinimum {
		return
	}
	for _, at := range old {
		var p *sdk.ToolPart
		t.c.locked(func() { // snapshots share what is closed, so it is replaced
			m := &t.c.messages[at.message]
			m.Parts = slices.Clone(m.Parts)
			p = copyPart(m.Parts[at.part]).(*sdk.ToolPart)
			p.State.Time.Compacted = now()
			m.Parts[at.part] = p
		})
		t.c.putPart(p)
	}
}
