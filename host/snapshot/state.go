package snapshot

import (
	"crypto/sha1" //nolint:gosec // tells of damage, proves nothing
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
)

// stateFile keeps the latest state from one process to the next. It only saves work: without it all files are read.
const stateFile = "state"

// stateVersion begins the file. A file of another form is not read.
const stateVersion = "tenon state 1\n"

// maxDepth bounds how deep directories of a state are.
const maxDepth = 1000

var errState = errors.New("no state that can be read")

// load returns the state on the disk; nil when there is none whose contents are stored.
func (r *Repo) load() *node {
	content, err := os.ReadFile(filepath.Join(r.dir, stateFile))
	if err != nil {
		return nil
	}
	n, err := decodeState(content)
	if err != nil {
		return nil
	}
	return n
}

func (r *Repo) save(n *node) error {
	return replaceFile(filepath.Join(r.dir, stateFile), encodeState(n))
}

// encodeState writes a state: the version, the directory, a checksum of both.
func encodeState(n *node) []byte {
	out := appendNode([]byte(stateVersion), n)
	sum := sha1.Sum(out) //nolint:gosec // as above
	return append(out, sum[:]...)
}

func appendNode(b []byte, n *node) []byte {
	b = appendStamp(appendStamp(b, n.stamp), n.rules)
	b = append(b, flag(n.settled), byte(n.opaque))
	b = appendHash(b, n.hash)
	b = binary.AppendUvarint(b, uint64(len(n.files)))
	for _, f := range n.files {
		b = appendHash(append(appendStamp(appendText(b, f.name), f.stamp), flag(f.settled)), f.hash)
	}
	b = binary.AppendUvarint(b, uint64(len(n.ignored)))
	for _, i := range n.ignored {
		b = append(appendText(b, i.name), flag(i.dir))
	}
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(n.others)), uint64(len(n.dirs)))
	for _, d := range n.dirs {
		b = appendNode(appendText(b, d.name), d.node)
	}
	return b
}

func appendStamp(b []byte, s stamp) []byte {
	b = binary.AppendUvarint(binary.AppendVarint(binary.AppendUvarint(b, uint64(s.Mode)), s.Size), s.Inode)
	return binary.AppendVarint(binary.AppendVarint(b, s.Mtime), s.Ctime-s.Mtime)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendHash(b []byte, hash string) []byte {
	raw, _ := hex.DecodeString(hash) // made by hashOf, or empty
	return append(append(b, byte(len(raw))), raw...)
}

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// decodeState reads what encodeState wrote.
func decodeState(b []byte) (*node, error) {
	end := len(b) - sha1.Size
	if end < len(stateVersion) || string(b[:len(stateVersion)]) != stateVersion {
		return nil, errState
	}
	if sum := sha1.Sum(b[:end]); string(sum[:]) != string(b[end:]) { //nolint:gosec // as above
		return nil, errState
	}
	d := &decoder{rest: b[len(stateVersion):end]}
	n := d.node(0)
	if d.bad || len(d.rest) > 0 {
		return nil, errState
	}
	return n, nil
}

// decoder reads values one after another. After the first that is not whole everything is zero.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) node(depth int) *node {
	n := &node{stamp: d.stamp(), rules: d.stamp(), settled: d.byte() == 1, opaque: opacity(d.byte()), hash: d.hash()}
	d.bad = d.bad || depth > maxDepth || n.opaque > unreadable
	n.files = make([]file, d.count())
	for i := range n.files {
		n.files[i] = file{name: d.text(), stamp: d.stamp(), settled: d.byte() == 1, hash: d.hash()}
	}
	n.ignored = make([]ignoredName, d.count())
	for i := range n.ignored {
		n.ignored[i] = ignoredName{d.text(), d.byte() == 1}
	}
	n.others = int(d.uint())
	n.dirs = make([]folder, d.count())
	for i := range n.dirs {
		if d.bad {
			return n
		}
		n.dirs[i] = folder{d.text(), d.node(depth + 1)}
	}
	n.countLeft()
	return n
}

func (d *decoder) stamp() stamp {
	s := stamp{Mode: uint32(d.uint()), Size: d.int(), Inode: d.uint(), Mtime: d.int()}
	s.Ctime = s.Mtime + d.int()
	return s
}

// count returns how many values follow; each has a byte at least.
func (d *decoder) count() int {
	n := d.uint()
	if n > uint64(len(d.rest)) {
		d.bad = true
		return 0
	}
	return int(n)
}

func (d *decoder) text() string { return string(d.bytes(d.count())) }

func (d *decoder) hash() string {
	n := int(d.byte())
	if n != 0 && n != sha1.Size {
		d.bad = true
	}
	return hex.EncodeToString(d.bytes(n))
}

func (d *decoder) byte() byte {
	if b := d.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) bytes(n int) []byte {
	if d.bad || n > len(d.rest) {
		d.bad = true
		return nil
	}
	out := d.rest[:n]
	d.rest = d.rest[n:]
	return out
}

func (d *decoder) uint() uint64 { return varint(d, binary.Uvarint) }
func (d *decoder) int() int64   { return varint(d, binary.Varint) }

func varint[T int64 | uint64](d *decoder, decode func([]byte) (T, int)) T {
	v, n := decode(d.rest)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.rest = d.rest[n:]
	return v
}
