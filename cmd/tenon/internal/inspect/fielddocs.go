package inspect

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"

	"github.com/tenonhq/tenon"
)

// fieldDocs returns the comments of all struct fields of package sdk, by "Struct.Field". They document the configuration keys, and are
// read from the embedded source so that they need not be written twice.
func fieldDocs() (map[string]string, error) {
	docs := map[string]string{}
	files, err := fs.Glob(tenon.SDKSource, "sdk/*.go")
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := fs.ReadFile(tenon.SDKSource, name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path.Base(name), text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("source of the sdk: %w", err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				structDocs(docs, spec.Name.Name, s)
			}
			return false
		})
	}
	return docs, nil
}

func structDocs(docs map[string]string, name string, s *ast.StructType) {
	for _, field := range s.Fields.List {
		text := field.Doc.Text()
		if text == "" {
			text = field.Comment.Text()
		}
		for _, ident := range field.Names {
			docs[name+"."+ident.Name] = strings.Join(strings.Fields(text), " ")
		}
	}
}
