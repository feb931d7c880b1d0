package search_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/sdk"
)

// repository writes 5,000 files of 1 to 20 KB in 250 directories, about 50 MB of something like code.
func repository(b *testing.B) string {
	b.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("func return if err nil package import string int range for var type struct interface map chan select case switch ctx value result handler request")
	files := map[string]string{".gitignore": "*.log\nnode_modules/\n/build\n**/tmp/*.bak\n"}
	for i := range 5000 {
		var text strings.Builder
		for size := 1000 + rnd.IntN(19000); text.Len() < size; {
			for range rnd.IntN(9) {
				text.WriteString(words[rnd.IntN(len(words))] + " ")
			}
			text.WriteString("\n")
		}
		if i%1000 == 999 {
			text.WriteString("needleInTheHaystack()\n")
		}
		files[fmt.Sprintf("pkg%02d/sub%d/file%d.go", i%50, i%5, i)] = text.String()
	}
	return tree(b, files)
}

func BenchmarkSearch(b *testing.B) {
	root := repository(b)
	for _, bench := range []struct{ name, tool, pattern string }{
		{"glob", "glob", "**/*.go"},
		{"grep/literal", "grep", "needleInTheHaystack"},
		{"grep/fold", "grep", "(?i)needleinthehaystack"},
		{"grep/alternatives", "grep", "needleIn|haystackOf"},
		{"grep/prefix", "grep", `func\s+Needle\w+\(`},
		{"grep/class", "grep", `[A-Z]\w+Hay`},
		{"grep/no-literal", "grep", `[A-Z]\d+`},
		{"grep/many", "grep", `err`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				run(b, root, bench.tool, sdk.Object{"pattern": bench.pattern})
			}
		})
	}
}

// BenchmarkSmallFiles searches 5,000 files of half a kilobyte in 100 directories, so it measures the cost of each file.
func BenchmarkSmallFiles(b *testing.B) {
	files := map[string]string{}
	for i := range 5000 {
		files[fmt.Sprintf("pkg%02d/internal/sub%d/file%d.go", i%50, i%2, i)] = strings.Repeat("return nil, err\n", 32)
	}
	root := tree(b, files)
	for b.Loop() {
		run(b, root, "grep", sdk.Object{"pattern": "needleInTheHaystack"})
	}
}
