package credentials

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/zalando/go-keyring"
)

// ErrKeyring is wrapped by errors of the system's keyring. tenon does not fall back to the file, because the user asked
// for the keyring.
var ErrKeyring = errors.New("the system's keyring")

// keyringService is the name of tenon's entries in the keyring.
const keyringService = "tenon"

// metadataStored is the metadata with the time at which a key was put into the keyring.
const metadataStored = "stored"

// ring is a keyring, which encrypts secrets with the user's login: Keychain, Credential Manager, or a Secret Service such as GNOME Keyring.
type ring interface {
	Get(service, user string) (string, error)
	Set(service, user, secret string) error
	Delete(service, user string) error
}

// systemRing is the keyring of the system.
type systemRing struct{}

func (systemRing) Get(service, user string) (string, error) { return keyring.Get(service, user) }
func (systemRing) Set(service, user, secret string) error   { return keyring.Set(service, user, secret) }
func (systemRing) Delete(service, user string) error        { return keyring.Delete(service, user) }

// ringTimeout limits an operation of the keyring, which may ask the user to unlock it, perhaps on another screen.
const ringTimeout = 30 * time.Second

// answered calls f, an operation of the keyring, within ringTimeout.
func answered(f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }() // ends with the operation, which cannot be canceled
	select {
	case err := <-done:
		return err
	case <-time.After(ringTimeout):
		return fmt.Errorf("no answer within %s", ringTimeout)
	}
}

// kept holds the secrets of a credential in the keyring.
type kept struct {
	Key     string `json:"key,omitempty"`
	Access  string `json:"access,omitempty"`
	Refresh string `json:"refresh,omitempty"`
	Client  string `json:"client,omitempty"` // secret of Credential.Client
}

// entry returns the name of a credential's entry in the keyring. Stores in different directories use different names.
func (s *Store) entry(name string) string { return name + " in " + s.path }

// keep moves the secrets of a credential to the keyring and returns the rest, for the file.
func (s *Store) keep(name string, c *Credential) (*Credential, error) {
	k := kept{Key: c.Key, Access: c.Access, Refresh: c.Refresh}
	rest := *c
	rest.Key, rest.Access, rest.Refresh = "", "", ""
	if c.Client != nil {
		client := *c.Client
		k.Client, client.Secret = client.Secret, ""
		rest.Client = &client
	}
	if c.Type == TypeKey { // a new key leaves no other trace in the file
		rest.Metadata = map[string]string{}
		maps.Copy(rest.Metadata, c.Metadata)
		rest.Metadata[metadataStored] = s.now().Format(time.RFC3339Nano)
	}
	secret, err := json.Marshal(k)
	if err == nil {
		err = answered(func() error { return s.ring.Set(keyringService, s.entry(name), string(secret)) })
	}
	if errors.Is(err, keyring.ErrSetDataTooBig) {
		return nil, fmt.Errorf("%w: %s: the secrets are too large for the keyring; sign in again without --keyring", ErrKeyring, name)
	}
	if err != nil {
		return nil, fmt.Errorf("%w did not store %s: %w; unlock it, or use the file: sign in again without --keyring", ErrKeyring, name, err)
	}
	return &rest, nil
}

// unlock adds the secrets from the keyring to a credential.
func (s *Store) unlock(name string, c *Credential) error {
	if !c.Keyring {
		return nil
	}
	var secret string
	err := answered(func() (err error) {
		secret, err = s.ring.Get(keyringService, s.entry(name))
		return err
	})
	if err != nil {
		return fmt.Errorf("%w did not return %s: %w; unlock it, or sign in again without --keyring", ErrKeyring, name, err)
	}
	var k kept
	if err := json.Unmarshal([]byte(secret), &k); err != nil {
		return fmt.Errorf("%w: %s: %w; sign in again", ErrKeyring, name, plain(err))
	}
	c.Key, c.Access, c.Refresh = k.Key, k.Access, k.Refresh
	if c.Client != nil {
		c.Client.Secret = k.Client
	}
	return c.check()
}

// forget removes the entry of a credential that was in the keyring. It may be missing.
func (s *Store) forget(name string) error {
	err := answered(func() error { return s.ring.Delete(keyringService, s.entry(name)) })
	if err != nil && !errors.Is(err, keyring.ErrNotFound) {
		return fmt.Errorf("%w: %w: %w; remove %q of the service %s", ErrLeftover, ErrKeyring, err, s.entry(name), keyringService)
	}
	return nil
}
