package source_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/tenonhq/tenon/plugins/source"
	"github.com/tenonhq/tenon/plugins/source/oci"
	"github.com/tenonhq/tenon/plugins/source/sourcetest"
)

// registryServer is an OCI registry. wrap may change its answers.
func registryServer(t testing.TB, wrap func(http.Handler) http.Handler) string {
	t.Helper()
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	if wrap != nil {
		handler = wrap(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return server.URL
}

func digestOf(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

// put stores a blob or a manifest in a registry.
func put(t testing.TB, address, contentType string, data []byte) {
	t.Helper()
	method := http.MethodPut
	if contentType == "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode >= 300 {
		t.Fatalf("%s: %s %s", address, resp.Status, text)
	}
}

type object = map[string]any

// artifact stores a manifest with one layer for each media type, and returns its descriptor.
func artifact(t testing.TB, base, tag string, config string, layers map[string][]byte) object {
	t.Helper()
	blobs := base + "/v2/o/p/blobs/uploads/?digest="
	put(t, blobs+digestOf([]byte("{}")), "", []byte("{}"))
	m := object{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": object{"mediaType": config, "digest": digestOf([]byte("{}")), "size": 2}}
	list := []object{}
	for kind, data := range layers {
		put(t, blobs+digestOf(data), "", data)
		list = append(list, object{"mediaType": kind, "digest": digestOf(data), "size": len(data)})
	}
	m["layers"] = list
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if tag == "" {
		tag = digestOf(data)
	}
	put(t, base+"/v2/o/p/manifests/"+tag, "application/vnd.oci.image.manifest.v1+json", data)
	return object{"mediaType": m["mediaType"], "digest": digestOf(data), "size": len(data)}
}

func tarball(t testing.TB, files map[string]string) []byte {
	t.Helper()
	data, err := sourcetest.Tarball("", files)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// module is the preamble of a WASM core module.
var module = []byte("\x00asm\x01\x00\x00\x00")

func TestOCI(t *testing.T) {
	t.Parallel()
	base := registryServer(t, nil)
	ref := "oci://" + strings.TrimPrefix(base, "http://") + "/o/p"
	files := map[string]string{"plugin.json": "{}", "skills/a/SKILL.md": "a"}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	repo, err := oci.Open(strings.TrimPrefix(ref, "oci://"), client)
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := repo.Push(t.Context(), "latest", []byte("{}"), tarball(t, files), map[string]string{"a": "b"})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := repo.Push(t.Context(), "v1", []byte("{}"), tarball(t, files), map[string]string{"a": "b"}); err != nil || again != pushed {
		t.Errorf("the second push: %s, %v, first %s", again, err, pushed)
	}
	f := fetcher(t)
	for _, name := range []string{ref, ref + ":v1", ref + "@" + pushed} {
		out, have, err := fetch(t, f, name, nil)
		if err != nil || !maps.Equal(have, files) || out.Manifest != pushed || out.Local || out.Ref != name {
			t.Errorf("%s: %+v, %v, %v", name, out, have, err)
		}
	}
	out, _, err := fetch(t, f, ref, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Offline = true
	if _, have, err := fetch(t, f, ref, &out.Pin); err != nil || !maps.Equal(have, files) {
		t.Errorf("from the cache: %v, %v", have, err)
	}
	if _, _, err := fetch(t, f, ref+":other", nil); !errors.Is(err, source.ErrOffline) {
		t.Errorf("offline: %v", err)
	}
	f.Verify = func(ctx context.Context, a *source.Artifact) (string, error) {
		_, err := a.Signatures(ctx, source.SigstoreSuffix)
		return "", err
	}
	if _, _, err := fetch(t, f, ref, &out.Pin); !errors.Is(err, source.ErrOffline) {
		t.Errorf("signatures offline: %v", err)
	}
	if _, err := repo.Push(t.Context(), "latest", []byte("{}"), tarball(t, map[string]string{"plugin.json": "[]"}), nil); err != nil {
		t.Fatal(err)
	}
	if _, have, err := fetch(t, fetcher(t), ref+"@"+pushed, nil); err != nil || !maps.Equal(have, files) {
		t.Errorf("by its digest, after a newer one: %v, %v", have, err)
	}
	artifact(t, base, "module", "application/vnd.wasm.config.v0+json", map[string][]byte{"application/wasm": module})
	if out, have, err := fetch(t, fetcher(t), ref+":module", nil); err != nil || have["p.wasm"] != string(module) || filepath.Base(out.Path) != "p.wasm" {
		t.Errorf("a module: %v, %v", have, err)
	}
	tar := tarball(t, files)
	artifact(t, base, "component", "application/vnd.wasm.config.v0+json", map[string][]byte{"application/wasm": []byte("\x00asm\x0d\x00\x01\x00")})
	artifact(t, base, "image", "application/vnd.oci.image.config.v1+json", map[string][]byte{"application/vnd.oci.image.layer.v1.tar+gzip": tar})
	artifact(t, base, "two", "application/x", map[string][]byte{"application/wasm": module, "application/x.tar+gzip": tar})
	artifact(t, base, "none", "application/x", map[string][]byte{"text/plain": tar})
	artifact(t, base, "broken", "application/x", map[string][]byte{"application/x.tar+gzip": []byte("x")})
	for tag, want := range map[string]error{"component": nil, "image": oci.ErrArtifact, "two": oci.ErrArtifact, "none": oci.ErrArtifact, "broken": nil, "missing": nil} {
		if out, have, err := fetch(t, fetcher(t), ref+":"+tag, nil); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %+v, %v, %v", tag, out, have, err)
		}
	}
}

// TestOCIPlatforms: of an index the variant of this platform is used, and the index is pinned.
func TestOCIPlatforms(t *testing.T) {
	t.Parallel()
	base := registryServer(t, nil)
	ref := "oci://" + strings.TrimPrefix(base, "http://") + "/o/p:v1"
	own := artifact(t, base, "", "application/x", map[string][]byte{"application/x.tar+gzip": tarball(t, map[string]string{"plugin.json": "own"})})
	other := artifact(t, base, "", "application/x", map[string][]byte{"application/x.tar+gzip": tarball(t, map[string]string{"plugin.json": "other"})})
	own["platform"] = object{"os": runtime.GOOS, "architecture": runtime.GOARCH}
	other["platform"] = object{"os": "plan9", "architecture": "mips"}
	index, err := json.Marshal(object{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []object{other, own}})
	if err != nil {
		t.Fatal(err)
	}
	put(t, base+"/v2/o/p/manifests/v1", "application/vnd.oci.image.index.v1+json", index)
	f := fetcher(t)
	out, have, err := fetch(t, f, ref, nil)
	if err != nil || have["plugin.json"] != "own" || !out.Local || out.Manifest != digestOf(index) || len(out.Platforms) != 1 {
		t.Fatalf("%+v, %v, %v", out, have, err)
	}
	f.Platforms = []string{"plan9/mips"}
	if out, _, err = fetch(t, f, ref, &out.Pin); err != nil || out.Platforms["plan9/mips"] != other["digest"] || len(out.Platforms) != 2 {
		t.Errorf("with another platform: %+v, %v", out, err)
	}
	f.Platforms = []string{"linux/none"}
	if _, _, err := fetch(t, f, ref, &out.Pin); !errors.Is(err, oci.ErrArtifact) {
		t.Errorf("a platform that is missing: %v", err)
	}
	f.Platforms = nil
	pin := out.Pin
	pin.Platforms = map[string]string{"plan9/mips": digestOf(nil)}
	if _, _, err := fetch(t, f, ref, &pin); !errors.Is(err, source.ErrMismatch) {
		t.Errorf("another digest for a platform: %v", err)
	}
}

// TestOCIWrong: a registry that sends other bytes, or stops in the middle.
func TestOCIWrong(t *testing.T) {
	t.Parallel()
	files := map[string]string{"plugin.json": "{}", "big": strings.Repeat("0123456789", 1000)}
	tar := tarball(t, files)
	layer := "/v2/o/p/blobs/" + digestOf(tar)
	serve := func(t *testing.T, answer func(w http.ResponseWriter, r *http.Request)) string {
		base := registryServer(t, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet && r.URL.Path == layer {
					answer(w, r)
					return
				}
				next.ServeHTTP(w, r)
			})
		})
		artifact(t, base, "latest", "application/x", map[string][]byte{"application/x.tar+gzip": tar})
		return "oci://" + strings.TrimPrefix(base, "http://") + "/o/p"
	}
	t.Run("other bytes", func(t *testing.T) {
		t.Parallel()
		ref := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(strings.Repeat("x", len(tar)))) })
		if _, have, err := fetch(t, fetcher(t), ref, nil); !errors.Is(err, source.ErrMismatch) || len(have) > 0 {
			t.Errorf("%v, %v", have, err)
		}
	})
	t.Run("resumes", func(t *testing.T) {
		t.Parallel()
		var requests atomic.Int32
		ref := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Accept-Ranges", "bytes")
			at := 0
			if text, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes="); ok {
				at, _ = strconv.Atoi(strings.SplitN(text, "-", 2)[0])
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", at, len(tar)-1, len(tar)))
			}
			w.Header().Set("Content-Length", strconv.Itoa(len(tar)-at))
			if at > 0 {
				w.WriteHeader(http.StatusPartialContent)
			}
			if requests.Add(1) == 1 {
				_, _ = w.Write(tar[:len(tar)/2])
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			_, _ = w.Write(tar[at:])
		})
		if _, have, err := fetch(t, fetcher(t), ref, nil); err != nil || !maps.Equal(have, files) || requests.Load() < 2 {
			t.Errorf("%d files, %v, %d requests", len(have), err, requests.Load())
		}
	})
}

