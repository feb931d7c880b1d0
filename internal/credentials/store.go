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
	"sync"
	"time"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/filelock"
	"github.com/tenonhq/tenon/internal/projectfs"
)

// File is the usual name of the file of a Store, in the user's data directory.
const File = "credentials.json"

// Errors of a Store.
var (
	// ErrNotFound is returned for a name without a credential.
	ErrNotFound = errors.New("not signed in")
	// ErrLocked is wrapped if another process holds the lock for too long.
	ErrLocked = filelock.ErrLocked
	// ErrLeftover is wrapped if a change is stored, but the secrets of the old credential could not be removed from the keyring.
	ErrLeftover = errors.New("the change is stored, but the old entry is still in the keyring")
	// ErrNotStored is wrapped if only this process can use a refreshed token.
	ErrNotStored = errors.New("the refreshed token could not be stored and is lost when tenon ends")
)

const (
	// lockTimeout is the maximum wait for the lock of the file, which a process holds while it writes.
	lockTimeout = 10 * time.Second
	// refreshTimeout is the maximum time to refresh a token, and to wait for a process that is refreshing it.
	refreshTimeout = 45 * time.Second
)

// Store is a file of credentials. It holds nothing in memory, except refreshed tokens that it could not store, and is safe for concurrent
// use by many processes.
type Store struct {
	// Warn receives problems that do not undo a change and do not keep a token from being used: ErrLeftover, ErrNotStored. If nil,
	// they are not reported.
	Warn func(error)

	path string
	now  func() time.Time
	ring ring

	mu   sync.Mutex
	held map[string]held // by name
}

// held is a refreshed token that could not be stored. In this process, it replaces the stored credential that has these secrets.
type held struct {
	over  []string
	fresh *Credential
}

// Open returns the store at path. Neither the file nor its directory needs to exist. Nothing is read.
func Open(path string) *Store {
	return &Store{Warn: func(error) {}, path: path, now: time.Now, ring: systemRing{}, held: map[string]held{}}
}

// Path returns the path of the file.
func (s *Store) Path() string { return s.path }

// Get returns the credential with the name. Errors: ErrNotFound, ErrFile, ErrKeyring.
func (s *Store) Get(name string) (*Credential, error) {
	c, err := readFile(s.path)
	if err != nil {
		return nil, err
	}
	return s.whole(c, name)
}

// whole returns a credential with the secrets that are in the keyring.
func (s *Store) whole(c *content, name string) (*Credential, error) {
	found, err := s.credential(c, name)
	if err == nil {
		err = s.unlock(name, found)
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h, ok := s.held[name]; ok && slices.Equal(h.over, found.Secrets()) {
		fresh := *h.fresh
		return &fresh, nil
	}
	return found, nil
}

// hold keeps fresh, the refreshed form of old, for this process.
func (s *Store) hold(name string, old, fresh *Credential) {
	s.mu.Lock()
	defer s.mu.Unlock()
	over := old.Secrets()
	if h, ok := s.held[name]; ok && slices.Equal(h.fresh.Secrets(), over) {
		over = h.over
	}
	s.held[name] = held{over, fresh}
}

// credential returns a credential from the file, without the secrets in the keyring.
func (s *Store) credential(c *content, name string) (*Credential, error) {
	raw, ok := c.Credentials[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, ErrNotFound)
	}
	found := &Credential{Source: s.path}
	err := json.Unmarshal(raw, found)
	if err != nil {
		err = plain(err)
	} else {
		err = found.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %s: %w", ErrFile, s.path, name, err)
	}
	return found, nil
}

// All returns the credentials by name, without the secrets in the keyring. It leaves out those that cannot be decoded and returns the
// others with an error that names the former and wraps ErrFile.
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
	return s.update(ctx, func(content *content) error {
		for _, old := range replaces {
			s.remove(content, old)
		}
		return s.set(content, name, c)
	})
}

