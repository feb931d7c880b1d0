package ability

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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

	"github.com/gofrs/flock"

	"github.com/tenonhq/tenon/internal/atomicfile"
)

// The files of a store, in the plugin's own directory.
const (
	storeFile = "kv.json"
	storeNew  = "kv.json.new" // is renamed to storeFile; killed processes may leave it behind
	storeLock = "kv.lock"     // held by the process that changes the store
)

// storeMagic begins the first line of storeFile, which ends with the SHA-256 of the rest. The checksum detects damage, and by reading this
// line alone a process notices whether the values have changed.
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

func newStore(dir string, l Limits) *store {
	return &store{dir: dir, limits: l}
}

func (s *store) get(key string) (value []byte, found bool, err error) {
	if err := s.checkKey(key); err != nil {
		return nil, false, err
	}
	values, err := s.current()
	value, found = values[key]
	return value, found, err
}

func (s *store) keys(prefix string) ([]string, error) {
	values, err := s.current()
	keys := make([]string, 0, len(values))
	for key := range values {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, err
}

func (s *store) set(ctx context.Context, key string, value []byte) error {
	if err := s.checkKey(key); err != nil {
		return err
	}
	if len(value) > s.limits.KVValueBytes {
		return limited("the value has %d bytes, at most %d are kept", len(value), s.limits.KVValueBytes)
	}
	return s.change(ctx, func(values map[string][]byte) error {
		values[key] = slices.Clone(value)
		return s.checkQuota(values)
	})
}

func (s *store) remove(ctx context.Context, key string) error {
	if err := s.checkKey(key); err != nil {
		return err
	}
	return s.change(ctx, func(values map[string][]byte) error {
		delete(values, key)
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

// current returns the values as they are in the file now.
func (s *store) current() (map[string][]byte, error) {
	root, err := s.open(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return s.load(root)
}

// load returns the values of the file. It reads only the first line if the file is unchanged.
func (s *store) load(root *os.Root) (map[string][]byte, error) {
	f, err := openStored(root)
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
		return nil, fmt.Errorf("the stored values in %s are %w; move the file away to start over", filepath.Join(s.dir, storeFile), err)
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
	sum := sha256.Sum256(body)
	return storeMagic + hex.EncodeToString(sum[:]) + "\n"
}

// change replaces the file, under the lock.
func (s *store) change(ctx context.Context, edit func(values map[string][]byte) error) error {
	root, err := s.open(true)
	if err != nil {
		return err
	}
	defer root.Close()
	lock, err := s.lock(ctx, root)
	if err != nil {
		return err
	}
	defer lock.Close()
	known, err := s.load(root)
	if err != nil {
		return err
	}
	values := maps.Clone(known)
	if values == nil {
		values = map[string][]byte{}
	}
	if err := edit(values); err != nil {
		return err
	}
	body, err := json.Marshal(values)
	if err != nil {
		return err
	}
	header := headerOf(body)
	if err := replace(root, header, body); err != nil {
		return fmt.Errorf("%s: %w", s.dir, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.header, s.values = header, values
	return nil
}

// open opens the plugin's directory. All its files are opened through this root, so that links made by the plugin cannot lead out of it.
func (s *store) open(create bool) (*os.Root, error) {
	if s.dir == "" {
		return nil, errors.New("the plugin has no directory to keep values in")
	}
	root, err := os.OpenRoot(s.dir)
	if !create || !errors.Is(err, fs.ErrNotExist) {
		return root, err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	return os.OpenRoot(s.dir)
}

// lock waits for the lock, which excludes other processes and other changes of this one. Closing it releases it; errors of that can be ignored.
func (s *store) lock(ctx context.Context, root *os.Root) (io.Closer, error) {
	// Create it through the root first, because flock would follow a link.
	f, err := root.OpenFile(storeLock, os.O_CREATE|os.O_RDWR|noFollow, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	lock := flock.New(filepath.Join(s.dir, storeLock), flock.SetFlag(os.O_RDWR|noFollow))
	if _, err := lock.TryLockContext(ctx, 2*time.Millisecond); err != nil {
		return nil, fmt.Errorf("another change has locked %s: %w", lock.Path(), err)
	}
	return lock, nil
}

// replace replaces the file atomically.
func replace(root *os.Root, header string, body []byte) error {
	if err := root.Remove(storeNew); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return atomicfile.WriteIn(root, storeFile, slices.Concat([]byte(header), body), atomicfile.Options{SyncDir: true, Temp: storeNew})
}
