package archtest

import (
	"go/ast"
	"go/token"
	"slices"
)

// PackageDocs requires a comment on every package.
func PackageDocs(m *Module) []Violation {
	var out []Violation
	names, files := m.folders()
	for _, dir := range names {
		code := slices.DeleteFunc(slices.Clone(files[dir]), func(f *File) bool { return f.Test })
		if len(code) > 0 && !slices.ContainsFunc(code, func(f *File) bool { return f.AST.Doc != nil }) {
			out = append(out, Violation{Name: dir, Message: "package without a comment; add a doc.go that says what it is for"})
		}
	}
	return out
}

// LeakChecks requires goleak in the tests of every package that starts goroutines.
func LeakChecks(m *Module) []Violation {
	var out []Violation
	names, files := m.folders()
	used, folders := map[string]bool{}, map[string]bool{}
	for _, dir := range names {
		folders[dir] = true
		start, pos := startsGoroutine(files[dir])
		if start == nil || isSuite(start) || slices.ContainsFunc(files[dir], func(f *File) bool { return f.Test && f.localName("go.uber.org/goleak") != "" }) {
			continue
		}
		if leakExempt()[dir] != "" {
			used[dir] = true
			continue
		}
		out = append(out, m.at(start, pos, "%s starts goroutines; call goleak.VerifyTestMain in its tests, or give it a reason in leakExempt, %s", dir, policyFile))
	}
	return append(out, unused(leakExempt(), used, folders)...)
}

// startsGoroutine returns the first place outside of tests that starts a goroutine: a go statement, or the method Go of a wait
// group.
func startsGoroutine(files []*File) (in *File, at token.Pos) {
	for _, f := range files {
		if f.Test {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if in != nil {
				return false
			}
			switch n := n.(type) {
			case *ast.GoStmt:
				in, at = f, n.Pos()
			case *ast.CallExpr:
				if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Go" && len(n.Args) == 1 {
					in, at = f, n.Pos()
				}
			}
			return true
		})
		if in != nil {
			return in, at
		}
	}
	return nil, token.NoPos
}

// Docs requires a comment on every exported name of the documented trees.
func Docs(m *Module) []Violation {
	var out []Violation
	for _, f := range m.Files {
		if f.Test || ast.IsGenerated(f.AST) || !slices.ContainsFunc(documented(), f.inside) {
			continue
		}
		group := funcGroup{m: m}
		for _, d := range f.AST.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if !group.documents(d) && d.Name.IsExported() && exportedReceiver(d) {
					out = append(out, m.at(f, d.Pos(), "%s has no comment", d.Name.Name))
				}
			case *ast.GenDecl:
				out = append(out, m.undocumented(f, d)...)
			}
		}
	}
	return out
}

// funcGroup follows the functions of a file. Methods with the same name on consecutive lines share the comment of the first.
type funcGroup struct {
	m    *Module
	name string
	end  int // the last line of the last function that has a comment
}

// documents reports whether fn has a comment of its own or of its group.
func (g *funcGroup) documents(fn *ast.FuncDecl) bool {
	line := g.m.fset.Position(fn.Pos()).Line
	shared := fn.Recv != nil && fn.Name.Name == g.name && line == g.end+1
	if fn.Doc == nil && !shared {
		return false
	}
	g.name, g.end = fn.Name.Name, g.m.fset.Position(fn.End()).Line
	return true
}

// exportedReceiver reports whether fn is a function, or a method of an exported type.
func exportedReceiver(fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return true
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return true
		}
	}
}

// undocumented returns the exported names of a declaration without a comment of their own or of their group.
func (m *Module) undocumented(f *File, d *ast.GenDecl) []Violation {
	var out []Violation
	missing := func(names []*ast.Ident, doc ...*ast.CommentGroup) {
		for _, name := range names {
			if name.IsExported() && !slices.ContainsFunc(doc, func(c *ast.CommentGroup) bool { return c != nil }) {
				out = append(out, m.at(f, name.Pos(), "%s has no comment", name.Name))
			}
		}
	}
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			missing([]*ast.Ident{s.Name}, d.Doc, s.Doc)
		case *ast.ValueSpec:
			missing(s.Names, d.Doc, s.Doc, s.Comment)
		}
	}
	return out
}
