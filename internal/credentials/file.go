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
	// fileVersion is the version of the format. It changes if an older tenon would use or lose credentials wrongly.
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

// readFile returns an empty content if the file does not exist.
func readFile(path string) (*content, error) {
	empty := &content{Version: fileVersion, Credentials: map[string]json.RawMessage{}}
	data, err := readPrivate(path)
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, fmt.Errorf("%w: %s: empty; remove it and sign in again", ErrFile, path)
	}
	c, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrFile, path, err)
	}
	return c, nil
}

// readPrivate reads a file that only the user can read.
func readPrivate(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return nil, fmt.Errorf("%w: %s: not a regular file", ErrFile, path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%w: %s: larger than %d bytes", ErrFile, path, maxFile)
	case runtime.GOOS != "windows" && mode.Perm()&0o077 != 0:
		return nil, fmt.Errorf("%w: insecure permissions %#o (others can read or write it); run: chmod 600 %s", ErrFile, mode.Perm(), path)
	}
	return os.ReadFile(path)
}

// decode decodes the file. Its errors contain no part of it: it holds secrets.
func decode(data []byte) (*content, error) {
	c := &content{}
	if err := json.Unmarshal(data, c); err != nil {
		return nil, plain(err)
	}
	switch {
	case c.Version > fileVersion:
		return nil, fmt.Errorf("version %d was written by a newer tenon; update tenon", c.Version)
	case c.Version != fileVersion:
		return nil, fmt.Errorf("version %d: want %d", c.Version, fileVersion)
	}
	if c.Credentials == nil {
		c.Credentials = map[string]json.RawMessage{}
	}
	return c, nil
}

// decodeCredential decodes one credential.
func decodeCredential(raw json.RawMessage) (*Credential, error) {
	c := &Credential{}
	if err := json.Unmarshal(raw, c); err != nil {
		return nil, plain(err)
	}
	if err := c.check(); err != nil {
		return nil, err
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
