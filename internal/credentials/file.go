package credentials

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// ErrFile is wrapped by errors about the content or the permissions of a file of credentials.
var ErrFile = errors.New("bad credentials file")

const (
	// fileVersion is the version of the format. It changes if an older tenon would misuse or lose credentials.
	fileVersion = 1
	// maxFile is the maximum size of the file in bytes; a credential has one to three kilobytes.
	maxFile = 4 << 20
)

// content is the file: credentials by name. Entries that cannot be decoded are kept unchanged.
type content struct {
	Version     int                        `json:"version"`
	Credentials map[string]json.RawMessage `json:"credentials"`

	leftovers map[string]bool // credentials whose entries in the keyring are removed after the file is written
}

// readFile returns an empty content if the file does not exist. It is an error if others can read the file. Errors contain no part of the
// file, because it holds secrets.
func readFile(path string) (*content, error) {
	bad := func(format string, args ...any) (*content, error) {
		return nil, fmt.Errorf("%w: "+format, append([]any{ErrFile}, args...)...)
	}
	c := &content{Version: fileVersion, Credentials: map[string]json.RawMessage{}}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return bad("%s: not a regular file", path)
	case info.Size() > maxFile:
		return bad("%s: larger than %d bytes", path, maxFile)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return bad("insecure permissions %#o (others can read or write it); run: chmod 600 %s", info.Mode().Perm(), path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c.Version = 0
	switch err := json.Unmarshal(data, c); {
	case len(bytes.TrimSpace(data)) == 0:
		return bad("%s: empty; remove it and sign in again", path)
	case err != nil:
		return bad("%s: %w", path, plain(err))
	case c.Version > fileVersion:
		return bad("%s: version %d was written by a newer tenon; update tenon", path, c.Version)
	case c.Version != fileVersion:
		return bad("%s: version %d: want %d", path, c.Version, fileVersion)
	case c.Credentials == nil: // null
		c.Credentials = map[string]json.RawMessage{}
	}
	return c, nil
}

// plain returns the error of a JSON decoder without the text it quotes, which may be a secret.
func plain(err error) error {
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("invalid JSON at byte %d", syntax.Offset)
	case errors.As(err, &wrong):
		return fmt.Errorf("%s: wrong type of value", cmp.Or(wrong.Field, "the file"))
	}
	return errors.New("invalid JSON")
}
