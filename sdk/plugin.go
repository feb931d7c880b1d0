package sdk

import (
	"context"
	"encoding/json"
	"log/slog"
)

// Plugin extends the host. Only Manifest, Start and Close are required. The host finds the optional interfaces in contribution.go
// by type assertion.
//
// Order of calls: Manifest; Start once; the contributions, any number of times and concurrently; Close.
type Plugin interface {
	Manifest() Manifest
	// Start prepares the plugin. ctx bounds only the start; stop background work in Close.
	Start(ctx context.Context, h Host) error
	// Close ends the plugin. It may be called without Start, and twice. Nothing of the plugin runs after it returns.
	Close(ctx context.Context) error
}

// Host is the host as every plugin sees it. Further abilities are separate interfaces, which a plugin asserts.
type Host interface {
	Logger() *slog.Logger // adds the plugin's name
	Project() Project
	// Options returns the plugin's own part of the configuration, an object; null if it has none.
	Options() json.RawMessage
}

// Project holds the directories of the host. All paths are absolute.
type Project struct {
	ID        string // the root commit of the git repository (in a very long history, made from its path), or "global"
	Directory string // the directory in which tenon was started
	Worktree  string // the root of the repository, or Directory without one
	Home      string // the user's home directory
	ConfigDir string // the user's configuration directory of tenon
	DataDir   string // the directory of tenon's data
	CacheDir  string // the directory of data that tenon can recreate
	Git       bool   // Worktree is a git repository
}
