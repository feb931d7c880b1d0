// Package sessions holds the commands for stored sessions, "tenon session".
package sessions
