package source_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/plugins/source"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// FuzzNPMLock: what is accepted stays the same when it is written and read again.
func FuzzNPMLock(f *testing.F) {
	f.Add([]byte(`{"packages":{"node_modules/a":{"version":"1.0.0","resolved":"a/-/a.tgz","integrity":"sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := source.DecodeNPMLock(data)
		if err != nil {
			return
		}
		second, err := source.DecodeNPMLock(first)
		if err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s\n%s: %v", first, second, err)
		}
	})
}

// FuzzVersions: the chosen version is one of the package.
func FuzzVersions(f *testing.F) {
	f.Add([]byte(`{"dist-tags":{"latest":"1.0.0","next":"2.0.0-rc.1"},"versions":{"1.0.0":{"dist":{"tarball":"t","integrity":"i"}},"1.2.0":{},"2.0.0-rc.1":{},"x":{}}}`), "^1.0.0")
	f.Add([]byte(`{"dist-tags":{"latest":"9.9.9"},"versions":{"01.0.0":null,"1.0.0 || 2":{},"1.0.0+a":{}}}`), ">=0 || next")
	f.Add([]byte(`{"versions":{"1.0.0":{"dist":7}}}`), "")
	f.Fuzz(func(t *testing.T, data []byte, wanted string) {
		version, versions, err := source.ChooseVersion(data, wanted)
		if err == nil && !slices.Contains(versions, version) {
			t.Errorf("version %q of %q", version, versions)
		}
	})
}

// FuzzPackument: an answer of a registry stays JSON, or is an error.
func FuzzPackument(f *testing.F) {
	f.Add([]byte(`{"versions":{"1.0.0":{"dist":{"tarball":"http://r/a.tgz"}}}}`))
	f.Add([]byte(`{"versions":{"1":null,"2":{"dist":null}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if out, err := source.RedirectTarballs(data, "http://r/", "http://g/"); err == nil && !json.Valid(out) {
			t.Errorf("%s", out)
		}
	})
}
