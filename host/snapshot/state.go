package snapshot

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // detects damage, proves nothing
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// stateFile keeps the latest state from one process to the next. It only saves work: without it all files are read.
const stateFile = "state"

// stateVersion is the beginning of the file, followed by the names of files that are never recorded. A file in
// another format is ignored.
const stateVersion = "tenon state 5\n"

func (r *Repo) version() string { return stateVersion + strings.Join(r.exclude, "\x00") + "\n" }

var errState = errors.New("unreadable state")

// load returns the state on the disk; nil if there is none or it cannot be read.
func (r *Repo) load() *node {
	content, _ := os.ReadFile(filepath.Join(r.dir, stateFile)) // without it, decodeState fails
	n, _ := decodeState(r.version(), content)
	return n
}

func (r *Repo) save(n *node) error {
	content, err := encodeState(r.version(), n)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(r.dir, stateFile), content)
}

// IsNews reports whether paths that were left out are others than at the last call in this project, also of another process.
func (r *Repo) IsNews(leftOut []Path) bool {
	name, now := filepath.Join(r.dir, "leftout"), hashOf("list", fmt.Append(nil, leftOut))
	was, _ := os.ReadFile(name)
	if string(was) == now {
		return false
	}
	_ = os.WriteFile(name, []byte(now), 0o600) // at worst, the user reads it again
	return true
}

// encodeState writes a state: the version, the directory, a checksum of both.
func encodeState(version string, n *node) ([]byte, error) {
	out := bytes.NewBufferString(version)
	if err := gob.NewEncoder(out).Encode(n); err != nil {
		return nil, fmt.Errorf("write the state: %w", err)
	}
	return sealed(out.Bytes()), nil
}

// sealed returns the text with its checksum.
func sealed(text []byte) []byte {
	sum := sha1.Sum(text) //nolint:gosec // as above
	return append(text, sum[:]...)
}

// decodeState reads a state that encodeState wrote.
func decodeState(version string, b []byte) (*node, error) {
	end := max(0, len(b)-sha1.Size)
	body, ok := bytes.CutPrefix(b[:end:end], []byte(version))
	if !ok || !bytes.Equal(sealed(b[:end:end]), b) {
		return nil, errState
	}
	n := &node{}
	if err := gob.NewDecoder(bytes.NewReader(body)).Decode(n); err != nil {
		return nil, errors.Join(errState, err)
	}
	return n, nil
}
