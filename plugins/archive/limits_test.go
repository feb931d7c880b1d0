package archive_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/archive"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	var many, unlisted []member
	links, wide := []member{{name: "d/"}}, []member{{name: "d/"}}
	for i := range 20_001 {
		many = append(many, member{name: strconv.Itoa(i)})
	}
	for i := range 400 {
		unlisted = append(unlisted, member{name: strings.Repeat(strconv.Itoa(i)+"/", 60) + "a"})
	}
	for i := range 100 {
		links = append(links, member{name: strconv.Itoa(i), link: strings.Repeat("d/../", 800) + strconv.Itoa(i+1)})
	}
	for i := range 2000 {
		wide = append(wide, member{name: strconv.Itoa(i), link: strings.Repeat(strings.Repeat("é", 127)+"/../", 15) + "d"})
	}
	for name, members := range map[string][]member{
		"links": links, "links of other letters": wide,
		"entries": many, "directories": unlisted, "depth": {{name: strings.Repeat("a/", 64) + "b"}}, "length": {{name: strings.Repeat(strings.Repeat("a", 200)+"/", 11) + "b"}},
	} {
		for format, data := range map[archive.Format][]byte{archive.TarGzip: targz(t, members...), archive.Zip: zipBytes(t, members...)} {
			dir := t.TempDir()
			if _, err := open(format, data).Extract(t.Context(), dir); !errors.Is(err, archive.ErrUnsafe) || len(tree(t, dir)) > 0 {
				t.Errorf("%s, %s: Extract() = %v, wrote %v", name, format, err, tree(t, dir))
			}
		}
	}
	large, dir := t.TempDir(), t.TempDir()
	for name, size := range map[string]int64{"a": 512 << 20, "b": 1} {
		if err := errors.Join(os.WriteFile(filepath.Join(large, name), nil, 0o600), os.Truncate(filepath.Join(large, name), size)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := (archive.Directory{Path: large}).Extract(t.Context(), dir); !errors.Is(err, archive.ErrUnsafe) || len(tree(t, dir)) > 0 {
		t.Errorf("bytes: Extract() = %v, wrote %v", err, tree(t, dir))
	}
	g := archive.Git{Command: func(ctx context.Context, _ ...string) *exec.Cmd {
		return exec.CommandContext(ctx, "printf", "100644 blob 1234567890123456789012345678901234567890 536870913\\tbig")
	}}
	if _, err := g.Extract(t.Context(), dir); !errors.Is(err, archive.ErrUnsafe) {
		t.Errorf("bytes of git: Extract() = %v", err)
	}
}
