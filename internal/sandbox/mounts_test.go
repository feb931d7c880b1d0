package sandbox

import (
	"path/filepath"
	"strings"
	"testing"
)

// The other paths of a file are clean absolute paths.
func FuzzMounts(f *testing.F) {
	const root = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
	f.Add(root+"23 22 8:1 / /mnt/distro rw - ext4 /dev/sda1 rw\n24 22 8:2 / /mnt/d\\040x rw - ext4 /dev/sdb1 rw\n25 22 8:1 /home /sysroot/home rw\n", "/nowhere/a/b")
	f.Add(root+"23 22 8:1 /home /x rw\n24 22 8:1 / /x/y rw\n25 24 8:3 / /x rw\n", "/x/y/z")
	f.Add("23 22 8:1 /a /b rw\n24 22 8:1 /a b rw\n25 22 8:1\n", "/b/c")
	f.Fuzz(func(t *testing.T, text, path string) {
		path = filepath.Clean("/" + strings.ReplaceAll(path, "\x00", ""))
		mounts := mountsOf(text)
		for _, m := range mounts {
			if !filepath.IsAbs(m.root) || !filepath.IsAbs(m.point) || filepath.Clean(m.root) != m.root || filepath.Clean(m.point) != m.point {
				return // the kernel writes clean paths
			}
		}
		for _, other := range elsewhere(mounts, path) {
			if !filepath.IsAbs(other) || filepath.Clean(other) != other {
				t.Errorf("%q is also %q", path, other)
			}
		}
	})
}
