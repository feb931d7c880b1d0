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
				if lines, most := strings.Count(block[2], "\n"), map[string]int{"go": 15, "node": 12}[lang]; most > 0 && lines > most {
					t.Errorf("the file of %s has %d lines, want at most %d", lang, lines, most)
				}
				fmt.Fprintf(&steps, "cat > %s <<'END_OF_FILE'\n%sEND_OF_FILE\n", name[2], block[2])
			}
		}
		if files != 1 {
			t.Errorf("the page of %s has %d files, want one", lang, files)
		}
		// The pages say what hooks do, not how fast: the machine may be busy.
		script := "env TENON_CONFIG_CONTENT='{\"enabled_providers\": [\"offline\"], \"hook\": {\"house-rules\": {\"timeout\": 20000}}}'\nexec sh -e steps.sh\nstdout 'chat.system.transform  house-rules 0.1.0  changed'\n" +
			"-- steps.sh --\n" + steps.String()
		if err := os.WriteFile(filepath.Join(scripts, lang+".txtar"), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	testscript.Run(t, scriptParams(t, scripts))
}

// pageSection is a section of a page, with its heading.
var pageSection = regexp.MustCompile(`(?m)^## (.*)$`)

// TestExamples runs each section of the pages of examples: its JSON is the user's configuration, its files lie in the project, and what a
// console block shows behind a command must be in the command's output. … stands for any text.
func TestExamples(t *testing.T) {
	t.Parallel()
	scripts := t.TempDir()
	for _, name := range []string{"permissions-by-example", "hooks-by-example", "ci"} {
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", name+".md"))
		if err != nil {
			t.Fatal(err)
		}
		starts := pageSection.FindAllStringSubmatchIndex(string(page), -1)
		for i, at := range starts {
			end := len(page)
			if i+1 < len(starts) {
				end = starts[i+1][0]
			}
			title := strings.ToLower(strings.NewReplacer(" ", "-", ",", "").Replace(string(page[at[2]:at[3]])))
			script, commands := exampleScript(string(page[at[0]:end]))
			if commands == 0 && name != "ci" {
				t.Errorf("%s: no command in %q", name, title)
			}
			if err := os.WriteFile(filepath.Join(scripts, name+"-"+title+".txtar"), []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	testscript.Run(t, scriptParams(t, scripts))
}

// exampleScript returns the script that runs a section, and the number of its commands.
func exampleScript(section string) (text string, commands int) {
	var script, files strings.Builder
	files.WriteString("-- example.run --\nsh \"$1\" >out.example 2>&1\necho \"exit code $?\" >>out.example\ncat out.example\n-- tenon.json.example --\n")
	script.WriteString("[windows] skip\nenv TENON_CONFIG_CONTENT='{\"enabled_providers\": [\"offline\"]}'\nmkdir $HOME/config/tenon\ncp tenon.json.example $HOME/config/tenon/tenon.json\n")
	for _, block := range pageBlock.FindAllStringSubmatch(section, -1) {
		file := pageFile.FindStringSubmatch(block[2])
		switch {
		case block[1] == "json":
			fmt.Fprintf(&files, "-- tenon.json.example --\n%s", block[2])
		case file != nil:
			fmt.Fprintf(&files, "-- %s --\n%s", file[2], block[2])
		case block[1] == "console":
			for _, line := range strings.Split(strings.TrimSpace(block[2]), "\n") {
				command, is := strings.CutPrefix(line, "$ ")
				if !is {
					pattern := strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*")
					fmt.Fprintf(&script, "stdout '%s'\n", strings.ReplaceAll(pattern, "'", "''"))
					continue
				}
				commands++
				fmt.Fprintf(&script, "exec sh example.run command%d.example\n", commands)
				fmt.Fprintf(&files, "-- command%d.example --\n%s\n", commands, command)
			}
		}
	}
	return script.String() + files.String(), commands
}
