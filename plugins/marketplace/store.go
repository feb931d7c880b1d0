package marketplace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/filelock"
	"github.com/tenonhq/tenon/plugins/signature"
	"github.com/tenonhq/tenon/plugins/source"
)

// FileName is the name of the user's list of marketplaces, in the configuration directory.
const FileName = "marketplaces.json"

// lockTimeout is the maximum wait for another process that changes the list.
const lockTimeout = 30 * time.Second

// Errors of the list.
var (
	// ErrList is returned for a list that cannot be read or understood. It is left unchanged.
	ErrList = errors.New("unusable list of marketplaces")
	// ErrAddress is returned for an address of a marketplace that cannot be understood.
	ErrAddress = errors.New("invalid address of a marketplace")
	// ErrTaken is returned for a name that another marketplace has.
	ErrTaken = errors.New("name of another marketplace")
	// ErrReserved is returned for the name of an official marketplace at another address.
	ErrReserved = errors.New("reserved name")
	// ErrStale is returned for a marketplace whose catalogue was not fetched from its current address, or whose copy is damaged.
	ErrStale = errors.New("its catalogue has to be fetched")
)

// reserved are the names of official marketplaces, which are repositories of reservedFor: another server's catalogue must not pass for one.
// See https://code.claude.com/docs/en/plugin-marketplaces, "Reserved names".
var reserved = []string{
	"claude-code-marketplace", "claude-code-plugins", "claude-plugins-official", "anthropic-marketplace", "anthropic-plugins", "agent-skills",
	"knowledge-work-plugins", "life-sciences",
}

const reservedFor = "github:anthropics/"

// Store keeps the user's marketplaces. Safe for use from many processes. Its fields must not change while it is used.
type Store struct {
	File    string // list of addresses by name; the user's
	Dir     string // fetched catalogues; made when needed
	Home    string // for ~ in addresses
	Fetcher *source.Fetcher
	Policy  signature.Policy // of the user
}

// Market is a marketplace of the user.
type Market struct {
	Name string
	state
	*Catalogue
}

// addresses is the content of Store.File.
type addresses struct {
	Marketplaces map[string]string `json:"marketplaces"`
}

// state is a fetched catalogue as it is stored. It is valid as long as the list has its address.
type state struct {
	Address string          `json:"address"`          // as a reference of package source
	Commit  string          `json:"commit,omitempty"` // of a repository
	File    string          `json:"name,omitempty"`   // in the source
	Fetched time.Time       `json:"fetched"`
	Content json.RawMessage `json:"catalogue"`
}

// Add fetches the catalogue at an address, and adds it to the list under its own name. Relative paths start at dir. Errors: ErrTaken,
// ErrReserved, ErrCatalogue, those of the source.
func (s *Store) Add(ctx context.Context, text, dir string) (*Market, error) {
	r, err := s.address(text, dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAddress, err)
	}
	m, err := s.fetch(ctx, r)
	if err != nil {
		return nil, err
	}
	if slices.Contains(reserved, strings.ToLower(m.Name)) && !local(r) && !strings.HasPrefix(r.Location(), reservedFor) {
		return nil, fmt.Errorf("%w: %s calls itself %s; only repositories of %s may have this name", ErrReserved, r, m.Name, reservedFor)
	}
	return m, s.change(ctx, func(l *addresses) error {
		if have, taken := l.Marketplaces[m.Name]; taken && have != m.Address {
			return fmt.Errorf("%w: %s is the one at %s", ErrTaken, m.Name, have)
		}
		l.Marketplaces[m.Name] = m.Address
		return s.keep(m)
	})
}

// List returns the marketplaces by name. Those with ErrStale have no catalogue.
func (s *Store) List() ([]Market, error) {
	l, err := s.read()
	if err != nil {
		return nil, err
	}
	var out []Market
	for _, name := range slices.Sorted(maps.Keys(l.Marketplaces)) {
		m, err := s.load(name, l.Marketplaces[name])
		if err != nil { // it has to be fetched
			m = &Market{Name: name, state: state{Address: l.Marketplaces[name]}}
		}
		out = append(out, *m)
	}
	return out, nil
}

// Update fetches the catalogue of a marketplace again.
func (s *Store) Update(ctx context.Context, name string) (*Market, error) {
	_, r, err := s.known(name)
	if err != nil {
		return nil, err
	}
	m, err := s.fetch(ctx, r)
	if err == nil && m.Name != name {
		err = fmt.Errorf("%w: %s now calls itself %s", ErrTaken, name, m.Name)
	}
	if err != nil {
		return nil, err
	}
	return m, s.change(ctx, func(*addresses) error { return s.keep(m) })
}

// Remove removes a marketplace. Plugins that were installed from it stay.
func (s *Store) Remove(ctx context.Context, name string) error {
	return s.change(ctx, func(l *addresses) error {
		if _, ok := l.Marketplaces[name]; !ok {
			return unknown(name)
		}
		delete(l.Marketplaces, name)
		return os.RemoveAll(s.stateFile(name)) // it may be missing
	})
}

