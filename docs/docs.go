// Package docs embeds the manual, which users and models read offline.
package docs

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed *.md
var pages embed.FS

// Page returns the page with a name such as "plugins". It reports whether the page exists.
func Page(name string) (string, bool) {
	text, err := pages.ReadFile(name + ".md")
	return string(text), err == nil
}

// Names returns the names of all pages.
func Names() []string {
	entries, _ := pages.ReadDir(".") // it exists
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".md")
	}
	return names
}

// List returns a line for each page with its name and title.
func List() string {
	var out strings.Builder
	for _, name := range Names() {
		text, _ := Page(name)
		title, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
		fmt.Fprintf(&out, "%-24s%s\n", name, title)
	}
	return out.String()
}
