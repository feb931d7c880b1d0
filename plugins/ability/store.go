package ability

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/filelock"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk/guest"
)

// The files of a store, in the plugin's own directory.
const (
	storeFile = "kv.json"
	storeNew  = "kv.json.new" // is renamed to storeFile; killed processes may leave it behind
)

// LockSuffix is the suffix of the lock file for changes of the store. The file is next to the plugin's own directory: inside it, the plugin could
// replace the file by a link.
const LockSuffix = ".lock"

// storeMagic begins the first line of storeFile; the line ends with the SHA-256 of the rest. The checksum detects damage, and a process
// that reads only this line sees whether the values have changed.
const storeMagic = "tenon-kv 1 "

const storeHeader = len(storeMagic) + 2*sha256.Size + 1

// lockWait is the maximum wait for another process that changes the store.
const lockWait = 10 * time.Second

// errDamaged means that the stored values cannot be read.
var errDamaged = errors.New("damaged")

// store keeps the values of one plugin in one file of at most 1 MiB, which is replaced atomically. Several processes may use it concurrently.
// Keys never become part of a path.
type store struct {
	dir    string
	limits Limits

	mu     sync.Mutex
	header string            // of the file with the values; empty: none was read
	values map[string][]byte // replaced, never modified
}

func (s *store) get(_ context.Context, _ Caller, req guest.KVKey) (out guest.KVValue, err error) {
	if err := s.checkKey(req.Key); err != nil {
		return out, err
	}
	values, err := s.current()
	out.Value, out.Found = values[req.Key]
	return out, err
}

func (s *store) keys(_ context.Context, _ Caller, req guest.KVPrefix) (guest.KVKeys, error) {
	values, err := s.current()
	keys := make([]string, 0, len(values))
	for key := range values {
		if strings.HasPrefix(key, req.Prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return guest.KVKeys{Keys: keys}, err
}

func (s *store) set(ctx context.Context, _ Caller, req guest.KVSet) (empty, error) {
	if err := s.checkKey(req.Key); err != nil {
		return empty{}, err
	}
	if len(req.Value) > s.limits.KVValueBytes {
		return empty{}, limited("the value has %d bytes, at most %d are kept", len(req.Value), s.limits.KVValueBytes)
	}
	return empty{}, s.change(ctx, func(values map[string][]byte) error {
		values[req.Key] = slices.Clone(req.Value)
		return s.checkQuota(values)
	})
}

func (s *store) remove(ctx context.Context, _ Caller, req guest.KVKey) (empty, error) {
	if err := s.checkKey(req.Key); err != nil {
		return empty{}, err
	}
	return empty{}, s.change(ctx, func(values map[string][]byte) error {
		delete(values, req.Key)
		return nil
	})
}

func (s *store) checkKey(key string) error {
	if key == "" {
		return errors.New("bad request: key: it is empty")
	}
	if len(key) > s.limits.KVKeyBytes {
		return limited("the key has %d bytes, at most %d are kept", len(key), s.limits.KVKeyBytes)
	}
	return nil
}

func (s *store) checkQuota(values map[string][]byte) error {
	if len(values) > s.limits.KVKeys {
		return limited("there would be %d keys, at most %d are kept; delete some", len(values), s.limits.KVKeys)
	}
	size := 0
	for key, value := range values {
		size += len(key) + len(value)
	}
	if size > s.limits.KVBytes {
		return limited("keys and values would take %d bytes, at most %d are kept; delete some", size, s.limits.KVBytes)
	}
	return nil
}

// current returns the values as they are in the file now. It reads only the first line if the file is unchanged.
func (s *store) current() (map[string][]byte, error) {
	path := filepath.Join(s.dir, storeFile)
	f, _, err := projectfs.Open([]string{s.dir}, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	header := make([]byte, storeHeader)
	if _, err := f.ReadAt(header, 0); err == nil && string(header) == s.header {
		return s.values, nil
	}
	// Base64 and escaped keys take more space than the quota counts; a much larger file was written by another program.
	data, err := io.ReadAll(io.LimitReader(f, 16*int64(s.limits.KVBytes)+1<<20))
	if err != nil {
		return nil, err
	}
	values, err := parseStore(data)
	if err != nil {
		return nil, fmt.Errorf("the stored values in %s are %w; move the file away to start over", path, err)
	}
	s.header, s.values = string(data[:storeHeader]), values
	return values, nil
}

// parseStore decodes the content of a store's file. Errors wrap errDamaged.
func parseStore(data []byte) (values map[string][]byte, err error) {
	if len(data) < storeHeader {
		return nil, fmt.Errorf("%w: %d bytes are too few", errDamaged, len(data))
	}
	body := data[storeHeader:]
	if string(data[:storeHeader]) != headerOf(body) {
		return nil, fmt.Errorf("%w: the checksum does not match", errDamaged)
	}
	if err := json.Unmarshal(body, &values); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return values, nil
}

func headerOf(body []byte) string {
	return fmt.Sprintf("%s%x\n", storeMagic, sha256.Sum256(body))
}

// change replaces the file, under the lock.
func (s *store) change(ctx context.Context, edit func(values map[string][]byte) error) error {
	return filelock.Do(ctx, s.dir+LockSuffix, lockWait, func() error {
		known, err := s.current()
		if err != nil {
			return err
		}
		values := map[string][]byte{}
		maps.Copy(values, known)
		if err := edit(values); err != nil {
			return err
		}
		body, err := json.Marshal(values)
		if err != nil {
			return err
		}
		header := headerOf(body)
		if err := s.replace(header + string(body)); err != nil {
			return fmt.Errorf("%s: %w", s.dir, err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.header, s.values = header, values
		return nil
	})
}

// replace replaces the file atomically. Links that the plugin made do not lead out of its directory.
func (s *store) replace(content string) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Remove(storeNew); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return atomicfile.WriteIn(root, storeFile, []byte(content), atomicfile.Options{SyncDir: true, Temp: storeNew})
}
