package credentials

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/tenonhq/tenon/internal/atomicfile"
)

// File is the usual name of the file of a Store, in the user's data directory.
const File = "credentials.json"

// Errors of a Store.
var (
	// ErrNotFound is returned for a name without a credential.
	ErrNotFound = errors.New("not signed in")
	// ErrLocked is wrapped if another process holds the lock for too long.
	ErrLocked = errors.New("another tenon holds the lock")
)

const (
	// lockTimeout is the maximum wait for the lock of the file, which is held for a write.
	lockTimeout = 10 * time.Second
	// refreshTimeout is the maximum time to refresh a token, including the wait for a process that is refreshing it.
	refreshTimeout = 45 * time.Second
	lockPause      = 10 * time.Millisecond
)

// Store is a file of credentials. It holds nothing in memory and is safe for concurrent use by many processes.
type Store struct {
	path string
	now  func() time.Time
}

// Open returns the store at path. Neither the file nor its directory needs to exist. Nothing is read.
func Open(path string) *Store { return &Store{path: path, now: time.Now} }

// Path returns the path of the file.
func (s *Store) Path() string { return s.path }

// Get returns the credential with the name. Errors: ErrNotFound, ErrFile.
func (s *Store) Get(name string) (*Credential, error) {
	c, err := readFile(s.path)
	if err != nil {
		return nil, err
	}
	return s.credential(c, name)
}

func (s *Store) credential(c *content, name string) (*Credential, error) {
	raw, ok := c.Credentials[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, ErrNotFound)
	}
	found, err := decodeCredential(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %s: %w", ErrFile, s.path, name, err)
	}
	found.Source = s.path
	return found, nil
}

// All returns the credentials by name. Those that cannot be decoded are left out; the error, which wraps ErrFile, names them, and the
// others are returned too.
func (s *Store) All() (map[string]*Credential, error) {
	c, err := readFile(s.path)
	if err != nil {
		return nil, err
	}
	out := map[string]*Credential{}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(c.Credentials)) {
		found, err := s.credential(c, name)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		out[name] = found
	}
	return out, errors.Join(problems...)
}

// Put stores a credential and removes the names in replaces.
func (s *Store) Put(ctx context.Context, name string, c *Credential, replaces ...string) error {
	if err := c.check(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return s.update(ctx, func(stored map[string]json.RawMessage) bool {
		for _, old := range replaces {
			delete(stored, old)
		}
		stored[name] = raw
		return true
	})
}

// Delete removes a credential, even one that cannot be decoded. Errors: ErrNotFound.
func (s *Store) Delete(ctx context.Context, name string) error {
	found := false
	err := s.update(ctx, func(stored map[string]json.RawMessage) bool {
		_, found = stored[name]
		delete(stored, name)
		return found
	})
	if err == nil && !found {
		err = fmt.Errorf("%s: %w", name, ErrNotFound)
	}
	return err
}

// update changes the file under its lock; f reports whether it changed something.
func (s *Store) update(ctx context.Context, f func(map[string]json.RawMessage) bool) error {
	return s.locked(ctx, ".lock", lockTimeout, func(context.Context) error {
		c, err := readFile(s.path)
		if err != nil {
			return err
		}
		if !f(c.Credentials) {
			return nil
		}
		data, err := json.MarshalIndent(c, "", "  ")
		if err != nil {
			return err
		}
		return atomicfile.Write(s.path, append(data, '\n'), atomicfile.Options{Mode: 0o600, Sync: true})
	})
}

// Refresh returns the credential with the name, refreshed if it is expired or is the rejected one. rejected is the access token that a
// server refused; empty if none. f is called at most once, by one process at a time, and gets the stored credential. Its result is
// stored before Refresh returns it.
//
// Errors: ErrNotFound, ErrFile, ErrLocked, and those of f, after which the stored credential is unchanged.
func (s *Store) Refresh(ctx context.Context, name, rejected string, f func(context.Context, *Credential) (*Credential, error)) (*Credential, error) {
	c, err := s.Get(name)
	if err != nil || s.usable(c, rejected) {
		return c, err
	}
	sum := sha256.Sum256([]byte(name))
	err = s.locked(ctx, "."+hex.EncodeToString(sum[:6])+".lock", refreshTimeout, func(ctx context.Context) error {
		c, err = s.Get(name) // another process may have refreshed it
		if err != nil || s.usable(c, rejected) {
			return err
		}
		fresh, err := f(ctx, c)
		if err != nil {
			return err
		}
		// The new token must be stored even if the caller lost interest: the server no longer accepts the old one.
		if err := s.replace(context.WithoutCancel(ctx), name, fresh); err != nil {
			return err
		}
		c = fresh
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// usable reports whether a credential can be sent.
func (s *Store) usable(c *Credential, rejected string) bool {
	if rejected != "" && c.Secret() == rejected {
		return false
	}
	return c.Type == TypeKey || !c.Expired(s.now())
}

// replace stores a refreshed credential unless the user has removed it meanwhile.
func (s *Store) replace(ctx context.Context, name string, c *Credential) error {
	if err := c.check(); err != nil {
		return fmt.Errorf("%s: refreshed token: %w", name, err)
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return err
	}
	removed := false
	err = s.update(ctx, func(stored map[string]json.RawMessage) bool {
		_, kept := stored[name]
		if removed = !kept; kept {
			stored[name] = raw
		}
		return kept
	})
	if err == nil && removed {
		err = fmt.Errorf("%s: %w", name, ErrNotFound)
	}
	return err
}

// locked calls f while this process holds a lock file next to the store.
func (s *Store) locked(ctx context.Context, suffix string, limit time.Duration, f func(context.Context) error) error {
	if err := makeDir(s.path); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	lock := flock.New(s.path+suffix, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	defer lock.Close() // which unlocks it
	if ok, err := lock.TryLockContext(ctx, lockPause); !ok || err != nil {
		return fmt.Errorf("%s: %w: %w", s.path, ErrLocked, errors.Join(err, ctx.Err()))
	}
	return f(ctx)
}
