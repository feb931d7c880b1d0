package trust

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/plugins/archive"
)

// settled is the minimum age of the newest change of a tree before its stamp counts: a file can be written twice within one tick of the
// file system's clock.
const settled = 2 * time.Second

// stamps caches digests of trees by the metadata of their files, so that trees are not read at every start. If the cache is lost,
// everything is read again; if it is wrong, still only an approved copy runs.
type stamps struct {
	file string // empty: digests are not cached
	now  func() time.Time

	mu    sync.Mutex
	known map[string]stamped // by path; nil until read
	dirty bool
}

// stamped is a digest with the stamp of its tree.
type stamped struct {
	Stamp  string `json:"stamp"`
	Digest Digest `json:"digest"`
}

// lookup returns the digest of an unchanged tree.
func (s *stamps) lookup(path, stamp string) (Digest, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	k, ok := s.known[path]
	return k.Digest, ok && k.Stamp == stamp && k.Digest.Valid()
}

func (s *stamps) remember(path, stamp string, d Digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	if s.known[path] != (stamped{stamp, d}) {
		s.known[path], s.dirty = stamped{stamp, d}, true
	}
}

// forget stores an empty digest, which is not valid and not saved: the tree is read again.
func (s *stamps) forget(path string) { s.remember(path, "", "") }

func (s *stamps) load() {
	if s.known != nil {
		return
	}
	if data, err := os.ReadFile(s.file); s.file == "" || err != nil || json.Unmarshal(data, &s.known) != nil || s.known == nil {
		s.known = map[string]stamped{}
	}
}

// save writes the cache. An error only costs time at the next start.
func (s *stamps) save() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.dirty || s.file == "" {
		return nil
	}
	maps.DeleteFunc(s.known, func(_ string, k stamped) bool { return k.Stamp == "" }) // forgotten
	data, err := json.Marshal(s.known)
	if err != nil {
		return err
	}
	s.dirty = false
	return atomicfile.Write(s.file, data, atomicfile.Options{MakeDirs: 0o700})
}

// stamper makes the stamp of files.
type stamper struct {
	hash   hash.Hash
	newest time.Time // time of the latest change
	buffer []byte
}

func newStamper() *stamper { return &stamper{hash: sha256.New()} }

// note adds a file.
func (s *stamper) note(name string, info fs.FileInfo) {
	is := projectfs.StampOf(info, nil)
	b := binary.AppendUvarint(s.buffer[:0], uint64(len(name)))
	b = append(b, name...)
	for _, n := range []uint64{uint64(is.Mode), uint64(is.Size), uint64(is.Modified), uint64(is.Changed), is.Inode, is.Device} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	s.buffer = b
	_, _ = s.hash.Write(b) // writing to a hash never fails
	for _, t := range []time.Time{info.ModTime(), is.Time()} {
		if t.After(s.newest) {
			s.newest = t
		}
	}
}

func (s *stamper) sum() string { return hex.EncodeToString(s.hash.Sum(nil)) }

// stampTree returns the stamp of the tree at path without its .git, and the time of the latest change. path has its links resolved.
func stampTree(path string) (stamp string, newest time.Time, err error) {
	s, git := newStamper(), filepath.Join(path, ".git")
	err = filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == git && e.IsDir():
			return fs.SkipDir
		case name == git:
			return nil
		}
		info, err := e.Info()
		if err == nil {
			s.note(name, info)
		}
		return err
	})
	return s.sum(), s.newest, err
}

// stampCopy returns the stamp of a sealed copy, whose files are known: an added file would change the stamp of its directory. It is
// three times as fast as stampTree.
func stampCopy(root string, entries []archive.Entry) (string, error) {
	s := newStamper()
	info, err := os.Lstat(root)
	if err != nil {
		return "", err
	}
	s.note("", info)
	for _, e := range entries {
		if info, err = os.Lstat(filepath.Join(root, filepath.FromSlash(e.Name))); err != nil {
			return "", err
		}
		s.note(e.Name, info)
	}
	return s.sum(), nil
}
