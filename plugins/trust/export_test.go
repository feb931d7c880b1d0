package trust

import "time"

// SetClock makes a vault believe that it is another time.
func (v *Vault) SetClock(now func() time.Time) { v.stamps.now = now }

// Poison makes the cache say that the tree at path, as it is now, has the digest d.
func (v *Vault) Poison(path string, d Digest) error {
	stamp, _, err := stampTree(path)
	v.stamps.remember(path, stamp, d)
	return err
}

// PoisonCopy makes the cache say that a copy, as it is now, is intact.
func (v *Vault) PoisonCopy(s *Sealed) error {
	stamp, err := stampCopy(s.Root, s.tree.entries)
	v.stamps.remember(s.Root, stamp, s.Digest)
	return err
}

// Path returns where the store is.
func (s *Store) Path() string { return s.path }

// Check returns whether an item may run.
func (s *Store) Check(i Item) (Decision, error) {
	entries, err := s.Read()
	return entries.Check(i), err
}
