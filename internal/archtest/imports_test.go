package archtest

import (
	"cmp"
	"go/ast"
	"maps"
	pathpkg "path"
	"slices"
	"strings"
)

// Imports checks the direction of imports between the trees of this module.
func Imports(m *Module) []Violation {
	var out []Violation
	for _, f := range m.Files {
		if f.Test {
			continue
		}
		tree := f.Dir
		allowed, known := trees()[tree]
		if !known {
			tree, _, _ = strings.Cut(f.Dir, "/")
			allowed, known = trees()[tree]
		}
		if !known {
			out = append(out, Violation{Name: f.Name, Message: "no tree " + tree + " is known; give it a line in trees, " + policyFile})
			continue
		}
		f.imports(func(spec *ast.ImportSpec, path string) {
			rest, ours := strings.CutPrefix(path, m.Path+"/")
			if !ours && path != m.Path {
				return
			}
			target, _, _ := strings.Cut(rest, "/")
			if !slices.Contains(allowed, anywhere) && !slices.Contains(allowed, target) && !slices.Contains(allowed, rest) {
				out = append(out, m.at(f, spec.Pos(), "%s must not import %s, only %s", tree, path, cmp.Or(strings.Join(allowed, ", "), "the standard library")))
			}
			if folder, name := pathpkg.Split(f.Dir); against(strings.TrimSuffix(folder, "/"), name, rest) {
				out = append(out, m.at(f, spec.Pos(), "%s must not import %s, which is above it; see layers, %s", f.Dir, path, policyFile))
			}
		})
	}
	return out
}

// against reports whether an import goes against the layers of a folder.
func against(folder, name, target string) bool {
	order := layers()[folder]
	from, to := slices.Index(order, name), slices.Index(order, strings.TrimPrefix(target, folder+"/"))
	return from >= 0 && to > from
}

// Libraries keeps each outside library behind its folder, and cgo out.
func Libraries(m *Module) []Violation {
	var out []Violation
	for _, f := range m.Files {
		f.imports(func(spec *ast.ImportSpec, path string) {
			if message := libraryProblem(f, path, m.Path); message != "" {
				out = append(out, m.at(f, spec.Pos(), "%s", message))
			}
		})
	}
	return out
}

func libraryProblem(f *File, path, module string) string {
	if path == "C" {
		return "cgo is not used; tenon is one static binary"
	}
	first, _, _ := strings.Cut(path, "/")
	if !strings.Contains(first, ".") || path == module || strings.HasPrefix(path, module+"/") {
		return "" // the standard library, this module
	}
	forTests := slices.ContainsFunc(testLibraries(), func(library string) bool { return under(path, library) })
	if forTests && (f.Test || isSuite(f)) {
		return ""
	}
	for _, library := range slices.Sorted(maps.Keys(libraries())) {
		if !under(path, library) {
			continue
		}
		folders := libraries()[library]
		if slices.ContainsFunc(folders, f.inside) {
			return ""
		}
		return library + " lives behind " + strings.Join(folders, ", ") + " and is imported nowhere else"
	}
	if forTests {
		return path + " is for tests"
	}
	return path + " is a library without a decision; give it a heading in RATIONALE.md and a line in libraries, " + policyFile
}

// isSuite reports whether the file belongs to a package of tests for others to run, such as plugintest.
func isSuite(f *File) bool { return strings.HasSuffix(f.AST.Name.Name, "test") }

func under(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}
