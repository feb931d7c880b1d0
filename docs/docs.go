// Package docs embeds the manual, which users and models read offline.
package docs

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed *.md
var pages embed.FS

// Page returns the page with a name such as "plugins". It reports whether the page exists.
func Page(name string) (string, bool) {
	text, err := pages.ReadFile(name + ".md")
	return string(text), err == nil
}

// List returns a line for each page with its name and title.
func List() string {
	files, _ := fs.Glob(pages, "*")
	var out strings.Builder
	for _, file := range files {
		text, _ := pages.ReadFile(file)
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		fmt.Fprintf(&out, "%-24s%s\n", strings.TrimSuffix(file, ".md"), title)
	}
	return out.String()
}
