package trust

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/filelock"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// Kinds of errors of a Store.
var (
	// ErrLockFile is returned if tenon.lock cannot be read. The file is not changed.
	ErrLockFile = errors.New("bad lock file")
	// ErrNotFound is returned for a name without an approval.
	ErrNotFound = errors.New("not found")
	// ErrGrant is returned for a grant that was not requested, and for an item whose path cannot be stored.
	ErrGrant = errors.New("cannot be approved")
)

// LockFile is the usual name of the file of a Store.
const LockFile = "tenon.lock"

// lockVersion is the version of the format that is written. Version 1, in which plugins were disabled only by name, can also be read.
const lockVersion = 2

// lockTimeout is the maximum wait for another process that writes the file.
const lockTimeout = 10 * time.Second

// Entry is the user's decision about an item, as it was shown.
type Entry struct {
	Item
	Grants     []sdk.Capability `json:"grants,omitempty"`
	ApprovedAt time.Time        `json:"approvedAt"`
	Disabled   bool             `json:"disabled,omitempty"` // by the user
	Reason     string           `json:"reason,omitempty"`   // why it is disabled
	// Quarantined is the reason why the hooks of the item are not called: it failed repeatedly. Empty if they are called.
	Quarantined string `json:"quarantined,omitempty"`
	// Failures counts consecutive failures at the end of a run, by hook, so that a hook that is called once per run and always
	// fails is noticed.
	Failures map[string]int `json:"failures,omitempty"`
}

// withheld returns the names of the capabilities that the item requested and the user did not grant.
func (e *Entry) withheld() []string {
	var out []string
	for _, asked := range e.Request.Capabilities {
		if !slices.ContainsFunc(e.Grants, func(g sdk.Capability) bool { return g.Name == asked.Name }) {
			out = append(out, asked.Name)
		}
	}
	return out
}

// everywhere reports whether the entry disables a name at every path, as version 1 wrote it, and is not an approval.
func (e *Entry) everywhere() bool { return e.Source == "" && e.Disabled }

// Entries are the decisions of the user, in order.
type Entries []Entry

// lockContent is the content of the file.
type lockContent struct {
	Version int     `json:"version"`
	Entries Entries `json:"entries"`
}

// Store is tenon.lock. Safe for use from many goroutines and processes: each change reads and replaces the file
// under a lock of the system.
type Store struct {
	path string
	now  func() time.Time
}

// OpenStore returns the store in the file at path, which must not be inside of a repository. It touches no file.
func OpenStore(path string) *Store { return &Store{path: path, now: time.Now} }

// Read returns the decisions; none without a file. Errors wrap ErrLockFile.
func (s *Store) Read() (Entries, error) {
	f, info, err := projectfs.OpenRegular(s.path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil // the path cannot exist
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLockFile, err)
	}
	bad := func(what string) error {
		return fmt.Errorf("%w: %s: %s", ErrLockFile, s.path, what)
	}
	data, _, err := projectfs.ReadLimited(f, 64<<20)
	if err != nil {
		return nil, bad(err.Error())
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return nil, bad("insecure permissions (writable by others); check its content, then run chmod 600 on it")
	}
	var c lockContent
	err = jsontext.DecodeStrict(data, &c)
	switch {
	case c.Version > lockVersion, c.Version < 1 && err == nil:
		return nil, bad(fmt.Sprintf("its version is %d, this tenon knows %d; use the tenon that wrote it, or remove it and approve again", c.Version, lockVersion))
	case err != nil:
		return nil, bad("it is not readable (" + err.Error() + "); restore it, or remove it and approve again")
	}
	for i, e := range c.Entries {
		if e.Name == "" || !e.everywhere() && (!e.Digest.Valid() || e.Source == "") {
			return nil, bad(fmt.Sprintf("entry %d (%q) is not complete; restore the file, or remove it and approve again", i+1, e.Name))
		}
	}
	if c.Version == 1 {
		return migrated(c.Entries), nil
	}
	return c.Entries, nil
}

// quarantineV1 is the prefix of reasons of plugins that version 1 disabled because of failures.
const quarantineV1 = "quarantined: "

// migrated converts entries of version 1. A quarantine stays at its path. A name that the user disabled stays disabled everywhere
// until it is enabled.
func migrated(list Entries) Entries {
	var out, names Entries
	for _, e := range list {
		reason, quarantined := strings.CutPrefix(e.Reason, quarantineV1)
		if e.Disabled && quarantined {
			e.Quarantined = reason
		} else if e.Disabled && !slices.ContainsFunc(names, func(n Entry) bool { return n.Name == e.Name }) {
			names = append(names, Entry{Item: Item{Name: e.Name}, Disabled: true, Reason: e.Reason})
		}
		e.Disabled, e.Reason = false, ""
		out = append(out, e)
	}
	return append(out, names...)
}

