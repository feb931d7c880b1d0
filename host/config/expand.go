package config

import "strings"

// expand replaces {env:X} and {file:p} in the decoded string text. Inserted text is not expanded again.
func (c *checker) expand(p place, text string) string {
	var b strings.Builder
	for {
		start, kind := nextReference(text)
		if start < 0 {
			b.WriteString(text)
			return b.String()
		}
		length := strings.IndexByte(text[start:], '}')
		if length < 0 {
			b.WriteString(text)
			return b.String()
		}
		if c.src.layer == LayerProject {
			// An address that is all of a variable is the user's choice.
			c.borrowed[p.Key] = kind == fileReference || start > 0 || length < len(text)-1 || b.Len() > 0
		}
		b.WriteString(text[:start])
		name := text[start+len(kind) : start+length]
		value := ""
		if kind == envReference {
			value = c.expandEnv(p, name)
		} else {
			value = c.expandFile(p, name)
		}
		if holdsSecrets(p.Schema) {
			c.addSecret(value)
		}
		b.WriteString(value)
		text = text[start+length+1:]
	}
}

const (
	envReference  = "{env:"
	fileReference = "{file:"
)

func nextReference(text string) (start int, kind string) {
	env, file := strings.Index(text, envReference), strings.Index(text, fileReference)
	if file >= 0 && (env < 0 || file < env) {
		return file, fileReference
	}
	return env, envReference
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
