package manage

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/internal/atomicfile"
)

// mcpEntry is a server in .mcp.json.
type mcpEntry struct {
	Type    string            `json:"type,omitempty"` // empty: stdio
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Timeout int64             `json:"timeout,omitempty"` // milliseconds
}

// mcpFile is a file of servers. Other content is preserved.
type mcpFile struct {
	path    string
	other   map[string]json.RawMessage
	servers map[string]json.RawMessage
}

// readMCPFile reads the file. A missing file is empty.
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
		return nil, cli.Fail(cli.ExitConfig, fmt.Errorf("%s: not valid JSON: %w", path, err), "fix the file by hand; tenon did not change it")
	}
	if servers, ok := f.other["mcpServers"]; ok {
		if err := json.Unmarshal(servers, &f.servers); err != nil {
			return nil, cli.Fail(cli.ExitConfig, fmt.Errorf("%s: mcpServers: %w", path, err), "mcpServers must hold one object per server")
		}
	}
	return f, nil
}

// disable switches a server on or off, and keeps its other keys.
func (f *mcpFile) disable(name string, disabled bool) error {
	var entry map[string]json.RawMessage
	if err := json.Unmarshal(f.servers[name], &entry); err != nil || entry == nil {
		return cli.Fail(cli.ExitConfig, fmt.Errorf("%s: mcpServers.%s: want an object", f.path, name), "fix the file by hand")
	}
	delete(entry, "disabled")
	if disabled {
		entry["disabled"] = json.RawMessage("true")
	}
	raw, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	f.servers[name] = raw
	return f.write()
}

// write replaces the file.
func (f *mcpFile) write() error {
	servers, err := json.Marshal(f.servers)
	if err != nil {
		return err
	}
	f.other["mcpServers"] = servers
	out, err := cli.JSON(f.other)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	// Headers and environment variables may hold tokens, so only the user may read the file.
	if err := atomicfile.Write(f.path, []byte(out), atomicfile.Options{Sync: true}); err != nil {
		return fmt.Errorf("write %s: %w", f.path, err)
	}
	return nil
}
