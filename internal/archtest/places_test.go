package archtest

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
)

// place says which files may use some names of a package. Tests may use all.
type place struct {
	pkg    string   // import path of the package that declares the names; empty also means methods of any type
	names  []string // uses of these are violations
	remedy string   // what to do instead

	// The files that are checked: all, or those in some folders, or those that import a package.
	folders   []string
	importing string

	// The exceptions: commands, the folder home with those below it, files that import the helper, and other folders for a reason.
	mains   bool
	home    string
	helper  string
	reasons map[string]string
}

// Places forbids uses of names outside of their places.
func Places(m *Module) []Violation {
	var out []Violation
	for _, p := range places() {
		needed := map[string]bool{}
		for _, f := range m.Files {
			if !p.checks(f) || p.helper != "" && f.localName(m.Path+"/"+p.helper) != "" {
				continue
			}
			for _, sel := range p.uses(f) {
				needed[f.Dir] = true
				if p.reasons[f.Dir] == "" {
					out = append(out, m.at(f, sel.Pos(), "%s; %s", strings.TrimPrefix(p.pkg+"."+sel.Sel.Name, "."), p.message()))
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

func (p *place) checks(f *File) bool {
	switch {
	case f.Test, p.mains && f.main(), p.home != "" && f.inside(p.home):
		return false
	case p.folders != nil:
		return slices.Contains(p.folders, f.Dir)
	}
	return p.importing == "" || f.localName(p.importing) != ""
}

func (p *place) message() string {
	if p.home == "" {
		return p.remedy
	}
	return p.remedy + ", or give the folder a reason in places, " + policyFile
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