// layoutDir is an OCI layout.
type layoutDir struct {
	testing.TB
	path string
}

func (l layoutDir) write(name string, data []byte) {
	l.Helper()
	path := filepath.Join(l.path, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o600)); err != nil {
		l.Fatal(err)
	}
}

// add stores a blob and returns its descriptor.
func (l layoutDir) add(kind string, v any) object {
	l.Helper()
	data, ok := v.([]byte)
	if !ok {
		data, _ = json.Marshal(v)
	}
	l.write("blobs/sha256/"+strings.TrimPrefix(digestOf(data), "sha256:"), data)
	return object{"mediaType": kind, "digest": digestOf(data), "size": len(data)}
}

// index writes index.json.
func (l layoutDir) index(manifests ...object) {
	l.Helper()
	data, err := json.Marshal(object{"schemaVersion": 2, "manifests": manifests})
	if err != nil {
		l.Fatal(err)
	}
	l.write("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	l.write("index.json", data)
}

const manifestType = "application/vnd.oci.image.manifest.v1+json"

// with returns a descriptor with one more field.
func with(d object, key string, value any) object {
	out := maps.Clone(d)
	out[key] = value
	return out
}

// TestOCILayout reads a directory as "oras copy --to-oci-layout" writes it.
func TestOCILayout(t *testing.T) {
	t.Parallel()
	l := layoutDir{t, t.TempDir()}
	files := map[string]string{"plugin.json": "{}"}
	artifact := func(files map[string]string) object {
		return l.add(manifestType, object{"schemaVersion": 2, "config": l.add("application/x", object{}), "layers": []object{l.add(oci.ContentType, tarball(t, files))}})
	}
	manifest, other := artifact(files), artifact(map[string]string{"other.json": "{}"})
	tag := object{"org.opencontainers.image.ref.name": "v1"}
	l.index(manifest)
	f := fetcher(t)
	out, have, err := fetch(t, f, l.path, nil)
	if err != nil || !maps.Equal(have, files) || out.Manifest != manifest["digest"] {
		t.Errorf("%+v, %v, %v", out, have, err)
	}
	if _, have, err := fetch(t, f, l.path, &out.Pin); err != nil || !maps.Equal(have, files) {
		t.Errorf("pinned: %v, %v", have, err)
	}
	l.index(with(manifest, "annotations", tag), with(manifest, "annotations", object{"org.opencontainers.image.ref.name": "latest"}), other)
	if out, have, err := fetch(t, fetcher(t), l.path, nil); err != nil || !maps.Equal(have, files) {
		t.Errorf("tagged twice: %+v, %v, %v", out, have, err)
	}
	for name, list := range map[string][]object{"empty": nil, "two": {manifest, other}, "two tagged": {with(manifest, "annotations", tag), with(other, "annotations", tag)}} {
		l.index(list...)
		if _, _, err := fetch(t, fetcher(t), l.path, nil); !errors.Is(err, oci.ErrArtifact) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOCILayoutBundles: the signatures of a layout are those that refer to its artifact.
func TestOCILayoutBundles(t *testing.T) {
	t.Parallel()
	l := layoutDir{t, t.TempDir()}
	manifest := l.add(manifestType, object{"schemaVersion": 2, "config": l.add("application/x", object{}), "layers": []object{l.add(oci.ContentType, tarball(t, map[string]string{"plugin.json": "{}"}))}})
	const bundle = "application/vnd.dev.sigstore.bundle.v0.3+json"
	signs := func(of object, text string) object {
		return l.add(manifestType, object{"schemaVersion": 2, "artifactType": bundle, "config": l.add("application/vnd.oci.empty.v1+json", object{}), "layers": []object{l.add(bundle, []byte(text))}, "subject": of})
	}
	one, two, foreign := signs(manifest, "one"), signs(manifest, "two"), signs(l.add(manifestType, object{"x": 1}), "foreign")
	l.index(with(one, "artifactType", bundle), manifest, two, foreign, with(manifest, "annotations", object{"org.opencontainers.image.ref.name": "v1"}))
	f := fetcher(t)
	var got []string
	f.Verify = func(ctx context.Context, a *source.Artifact) (string, error) {
		list, err := a.Signatures(ctx, source.SigstoreSuffix)
		for _, data := range list {
			got = append(got, string(data))
		}
		return "", err
	}
	if _, _, err := fetch(t, f, l.path, nil); err != nil || !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("bundles %q, %v", got, err)
	}
}

// TestOCILayoutHostile: a layout whose descriptors lie is refused.
func TestOCILayoutHostile(t *testing.T) {
	t.Parallel()
	const indexType = "application/vnd.oci.image.index.v1+json"
	content := tarball(t, map[string]string{"plugin.json": "{}"})
	platform := object{"os": runtime.GOOS, "architecture": runtime.GOARCH}
	manifest := func(l layoutDir, layer object) object {
		return l.add(manifestType, object{"schemaVersion": 2, "config": l.add("application/x", object{}), "layers": []object{layer}})
	}
	blob := func(l layoutDir, d object) string {
		return filepath.Join(l.path, "blobs", "sha256", strings.TrimPrefix(d["digest"].(string), "sha256:"))
	}
	for name, make := range map[string]func(l layoutDir) object{
		"an index in an index": func(l layoutDir) object {
			inner := l.add(indexType, object{"schemaVersion": 2, "manifests": []object{with(manifest(l, l.add(oci.ContentType, content)), "platform", platform)}})
			return l.add(indexType, object{"schemaVersion": 2, "manifests": []object{with(inner, "platform", platform)}})
		},
		"a layer that is too short": func(l layoutDir) object {
			return manifest(l, with(l.add(oci.ContentType, content), "size", len(content)+1))
		},
		"a layer that is too long": func(l layoutDir) object {
			return manifest(l, with(l.add(oci.ContentType, content), "size", len(content)-1))
		},
		"a negative size": func(l layoutDir) object { return manifest(l, with(l.add(oci.ContentType, content), "size", -1)) },
		"a huge size":     func(l layoutDir) object { return manifest(l, with(l.add(oci.ContentType, content), "size", 1<<62)) },
		"other bytes": func(l layoutDir) object {
			layer := l.add(oci.ContentType, content)
			l.write("blobs/sha256/"+filepath.Base(blob(l, layer)), append([]byte{content[0] ^ 1}, content[1:]...))
			return manifest(l, layer)
		},
		"a digest that is a path": func(l layoutDir) object {
			return manifest(l, with(l.add(oci.ContentType, content), "digest", "sha256:../../../../etc/passwd"))
		},
		"a short digest": func(l layoutDir) object {
			return with(manifest(l, l.add(oci.ContentType, content)), "digest", "sha256:00")
		},
		"another algorithm": func(l layoutDir) object {
			return with(manifest(l, l.add(oci.ContentType, content)), "digest", "sha512:"+strings.Repeat("0", 128))
		},
		"a missing manifest":        func(l layoutDir) object { return with(l.add(manifestType, content), "digest", digestOf(nil)) },
		"a manifest of other bytes": func(l layoutDir) object { return l.add(manifestType, content) },
		"a directory as a blob": func(l layoutDir) object {
			layer := l.add(oci.ContentType, content)
			if err := errors.Join(os.Remove(blob(l, layer)), os.Mkdir(blob(l, layer), 0o755)); err != nil {
				t.Fatal(err)
			}
			return manifest(l, layer)
		},
	} {
		l := layoutDir{t, t.TempDir()}
		l.index(make(l))
		if out, have, err := fetch(t, fetcher(t), l.path, nil); err == nil || len(have) > 0 {
			t.Errorf("%s: %+v, %v", name, out, have)
		}
	}
}

// TestEndlessReferrers: the pages of a list of signatures end.
func TestEndlessReferrers(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
		w.Header().Set("Link", `<`+r.URL.Path+`>; rel="next"`)
		_, _ = io.WriteString(w, `{"manifests":[]}`)
	}))
	t.Cleanup(server.Close)
	repo, err := oci.Open(strings.TrimPrefix(server.URL, "http://")+"/o/p", server.Client())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := repo.Bundles(ctx, oci.Blob{Digest: oci.Digest("sha256:" + strings.Repeat("0", 64))}, 1<<20); err == nil || ctx.Err() != nil {
		t.Errorf("Bundles() = %v, %v", err, ctx.Err())
	}
}

