// Command lint finds mistakes in packages and their tests, for one or more operating systems and processors:
//
//	go run ./internal/lint -targets linux/amd64,darwin/arm64 ./...
//
// It runs the analyzers of go vet and staticcheck. Those commands compile all dependencies for each system, or analyze their functions; this one
// reads only the declarations of dependencies, which takes a fraction of the time. It exits with status 1 if a package does not compile or an
// analyzer reports a problem. With -known, it records in that directory which packages had no problems, and analyzes them again only if their
// files, packages they import, or this program changed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/packages"
	"honnef.co/go/tools/analysis/lint"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/staticcheck/sa1019"
	"honnef.co/go/tools/stylecheck"
	"honnef.co/go/tools/unused"
)

func main() {
	targets := flag.String("targets", runtime.GOOS+"/"+runtime.GOARCH, "operating systems and processors, separated by commas")
	known := flag.String("known", "", "directory to keep what is known of packages without problems in")
	flag.Parse()
	failed := false
	for target := range strings.SplitSeq(*targets, ",") {
		known := keysFile(*known, target, flag.Args())
		if err := look(known, ".", target, flag.Args()...); err != nil {
			fmt.Fprintf(os.Stderr, "%s:\n%v\n", target, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// look analyzes the packages that patterns match in dir, for a target such as linux/amd64, except those in known. Its error lists all problems;
// if there are none, known contains these packages afterwards.
func look(known withoutProblems, dir, target string, patterns ...string) error {
	system, arch, ok := strings.Cut(target, "/")
	if !ok {
		return fmt.Errorf("%q is not a target; expected one such as linux/amd64", target)
	}
	config := &packages.Config{
		Dir: dir, Fset: token.NewFileSet(), Tests: true,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypesSizes | packages.NeedModule,
		Env:  append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0"),
	}
	listed, err := packages.Load(config, patterns...)
	if err != nil {
		return err
	}
	// Generated packages, which run the tests of others, are not analyzed.
	listed = slices.DeleteFunc(listed, func(p *packages.Package) bool { return strings.HasSuffix(p.PkgPath, ".test") })
	key, err := keyOf(target)
	if err != nil {
		return err
	}
	keys, changed := make([]string, len(listed)), []*packages.Package(nil)
	before := known.read()
	for i, p := range listed {
		if keys[i], err = key(p); err != nil {
			return err
		}
		if !before[keys[i]] {
			changed = append(changed, p)
		}
	}
	r := &report{fset: config.Fset, problems: map[string]bool{}}
	r.find(changed, system)
	if len(r.problems) > 0 {
		return r.err()
	}
	return known.write(keys)
}

// find adds the problems of packages. The analyzers of staticcheck run only for the current system: functions that only tests of one system use
// would count as unused on others.
func (r *report) find(listed []*packages.Package, system string) {
	checked := map[*packages.Package]chan struct{}{} // closed when a package is checked
	packages.Visit(listed, nil, func(p *packages.Package) { checked[p] = make(chan struct{}) })
	var all sync.WaitGroup
	for p, done := range checked {
		all.Go(func() {
			defer close(done)
			for _, i := range p.Imports {
				<-checked[i]
			}
			r.check(p, exits(p) || p.Module != nil && p.Module.Main)
		})
	}
	all.Wait()
	if listed = withTests(listed); len(r.problems) == 0 {
		// These need facts about dependencies: which functions are deprecated, format text or do not return.
		r.analyze(append([]*analysis.Analyzer{sa1019.Analyzer}, vet.Suite...), listed)
		if system == runtime.GOOS {
			r.staticcheck(listed)
		}
	}
}

// withTests removes packages that the list also contains with their tests. Like go vet, it keeps the latter.
func withTests(listed []*packages.Package) []*packages.Package {
	tested := map[string]bool{}
	for _, p := range listed {
		if p.ID != p.PkgPath {
			tested[p.PkgPath] = true
		}
	}
	return slices.DeleteFunc(listed, func(p *packages.Package) bool { return p.ID == p.PkgPath && tested[p.PkgPath] })
}

// exits reports whether a package has functions that end a test or the program, which many analyzers must know.
func exits(p *packages.Package) bool {
	return slices.Contains([]string{"testing", "log", "os"}, p.PkgPath)
}

// report collects problems, each once: a package and the same package with its tests have the same problems.
type report struct {
	fset     *token.FileSet
	mu       sync.Mutex // of problems
	problems map[string]bool
}

func (r *report) add(problem string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems[problem] = true
}

func (r *report) err() error {
	return errors.New(strings.Join(slices.Sorted(maps.Keys(r.problems)), "\n"))
}

// analyze adds the problems that analyzers report, except those with a comment //lint:ignore.
func (r *report) analyze(analyzers []*analysis.Analyzer, listed []*packages.Package) {
	graph, err := checker.Analyze(analyzers, listed, nil)
	if err != nil {
		r.add(err.Error())
		return
	}
	for _, a := range graph.Roots {
		if a.Err != nil {
			r.add(fmt.Sprintf("%v: %v", a, a.Err))
		}
		if objects, ok := a.Result.(unused.Result); ok {
			for _, o := range objects.Unused {
				r.add(fmt.Sprintf("%v: %s %s is unused (U1000)", o.DisplayPosition, o.Kind, o.Name))
			}
		}
		for _, d := range a.Diagnostics {
			if !r.ignored(a, d.Pos) {
				r.add(fmt.Sprintf("%v: %s (%s)", r.fset.Position(d.Pos), d.Message, a.Analyzer.Name))
			}
		}
	}
}

// staticcheck runs the default analyzers of staticcheck except sa1019, which ran with those of go vet. They know only the types of imports, and
// which functions end a test or the program.
func (r *report) staticcheck(listed []*packages.Package) {
	analyzers := []*analysis.Analyzer{unused.Analyzer.Analyzer}
	for _, a := range slices.Concat(staticcheck.Analyzers, simple.Analyzers, stylecheck.Analyzers) {
		if !a.Doc.NonDefault && a.Analyzer != sa1019.Analyzer {
			analyzers = append(analyzers, a.Analyzer)
		}
	}
	packages.Visit(listed, nil, func(p *packages.Package) {
		maps.DeleteFunc(p.Imports, func(_ string, i *packages.Package) bool { return !exits(i) })
	})
	for some := range slices.Chunk(listed, 96) { // because the analyzers' form of a package takes megabytes
		r.analyze(analyzers, some)
	}
}

// ignored reports whether the line before pos says //lint:ignore CHECK REASON.
func (r *report) ignored(a *checker.Action, pos token.Pos) bool {
	at := r.fset.Position(pos)
	return slices.ContainsFunc(lint.ParseDirectives(a.Package.Syntax, r.fset), func(d lint.Directive) bool {
		before := r.fset.Position(d.Node.Pos())
		return d.Command == "ignore" && d.Arguments[0] == a.Analyzer.Name && before.Filename == at.Filename && before.Line == at.Line
	})
}

// check sets the syntax and types of p, with or without the content of functions and tables. Its imports are already checked.
func (r *report) check(p *packages.Package, bodies bool) {
	for _, e := range p.Errors {
		r.add(e.Error())
	}
	p.Fset = r.fset
	p.TypesInfo = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Scopes: map[ast.Node]*types.Scope{}, FileVersions: map[*ast.File]string{},
	}
	if p.PkgPath == "unsafe" {
		p.Types = types.Unsafe
		return
	}
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(r.fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			r.add(err.Error())
			continue
		}
		if !bodies {
			ast.Inspect(file, empty)
		}
		p.Syntax = append(p.Syntax, file)
	}
	config := types.Config{Importer: imports(p.Imports), Sizes: p.TypesSizes, IgnoreFuncBodies: !bodies, Error: func(err error) { r.add(err.Error()) }}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	p.Types, _ = config.Check(p.PkgPath, r.fset, p.Syntax, p.TypesInfo)
}

// empty removes the statements of a function and the elements of a table. Functions in assembly have no body.
func empty(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		if n.Body != nil {
			n.Body.List = nil
		}
	case *ast.FuncLit:
		n.Body.List = nil
	case *ast.CompositeLit:
		if array, ok := n.Type.(*ast.ArrayType); ok {
			if _, counted := array.Len.(*ast.Ellipsis); counted {
				break // of [...]T, whose length is the number of elements
			}
		}
		n.Elts = nil
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
