package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/visible"
)

// Pin is the approval of a server.
type Pin struct {
	Definition Definition `json:"definition"`
	// Unusable contains the reasons, by name, why tools cannot be offered; they are determined at the approval.
	Unusable map[string]string `json:"unusable,omitempty"`
	// Checked is the last time the server's definition equalled the approved one. While it is fresh, the server is started only when
	// needed.
	Checked time.Time `json:"checked"`
}

// FilePins stores pins as files in a directory, Options.Dir, which it creates when needed. It is safe for concurrent use by goroutines and
// processes.
type FilePins string

func (dir FilePins) path(s Server) string { return filepath.Join(string(dir), s.key()+".json") }

// Load returns the pin of a server, or nil if it has none. A server with a changed configuration has none.
func (dir FilePins) Load(s Server) (*Pin, error) {
	content, err := os.ReadFile(dir.path(s))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("approval of MCP server %q: %w", s.Name, err)
	}
	p := &Pin{}
	if err := json.Unmarshal(content, p); err != nil {
		return nil, fmt.Errorf("approval of MCP server %q: %s is damaged (%w); remove it and approve the server again", s.Name, dir.path(s), err)
	}
	return p, nil
}

// Save replaces the pin of a server.
func (dir FilePins) Save(s Server, p *Pin) error {
	content, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.Write(dir.path(s), content, atomicfile.Options{MakeDirs: 0o700}); err != nil {
		return fmt.Errorf("store the approval of MCP server %q: %w", s.Name, err)
	}
	if c := LastCheck(string(dir), s); c != nil { // it counted what the earlier approval offers
		c.count(p, &p.Definition)
		c.write(string(dir), &s)
	}
	return nil
}

// Stamp returns a text that changes when the pin of a server does: the time and the size of its file. It is empty if
// the server has no pin.
func (dir FilePins) Stamp(s Server) string {
	info, err := os.Stat(dir.path(s))
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.ModTime().UnixNano(), " ", info.Size())
}

// Approve stores a definition as the user's approval of the server.
func Approve(pins FilePins, s Server, d *Definition) error { return pins.Save(s, newPin(d)) }

func newPin(d *Definition) *Pin {
	p := &Pin{Definition: *d, Unusable: map[string]string{}, Checked: time.Now()}
	for i := range d.Tools {
		if err := d.Tools[i].usable(); err != nil {
			p.Unusable[d.Tools[i].Name] = visible.Strip(err.Error())
		}
	}
	return p
}
