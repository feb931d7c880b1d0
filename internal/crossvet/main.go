// Command crossvet does what go vet does, for operating systems that tests do not run on:
//
//	go run ./internal/crossvet darwin/arm64 windows/amd64
//
// go vet compiles all dependencies of what it looks at, for each target. This command reads their source and leaves out what is in
// their functions, which takes a tenth of the time. It looks at all packages below the working directory, with their tests, and ends with
// status 1 if one does not compile or an analyzer reports something.
package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/packages"
)

func main() {
	for _, target := range os.Args[1:] {
		if err := look(".", target); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", target, err)
			os.Exit(1)
		}
	}
}

// look looks at the packages below dir for a target such as "windows/amd64". Its error has all that it found.
func look(dir, target string) error {
	system, arch, ok := strings.Cut(target, "/")
	if !ok {
		return errors.New("expected a target such as windows/amd64")
	}
	config := &packages.Config{
		Dir: dir, Fset: token.NewFileSet(), Tests: true,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypesSizes | packages.NeedModule,
		Env:  append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0"),
	}
	listed, err := packages.Load(config, "./...")
	if err != nil {
		return err
	}
	// The generated package that runs the tests of another has nothing to look at.
	listed = slices.DeleteFunc(listed, func(p *packages.Package) bool { return strings.HasSuffix(p.PkgPath, ".test") })
	var problems []error
	packages.Visit(listed, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			problems = append(problems, e)
		}
		problems = append(problems, check(config.Fset, p, slices.Contains(listed, p))...)
	})
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	found, err := checker.Analyze(vet.Suite, listed, nil)
	if err != nil {
		return err
	}
	for action := range found.All() {
		if action.Err != nil {
			problems = append(problems, fmt.Errorf("%v: %w", action, action.Err))
		}
		for _, d := range action.Diagnostics {
			if action.IsRoot {
				problems = append(problems, fmt.Errorf("%v: %s", config.Fset.Position(d.Pos), d.Message))
			}
		}
	}
	return errors.Join(problems...)
}

// check sets the syntax and types of p, whose imports are checked already. Only our own packages have bodies of functions.
func check(fset *token.FileSet, p *packages.Package, own bool) []error {
	p.Fset = fset
	p.TypesInfo = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Scopes: map[ast.Node]*types.Scope{}, FileVersions: map[*ast.File]string{},
	}
	if p.PkgPath == "unsafe" {
		p.Types = types.Unsafe
		return nil
	}
	var problems []error
	report := func(err error) { problems = append(problems, err) }
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			report(err)
			continue
		}
		if !own {
			ast.Inspect(file, empty)
		}
		p.Syntax = append(p.Syntax, file)
	}
	config := types.Config{Importer: imports(p.Imports), Sizes: p.TypesSizes, IgnoreFuncBodies: !own, Error: report}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	p.Types, _ = config.Check(p.PkgPath, fset, p.Syntax, p.TypesInfo)
	return problems
}

// empty takes the statements out of a function. Functions in assembly have no body and keep none.
func empty(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		if n.Body != nil {
			n.Body.List = nil
		}
	case *ast.FuncLit:
		n.Body.List = nil
	}
	return true
}

// imports finds a package by the path in an import declaration.
type imports map[string]*packages.Package

func (i imports) Import(path string) (*types.Package, error) {
	if p := i[path]; p != nil {
		return p.Types, nil
	}
	return nil, fmt.Errorf("package %s is not listed", path)
}
