package snapshot

import (
	"reflect"
	"testing"
)

// example is a state with one of everything.
func example() *node {
	deep := &node{Stamp: stamp{Mode: kindDir | 0o755, Mtime: 5, Ctime: 9, Inode: 3}, Unreadable: true}
	return &node{
		Stamp: stamp{Mode: kindDir | 0o700, Size: 4096, Mtime: -1, Ctime: 1 << 60, Inode: 1 << 63}, Settled: true,
		Gitignore: dirEntry{Name: "/.gitignore", Stamp: stamp{Mode: kindFile, Size: 2}, Settled: true, Hash: hashOf(objectBlob, nil)},
		Excludes:  dirEntry{Name: "/.git/info/exclude"}, Rules: hashOf("rules", nil),
		Entries: []dirEntry{
			{Name: "a\xff", Stamp: stamp{Mode: kindFile | 0o644, Size: 3}, Settled: true, Hash: hashOf(objectBlob, []byte("abc"))},
			{Name: "large", Stamp: stamp{Mode: kindFile | 0o644, Size: 1 << 40}},
			{Name: "pipe", Settled: true},
			{Name: "sub", Dir: true, Settled: true, Node: deep},
			{Name: "x", Dir: true, Ignored: true, Settled: true},
			{Name: "y", Ignored: true, Settled: true},
		},
		Hash: hashOf(objectTree, nil),
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	n := example()
	whole, err := encodeState(stateVersion, n)
	if err != nil {
		t.Fatal(err)
	}
	back, err := decodeState(stateVersion, whole)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, n) {
		t.Errorf("the state comes back as %+v, want %+v", back, n)
	}
	for i := range whole {
		damaged := append([]byte(nil), whole...)
		damaged[i] ^= 1
		if _, err := decodeState(stateVersion, damaged); err == nil {
			t.Errorf("a state whose byte %d is another one is read", i)
		}
		if _, err := decodeState(stateVersion, whole[:i]); err == nil {
			t.Errorf("a state that ends at byte %d is read", i)
		}
	}
}

// FuzzState reads any bytes behind a version and a checksum that fit.
func FuzzState(f *testing.F) {
	whole, err := encodeState(stateVersion, example())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole[len(stateVersion) : len(whole)-20])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		n, err := decodeState(stateVersion, sealed(append([]byte(stateVersion), body...)))
		if err != nil {
			return
		}
		again, err := encodeState(stateVersion, n)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := decodeState(stateVersion, again); err != nil || !reflect.DeepEqual(back, n) {
			t.Errorf("%+v is written and read as %+v, %v", n, back, err)
		}
	})
}
