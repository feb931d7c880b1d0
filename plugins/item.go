package plugins

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

// State is what became of a plugin that was found.
type State string

// The states.
const (
	StateReady    State = "ready"
	StatePending  State = "pending"  // the user has to approve it: see Item.Decision
	StateDisabled State = "disabled" // the user switched it off
	StateRejected State = "rejected" // it cannot be used: see Item.Err
	// StateQuarantined is a plugin that failed again and again: its gates deny, its hooks with onError stop end turns, nothing else of
	// its runtime is there.
	StateQuarantined State = "quarantined"
)

// place is whose a plugin is. Of two with the same name, the lower one wins.
type place int

const (
	placeFlag    place = iota // named on the command line
	placeUser                 // in the user's directory or configuration
	placeProject              // came with the project
)

// Item is a plugin that was found.
type Item struct {
	// Name is what the plugin calls itself, or, until that is known, what its file is called.
	Name        string
	Version     string
	Description string // what it says of itself; show it through Text
	Carrier     sdk.Carrier
	Path        string // where it is
	From        string // who named it or where it was found, for people
	Project     bool   // it came with the project
	State       State
	Err         error  // why it is rejected
	Reason      string // why it is disabled or in quarantine
	// Request is what it asks for, Decision what the user said to that.
	Request  trust.Request
	Decision trust.Decision
	Digest   trust.Digest
	Grants   []sdk.Capability // of an approved item
	// Manifest is its description; empty while it is not known.
	Manifest sdk.Description
	Warnings []string

	source  string // Path, links resolved
	place   place
	order   int
	entry   *Entry // nil when nobody named it
	options json.RawMessage

	required bool              // an entry says so
	pkg      *manifest.Package // nil of a single file
	sealed   *trust.Sealed     // nil until approved
}

// Trusted is the item as package trust knows it.
func (i *Item) Trusted() trust.Item {
	return trust.Item{Kind: trust.KindPlugin, Name: i.Name, Source: i.source, Digest: i.Digest, Version: i.Version, Request: i.Request}
}

// Flagged reports whether the command line names the plugin: commands that are not given its path may not find it.
func (i *Item) Flagged() bool { return i.entry != nil && i.entry.Flag }

// Required reports whether the configuration forbids a run without the plugin.
func (i *Item) Required() bool { return i.required }

// Options returns the user's options for the plugin; empty without any.
func (i *Item) Options() json.RawMessage { return i.options }

func (i *Item) reject(err error) { i.State, i.Err = StateRejected, err }

func (i *Item) usable() bool { return i.State != StateRejected }

// Loaded is what was found and what of it runs.
type Loaded struct {
	Items []*Item // in order
	// Plugins are those that run, in their order.
	Plugins []sdk.Plugin
	// Skills are the directories of the skills of approved packages, each with a SKILL.md.
	Skills []string
	// Servers are the MCP servers, HookFiles the files with command hooks of approved packages.
	Servers   []Server
	HookFiles []HookFile
	Warnings  []string
}

// Pending returns the items that the user has to approve.
func (l *Loaded) Pending() []*Item {
	var out []*Item
	for _, i := range l.Items {
		if i.State == StatePending {
			out = append(out, i)
		}
	}
	return out
}

// Server is an MCP server of an approved package.
type Server struct {
	Plugin string // the package's name
	Name   string // in its mcp.json
	Root   string // the sealed copy of the package
	Data   string // the plugin's own directory
	Entry  manifest.Server
}

// Resolve makes the plugin's own directory and returns the server as it is to be started: variables replaced, paths absolute and
// checked.
func (s Server) Resolve() (manifest.Server, error) {
	if err := os.MkdirAll(s.Data, 0o700); err != nil {
		return manifest.Server{}, err
	}
	return s.Entry.Expand(s.Root, s.Data)
}

// HookFile is a file with command hooks of an approved package.
type HookFile struct {
	Plugin string
	Path   string // in the sealed copy
	Root   string // the sealed copy: where the commands find what came with them, as PLUGIN_ROOT
	Data   string // the plugin's own directory, as PLUGIN_DATA
}

// dataDir is a plugin's own directory. It belongs to the plugin in this place: another one that takes its name does not get it.
func (l *Loader) dataDir(i *Item) string {
	return filepath.Join(l.opts.Project.DataDir, "plugins", "data", i.Name+"-"+shortHash(i.source))
}