// Found is a plugin of a marketplace.
type Found struct {
	*Entry
	Ref source.Ref
	// Guarded is set if the catalogue came over the network: it must not name addresses of this machine.
	Guarded bool
}

// Find returns a plugin of a marketplace, from its fetched catalogue. Errors: ErrNotFound, ErrStale, ErrSource.
func (s *Store) Find(name, market string) (*Found, error) {
	address, r, err := s.known(market)
	if err != nil {
		return nil, err
	}
	m, err := s.load(market, address)
	if err != nil {
		return nil, err
	}
	e, err := m.Find(name)
	if err != nil {
		return nil, err
	}
	b := base{r, s.Fetcher.RegistryOf}
	b.ref.Commit = m.Commit
	if b.ref.Kind == source.Path && m.File == "" {
		b.ref.URL = rootOf(b.ref.URL)
	}
	guarded := !local(b.ref)
	r, err = m.locate(e, b)
	if err == nil && guarded && (r.Kind == source.Path || strings.HasPrefix(r.URL, "file:")) {
		err = fmt.Errorf("%w: %s names a path of this machine", source.ErrAddress, name)
	}
	return &Found{e, r, guarded}, err
}

// known returns the address of a marketplace in the list, and the parsed reference.
func (s *Store) known(name string) (string, source.Ref, error) {
	l, err := s.read()
	if err != nil {
		return "", source.Ref{}, err
	}
	address, ok := l.Marketplaces[name]
	if !ok {
		return "", source.Ref{}, unknown(name)
	}
	r, err := s.address(address, "/")
	return address, r, err
}

func unknown(name string) error { return fmt.Errorf("%w: marketplace %q", ErrNotFound, name) }

// fetch reads the catalogue at an address.
func (s *Store) fetch(ctx context.Context, r source.Ref) (*Market, error) {
	if err := s.Policy.Allows(r); err != nil {
		return nil, err
	}
	fetcher := *s.Fetcher
	fetcher.Judge = s.Policy.Judge(r)
	file, err := fetcher.File(ctx, r, maxBytes, places...)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", ErrCatalogue, err)
	}
	if err != nil {
		return nil, err
	}
	c, err := Decode(file.Data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r, err)
	}
	st := state{Address: r.String(), Commit: file.Commit, File: file.Name, Fetched: time.Now().UTC().Truncate(time.Second), Content: file.Data}
	return &Market{c.Name, st, c}, nil
}

// read reads the list. Without a file it is empty.
func (s *Store) read() (*addresses, error) {
	l := &addresses{}
	data, err := os.ReadFile(s.File)
	if err == nil {
		err = json.Unmarshal(data, l)
	}
	if l.Marketplaces == nil {
		l.Marketplaces = map[string]string{}
	}
	for name := range l.Marketplaces {
		if err == nil && !source.ValidEntry(name) { // the name becomes a file name
			err = fmt.Errorf("invalid name %q", name)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s: %w", ErrList, s.File, err)
	}
	return l, nil
}

// change changes the list while no other process does. If f returns an error, nothing is written.
func (s *Store) change(ctx context.Context, f func(*addresses) error) error {
	return filelock.Do(ctx, filepath.Join(s.Dir, ".lock"), lockTimeout, func() error {
		l, err := s.read()
		if err != nil {
			return err
		}
		before := maps.Clone(l.Marketplaces)
		if err := f(l); err != nil || maps.Equal(before, l.Marketplaces) {
			return err
		}
		data, err := json.MarshalIndent(l, "", "  ")
		if err != nil {
			return err
		}
		return atomicfile.Write(s.File, append(data, '\n'), atomicfile.Options{MakeDirs: 0o700, Sync: true})
	})
}

func (s *Store) stateFile(name string) string { return filepath.Join(s.Dir, name+".json") }

func (s *Store) keep(m *Market) error {
	data, err := json.Marshal(m.state)
	if err != nil {
		return err
	}
	return atomicfile.Write(s.stateFile(m.Name), data, atomicfile.Options{Sync: true})
}

// load returns a marketplace with its fetched catalogue. Errors: ErrStale.
func (s *Store) load(name, address string) (*Market, error) {
	m := &Market{Name: name}
	data, err := os.ReadFile(s.stateFile(name))
	if err == nil {
		err = json.Unmarshal(data, &m.state)
	}
	if err == nil && m.Address == address {
		m.Catalogue, err = Decode(m.Content)
	}
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("marketplace %s: %w: %s: %v", name, ErrStale, s.stateFile(name), err) // not wrapped: the kind of the error does not matter
	case m.Catalogue == nil:
		return nil, fmt.Errorf("marketplace %s: %w", name, ErrStale)
	}
	return m, nil
}
