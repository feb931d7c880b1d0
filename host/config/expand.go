package config

import (
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/secret"
)

// reference matches a reference to a variable or a file.
var reference = lazyregexp.New(`\{(?:env|file):[^}]*\}`)

// maxRead is the maximum number of bytes that the references in one source read. A prompt in a file has some kilobytes; a repository's file could
// name a large one a thousand times.
const maxRead = 4 << 20

// expand replaces {env:X} and {file:p} in the decoded string text. Inserted text is not expanded again. It returns false after it reported a
// reference.
func (c *checker) expand(p place, text string) (expanded string, ok bool) {
	problems := len(c.Report.Problems)
	expanded = reference().ReplaceAllStringFunc(text, func(found string) string {
		if c.read > maxRead {
			return "" // reported
		}
		kind, name, _ := strings.Cut(found[1:len(found)-1], ":")
		read, secrets := c.expandEnv, &c.secrets
		if kind == "file" {
			read = c.expandFile
		}
		if c.src.layer == LayerProject {
			if kind == "file" {
				secrets = &c.written
			}
			c.borrowed[p.Key] = kind == "file" || found != text // an address that is all of a variable is the user's choice
		}
		value := read(p, name)
		if c.read += len(value); c.read > maxRead {
			c.Bad(p, fmt.Sprintf("the references up to here read more than %d bytes", maxRead), "insert less")
			return ""
		}
		if kind == "file" {
			value = strings.TrimSpace(value)
		}
		if holdsSecrets(p.Schema) {
			for _, s := range append(secret.InURL(value), value) {
				c.addSecret(secrets, s)
			}
		}
		return value
	})
	return expanded, len(c.Report.Problems) == problems
}

// expandEnv returns the value of a variable. A project's file may use a variable with the name of a secret only where the value requires approval
// or is sent only to the user's addresses, see foreign.
func (c *checker) expandEnv(p place, name string) string {
	if c.src.layer == LayerProject && !holdsSecrets(p.Schema) && secret.Named(name) {
		c.Bad(p, fmt.Sprintf("{env:%s} has the name of a secret; a project's file must not use it here", name), "put the value into your own configuration")
		return ""
	}
	c.taken = append(c.taken, taken{c.src.origin, p.Key, name})
	value, ok := c.env[envName(name)]
	if !ok {
		c.Warn(p, "environment variable \""+name+"\" is not set and counts as empty", "set it, or write the value")
	}
	return value
}

// expandFile returns the content of a file. A project's file may use only files of the project.
func (c *checker) expandFile(p place, name string) string {
	if c.src.layer == LayerProject && !c.inProject(name, c.src.dir) {
		c.Bad(p, fmt.Sprintf("file %q is outside the project; a project's file must not read it", name), "put the value into your own configuration")
		return ""
	}
	text, err := c.readFile(c.src.layer, c.absolute(name, c.src.dir))
	if err != nil {
		c.Bad(p, "file \""+name+"\" cannot be read: "+reason(err), "paths are relative to "+c.src.dir)
		return ""
	}
	if c.src.layer == LayerProject { // an approval of the referring file covers the text
		c.projectFiles[c.src.origin] = digest(append([]byte(c.projectFiles[c.src.origin]), text...))
	}
	return string(text)
}
