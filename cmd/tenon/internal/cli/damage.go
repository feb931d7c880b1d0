package cli

import (
	"fmt"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/host/store"
)

// MaxDamaged limits the number of damaged rows that are listed.
const MaxDamaged = 20

// WithoutDamage reports the damaged rows missing from a result, each once, and returns any other error.
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

// RepairFix returns the remedy for damaged rows.
func RepairFix(rows []store.Damage) string {
	session := rows[0].Session
	for _, row := range rows {
		if row.Session != session || row.Type == store.DamagedStore {
			session = ""
		}
	}
	if session == "" {
		return "tenon session repair moves damaged rows out of the way"
	}
	return fmt.Sprintf("tenon session repair %s moves damaged rows out of the way", terminal.OneLine(session))
}
