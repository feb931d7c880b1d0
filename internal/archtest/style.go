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

// Init forbids init functions: what is registered is a value that somebody passes on.
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

// Context forbids contexts that cannot be canceled, outside of commands, tests and the files in detached.
func Context(m *Module) []Violation {
	return m.forbid("context", []string{"Background", "TODO"}, func(f *File) bool { return f.Test || f.main() || detached()[f.Name] != "" },
		"take the caller's context, or context.WithoutCancel of it")
}

// Logging forbids loggers that nobody passed in.
func Logging(m *Module) []Violation {
	names := []string{
		"Default", "SetDefault", "With", "Debug", "Info", "Warn", "Error", "Log", "LogAttrs",
		"DebugContext", "InfoContext", "WarnContext", "ErrorContext",
	}
	test := func(f *File) bool { return f.Test }
	out := m.forbid("log/slog", names, test, "log through the *slog.Logger of the options")
	for _, f := range m.Files {
		f.imports(func(spec *ast.ImportSpec, path string) {
			if path == "log" && !f.Test {
				out = append(out, m.at(f, spec.Pos(), "package log; log through the *slog.Logger of the options"))
			}
		})
	}
	return out
}

// Exit forbids ending the process outside of commands.
func Exit(m *Module) []Violation {
	in := func(f *File) bool { return f.Test || f.main() }
	const remedy = "return an error; only main exits"
	return append(m.forbid("os", []string{"Exit"}, in, remedy), m.forbid("syscall", []string{"Exit"}, in, remedy)...)
}

// ProjectFiles forbids opening files by name where the project's files are read and written: what was judged by its name may be
// another file by then.
func ProjectFiles(m *Module) []Violation {
	elsewhere := func(f *File) bool { return f.Test || !slices.Contains(projectFiles(), f.Dir) }
	const remedy = "open it with internal/projectfs, which follows no link out of the project"
	return append(m.forbid("os", []string{
		"Open", "OpenFile", "OpenRoot", "OpenInRoot", "ReadFile", "ReadDir", "WriteFile", "Create", "CreateTemp", "Stat", "DirFS", "CopyFS",
		"Rename", "Remove", "RemoveAll", "Mkdir", "MkdirAll", "MkdirTemp", "Chmod", "Chown", "Chtimes", "Symlink", "Link", "Truncate",
	}, elsewhere, remedy), m.forbid("path/filepath", []string{"EvalSymlinks", "Glob"}, elsewhere, remedy)...)
}

// forbid returns the uses of the names of a package in files that are not exempt.
func (m *Module) forbid(pkg string, names []string, exempt func(*File) bool, remedy string) []Violation {
	var out []Violation
	for _, f := range m.Files {
		if exempt(f) {
			continue
		}
		f.uses(pkg, names, func(sel *ast.SelectorExpr) {
			out = append(out, m.at(f, sel.Pos(), "%s.%s; %s", pkg, sel.Sel.Name, remedy))
		})
	}
	return out
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

// PackageNames forbids names that say nothing.
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

// Panics forbids panics outside of tests, but for those that policy.go gives a reason for.
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

// unused returns the exceptions nobody needs any more in folders that are there.
func unused(exceptions map[string]string, used, folders map[string]bool) []Violation {
	var out []Violation
	for name := range exceptions {
		folder, _, _ := strings.Cut(name, ".")
		if folders[folder] && !used[name] {
			out = append(out, Violation{Name: policyFile, Message: "exception " + name + " is not needed any more; remove it"})
		}
	}
	return out
}
