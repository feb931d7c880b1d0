// Package scaffold writes new plugins: small, complete, and ready to build and test without a network.
package scaffold

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/sdk"
)

//go:embed all:templates
var templates embed.FS

// ErrExists is returned if the directory for the plugin is not empty.
var ErrExists = errors.New("already exists and is not empty")

// kind is one carrier in one language.
type kind struct {
	carrier, lang string
	folders       []string // of templates; later ones override earlier ones
	sdk           []string // packages of the sdk for a plugin in Go, with their imports
	main          string   // file of the plugin, in other languages
	library       []string // files of the sdk for other languages
	test          string   // command that runs an MCP server's own tests; empty: none
}

func kinds() []kind {
	contract := []string{"internal/hookpoint", "internal/jsontext", "internal/jsonpointer", "internal/value", "sdk", "sdk/guest", "sdk/sdktest"}
	rust := []string{"sdk/rust/tenon.rs"}
	node := []string{"sdk/node/tenon.mjs", "sdk/node/tenon.d.mts"}
	return []kind{
		{carrier: "wasm", lang: "go", folders: []string{"turn", "go", "wasm-go"}, sdk: append(contract, "sdk/wasm")},
		{carrier: "wasm", lang: "rust", folders: []string{"turn", "script", "rust", "wasm-rust"}, main: "main.rs", library: rust},
		{carrier: "wasm", lang: "c", folders: []string{"turn", "script", "wasm-c"}, main: "main.c"},
		{carrier: "process", lang: "go", folders: []string{"turn", "go", "process-go"}, sdk: append(contract, "internal/jsonline", "sdk/lines")},
		{carrier: "process", lang: "node", folders: []string{"turn", "script", "process-node"}, main: "main.mjs", library: node},
		{carrier: "process", lang: "opencode", folders: []string{"process-opencode"}, library: append(node, "sdk/node/opencode.mjs")},
		{carrier: "process", lang: "python", folders: []string{"turn", "script", "process-python"}, main: "main.py", library: []string{"sdk/python/tenon.py"}},
		{carrier: "process", lang: "rust", folders: []string{"turn", "script", "rust", "process-rust"}, main: "main.rs", library: rust},
		{carrier: "mcp", lang: "go", folders: []string{"mcp", "mcp-go"}, test: "go test ./..."},
		{carrier: "mcp", lang: "node", folders: []string{"mcp", "mcp-node"}, test: "node --test"},
		{carrier: "mcp", lang: "python", folders: []string{"mcp", "mcp-python"}},
		{carrier: "mcp", lang: "rust", folders: []string{"mcp", "mcp-rust"}, library: rust},
	}
}

// Kinds returns the kinds of plugins, as "wasm go".
func Kinds() []string {
	var out []string
	for _, k := range kinds() {
		out = append(out, k.carrier+" "+k.lang)
	}
	return out
}

// Options describe the plugin to write.
type Options struct {
	Name    string // valid name of a plugin
	Carrier string // wasm, process or mcp; default the first with a template in Lang
	Lang    string // go, node, opencode, python, rust or c; default go
	SDK     fs.FS  // tree with sdk/ and the packages of internal/ that it imports
}

// notInIdent matches the characters that tool IDs cannot contain.
var notInIdent = lazyregexp.New(`[^A-Za-z0-9_-]`)