// set checks and stores a credential, with its secrets in the keyring if Keyring is set.
func (s *Store) set(content *content, name string, c *Credential) error {
	if err := c.check(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.remove(content, name)
	if c.Keyring {
		rest, err := s.keep(name, c)
		if err != nil {
			return err
		}
		delete(content.leftovers, name)
		c = rest
	}
	raw, err := json.Marshal(c)
	if err == nil {
		content.Credentials[name] = raw
	}
	return err
}

// remove removes a credential, even one that cannot be decoded.
func (s *Store) remove(content *content, name string) {
	if old, err := s.credential(content, name); err == nil && old.Keyring {
		content.leftovers[name] = true
	}
	delete(content.Credentials, name)
}

// Change lets f change a stored credential. f is called under the lock of the file, so that it changes the latest one. Errors:
// ErrNotFound, ErrFile.
func (s *Store) Change(ctx context.Context, name string, f func(*Credential)) error {
	return s.update(ctx, func(content *content) error {
		c, err := s.whole(content, name)
		if err != nil {
			return err
		}
		f(c)
		return s.set(content, name, c)
	})
}

// Delete removes a credential, even one that cannot be decoded. Errors: ErrNotFound.
func (s *Store) Delete(ctx context.Context, name string) error {
	return s.update(ctx, func(content *content) error {
		if _, ok := content.Credentials[name]; !ok {
			return fmt.Errorf("%s: %w", name, ErrNotFound)
		}
		s.remove(content, name)
		return nil
	})
}

// update changes the file under its lock, and then removes the entries in the keyring that it no longer names. After an error of f the
// file is unchanged.
func (s *Store) update(ctx context.Context, f func(*content) error) error {
	return filelock.Do(ctx, s.locked()+".lock", lockTimeout, func() error {
		c, err := readFile(s.path)
		if err != nil {
			return err
		}
		c.leftovers = map[string]bool{}
		if err := f(c); err != nil {
			return err
		}
		data, err := json.MarshalIndent(c, "", "  ")
		if err != nil {
			return err
		}
		// The target of a link is replaced, not the link: the secrets stay where the user keeps them, such as on an encrypted disk.
		if err := atomicfile.Write(projectfs.Real(s.path), append(data, '\n'), atomicfile.Options{Mode: 0o600, Sync: true}); err != nil {
			return err
		}
		for name := range c.leftovers {
			if err := s.forget(name); err != nil {
				s.Warn(err)
			}
		}
		return nil
	})
}

// locked returns the path with which the names of the locks begin. If the file is a link, this is its target, so that data directories that
// share a file also share the locks; or the link itself if no lock can be created next to the target, for example on a disk that is
// read-only or not mounted.
func (s *Store) locked() string {
	target := projectfs.Real(s.path)
	lock, err := os.OpenFile(target+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return s.path
	}
	_ = lock.Close() // nothing was written
	return target
}

// Refresh returns the credential with the name, refreshed if it is expired or is the rejected one. rejected is the access token that a
// server refused; empty if none. f is called at most once, by one process at a time, with the stored credential. Its result is stored
// before Refresh returns it. If another credential was stored in the meantime, Refresh returns that one instead. If the result cannot be stored,
// only this Store uses it, with a warning: the server may no longer accept the old token.
//
// The end of ctx ends the wait for another process. It does not interrupt f, whose context has its own limit: once the server has
// received the request, it may no longer accept the old refresh token, and the new one must be stored.
//
// Errors: ErrNotFound, ErrFile, ErrLocked, and f's errors, after which the stored credential is unchanged.
func (s *Store) Refresh(ctx context.Context, name, rejected string, f func(context.Context, *Credential) (*Credential, error)) (*Credential, error) {
	c, err := s.Get(name)
	if err != nil || s.usable(c, rejected) {
		return c, err
	}
	sum := sha256.Sum256([]byte(name))
	err = filelock.Do(ctx, s.locked()+"."+hex.EncodeToString(sum[:6])+".lock", refreshTimeout, func() error {
		c, err = s.Get(name) // another process may have refreshed the token
		if err != nil || s.usable(c, rejected) {
			return err
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshTimeout)
		defer cancel()
		fresh, err := f(ctx, c)
		if err == nil {
			err = fresh.check()
		}
		if err != nil {
			return err
		}
		stored, err := s.replace(context.WithoutCancel(ctx), name, c, fresh)
		if err != nil && !errors.Is(err, ErrNotFound) {
			s.hold(name, c, fresh)
			s.Warn(fmt.Errorf("%s: %w: %w", name, ErrNotStored, err))
			stored, err = fresh, nil
		}
		c = stored
		return err
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

// replace stores fresh, the refreshed form of old. If the user signed in again or signed out in the meantime, replace stores nothing and
// returns the credential that is stored then. Errors: ErrNotFound, ErrFile.
func (s *Store) replace(ctx context.Context, name string, old, fresh *Credential) (stored *Credential, err error) {
	err = s.update(ctx, func(content *content) error {
		if stored, err = s.whole(content, name); err != nil || !slices.Equal(stored.Secrets(), old.Secrets()) {
			return err
		}
		if fresh.Client != nil && stored.Client != nil {
			fresh.Client.Wanted = stored.Client.Wanted // Wanted may have changed in the meantime
		}
		fresh.Keyring = stored.Keyring
		stored = fresh
		return s.set(content, name, fresh)
	})
	return stored, err
}
