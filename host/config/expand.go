package config

import (
	"strings"

	"github.com/tenonhq/tenon/internal/lazyregexp"
)

// reference matches a reference to a variable or a file.
var reference = lazyregexp.New(`\{(?:env|file):[^}]*\}`)

// expand replaces {env:X} and {file:p} in the decoded string text. Inserted text is not expanded again.
func (c *checker) expand(p place, text string) string {
	return reference().ReplaceAllStringFunc(text, func(found string) string {
		kind, name, _ := strings.Cut(found[1:len(found)-1], ":")
		read := c.expandEnv
		if kind == "file" {
			read = c.expandFile
		}
		if c.src.layer == LayerProject {
			c.borrowed[p.Key] = kind == "file" || found != text // an address that is all of a variable is the user's choice
		}
		value := read(p, name)
		if holdsSecrets(p.Schema) {
			c.addSecret(value)
		}
		return value
	})
}

func (c *checker) expandEnv(p place, name string) string {
	if !c.mayBorrowEnv(p, name) {
		return ""
	}
	value, ok := c.env[envName(name)]
	if !ok {
		c.Warn(p, "environment variable \""+name+"\" is not set, read as empty", "set it, or write the value")
	}
	return value
}

func (c *checker) expandFile(p place, name string) string {
	if !c.mayBorrowFile(p, name) {
		return ""
	}
	text, err := c.readFile(c.src.layer, c.absolute(name, c.src.dir))
	if err != nil {
		c.Bad(p, "file \""+name+"\" cannot be read: "+reason(err), "paths are relative to "+c.src.dir)
		return ""
	}
	return strings.TrimSpace(string(text))
}