// Write writes a plugin into dir, which must not exist or be empty, and returns the names of the written files except those of the sdk.
// Errors: ErrExists, sdk.ErrManifest for a bad name, those of the file system.
// After an error, it leaves no files.
func Write(dir string, o Options) (written []string, err error) {
	m := sdk.Manifest{Name: o.Name, Carrier: sdk.CarrierBuiltin}
	if err := m.Validate(); err != nil {
		return nil, err
	}
	o.Lang = cmp.Or(o.Lang, "go")
	i := slices.IndexFunc(kinds(), func(k kind) bool { return cmp.Or(o.Carrier, k.carrier) == k.carrier && k.lang == o.Lang })
	if i < 0 {
		return nil, fmt.Errorf("no template for %q; templates: %s", strings.TrimSpace(o.Carrier+" "+o.Lang), strings.Join(Kinds(), ", "))
	}
	k := kinds()[i]
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("directory %s %w", dir, ErrExists)
	}
	fill, err := k.fill(o.Name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			entries, _ := os.ReadDir(dir)
			for _, e := range entries {
				_ = os.RemoveAll(filepath.Join(dir, e.Name()))
			}
		}
	}()
	w := &writer{dir: dir, fill: fill}
	for _, folder := range k.folders {
		if err := w.folder(folder); err != nil {
			return nil, err
		}
	}
	if err := w.sdk(o.SDK, &k); err != nil {
		return nil, err
	}
	slices.Sort(w.written)
	return w.written, nil
}

// fill returns the replacer for the fields of templates. Package text/template is not used: it calls methods by name, so the linker would keep
// all exported methods.
func (k *kind) fill(name string) (*strings.Replacer, error) {
	contributions, err := templates.ReadFile("templates/contributions.tmpl")
	if err != nil {
		return nil, err
	}
	var library, unitTest string
	if len(k.library) > 0 {
		library = ", `" + path.Base(k.library[0]) + "` the library of tenon"
	}
	if k.test != "" {
		unitTest = fmt.Sprintf("%-26s # the server, by itself\n", k.test)
	}
	entry := "fn main() {\n    plugin().run();\n}"
	if k.carrier == "wasm" {
		entry = "tenon::module!(plugin);"
	}
	exe := ""
	if runtime.GOOS == "windows" {
		exe = ".exe"
	}
	ident := notInIdent().ReplaceAllString(name, "_")
	return strings.NewReplacer(
		"{{.Name}}", name, "{{.Ident}}", ident, "{{.Exe}}", exe, "{{.GoVersion}}", goVersion, "{{.Main}}", k.main, "{{.Library}}", library,
		"{{.UnitTest}}", unitTest, "{{.Entry}}", entry, "{{.Contributions}}", strings.ReplaceAll(string(contributions), "{{.Ident}}", ident),
	), nil
}

// writer writes one plugin.
type writer struct {
	dir     string
	fill    *strings.Replacer // of the fields of templates
	written []string
}

// folder writes the templates of one folder.
func (w *writer) folder(name string) error {
	root := path.Join("templates", name)
	return fs.WalkDir(templates, root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := templates.ReadFile(p)
		if err != nil {
			return err
		}
		to := strings.TrimSuffix(strings.TrimPrefix(p, root+"/"), ".tmpl")
		if path.Base(to) == "gitignore" {
			to = path.Join(path.Dir(to), ".gitignore")
		}
		if !slices.Contains(w.written, to) {
			w.written = append(w.written, to)
		}
		return w.file(to, []byte(w.fill.Replace(string(text))))
	})
}

func (w *writer) file(name string, content []byte) error {
	to := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}

// sdk writes the packages of the sdk that a plugin in Go needs, without their tests, as the module in the folder tenon, or the library
// for another language.
func (w *writer) sdk(source fs.FS, k *kind) error {
	for _, folder := range k.sdk {
		entries, err := fs.ReadDir(source, folder)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
				continue
			}
			if err := w.copy(source, path.Join(folder, e.Name()), path.Join("tenon", folder, e.Name())); err != nil {
				return err
			}
		}
	}
	for _, name := range k.library {
		if err := w.copy(source, name, path.Base(name)); err != nil {
			return err
		}
	}
	if len(k.sdk) == 0 {
		return nil
	}
	return w.file("tenon/go.mod", []byte("module github.com/tenonhq/tenon\n\ngo "+goVersion+"\n"))
}

// goVersion is the version of Go that plugins require, the same as tenon's.
const goVersion = "1.26.0"

func (w *writer) copy(source fs.FS, from, to string) error {
	content, err := fs.ReadFile(source, from)
	if err != nil {
		return err
	}
	return w.file(to, content)
}
