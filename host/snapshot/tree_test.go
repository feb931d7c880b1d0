package snapshot_test

import (
	"testing"

	"github.com/tenonhq/tenon/host/snapshot"
)

// Entry knows only what the state says: not git's own files, and not the file of a name in another case, which some systems take for the same.
func TestEntry(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("sub/b.txt", "two\n")
	p.write("inner/.git/HEAD", "x")
	p.write("inner/c.txt", "three\n")
	tree, err := p.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for path, known := range map[snapshot.Path]bool{
		"a.txt": true, "sub": true, "sub/b.txt": true, "inner/c.txt": true, "new.txt": true, "new/b.txt": true, "a.txt/b": true,
		".git/config": false, ".GIT/config": false, "inner/.git/HEAD": false, "A.txt": false, "SUB/b.txt": false, "sub/B.txt": false, "../x": false,
	} {
		entry, ok := tree.Entry(path)
		if ok != known {
			t.Errorf("Entry(%s) = %+v, %t, want %t", path, entry, ok, known)
		}
		if is, err := p.Record(path); known && (err != nil || !entry.Same(is) || entry.Above != is.Above) {
			t.Errorf("Entry(%s) = %+v, want %+v, %v", path, entry, is, err)
		}
	}
}
