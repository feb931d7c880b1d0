package mcp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/visible"
)

// retryAfter is the time after a failed start during which other runs do not start the server in the background.
const retryAfter = time.Minute

// checkFresh is the age at which a run writes the record of a server that works again.
const checkFresh = time.Hour

// Check is the outcome of the last start of a server with its current configuration.
type Check struct {
	At    time.Time `json:"at"`
	Title string    `json:"title,omitempty"` // the server's own name and version
	Tools int       `json:"tools"`           // number of tools that a run offers
	Error string    `json:"error,omitempty"` // empty: it worked
	// Withheld is the number of items that differ from the approved ones or are unusable.
	Withheld int `json:"withheld,omitempty"`
	// SignIn reports whether the server refused to work without sign-in.
	SignIn bool `json:"signIn,omitempty"`
	// Declined reports whether the user was offered to sign in and declined.
	Declined bool `json:"declined,omitempty"`
}

func checkPath(dir string, s *Server) string { return filepath.Join(dir, s.key()+".check") }

// LastCheck returns the outcome of the last start of a server, or nil if it was never started with its current configuration. dir is
// Options.Dir.
func LastCheck(dir string, s Server) *Check {
	content, err := os.ReadFile(checkPath(dir, &s))
	if err != nil {
		return nil
	}
	c := &Check{}
	if json.Unmarshal(content, c) != nil {
		return nil // the next start writes it again
	}
	c.Title, c.Error = visible.Strip(c.Title), visible.Strip(c.Error)
	return c
}

// record stores the outcome of a start.
func (p *Plugin) record(def *Definition, err error) {
	c := Check{At: time.Now()}
	if err != nil {
		c.Error, c.SignIn = visible.Bound(p.server.Mask(err.Error()), 1<<10), needsSignIn(err)
	} else {
		pin, _ := FilePins(p.options.Dir).Load(p.server) // the plugin reports the error
		c.Title = def.Title
		c.count(pin, def)
	}
	old := LastCheck(p.options.Dir, p.server)
	if err == nil && p.host != nil && old != nil && time.Since(old.At).Abs() < checkFresh && old.Tools == c.Tools && old.Withheld == c.Withheld && old.Error == "" && old.Title == c.Title {
		return
	}
	c.Declined = c.SignIn && old != nil && old.Declined
	c.write(p.options.Dir, &p.server)
}

// count counts the items of a definition that a run offers and withholds.
func (c *Check) count(pin *Pin, def *Definition) {
	offered, withheld := pin.Offer(def)
	c.Tools, c.Withheld = len(offered.Tools), len(withheld)
}

// Decline records that the user does not want to sign in to a server now. dir is Options.Dir.
func Decline(dir string, s Server) {
	if c := LastCheck(dir, s); c != nil {
		c.Declined = true
		c.write(dir, &s)
	}
}

// write stores the record. If that fails, only the lists of servers lack it.
func (c *Check) write(dir string, s *Server) {
	content, _ := json.Marshal(c) // times of this year and texts always encode
	_ = atomicfile.Write(checkPath(dir, s), content, atomicfile.Options{MakeDirs: 0o700})
}
