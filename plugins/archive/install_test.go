package archive_test

import (
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/tenonhq/tenon/plugins/archive"
	"github.com/tenonhq/tenon/plugins/install"
	"github.com/tenonhq/tenon/plugins/pins"
	"github.com/tenonhq/tenon/plugins/source"
	"github.com/tenonhq/tenon/plugins/source/oci"
	"github.com/tenonhq/tenon/plugins/trust"
)

// hostileServer serves hostile archives as files, as npm packages and as layers in a registry.
type hostileServer struct {
	*httptest.Server
	samples map[string]sample // by name, which has digits alone
	images  http.Handler
}

func (s *hostileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), ".")
	found, ok := s.samples[name]
	switch {
	case strings.HasPrefix(r.URL.Path, "/v2/"):
		s.images.ServeHTTP(w, r)
	case !ok:
		http.NotFound(w, r)
	case r.URL.Path != "/"+name:
		_, _ = w.Write(found.data)
	default: // the description of a package
		sum := sha512.Sum512(found.data)
		dist := map[string]any{"tarball": s.URL + "/" + name + ".tgz", "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"name": name, "dist-tags": map[string]string{"latest": "1.0.0"}, "versions": map[string]any{"1.0.0": map[string]any{"name": name, "version": "1.0.0", "dist": dist}},
		})
	}
}

// TestHostileInstall installs hostile archives over HTTPS, from an npm registry and from an OCI registry. Each is refused with its reason,
// and only the cache of downloads has files afterwards.
func TestHostileInstall(t *testing.T) {
	t.Parallel()
	s := &hostileServer{samples: map[string]sample{}, images: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(s.Close)
	plain := httptest.NewServer(s) // oras speaks plain HTTP to registries of this machine
	t.Cleanup(plain.Close)
	images := strings.TrimPrefix(plain.URL, "http://") + "/o/p"
	repo, err := oci.Open(images, plain.Client())
	if err != nil {
		t.Fatal(err)
	}
	refs := map[string]string{} // to the name of the sample
	for i, c := range hostile(t) {
		name := strconv.Itoa(i)
		s.samples[name] = c
		refs[s.URL+"/"+name+"."+string(c.format)] = c.name
		if c.format == archive.Zip {
			continue
		}
		refs["npm:"+name] = c.name
		if len(c.data) == 0 {
			continue // registries refuse empty layers
		}
		if _, err := repo.Push(t.Context(), "v"+name, []byte("{}"), c.data, nil); err != nil {
			t.Fatal(err)
		}
		refs["oci://"+images+":v"+name] = c.name
	}
	for ref, name := range refs {
		t.Run(name+"/"+strings.SplitN(ref, ":", 2)[0], func(t *testing.T) {
			t.Parallel()
			refusedInstall(t, ref, s)
		})
	}
}

// refusedInstall installs a hostile archive.
func refusedInstall(t *testing.T, ref string, s *hostileServer) {
	top := t.TempDir()
	in := &install.Installer{
		Fetcher: &source.Fetcher{Cache: filepath.Join(top, "cache"), Registry: s.URL, Transport: s.Client().Transport, Environ: os.Environ()},
		Vault:   trust.NewVault(filepath.Join(top, "store"), ""),
		History: pins.History{Dir: filepath.Join(top, "plugins")}, Home: top, Temp: filepath.Join(top, "unpacked"),
	}
	_, err := in.Stage(t.Context(), install.Target{Path: filepath.Join(top, pins.Name)}, ref, nil)
	if !errors.Is(err, archive.ErrUnsafe) || !strings.HasPrefix(err.Error(), ref+": "+archive.ErrUnsafe.Error()+": ") {
		t.Errorf("Stage(%s) = %v, want ErrUnsafe with its reason", ref, err)
	}
	err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(top, path); err == nil && !d.IsDir() && !strings.HasPrefix(rel, "cache") {
			t.Errorf("written: %s", rel)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