// FuzzLayout: the index of a layout leads to one artifact, or to none.
func FuzzLayout(f *testing.F) {
	digest := "sha256:" + strings.Repeat("0", 64)
	f.Add([]byte(`{"manifests":[{"digest":"`+digest+`","annotations":{"org.opencontainers.image.ref.name":"a"}},{"digest":"`+digest+`"}]}`), "")
	f.Add([]byte(`{"manifests":[{"digest":"`+digest+`","artifactType":"application/vnd.dev.sigstore.bundle.v0.3+json"},{"digest":"sha256:../../x"}]}`), digest)
	f.Fuzz(func(t *testing.T, index []byte, reference string) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "index.json"), index, 0o600); err != nil {
			t.Fatal(err)
		}
		blob, err := oci.Layout(dir).Resolve(t.Context(), reference)
		if err == nil && reference != "" && blob.Digest.String() != reference {
			t.Errorf("%q leads to %+v", reference, blob)
		}
	})
}

// FuzzManifest: a manifest or index of a registry is an error, or names content with a digest.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"layers":[{"mediaType":"application/wasm","digest":"sha256:` + strings.Repeat("0", 64) + `"}]}`))
	f.Add([]byte(`{"manifests":[{"digest":"sha256:` + strings.Repeat("0", 64) + `","platform":{"os":"linux"}}]}`))
	f.Add([]byte(`{"manifests":[{"platform":{"os":"linux"}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := oci.Decode(data)
		if err != nil {
			if !errors.Is(err, oci.ErrArtifact) {
				t.Errorf("%v", err)
			}
			return
		}
		blobs := slices.Collect(maps.Values(m.Platforms))
		if m.Platforms == nil || m.Content.Digest != "" {
			blobs = append(blobs, m.Content)
		}
		for _, b := range blobs {
			if len(b.Digest) != 71 {
				t.Errorf("%+v", b)
			}
		}
	})
}
