package manifest

import (
	"encoding/json"
	"slices"

	"github.com/tenonhq/tenon/internal/nearest"
	"github.com/tenonhq/tenon/sdk"
)

// core holds the fields that the specification defines for plugin.json, except extensions.
type core struct {
	Schema      string   `json:"$schema"`
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	Description string   `json:"description"`
	Author      Author   `json:"author"`
	Homepage    string   `json:"homepage"`
	Repository  string   `json:"repository"`
	License     string   `json:"license"`
	Keywords    []string `json:"keywords"`
}

// manifest reads plugin.json. Two things are reported and ignored: a field that the specification does not know, and extensions that
// are not an object. Anything else that is wrong rejects the package.
func (r *reader) manifest(path string, data []byte) error {
	rep := &report{file: path}
	n, err := parseJSON(data)
	if err != nil {
		rep.add("", "", "%v", err)
		return rep.err()
	}
	c := &checker{report: rep}
	if !c.want("", n, kindObject) {
		return rep.err()
	}
	if c.checkNames("", n); len(rep.problems) > 0 {
		return rep.err()
	}
	known, extensions := r.sift(path, n)
	var m core
	if !c.decode("", known, &m) {
		return rep.err()
	}
	r.core(c, known, &m)
	ours := r.ourExtension(c, extensions)
	if len(rep.problems) > 0 {
		return rep.err()
	}
	r.fill(&m)
	if ours != nil {
		r.extension(c, ours)
	}
	return rep.err()
}

// sift splits the manifest into the fields of the specification and the extensions, and reports the rest.
func (r *reader) sift(path string, n *node) (known, extensions *node) {
	names := []string{
		"$schema", "name", "version", "description", "author", "homepage", "repository", "license", "keywords", "extensions",
	}
	known = &node{kind: kindObject}
	fields := map[string]json.RawMessage{}
	for _, m := range n.members {
		switch {
		case m.name == "extensions" && m.value.kind == kindObject:
			extensions = m.value
		case m.name == "extensions":
			r.warn(path, m.name, "write an object whose keys are namespaces", "is ignored: want an object, have %s", m.value.kind)
		case !slices.Contains(names, m.name):
			r.warn(path, at("", m.name), nearest.Remedy(m.name, names), "is ignored: the specification has no such field")
		default:
			known.members = append(known.members, m)
			fields[m.name] = m.value.raw
		}
	}
	known.raw, _ = json.Marshal(fields) // raw JSON that was valid before
	return known, extensions
}

// core checks the values of the required fields.
func (r *reader) core(c *checker, n *node, m *core) {
	const remedy = `write "` + PluginSchema + `"`
	switch {
	case n.field("$schema") == nil:
		c.report.add("$schema", remedy, "is missing")
	case m.Schema != PluginSchema:
		c.report.add("$schema", remedy, "unknown version of Agent Plugins: %s", quoted(m.Schema))
	}
	if n.field("name") == nil {
		c.report.add("name", "name the plugin", "is missing")
		return
	}
	checkName(c.report, "name", m.Name)
}

// checkName holds the rule for names of plugins.
func checkName(rep *report, field, name string) bool {
	if ValidName(name) {
		return true
	}
	rep.add(field, "use 1 to 64 of a-z, 0-9, - and ., a letter or digit first and last, no -- and no ..", "invalid plugin name %s", quoted(name))
	return false
}

// ValidName reports whether a plugin can have this name.
func ValidName(name string) bool {
	m := sdk.Manifest{Name: name, Carrier: sdk.CarrierBuiltin}
	return m.Validate() == nil
}

// ourExtension returns tenon's part, nil without one. Other namespaces are not inspected, but each must be an
// object.
func (r *reader) ourExtension(c *checker, n *node) *node {
	if n == nil {
		return nil
	}
	c.checkNames("extensions", n)
	var ours *node
	for _, m := range n.members {
		if m.name == sdk.ExtensionNamespace && c.want(extensionField, m.value, kindObject) {
			ours = m.value
		}
	}
	return ours
}

func (r *reader) fill(m *core) {
	r.p.Manifest = sdk.Manifest{Name: m.Name, Version: m.Version, Description: m.Description}
	r.p.Author, r.p.Homepage, r.p.License = m.Author, m.Homepage, m.License
	if r.p.Homepage == "" {
		r.p.Homepage = m.Repository
	}
	r.p.Description = sdk.Description{Name: m.Name, Version: m.Version, Summary: m.Description}
}

// extension reads tenon's part of the manifest.
func (r *reader) extension(c *checker, n *node) {
	c.nulls = true
	var d sdk.Description
	if !c.decode(extensionField, n, &d) {
		return
	}
	for _, field := range []string{"name", "version", "description"} {
		if n.field(field) != nil {
			c.report.add(at(extensionField, field), "remove it", "belongs to the top of plugin.json, not into the extension")
		}
	}
	d.Name, d.Version, d.Summary = r.p.Description.Name, r.p.Description.Version, r.p.Description.Summary
	v := &validator{report: c.report, where: extensionField, own: d.Name}
	v.contributions(&d)
	if d.Runtime == nil {
		v.withoutRuntime(&d)
	} else {
		r.runtime(v, d.Runtime)
		v.forRuntime(&d)
		r.p.Manifest.Carrier = sdk.Carrier(d.Runtime.Type)
		r.p.Undescribed = contributesNothing(&d)
	}
	v.build(d.Build)
	r.p.Manifest.Capabilities, r.p.Manifest.Options = d.Capabilities, d.Options
	r.p.Description = d
}

func contributesNothing(d *sdk.Description) bool {
	return len(d.Hooks)+len(d.Tools)+len(d.Providers)+len(d.Protocols)+len(d.Agents)+len(d.Commands) == 0
}
