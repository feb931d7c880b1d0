package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// approve stores the first definition of a server configured by the user as approved, and the time of a check. p.mu must be held.
func (p *Plugin) approve(current *Definition) {
	switch {
	case p.pin == nil && p.server.Own:
		p.save(newPin(current))
	case p.pin != nil && time.Since(p.pin.Checked).Abs() > freshFor/24 && len(Compare(&p.pin.Definition, current)) == 0:
		p.save(&Pin{Definition: p.pin.Definition, Unusable: p.pin.Unusable, Checked: time.Now()})
	}
}

// save stores the pin and uses it. p.mu must be held.
func (p *Plugin) save(pin *Pin) {
	p.pin = pin
	if err := p.pins().Save(p.server, pin); err != nil {
		p.logger.Warn("the approval of an MCP server could not be stored", "server", p.server.Name, "err", err)
	}
	p.stamp = p.pins().Stamp(p.server)
}

// maxDeclined is the number of questions about a server that the user can decline in a run; then tenon stops asking.
const maxDeclined = 3

// askApproval asks the user to approve the items that a running server offers now. It asks again until the user has answered about a
// definition. The user sees the differences, and only those are approved. Without a user, or after a refusal, the items stay withheld.
func (p *Plugin) askApproval(ctx context.Context, def *Definition) {
	asker, ok := p.host.(sdk.UserQuestioner)
	sum := def.Sum()
	p.mu.Lock()
	session, pin, again := p.session, p.pin, p.asked == sum || p.declined >= maxDeclined
	p.asked = sum
	p.mu.Unlock()
	if !ok || pin == nil || session == "" || again {
		return
	}
	differences := Compare(&pin.Definition, def)
	if len(differences) == 0 || p.options.MayApprove != nil && p.options.MayApprove(def) != nil {
		return
	}
	text := fmt.Sprintf("MCP server %s now offers something that you have not approved:\n", visible.Strip(p.server.Name))
	for _, d := range differences {
		if text += d.String(); len(text) > maxShown {
			return
		}
	}
	const approve = "Approve"
	answers, err := asker.AskUser(ctx, session, []sdk.Question{{
		Question: text, Header: "MCP server", Custom: new(bool),
		Options: []sdk.QuestionOption{{Label: approve, Description: "the model may use them from the next step on"}, {Label: "Not now", Description: "they stay withheld"}},
	}})
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case errors.Is(err, sdk.ErrHeadless):
	case errors.Is(err, context.Canceled), err != nil && !errors.As(err, new(*sdk.Refusal)): // the turn ended, or none runs
		p.unanswered = true
	case err != nil, len(answers) != 1, !slices.Equal(answers[0], []string{approve}):
		p.declined++
	default:
		p.save(newPin(withApproved(def, &p.pin.Definition)))
		p.rebuild(p.offer.current)
	}
}

// maxShown is the maximum size of the differences in a question, in bytes. Larger ones must be approved with tenon mcp trust.
const maxShown = 16 << 10

// withApproved adds the approved tools that a server does not offer at the moment: they may come back as they were.
func withApproved(def, approved *Definition) *Definition {
	out := *def
	out.Tools = slices.Clone(def.Tools)
	for _, t := range approved.Tools {
		if _, offered := def.tool(t.Name); !offered {
			out.Tools = append(out.Tools, t)
		}
	}
	return &out
}
