package ability_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/sdk/guest"
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
	all := operations()
	all["progress"] = [2]string{`{}`, "none; during a tool call only"}
	for op, o := range all {
		if rows[op] != o[1] {
			t.Errorf("docs/abilities.md gives %s the capability %q, want %q", op, rows[op], o[1])
		}
		delete(rows, op)
	}
	b := newBroker(t, ability.Options{})
	for op := range rows {
		if status, _ := do(t, b, op, "{}"); status == guest.StatusUnknown {
			t.Errorf("docs/abilities.md names the operation %q, which is not there", op)
		}
	}
}
