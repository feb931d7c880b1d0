package trust

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tenonhq/tenon/internal/atomicfile"
)

// settled is the minimum age of the newest change of a tree before its stamp counts: a file can be written twice within one tick of the
// file system's clock.
const settled = 2 * time.Second

// stamps caches digests of trees by the metadata of their files, so that trees are not read at every start. If the cache is lost,
// everything is read again; if it is wrong, still only an approved copy runs.
type stamps struct {
	file string // empty: nothing is remembered
	now  func() time.Time

	mu    sync.Mutex
	known map[string]stamped // by path; nil until read
	dirty bool
}

// stamped is a digest with the stamp of the tree it was taken of.
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

func (s *stamps) forget(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	if _, ok := s.known[path]; ok {
		delete(s.known, path)
		s.dirty = true
	}
}

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
	data, err := json.Marshal(s.known)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.file), 0o700); err != nil {
		return err
	}
	s.dirty = false
	return atomicfile.Write(s.file, data, atomicfile.Options{})
}

// stampTree returns the stamp of the tree at path, and when the last of its files changed. path has its links resolved.
func stampTree(path string) (stamp string, newest time.Time, err error) {
	h := sha256.New()
	note := func(name string, info fs.FileInfo) {
		changed, inode, device := stampOf(info)
		var b [48]byte
		for i, n := range []uint64{uint64(info.Mode()), uint64(info.Size()), uint64(info.ModTime().UnixNano()), uint64(changed), inode, device} {
			binary.LittleEndian.PutUint64(b[8*i:], n)
		}
		_, _ = h.Write(binary.AppendUvarint(nil, uint64(len(name)))) // a hash takes everything
		_, _ = h.Write([]byte(name))
		_, _ = h.Write(b[:])
		for _, t := range []time.Time{info.ModTime(), time.Unix(0, changed)} {
			if t.After(newest) {
				newest = t
			}
		}
	}
	info, err := os.Lstat(path)
	if err != nil {
		return "", newest, err
	}
	note("", info)
	if info.IsDir() {
		err = stampDir(path, "", note, 0)
	}
	return hex.EncodeToString(h.Sum(nil)), newest, err
}

var errTooMuch = errors.New("too deep to be stamped")

func stampDir(dir, prefix string, note func(string, fs.FileInfo), depth int) error {
	if depth > 128 {
		return errTooMuch
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		if prefix == "" && e.Name() == ".git" {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		name := prefix + e.Name()
		note(name, info)
		if e.IsDir() {
			if err := stampDir(filepath.Join(dir, e.Name()), name+"/", note, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
