package process

import (
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// debugLog gives go-plugin's messages to a slog.Logger, all at the level debug: what a user should know of them, the errors of calls
// say. Traces are left out.
type debugLog struct {
	hclog.Logger // answers what go-plugin does not use
	log          *slog.Logger
}

func newDebugLog(log *slog.Logger) hclog.Logger { return debugLog{hclog.NewNullLogger(), log} }

// Debug logs the message.
func (d debugLog) Debug(msg string, args ...any) { d.log.Debug("go-plugin: "+msg, args...) }

// Info is Debug.
func (d debugLog) Info(msg string, args ...any) { d.Debug(msg, args...) }

// Warn is Debug.
func (d debugLog) Warn(msg string, args ...any) { d.Debug(msg, args...) }

// Error is Debug.
func (d debugLog) Error(msg string, args ...any) { d.Debug(msg, args...) }

// Named returns the same logger: one process has one.
func (d debugLog) Named(string) hclog.Logger { return d }
