package main

import (
	"fmt"

	"github.com/tenonhq/tenon/host/store"
)

// maxDamaged is how many damaged rows are named.
const maxDamaged = 20

// withoutDamage names the damaged rows that a result leaves out, each once, and returns any other error.
func (a *app) withoutDamage(err error) error {
	rows, err := store.Readable(err)
	sessions := map[string]bool{}
	for _, row := range rows {
		if a.damaged[row] {
			continue
		}
		if a.damaged == nil {
			a.damaged = map[store.Damage]bool{}
		}
		if a.damaged[row] = true; len(a.damaged) <= maxDamaged {
			a.screen.line("damaged: " + oneLine(row.String()))
			sessions[row.Session] = true
		} else if len(a.damaged) == maxDamaged+1 {
			a.screen.line("damaged: more rows; tenon doctor lists them")
		}
	}
	if len(sessions) > 0 {
		a.screen.line("fix:     " + repairFix(rows))
	}
	return err
}

// repairFix is how the damaged rows are set aside.
func repairFix(rows []store.Damage) string {
	session := rows[0].Session
	for _, row := range rows {
		if row.Session != session || row.Type == store.DamagedStore {
			session = ""
		}
	}
	if session == "" {
		return "tenon session repair sets damaged rows aside"
	}
	return fmt.Sprintf("tenon session repair %s sets damaged rows aside", oneLine(session))
}