// Approve records the approval of exactly this item with grants, which it must have requested, and enables it. It replaces the approvals
// of other contents at its path, except those in kept. The approval of a program that has not described its requests replaces none: when
// the user is asked about these, it is still known what was withheld before. Errors wrap ErrGrant or ErrLockFile.
func (s *Store) Approve(ctx context.Context, i Item, grants []sdk.Capability, kept map[Digest]bool) error {
	if grant := notRequested(i.Request.Capabilities, grants); grant != "" {
		return fmt.Errorf("%w: %q did not request %s", ErrGrant, i.Name, grant)
	}
	if !utf8.ValidString(i.Source) { // JSON would change it
		return fmt.Errorf("%w: the path %q is not UTF-8: rename the directory", ErrGrant, i.Source)
	}
	e := Entry{Item: i, Grants: grants, ApprovedAt: s.now().UTC().Truncate(time.Second)}
	return s.change(ctx, func(list Entries) (Entries, error) {
		list = slices.DeleteFunc(list, func(old Entry) bool {
			return i.equal(old.Item) || i.same(old.Item) && !kept[old.Digest] && !i.Request.Undescribed
		})
		return append(list, e), nil
	})
}

// Revoke deletes the approvals of a kind for a name, at any path, and those of other contents at the same paths, which may have other names. It
// returns them. The name of a plugin may be its absolute path, links resolved. ErrNotFound if nothing was approved.
func (s *Store) Revoke(ctx context.Context, kind Kind, name string) (Entries, error) {
	var gone Entries
	err := s.change(ctx, func(list Entries) (Entries, error) {
		named := slices.DeleteFunc(slices.Clone(list), func(e Entry) bool {
			return e.Kind != kind || e.everywhere() || e.Name != name && (kind != KindPlugin || e.Source != name)
		})
		kept := slices.DeleteFunc(list, func(e Entry) bool {
			match := slices.ContainsFunc(named, func(n Entry) bool { return n.same(e.Item) })
			if match {
				gone = append(gone, e)
			}
			return match
		})
		if len(gone) == 0 {
			return nil, fmt.Errorf("%w: nothing named %q was approved", ErrNotFound, name)
		}
		return kept, nil
	})
	return gone, err
}

// SetEnabled enables or disables an item at its path, also with other content than now. Its approvals stay. reason is shown for a disabled
// one. Enabling also ends the quarantine of this content, and removes entries of version 1 that disable its name everywhere. ErrNotFound
// without any such entry.
func (s *Store) SetEnabled(ctx context.Context, i Item, enabled bool, reason string) error {
	return s.amend(ctx, i, i.same, enabled, func(e *Entry) {
		e.Disabled, e.Reason = !enabled, reason
		if enabled {
			e.Reason = ""
		}
		if enabled && e.Digest == i.Digest {
			e.Quarantined, e.Failures = "", nil
		}
	})
}

// Quarantine records the reason why the hooks of an item are no longer called. ErrNotFound if its content was not approved.
func (s *Store) Quarantine(ctx context.Context, i Item, reason string) error {
	return s.amend(ctx, i, i.equal, false, func(e *Entry) { e.Quarantined, e.Failures = reason, nil })
}

// SetFailures records how often the hooks of an item failed in a row. ErrNotFound if its content was not approved.
func (s *Store) SetFailures(ctx context.Context, i Item, failures map[string]int) error {
	return s.amend(ctx, i, i.equal, false, func(e *Entry) { e.Failures = failures })
}

// amend changes the entries of matching items; enable also removes entries that disable the name of i everywhere.
func (s *Store) amend(ctx context.Context, i Item, matches func(Item) bool, enable bool, f func(*Entry)) error {
	return s.change(ctx, func(list Entries) (Entries, error) {
		found := false
		list = slices.DeleteFunc(list, func(e Entry) bool {
			gone := enable && e.everywhere() && e.Name == i.Name
			found = found || gone
			return gone
		})
		for n := range list {
			if e := &list[n]; matches(e.Item) {
				found = true
				f(e)
			}
		}
		if !found {
			return nil, fmt.Errorf("%w: nothing named %q was approved", ErrNotFound, i.Name)
		}
		return list, nil
	})
}

// change replaces the content of the file by the result of f. A file that cannot be read is not changed.
func (s *Store) change(ctx context.Context, f func(Entries) (Entries, error)) error {
	return filelock.Do(ctx, s.path+".flock", lockTimeout, func() error {
		list, err := s.Read()
		if err != nil {
			return err
		}
		if list, err = f(list); err != nil {
			return err
		}
		data, err := json.MarshalIndent(lockContent{lockVersion, list}, "", "  ")
		if err != nil {
			return err
		}
		return atomicfile.Write(s.path, append(data, '\n'), atomicfile.Options{Sync: true})
	})
}
