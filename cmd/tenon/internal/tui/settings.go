package tui

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

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

// settingsKeeper changes the settings in a file. It is safe for concurrent use.
type settingsKeeper struct {
	path string
	mu   sync.Mutex
}

// change changes what the file holds now: other processes change it too. A file that cannot be read stays as it is. Of two processes that
// change it in the same moment, the last one counts.
func (k *settingsKeeper) change(f func(*settings)) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	s, err := readSettings(k.path)
	if err != nil {
		return fmt.Errorf("the settings are not stored: %w; correct the file or delete it", err)
	}
	f(&s)
	return s.write(k.path)
}

func (s settings) write(path string) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, append(data, '\n'), atomicfile.Options{})
}
