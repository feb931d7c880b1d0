package manifest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/tenonhq/tenon/internal/checked"
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
	rep := newReport(path)
	n := rep.object(data)
	if n == nil {
		return rep.err()
	}
	c := rep.checker()
	known, extensions := r.sift(c, n)
	var m core
	if !c.Decode(n.Place(""), known, &m) {
		return rep.err()
	}
	r.core(rep, known, &m)
	ours := r.ourExtension(c, extensions)
	if len(rep.Problems) > 0 {
		return rep.err()
	}
	r.fill(&m)
	if ours != nil {
		r.extension(rep, ours)
	}
	return rep.err()
}

// sift splits the manifest into the fields of the specification and the extensions, and reports the rest.
func (r *reader) sift(c *checked.Checker, n *checked.Node) (known, extensions *checked.Node) {
	names := append(checked.FieldsOf(reflect.TypeFor[core]()).Names, "extensions")
	known = &checked.Node{Kind: checked.Object}
	fields := map[string]json.RawMessage{}
	c.Each(n.Place(""), n, func(at checked.Place, name string, n *checked.Node) {
		switch {
		case name == "extensions" && n.Kind == checked.Object:
			extensions = n
		case name == "extensions":
			r.warnOf(c.Source.At(at, fmt.Sprintf("is ignored: want an object, have %s", n.Kind), "write an object whose keys are namespaces"))
		case !slices.Contains(names, name):
			r.warnOf(c.Source.At(at, "is ignored: the specification has no such field", nearest.Remedy(name, names)))
		default:
			known.Members = append(known.Members, checked.Member{Name: name, Offset: at.Offset, Value: *n})
			fields[name] = n.Raw
		}
	})
	known.Raw, _ = json.Marshal(fields) // raw JSON that was valid before
	return known, extensions
}

// core checks the values of the required fields.
func (r *reader) core(rep *report, n *checked.Node, m *core) {
	const remedy = `write "` + PluginSchema + `"`
	switch {
	case n.Get("$schema") == nil:
		rep.add("$schema", remedy, "is missing")
	case m.Schema != PluginSchema:
		rep.add("$schema", remedy, "unknown version of Agent Plugins: %s", quoted(m.Schema))
	}
	if n.Get("name") == nil {
		rep.add("name", "name the plugin", "is missing")
		return
	}
	checkName(rep, "name", m.Name)
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
func (r *reader) ourExtension(c *checked.Checker, n *checked.Node) *checked.Node {
	if n == nil {
		return nil
	}
	var ours *checked.Node
	c.Each(n.Place("extensions"), n, func(at checked.Place, name string, n *checked.Node) {
		if name == sdk.ExtensionNamespace && c.Want(at, n, checked.Object) {
			ours = n
		}
	})
	return ours
}

func (r *reader) fill(m *core) {
	r.p.Manifest = sdk.Manifest{Name: m.Name, Version: m.Version, Description: m.Description}
	r.p.Author, r.p.Homepage, r.p.License = m.Author, m.Homepage, m.License
	r.p.Homepage = cmp.Or(r.p.Homepage, m.Repository)
	r.p.Description = sdk.Description{Name: m.Name, Version: m.Version, Summary: m.Description}
}

// extension reads tenon's part of the manifest.
func (r *reader) extension(rep *report, n *checked.Node) {
	c := rep.checker()
	c.Nulls = true
	var d sdk.Description
	if !c.Decode(n.Place(extensionField), n, &d) {
		return
	}
	for _, field := range []string{"name", "version", "description"} {
		if n.Get(field) != nil {
			rep.add(checked.Join(extensionField, field), "remove it", "belongs to the top of plugin.json, not into the extension")
		}
	}
	d.Name, d.Version, d.Summary = r.p.Description.Name, r.p.Description.Version, r.p.Description.Summary
	v := &validator{report: rep, where: extensionField, own: d.Name}
	v.contributions(&d)
	if d.Runtime == nil {
		v.withoutRuntime(&d)
	} else {
		r.runtime(v, d.Runtime)
		v.forCarrier(&d, sdk.Carrier(d.Runtime.Type))
		r.p.Manifest.Carrier = sdk.Carrier(d.Runtime.Type)
		r.p.Undescribed = len(contributed(&d)) == 0
	}
	v.build(d.Build)
	r.p.Manifest.Capabilities, r.p.Manifest.Options = d.Capabilities, d.Options
	r.p.Description = d
}
