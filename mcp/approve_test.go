package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/sdk"
)

// The user can approve in the session what a running server offers now, as it was shown.
func TestApprovalInSession(t *testing.T) {
	t.Parallel()
	tools := filepath.Join(t.TempDir(), "tools.json")
	list := strings.ReplaceAll(twoTools, `"two"`, `"change"`)
	write(t, tools, list)
	h := newTestHost(t)
	asked := make(chan sdk.Question, 10)
	answer := "Approve"
	h.ask = func(session string, q []sdk.Question) ([][]string, error) {
		if session != "ses_1" {
			t.Errorf("the session %q was asked", session)
		}
		asked <- q[0]
		return [][]string{{answer}}, nil
	}
	s := fake(t, "plain", "TOOLS="+tools)
	o := mcp.Options{Dir: t.TempDir()}
	p := begin(t, h, s, o)
	offers := func(id string) bool {
		for _, one := range p.Tools() {
			if one.Definition().ID == id {
				return true
			}
		}
		return false
	}
	write(t, tools, strings.Replace(list, `[{`, `[{"name":"new","description":"adds","inputSchema":{"type":"object"}},{`, 1))
	mustRun(t, p, "fake_change", "{}")
	if q := <-asked; !strings.Contains(q.Question, "MCP server fake") || !strings.Contains(q.Question, "tool new: is not part of the approved definition") || !strings.Contains(q.Question, `"description": "adds"`) {
		t.Errorf("the question is %q", q.Question)
	}
	eventually(t, "the new tool", func() bool { return offers("fake_new") })

	// A tool that goes away and comes back unchanged needs no approval.
	write(t, tools, list)
	mustRun(t, p, "fake_change", "{}")
	eventually(t, "fewer tools", func() bool { return !offers("fake_new") })

	answer = "Not now"
	write(t, tools, strings.Replace(list, "first", "worse", 1))
	mustRun(t, p, "fake_change", "{}")
	<-asked
	eventually(t, "withheld", func() bool { return len(p.Status().Withheld) == 1 })
	if offers("fake_one") {
		t.Error("a tool that was not approved is offered")
	}

	// The approval from another terminal is seen.
	definition, err := mcp.Probe(t.Context(), s, h.project, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := mcp.Approve(mcp.FilePins(o.Dir), s, definition); err != nil {
		t.Fatal(err)
	}
	if !offers("fake_one") {
		t.Errorf("the tool is still withheld: %+v", p.Status().Withheld)
	}
	if len(asked) > 0 {
		t.Errorf("another question: %v", <-asked)
	}
}

// A server that changes its tools after each refusal does not keep the user busy. A question that was not answered does not count.
func TestRepeatedApproval(t *testing.T) {
	t.Parallel()
	tools := filepath.Join(t.TempDir(), "tools.json")
	list := strings.ReplaceAll(twoTools, `"two"`, `"change"`)
	write(t, tools, list)
	h := newTestHost(t)
	var asked atomic.Int32
	h.ask = func(string, []sdk.Question) ([][]string, error) {
		switch n := asked.Add(1); {
		case n <= 2:
			return nil, errors.New("no turn runs")
		case n == 3:
			return nil, errors.Join(context.Canceled, &sdk.Refusal{}) // the turn ended
		case n == 4: // the user dismissed it
			return nil, &sdk.Refusal{}
		}
		return [][]string{{"Not now"}}, nil
	}
	p := begin(t, h, fake(t, "plain", "TOOLS="+tools), mcp.Options{Dir: t.TempDir()})
	for i := range 8 {
		description := fmt.Sprint("worse ", i)
		write(t, tools, strings.Replace(list, "first", description, 1))
		mustRun(t, p, "fake_change", "{}")
		eventually(t, description, func() bool { // the question about the one before was asked
			w := p.Status().Withheld
			return len(w) == 1 && strings.Contains(w[0].Diff, description)
		})
	}
	if n := asked.Load(); n != 3+3 {
		t.Errorf("%d questions", n)
	}
}

// A question that the end of its turn withdrew comes again in the next turn.
func TestApprovalInLaterTurn(t *testing.T) {
	t.Parallel()
	tools := filepath.Join(t.TempDir(), "tools.json")
	list := strings.ReplaceAll(twoTools, `"two"`, `"change"`)
	write(t, tools, list)
	h := newTestHost(t)
	var asked atomic.Int32
	h.ask = func(string, []sdk.Question) ([][]string, error) {
		if asked.Add(1) == 1 {
			return nil, errors.Join(context.Canceled, &sdk.Refusal{})
		}
		return [][]string{{"Approve"}}, nil
	}
	p := begin(t, h, fake(t, "plain", "TOOLS="+tools), mcp.Options{Dir: t.TempDir()})
	write(t, tools, strings.Replace(list, "first", "better", 1))
	mustRun(t, p, "fake_change", "{}")
	eventually(t, "the question", func() bool { return asked.Load() > 0 && len(p.Status().Withheld) == 1 })
	eventually(t, "the changed tool", func() bool { return len(p.Tools()) > 0 && len(p.Status().Withheld) == 0 })
}

// The user is not asked about a definition that a lock forbids.
func TestNoApprovalAgainstLock(t *testing.T) {
	t.Parallel()
	tools := filepath.Join(t.TempDir(), "tools.json")
	list := strings.ReplaceAll(twoTools, `"two"`, `"change"`)
	write(t, tools, list)
	h := newTestHost(t)
	h.ask = func(string, []sdk.Question) ([][]string, error) {
		t.Error("the user was asked")
		return nil, sdk.ErrHeadless
	}
	p := begin(t, h, fake(t, "plain", "TOOLS="+tools), mcp.Options{
		MayApprove: func(*mcp.Definition) error { return mcp.ErrConfig },
	})
	write(t, tools, strings.Replace(list, "first", "other", 1))
	mustRun(t, p, "fake_change", "{}")
	eventually(t, "withheld", func() bool { return len(p.Status().Withheld) == 1 })
}
