package ability_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/ability"
)

// The page guests are written from names every operation with its capability, and no other.
func TestDocs(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/abilities.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{} // of the table of operations: the capability by the operation
	_, table, _ := strings.Cut(string(data), "| operation |")
	table, _, _ = strings.Cut(table, "###")
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.ReplaceAll(line, "`", ""), "|")
		if len(cells) == 6 && strings.TrimSpace(cells[1]) != "---" {
			capability, _, _ := strings.Cut(strings.TrimSpace(cells[4]), ",")
			rows[strings.TrimSpace(cells[1])] = capability
		}
	}
	known := operations() // those whose grant other tests check
	for op, capability := range ability.Operations(newBroker(t, ability.Options{})) {
		if capability == "" {
			capability = "none; during a tool call only"
		} else if known[op][1] != capability {
			t.Errorf("operations() has no request of %s, which needs the capability %q", op, capability)
		}
		if rows[op] != capability {
			t.Errorf("docs/abilities.md gives %s the capability %q, want %q", op, rows[op], capability)
		}
		delete(rows, op)
	}
	if len(rows) > 0 {
		t.Errorf("docs/abilities.md names operations that do not exist: %q", rows)
	}
}
