package config

import (
	"errors"
	"reflect"
	"strings"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/secret"
	"github.com/tenonhq/tenon/sdk"
)

// ErrConfig is wrapped by every error about the configuration's content.
var ErrConfig = errors.New("invalid configuration")

// Problem is an error or a warning at one place of the configuration. Its file is a path, relative if it is below the working directory, or the
// name of a variable or flag.
type Problem = checked.Problem

// Error lists the errors of all sources of the configuration. It wraps ErrConfig.
type Error = checked.Error

// place is the place of a value in the configuration.
type place = checked.Place

// checker compares one source with the type of the configuration. It reports mismatches and returns the rest as a tree.
type checker struct {
	checked.Checker
	*loader
	src     *source
	origins map[string]Origin
	read    int // bytes of references
}

// layer returns the values of a source, and their origins.
func (l *loader) layer(s *source) (tree, map[string]Origin) {
	c := &checker{loader: l, src: s, origins: map[string]Origin{}}
	c.Checker = checked.Checker{Source: &s.Source, Report: &l.report, Rules: c}
	out, _ := c.Value(c.src.root.Place(""), c.src.root, reflect.TypeFor[sdk.Config]())
	layer := out.(tree)
	c.lower(layer)
	if c.src.layer == LayerProject {
		c.restrictPaths(layer)
	}
	return layer, c.origins
}

// Own reads values that have several forms, and leaves out those that a file of the project may not contain.
func (c *checker) Own(p place, n *checked.Node, t reflect.Type) (value any, ok, own bool) {
	if c.src.layer == LayerProject && c.refuses(p, n) {
		return nil, false, true
	}
	switch t {
	case reflect.TypeFor[sdk.PermissionRules]():
		value, ok = c.permission(p, n)
	case reflect.TypeFor[sdk.PluginConfig]():
		value, ok = c.plugin(p, n)
	case reflect.TypeFor[sdk.SandboxConfig]():
		if n.Kind != checked.Bool {
			return nil, false, false
		}
		c.Set(p.Member("enabled", p.Offset)) // true or false is short for enabled
		value, ok = map[string]any{"enabled": n.Text == "true"}, true
	default:
		return nil, false, false
	}
	return value, ok, true
}

// Text returns a string with its references replaced, and adds its secrets to those that must not be shown.
func (c *checker) Text(p place, text string) (string, bool) {
	text, ok := c.expand(p, text)
	list := &c.secrets
	if c.src.layer == LayerProject {
		list = &c.written
	}
	if secretKey(p.Key) {
		c.addSecret(list, text)
	}
	if isAddress(p.Key) {
		for _, s := range secret.InURL(text) {
			c.addSecret(list, s)
		}
	}
	return text, ok
}

// Set notes that the source set the value at p. Elements of lists share the origin of the list.
func (c *checker) Set(p place) {
	if p.Key != "" && !strings.Contains(p.Schema, "[]") {
		c.origins[p.Key] = c.src.originAt(p.Offset)
	}
}

// Hides reports whether values at p may be secrets.
func (c *checker) Hides(p place) bool { return holdsSecrets(p.Schema) }

// problem returns a problem with the value of key, whose origin is at.
func (c *checker) problem(key string, at Origin, message, remedy string) Problem {
	return Problem{File: c.src.Name, Line: at.Line, Column: at.Column, Key: key, Message: message, Remedy: remedy}
}
