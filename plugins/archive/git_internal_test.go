package archive

import (
	"bufio"
	"bytes"
	"io"
	"testing"
)

// FuzzGitTree feeds what git could print of a hostile repository: a tree, and the objects in it.
func FuzzGitTree(f *testing.F) {
	f.Add([]byte("100644 blob aa       3\ta/b\x00120000 blob bb       1\tc\x00040000 tree cc       -\ta\x00160000 commit dd       -\tsub\x00100755 blob ee       0\té\n\x00"),
		[]byte("aa blob 3\nabc\nbb blob 1\nx\nee blob 0\n\n"))
	f.Add([]byte("100664 blob aa 5\t../x\x00"), []byte("aa blob 5\nab"))
	f.Add([]byte("100644 blob aa -1\ta\x00100644 blob aa 9223372036854775807\tb"), []byte("aa missing\n"))
	f.Add([]byte("100600 blob aa 1\ta"), []byte("aa tree 1\nx\n"))
	f.Fuzz(func(t *testing.T, tree, objects []byte) {
		g := &Git{}
		if g.parse(tree) != nil {
			return
		}
		var total int64
		for _, e := range g.entries {
			total += e.Size
		}
		if total > maxBytes || len(g.entries)+len(g.submodules) > bytes.Count(tree, []byte{0})+1 {
			t.Fatalf("%d entries of %d bytes", len(g.entries), total)
		}
		answers := bufio.NewReader(bytes.NewReader(objects))
		for _, e := range g.entries {
			err := object(answers, e, func(visited Entry, content io.Reader) error {
				n, err := io.Copy(io.Discard, content)
				if n > e.Size || visited.Name != e.Name || len(visited.Target) > maxTarget+1 {
					t.Errorf("%d bytes of %+v", n, e)
				}
				return err
			})
			if err != nil {
				return
			}
		}
	})
}
