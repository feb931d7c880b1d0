package process

import (
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// debugLog logs go-plugin's messages at the level debug: errors of calls contain everything that users need. Traces are dropped.
type debugLog struct {
	hclog.Logger // for methods that go-plugin does not call
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

// Named returns the same logger.
func (d debugLog) Named(string) hclog.Logger { return d }
