package pins_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/pins"
	"github.com/tenonhq/tenon/plugins/source"
	"github.com/tenonhq/tenon/plugins/trust"
)

func digest(c string) trust.Digest { return trust.Digest("sha256:" + strings.Repeat(c, 64)) }

func plugin(name, c string) pins.Plugin {
	return pins.Plugin{Name: name, Pin: source.Pin{Ref: "npm:" + name, Version: "1"}, Digest: digest(c)}
}

func TestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), pins.Name)
	if f, err := pins.Read(path); err != nil || len(f.Plugins) > 0 {
		t.Fatalf("without a file: %v, %v", f, err)
	}
	f := (&pins.File{}).With(plugin("b", "1")).With(plugin("a", "2")).With(plugin("b", "3"))
	if err := os.WriteFile(path, f.Encode(), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := pins.Read(path)
	if err != nil || !bytes.Equal(again.Encode(), f.Encode()) || again.Find("b").Digest != digest("3") || again.Plugins[0].Name != "a" {
		t.Errorf("Read() = %+v, %v", again, err)
	}
	if again.Without("a").Find("a") != nil || again.Find("c") != nil {
		t.Error("Without or Find")
	}
	if err := os.Symlink(path, path+".link"); err == nil { // not on every Windows
		if _, err := pins.Read(path + ".link"); !errors.Is(err, pins.ErrFile) {
			t.Errorf("a link: %v", err)
		}
	}
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := pins.Read(path); !errors.Is(err, pins.ErrFile) {
		t.Errorf("a directory: %v", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	one := func(fields string) string {
		return `{"version":1,"plugins":[{"name":"a","digest":"` + string(digest("1")) + `",` + fields + `}]}`
	}
	good := `{"name":"a","ref":"npm:a","digest":"` + string(digest("1")) + `"}`
	for name, text := range map[string]string{
		"empty": "", "version": `{"version":2,"plugins":[]}`, "no version": `{"plugins":[]}`, "unknown field": `{"version":1,"plugins":[],"grants":[]}`,
		"twice": `{"version":1,"plugins":[` + good + `,` + good + `]}`, "more": `{"version":1,"plugins":[]}{}`,
		"name":            `{"version":1,"plugins":[{"name":"../a","ref":"npm:a","digest":"` + string(digest("1")) + `"}]}`,
		"digest":          `{"version":1,"plugins":[{"name":"a","ref":"npm:a","digest":"sha256:../../x"}]}`,
		"no ref":          `{"version":1,"plugins":[{"name":"a","digest":"` + string(digest("1")) + `"}]}`,
		"an approval":     `{"version":1,"plugins":[{"name":"a","ref":"npm:a","approved":true,"digest":"` + string(digest("1")) + `"}]}`,
		"digest of local": one(`"ref":"npm:a","local":true,"packages":{}`), "local and not pinned": `{"version":1,"plugins":[{"name":"a","ref":"npm:a","local":true}]}`,
		"local commit":           one(`"ref":"github:a/b","local":true,"packages":{}`),
		"a path as checksum":     one(`"ref":"https://h/a.zip","sha256":"../../../../.ssh/authorized_keys"`),
		"a short commit":         one(`"ref":"github:o/r","commit":"abc"`),
		"an option as commit":    one(`"ref":"github:o/r","commit":"--upload-pack=x"`),
		"another commit":         one(`"ref":"github:o/r#` + strings.Repeat("1", 40) + `","commit":"` + strings.Repeat("2", 40) + `"`),
		"another checksum":       one(`"ref":"https://h/a.zip#sha256=` + strings.Repeat("1", 64) + `","sha256":"` + strings.Repeat("2", 64) + `"`),
		"a tarball of git":       one(`"ref":"github:o/r","url":"https://evil/x.tgz"`),
		"an MCP server alone":    one(`"ref":"mcp:io.x/a"`),
		"a reference of nothing": one(`"ref":"evil"`),
	} {
		if f, err := pins.Decode([]byte(text)); err == nil {
			t.Errorf("%s: %+v", name, f)
		}
	}
	// Refused before it is decoded, which takes 700 bytes for each two of the file.
	if _, err := pins.Decode([]byte(`{"version":1,"plugins":[` + strings.Repeat("{},", 100_000) + `{}]}`)); err == nil || !strings.Contains(err.Error(), "100002 objects") {
		t.Errorf("many objects: %v", err)
	}
	if f, err := pins.Decode([]byte(`{"version":1,"plugins":[` + good + `]}`)); err != nil || len(f.Plugins) != 1 {
		t.Errorf("a good file: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add((&pins.File{}).With(plugin("a", "1")).Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := pins.Decode(data)
		if err != nil {
			return
		}
		again, err := pins.Decode(file.Encode())
		if err != nil || !bytes.Equal(again.Encode(), file.Encode()) {
			t.Errorf("%q: %v", data, err)
		}
	})
}

func TestHistory(t *testing.T) {
	t.Parallel()
	h := pins.History{Dir: t.TempDir()}
	path := filepath.Join(t.TempDir(), pins.Name)
	change := func(f func(*pins.File) *pins.File) {
		t.Helper()
		if err := h.Change(t.Context(), path, func(old *pins.File) (*pins.File, error) { return f(old), nil }); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := h.Rollback(t.Context(), path); !errors.Is(err, pins.ErrNoHistory) {
		t.Fatalf("Rollback() without a history: %v", err)
	}
	change(func(f *pins.File) *pins.File { return f.With(plugin("a", "1")) })
	change(func(f *pins.File) *pins.File { return f.With(plugin("a", "2")) })
	change(func(f *pins.File) *pins.File { return f })
	change(func(f *pins.File) *pins.File { return f.With(plugin("b", "3")) })
	broken := errors.New("broken")
	if err := h.Change(t.Context(), path, func(*pins.File) (*pins.File, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	known, err := h.Digests()
	if err != nil || !known[digest("1")] || !known[digest("2")] || !known[digest("3")] {
		t.Errorf("Digests() = %v, %v", known, err)
	}
	for _, want := range []string{"2", "1", ""} {
		_, to, err := h.Rollback(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		have, err := pins.Read(path)
		if err != nil || !bytes.Equal(have.Encode(), to.Encode()) || have.Find("b") != nil {
			t.Fatalf("after Rollback: %+v, %v", have, err)
		}
		if p := have.Find("a"); want == "" && p != nil || want != "" && p.Digest != digest(want) {
			t.Fatalf("after Rollback: %+v, want %s", p, want)
		}
	}
	for i := range 30 {
		change(func(f *pins.File) *pins.File { return f.With(plugin("a", string("0123456789abcdef"[i%16]))) })
	}
	if files, _ := filepath.Glob(filepath.Join(h.Dir, "generations", "*", "*.json")); len(files) > 11 {
		t.Errorf("%d states are kept", len(files))
	}
}

// TestDamagedHistory: a state that cannot be read does not keep plugins from being changed.
func TestDamagedHistory(t *testing.T) {
	t.Parallel()
	h := pins.History{Dir: t.TempDir()}
	path := filepath.Join(t.TempDir(), pins.Name)
	for _, name := range []string{"1", "2"} {
		err := h.Change(t.Context(), path, func(old *pins.File) (*pins.File, error) { return old.With(plugin("a", name)), nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	states, err := filepath.Glob(filepath.Join(h.Dir, "generations", "*", "2.json"))
	if err != nil || len(states) != 1 {
		t.Fatal(states, err)
	}
	if err := os.WriteFile(states[0], []byte(`{"version": 2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if known, err := h.Digests(); err != nil || !known[digest("2")] {
		t.Errorf("Digests() = %v, %v", known, err)
	}
}

// TestRollbackWithoutEarlier: a rollback that finds no earlier state changes nothing, so the contents of the present one are kept.
func TestRollbackWithoutEarlier(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h, path := pins.History{Dir: filepath.Join(dir, "da[ta]*")}, filepath.Join(dir, pins.Name) // which must not be read as a pattern
	first := (&pins.File{}).With(plugin("a", "1"))
	if err := os.WriteFile(path, first.Encode(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.Change(t.Context(), path, func(old *pins.File) (*pins.File, error) { return old.With(plugin("b", "2")), nil }); err != nil {
		t.Fatal(err)
	}
	if _, to, err := h.Rollback(t.Context(), path); err != nil || !bytes.Equal(to.Encode(), first.Encode()) {
		t.Fatalf("Rollback() = %+v, %v, want the first state", to, err)
	}
	if _, _, err := h.Rollback(t.Context(), path); !errors.Is(err, pins.ErrNoHistory) {
		t.Fatalf("second Rollback() = %v, want ErrNoHistory", err)
	}
	if kept, err := h.Digests(); err != nil || !kept[digest("1")] {
		t.Errorf("Digests() = %v, %v, want that of the present state", kept, err)
	}
}

// TestLocal: the digest of content that each machine makes is kept on the machine, never in the file.
func TestLocal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h, path := pins.History{Dir: filepath.Join(dir, "data")}, filepath.Join(dir, pins.Name)
	p := plugin("a", "1")
	p.Local, p.Packages = true, []byte(`{"packages":{}}`)
	add := func(f *pins.File) (*pins.File, error) { return f.With(p), nil }
	if err := h.Change(t.Context(), path, add); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || bytes.Contains(data, []byte("sha256:")) {
		t.Errorf("%s, %v", data, err)
	}
	if f, err := h.Read(path); err != nil || f.Find("a").Digest != "" {
		t.Errorf("before it is made: %+v, %v", f, err)
	}
	if err := h.Made(p); err != nil {
		t.Fatal(err)
	}
	f, err := h.Read(path)
	if err != nil || f.Find("a").Digest != digest("1") || !f.Find("a").Same(&p) {
		t.Errorf("after it was made: %+v, %v", f, err)
	}
	if kept, err := h.Digests(); err != nil || !kept[digest("1")] {
		t.Errorf("Digests() = %v, %v", kept, err)
	}
	other := p
	other.Packages = []byte(`{"packages":{"x":{}}}`)
	if p.Same(&other) {
		t.Error("other packages are the same")
	}
}

// TestLocalElsewhere: a signer and platforms that another machine adds to a pin do not change its content.
func TestLocalElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h, path := pins.History{Dir: filepath.Join(dir, "data")}, filepath.Join(dir, pins.Name)
	p := pins.Plugin{Name: "a", Digest: digest("1"), Pin: source.Pin{Ref: "oci://r.example/a", Local: true, Manifest: string(digest("2")), Platforms: map[string]string{"linux/amd64": string(digest("3"))}}}
	if err := h.Made(p); err != nil {
		t.Fatal(err)
	}
	other := p
	other.Signer, other.Platforms = "minisign x", map[string]string{"plan9/mips": string(digest("4"))}
	if err := h.Change(t.Context(), path, func(f *pins.File) (*pins.File, error) { return f.With(other), nil }); err != nil {
		t.Fatal(err)
	}
	if f, err := h.Read(path); err != nil || f.Find("a").Digest != p.Digest || !f.Find("a").Same(&p) {
		t.Errorf("%+v, %v", f, err)
	}
	if other.Manifest = string(digest("5")); p.Same(&other) {
		t.Error("another manifest is the same")
	}
}
