package archtest

import (
	"go/ast"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestGuarantees checks that every guarantee of docs/security.md names tests, and that these tests exist.
func TestGuarantees(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(root + "/docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	m, err := Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	known := testsOf(m)
	_, section, _ := strings.Cut(string(page), "\n## Guarantees and their tests\n")
	section, _, _ = strings.Cut(section, "\nKnown gaps:\n")
	rows := 0
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 3 || strings.TrimSpace(cells[0]) == "guarantee" {
			continue
		}
		rows++
		names := regexp.MustCompile("`([A-Za-z0-9/]+(?:\\.txtar)?)`").FindAllStringSubmatch(cells[2], -1)
		if len(names) == 0 {
			t.Errorf("%s: no test", cells[0])
		}
		for _, name := range names {
			if !exists(known, name[1]) {
				t.Errorf("%s: test %s not found", cells[0], name[1])
			}
		}
	}
	if rows < 40 {
		t.Errorf("found %d guarantees, want those of the page", rows)
	}
}

// testsOf returns the names of tests, and the texts in test suites, which name subtests.
func testsOf(m *Module) map[string]bool {
	known := map[string]bool{}
	for _, f := range m.Files {
		if !f.Test && !strings.HasSuffix(f.Dir, "test") {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				known[n.Name.Name] = n.Recv == nil
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil {
					known["/"+text] = true
				}
			}
			return true
		})
	}
	return known
}

// exists reports whether there is a test, a subtest, or a script of the command with the name.
func exists(known map[string]bool, name string) bool {
	test, sub, nested := strings.Cut(strings.TrimSuffix(name, ".txtar"), "/")
	script := func(name string) bool {
		_, err := os.Stat(root + "/cmd/tenon/testdata/script/" + name + ".txtar")
		return err == nil
	}
	switch {
	case strings.HasSuffix(name, ".txtar"):
		return script(test)
	case !nested:
		return known[test]
	}
	return known[test] && (known["/"+sub] || script(sub))
}
