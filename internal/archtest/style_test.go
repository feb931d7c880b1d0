package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// Length bounds the length of files.
func Length(m *Module) []Violation {
	var out []Violation
	for _, f := range m.Files {
		if f.Lines > maxLines && !ast.IsGenerated(f.AST) && !isTable(f.AST) {
			out = append(out, Violation{Name: f.Name, Message: "longer than 600 lines; split it by idea, or mark a table of data with //arch:table"})
		}
	}
	return out
}

func isTable(tree *ast.File) bool {
	return slices.ContainsFunc(tree.Comments, func(g *ast.CommentGroup) bool {
		return slices.ContainsFunc(g.List, func(c *ast.Comment) bool { return c.Text == "//arch:table" })
	})
}

// Init forbids init functions: registered things are values that are passed on.
func Init(m *Module) []Violation {
	var out []Violation
	for _, f := range m.Files {
		for _, d := range f.AST.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" && !ast.IsGenerated(f.AST) {
				out = append(out, m.at(f, fn.Pos(), "init function; build the value where it is used"))
			}
		}
	}
	return out
}

// Logging forbids the package log; see places for package slog.
func Logging(m *Module) []Violation {
	var out []Violation
	for _, f := range m.Files {
		f.imports(func(spec *ast.ImportSpec, path string) {
			if path == "log" && !f.Test {
				out = append(out, m.at(f, spec.Pos(), "package log; log through the *slog.Logger of the options"))
			}
		})
	}
	return append(out, Places(m)...)
}

// Sleep forbids waiting by the clock in tests. Inside the bubble of synctest.Test the clock is not the real one.
func Sleep(m *Module) []Violation {
	var out []Violation
	for _, f := range m.Files {
		if !f.Test {
			continue
		}
		bubbles := f.bubbles()
		f.uses("time", []string{"Sleep"}, func(sel *ast.SelectorExpr) {
			if !slices.ContainsFunc(bubbles, func(b *ast.CallExpr) bool { return b.Pos() <= sel.Pos() && sel.End() <= b.End() }) {
				out = append(out, m.at(f, sel.Pos(), "time.Sleep in a test; wait for what is to happen, or use testing/synctest"))
			}
		})
	}
	return out
}

// bubbles returns the calls of synctest.Test.
func (f *File) bubbles() []*ast.CallExpr {
	var out []*ast.CallExpr
	local := f.localName("testing/synctest")
	ast.Inspect(f.AST, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || local == "" {
			return true
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Test" {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == local {
				out = append(out, call)
			}
		}
		return true
	})
	return out
}

// PackageNames forbids the banned names.
func PackageNames(m *Module) []Violation {
	var out []Violation
	for _, f := range m.Files {
		name := strings.TrimSuffix(f.AST.Name.Name, "_test")
		if slices.Contains(bannedNames(), name) {
			out = append(out, m.at(f, f.AST.Name.Pos(), "package %s; name it for what is in it", name))
		}
	}
	return out
}

// Panics forbids panics outside of tests, except those with a reason in panics.
func Panics(m *Module) []Violation {
	var out []Violation
	used := map[string]bool{}
	folders := map[string]bool{}
	for _, f := range m.Files {
		folders[f.Dir] = true
		if f.Test {
			continue
		}
		for _, d := range f.AST.Decls {
			name := f.Dir + "."
			if fn, ok := d.(*ast.FuncDecl); ok {
				name += fn.Name.Name
			}
			eachPanic(d, func(pos token.Pos) {
				if panics()[name] != "" {
					used[name] = true
					return
				}
				out = append(out, m.at(f, pos, "panic; return an error, or give %s a reason in panics, %s", name, policyFile))
			})
		}
	}
	return append(out, unused(panics(), used, folders)...)
}

func eachPanic(d ast.Node, each func(pos token.Pos)) {
	ast.Inspect(d, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "panic" {
				each(call.Pos())
			}
		}
		return true
	})
}

// unused returns the exceptions that are no longer needed, in folders that exist.
func unused(exceptions map[string]string, used, folders map[string]bool) []Violation {
	var out []Violation
	for name := range exceptions {
		folder, _, _ := strings.Cut(name, ".")
		if folders[folder] && !used[name] {
			out = append(out, Violation{Name: policyFile, Message: "exception " + name + " is no longer needed; remove it"})
		}
	}
	return out
}
