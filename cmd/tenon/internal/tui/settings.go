package tui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/filelock"
)

// settingsFile is the name of the file in the data directory that keeps what the user chose on the screen.
const settingsFile = "tui.json"

// settingsTimeout is the maximum wait for another process that changes the settings.
const settingsTimeout = 10 * time.Second

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

// changeSettings changes the settings in a file while no other process does. A file that cannot be read stays as it is.
func changeSettings(ctx context.Context, path string, f func(*settings)) error {
	err := filelock.Do(ctx, path+".lock", settingsTimeout, func() error {
		s, err := readSettings(path)
		if err != nil {
			return fmt.Errorf("%w; correct the file or delete it", err)
		}
		f(&s)
		return s.write(path)
	})
	if err != nil {
		return fmt.Errorf("the settings are not stored: %w", err)
	}
	return nil
}

func (s settings) write(path string) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, append(data, '\n'), atomicfile.Options{})
}
