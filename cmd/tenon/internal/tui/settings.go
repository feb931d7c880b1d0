package tui

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/tenonhq/tenon/internal/atomicfile"
)

// settingsFile is the name of the file in the data directory that keeps what the user chose on the screen.
const settingsFile = "tui.json"

// settings are what the user chose on the screen.
type settings struct {
	Theme   string `json:"theme,omitempty"`
	NoMouse bool   `json:"noMouse,omitempty"`
	// Pinned lists sessions that the session list shows first.
	Pinned []string `json:"pinned,omitempty"`
}

// readSettings reads the settings; a missing file means the default ones.
func readSettings(path string) (s settings, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		return settings{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

func (s settings) write(path string) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, append(data, '\n'), atomicfile.Options{})
}
