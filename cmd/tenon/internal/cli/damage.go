package cli

import (
	"fmt"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/host/store"
)

// maxDamaged is how many damaged rows are named.
const MaxDamaged = 20

// WithoutDamage names the damaged rows that a result leaves out, each once, and returns any other error.
func (a *App) WithoutDamage(err error) error {
	rows, err := store.Readable(err)
	sessions := map[string]bool{}
	for _, row := range rows {
		if a.damaged[row] {
			continue
		}
		if a.damaged == nil {
			a.damaged = map[store.Damage]bool{}
		}
		if a.damaged[row] = true; len(a.damaged) <= MaxDamaged {
			a.Screen.Line("damaged: " + terminal.OneLine(row.String()))
			sessions[row.Session] = true
		} else if len(a.damaged) == MaxDamaged+1 {
			a.Screen.Line("damaged: more rows; tenon doctor lists them")
		}
	}
	if len(sessions) > 0 {
		a.Screen.Line("fix:     " + RepairFix(rows))
	}
	return err
}

// RepairFix is how the damaged rows are set aside.
func RepairFix(rows []store.Damage) string {
	session := rows[0].Session
	for _, row := range rows {
		if row.Session != session || row.Type == store.DamagedStore {
			session = ""
		}
	}
	if session == "" {
		return "tenon session repair sets damaged rows aside"
	}
	return fmt.Sprintf("tenon session repair %s sets damaged rows aside", terminal.OneLine(session))
}
