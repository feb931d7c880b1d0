package plugins_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

// host is a host without abilities.
type host struct{}

func (host) Logger() *slog.Logger     { return slog.New(slog.DiscardHandler) }
func (host) Project() sdk.Project     { return sdk.Project{} }
func (host) Options() json.RawMessage { return json.RawMessage("null") }

// TestHoldsToWhatWasApproved opens a package whose manifest lists a contribution that is missing in the approval. Carriers call only
// listed contributions, so a package never contributes anything that was not approved.
func TestHoldsToWhatWasApproved(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("config/plugins/g", files{"p": "+x", "plugin.json": manifestOf("greedy", `{"runtime": {"type": "process", "command": ["./p"]},
		"hooks": [{"point": "tool.execute.before", "name": "narrow", "reads": ["/args/read"], "writes": ["/args/written"]}, {"point": "permission.ask"}],
		"tools": [{"id": "extra_tool", "description": "d", "parameters": {"type": "object"}}], "protocols": ["extra_protocol"],
		"providers": [{"id": "extra_provider", "protocol": "extra_protocol"}], "agents": [{"name": "extra_agent", "mode": "all"}],
		"commands": [{"name": "extra_command", "template": "t"}]}`)})
	if l := p.approve(); names(l) != "greedy" || len(p.process.opened) != 1 || len(p.process.opened[0].Description.Hooks) != 2 {
		t.Fatal(states(l))
	}
	lock := p.path("data/" + trust.LockFile)
	approved, err := os.ReadFile(lock)
	if err != nil {
		t.Fatal(err)
	}
	for _, missing := range []string{"/args/read", "/args/written", "narrow", "permission.ask", "extra_tool", "extra_protocol", "extra_provider", "extra_agent", "extra_command"} {
		less := strings.ReplaceAll(string(approved), `"`+missing+`"`, `"other"`)
		if less == string(approved) {
			t.Errorf("%s is not part of the approval", missing)
		}
		if err := os.WriteFile(lock, []byte(less), 0o600); err != nil {
			t.Fatal(err)
		}
		l := p.load()
		if i := p.item(l, "greedy"); i.State != plugins.StatePending || i.Decision.Why != trust.WhyGrown || len(running(l)) != 0 {
			t.Errorf("without the approval of %s: %s, %s", missing, states(l), i.Decision.Why)
		}
	}
}
