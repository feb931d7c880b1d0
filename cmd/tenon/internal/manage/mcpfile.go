package manage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/internal/atomicfile"
)

// mcpEntry is one server as .mcp.json has it.
type mcpEntry struct {
	Type    string            `json:"type,omitempty"` // empty: stdio
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// mcpFile is a file of servers. What else stands in it stays as it is.
type mcpFile struct {
	path    string
	other   map[string]json.RawMessage
	servers map[string]json.RawMessage
}

// readMCPFile reads the file; one that is not there is empty.
func readMCPFile(path string) (*mcpFile, error) {
	f := &mcpFile{path: path, other: map[string]json.RawMessage{}, servers: map[string]json.RawMessage{}}
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(content, &f.other); err != nil {
		return nil, cli.Fail(cli.ExitConfig, fmt.Errorf("%s: not valid JSON: %w", path, err), "correct the file by hand; tenon leaves it as it is")
	}
	if servers, ok := f.other["mcpServers"]; ok {
		if err := json.Unmarshal(servers, &f.servers); err != nil {
			return nil, cli.Fail(cli.ExitConfig, fmt.Errorf("%s: mcpServers: %w", path, err), "mcpServers holds one object per server")
		}
	}
	return f, nil
}

// write puts the file in the place of the old one.
func (f *mcpFile) write() error {
	servers, err := json.Marshal(f.servers)
	if err != nil {
		return err
	}
	f.other["mcpServers"] = servers
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(f.other); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	// Headers and environments hold tokens: only the user may read the file.
	if err := atomicfile.Write(f.path, out.Bytes(), atomicfile.Options{Sync: true}); err != nil {
		return fmt.Errorf("write %s: %w", f.path, err)
	}
	return nil
}
