package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// pageBlock is a block of code in a page. A file begins with a comment with its name.
var pageBlock = regexp.MustCompile("(?s)```([a-z]+)\n(.*?)```\n")

// pageFile is the name of a file in its first line.
var pageFile = regexp.MustCompile(`^(//|#) ([A-Za-z0-9_.-]+)\n`)

// TestPages does what the pages about a first plugin tell, from the first command to the installed plugin.
func TestPages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compilers and interpreters take minutes under the race detector")
	}
	scripts := t.TempDir()
	for _, lang := range []string{"go", "node", "python", "rust"} {
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", "plugin-"+lang+".md"))
		if err != nil {
			t.Fatal(err)
		}
		var steps strings.Builder
		files := 0
		for _, block := range pageBlock.FindAllStringSubmatch(string(page), -1) {
			switch name := pageFile.FindStringSubmatch(block[2]); {
			case block[1] == "sh":
				steps.WriteString(block[2])
			case name != nil:
				files++
				if lines, most := strings.Count(block[2], "\n")-1, map[string]int{"go": 15, "node": 12}[lang]; most > 0 && lines > most {
					t.Errorf("the file of %s has %d lines, want at most %d", lang, lines, most)
				}
				fmt.Fprintf(&steps, "cat > %s <<'END_OF_FILE'\n%sEND_OF_FILE\n", name[2], block[2])
			}
		}
		if files != 1 {
			t.Errorf("the page of %s has %d files, want one", lang, files)
		}
		script := "env TENON_CONFIG_CONTENT='{\"enabled_providers\": [\"offline\"]}'\nexec sh -e steps.sh\nstdout 'chat.system.transform  house-rules 0.1.0  changed'\n" +
			"-- steps.sh --\n" + steps.String()
		if err := os.WriteFile(filepath.Join(scripts, lang+".txtar"), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	testscript.Run(t, scriptParams(t, scripts))
}
