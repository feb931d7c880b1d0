package archtest

import (
	"go/ast"
	"maps"
	"slices"
)

// place is the one folder that may use some names of a package.
type place struct {
	home      string
	pkg       string            // import path of the package that declares the names; empty also means methods of any type
	names     []string          // uses of these are violations elsewhere
	importing string            // only files that import this package are checked, if not empty
	remedy    string            // what other folders call instead
	reasons   map[string]string // other folders that may use the names, and why
}

// Places forbids uses of names outside of their one place. Tests may use them.
func Places(m *Module) []Violation {
	var out []Violation
	for _, p := range places() {
		needed := map[string]bool{}
		for _, f := range m.Files {
			if f.Test || f.inside(p.home) || p.importing != "" && f.localName(p.importing) == "" {
				continue
			}
			for _, sel := range p.uses(f) {
				needed[f.Dir] = true
				if p.reasons[f.Dir] == "" {
					out = append(out, m.at(f, sel.Pos(), "%s; %s, or give the folder a reason in places, %s", sel.Sel.Name, p.remedy, policyFile))
				}
			}
		}
		for _, folder := range slices.Sorted(maps.Keys(p.reasons)) {
			if !needed[folder] && m.has(folder) {
				out = append(out, Violation{Name: policyFile, Message: folder + " no longer uses " + p.names[0] + "; remove its reason"})
			}
		}
	}
	return out
}

func (p *place) uses(f *File) (out []*ast.SelectorExpr) {
	each := func(sel *ast.SelectorExpr) { out = append(out, sel) }
	if p.pkg != "" {
		f.uses(p.pkg, p.names, each)
		return out
	}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && slices.Contains(p.names, sel.Sel.Name) {
			each(sel)
		}
		return true
	})
	return out
}

func (m *Module) has(folder string) bool {
	return slices.ContainsFunc(m.Files, func(f *File) bool { return f.Dir == folder })
}
