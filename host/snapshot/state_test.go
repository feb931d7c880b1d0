package snapshot

import (
	"reflect"
	"testing"
)

// example is a state with one of everything.
func example() *node {
	deep := &node{stamp: stamp{Mode: kindDir | 0o755, Mtime: 5, Ctime: 9, Inode: 3}, opaque: unreadable, left: 1}
	return &node{
		stamp: stamp{Mode: kindDir | 0o700, Size: 4096, Mtime: -1, Ctime: 1 << 60, Inode: 1 << 63}, settled: true,
		rules: stamp{Mode: kindFile, Size: 2},
		files: []file{
			{name: "a\xff", stamp: stamp{Mode: kindFile | 0o644, Size: 3}, settled: true, hash: hashOf(objectBlob, []byte("abc"))},
			{name: "large", stamp: stamp{Mode: kindFile | 0o644, Size: 1 << 40}},
		},
		dirs:    []folder{{"sub", deep}},
		ignored: []ignoredName{{"x", true}, {"y", false}},
		others:  2, hash: hashOf(objectTree, nil), left: 2,
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	n := example()
	whole := encodeState(n)
	back, err := decodeState(whole)
	if err != nil {
		t.Fatal(err)
	}
	n.dirs[0].node.files, n.dirs[0].node.ignored, n.dirs[0].node.dirs = []file{}, []ignoredName{}, []folder{}
	if !reflect.DeepEqual(back, n) {
		t.Errorf("the state comes back as %+v, want %+v", back, n)
	}
	for i := range whole {
		damaged := append([]byte(nil), whole...)
		damaged[i] ^= 1
		if _, err := decodeState(damaged); err == nil {
			t.Errorf("a state whose byte %d is another one is read", i)
		}
		if _, err := decodeState(whole[:i]); err == nil {
			t.Errorf("a state that ends at byte %d is read", i)
		}
	}
}

// FuzzState reads any bytes behind a checksum that fits.
func FuzzState(f *testing.F) {
	whole := encodeState(example())
	f.Add(whole[len(stateVersion) : len(whole)-20])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		d := &decoder{rest: body}
		n := d.node(0)
		if d.bad || len(d.rest) > 0 {
			return
		}
		again := &decoder{rest: appendNode(nil, n)}
		if back := again.node(0); again.bad || !reflect.DeepEqual(back, n) {
			t.Errorf("%+v is written and read as %+v", n, back)
		}
	})
}
