// Package settings stores the user's choices in the terminal UI, such as the theme.
package settings

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

// FileName is the name of the file in the data directory.
const FileName = "tui.json"

// timeout is the maximum wait for another process that is changing the settings.
const timeout = 10 * time.Second

// Settings are the user's choices in the terminal UI.
type Settings struct {
	Theme   string `json:"theme,omitempty"`
	NoMouse bool   `json:"noMouse,omitempty"`
	// Pinned lists sessions that the session list shows first.
	Pinned []string `json:"pinned,omitempty"`
}

// Read reads the settings; a missing file means the default ones.
func Read(path string) (s Settings, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		return Settings{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// Change changes the settings in a file, under a lock. It leaves a file that cannot be read unchanged.
func Change(ctx context.Context, path string, f func(*Settings)) error {
	err := filelock.Do(ctx, path+".lock", timeout, func() error {
		s, err := Read(path)
		if err != nil {
			return fmt.Errorf("%w; correct the file or delete it", err)
		}
		f(&s)
		data, _ := json.Marshal(s) // texts and booleans always encode
		return atomicfile.Write(path, append(data, '\n'), atomicfile.Options{})
	})
	if err != nil {
		return fmt.Errorf("the settings are not stored: %w", err)
	}
	return nil
}
