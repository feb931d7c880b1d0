package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Module is the source of a Go module.
type Module struct {
	Path  string // as go.mod names it
	Files []*File
	Pages []Page
	fset  *token.FileSet
}

// Page is one Markdown file.
type Page struct {
	Name string // relative to the module, with slashes
	Text string
}

// File is one Go file.
type File struct {
	Name  string // relative to the module, with slashes
	Dir   string // its folder; "." for the module's own
	Test  bool   // a _test.go file
	Lines int
	AST   *ast.File
}

// Violation is one place that breaks a rule.
type Violation struct {
	Name    string // of the file or the folder
	Line    int    // 0: all of it
	Message string // what is wrong and what to do
}

// String returns "name:line: message".
func (v Violation) String() string {
	if v.Line == 0 {
		return v.Name + ": " + v.Message
	}
	return fmt.Sprintf("%s:%d: %s", v.Name, v.Line, v.Message)
}

// Load parses all Go files and reads all Markdown files below the root of fsys, which holds a go.mod, except the folders that the go command
// ignores (testdata, names that begin with a dot or an underscore), installed npm packages, and nested modules other than the examples.
func Load(fsys fs.FS) (*Module, error) {
	m := &Module{fset: token.NewFileSet()}
	mod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(string(mod), "\n")
	m.Path = strings.TrimSpace(strings.TrimPrefix(first, "module "))
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(fsys, name)
		}
		switch path.Ext(name) {
		case ".go":
			return m.parse(fsys, name)
		case ".md":
			text, err := fs.ReadFile(fsys, name)
			m.Pages = append(m.Pages, Page{name, string(text)})
			return err
		}
		return nil
	})
	return m, err
}

func skip(fsys fs.FS, dir string) error {
	base := path.Base(dir)
	if dir == "." {
		return nil
	}
	if base == "testdata" || base == "vendor" || base == "node_modules" || base[0] == '.' || base[0] == '_' {
		return fs.SkipDir
	}
	if _, err := fs.Stat(fsys, path.Join(dir, "go.mod")); err == nil && path.Dir(dir) != "examples" {
		return fs.SkipDir
	}
	return nil
}

func (m *Module) parse(fsys fs.FS, name string) error {
	src, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	tree, err := parser.ParseFile(m.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	m.Files = append(m.Files, &File{
		Name: name, Dir: path.Dir(name), Test: strings.HasSuffix(name, "_test.go"), Lines: bytes.Count(src, []byte("\n")), AST: tree,
	})
	return nil
}

// at returns a violation at pos.
func (m *Module) at(f *File, pos token.Pos, format string, args ...any) Violation {
	return Violation{Name: f.Name, Line: m.fset.Position(pos).Line, Message: fmt.Sprintf(format, args...)}
}

// inside reports whether the file is in the folder or below it.
func (f *File) inside(folder string) bool {
	return f.Dir == folder || strings.HasPrefix(f.Dir, folder+"/")
}

// main reports whether the file belongs to a command.
func (f *File) main() bool { return f.AST.Name.Name == "main" }

// imports calls each with every import of the file.
func (f *File) imports(each func(spec *ast.ImportSpec, path string)) {
	for _, spec := range f.AST.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			each(spec, p)
		}
	}
}

// localName returns the name under which the file knows the package, or "" when it does not import it.
func (f *File) localName(pkg string) string {
	name := ""
	f.imports(func(spec *ast.ImportSpec, p string) {
		switch {
		case p != pkg:
		case spec.Name != nil:
			name = spec.Name.Name
		default:
			name = path.Base(p)
		}
	})
	return name
}

// uses calls each with every mention of one of the names of the package, such as context.Background.
func (f *File) uses(pkg string, names []string, each func(sel *ast.SelectorExpr)) {
	local := f.localName(pkg)
	if local == "" {
		return
	}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok || x.Name != local {
			return true
		}
		for _, name := range names {
			if sel.Sel.Name == name {
				each(sel)
			}
		}
		return true
	})
}

// folders returns the files of each folder, in the order they were found.
func (m *Module) folders() (names []string, files map[string][]*File) {
	files = map[string][]*File{}
	for _, f := range m.Files {
		if files[f.Dir] == nil {
			names = append(names, f.Dir)
		}
		files[f.Dir] = append(files[f.Dir], f)
	}
	return names, files
}
