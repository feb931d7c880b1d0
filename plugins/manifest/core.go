package manifest

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/nearest"
	"github.com/tenonhq/tenon/sdk"
)

// core has the fields that the specification defines for plugin.json, except extensions.
type core struct {
	Schema      string   `json:"$schema"`
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	Description string   `json:"description"`
	Author      author   `json:"author"`
	Homepage    string   `json:"homepage"`
	Repository  string   `json:"repository"`
	License     string   `json:"license"`
	Keywords    []string `json:"keywords"`
}

type author struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	URL   string `json:"url"`
}

// manifest reads plugin.json. Two problems are only reported: a field that the specification does not have, and extensions that are not an
// object. Any other problem rejects the package.
func (r *reader) manifest(path string, data []byte) error {
	rep := newReport(path)
	n := rep.object(data)
	if n == nil {
		return rep.err()
	}
	ours := r.top(rep.checker(), n)
	if len(rep.Problems) > 0 {
		return rep.err()
	}
	r.identity(n)
	checkCore(rep, n)
	if ours != nil && len(rep.Problems) == 0 {
		r.extension(rep, ours)
	}
	return rep.err()
}

// top checks the fields at the top of plugin.json and returns tenon's part of the extensions; nil without one. Other namespaces are not inspected.
func (r *reader) top(c *checked.Checker, n *checked.Node) (ours *checked.Node) {
	fields := checked.FieldsOf(reflect.TypeFor[core]())
	c.Each(n.Place(""), n, func(at checked.Place, name string, n *checked.Node) {
		switch t, known := fields.Types[name]; {
		case known:
			c.Value(at, n, t)
		case name == "extensions" && n.Kind == checked.Object:
			c.Each(at, n, func(at checked.Place, name string, n *checked.Node) {
				if name == sdk.ExtensionNamespace && c.Want(at, n, checked.Object) {
					ours = n
				}
			})
		case name == "extensions":
			r.warnOf(c.Source.At(at, fmt.Sprintf("is ignored: want an object, have %s", n.Kind), "write an object whose keys are namespaces"))
		default:
			remedy := nearest.Remedy(name, append(slices.Clone(fields.Names), "extensions"))
			r.warnOf(c.Source.At(at, "is ignored: the specification has no such field", remedy))
		}
	})
	return ours
}

// checkCore checks the required fields.
func checkCore(rep *report, n *checked.Node) {
	const remedy = `write "` + PluginSchema + `"`
	if schema := n.Get("$schema"); rep.need(schema != nil, "$schema", remedy, "is missing") {
		rep.need(schema.Text == PluginSchema, "$schema", remedy, "unknown version of Agent Plugins: %s", quoted(schema.Text))
	}
	if name := n.Get("name"); rep.need(name != nil, "name", "name the plugin", "is missing") {
		checkName(rep, "name", name.Text)
	}
}

// checkName reports an invalid plugin name.
func checkName(rep *report, field, name string) {
	const remedy = "use 1 to 64 of a-z, 0-9, - and ., a letter or digit first and last, no -- and no .."
	rep.need(ValidName(name), field, remedy, "invalid plugin name %s", quoted(name))
}

// ValidName reports whether a plugin can have this name.
func ValidName(name string) bool {
	m := sdk.Manifest{Name: name, Carrier: sdk.CarrierBuiltin}
	return m.Validate() == nil
}

// MakeName returns a valid name derived from a text; empty if no part of the text can be in a name.
func MakeName(text string) string {
	name := strings.TrimLeft(notInName().ReplaceAllString(strings.ToLower(text), "-"), "-")
	return strings.TrimRight(name[:min(64, len(name))], "-")
}

// notInName matches characters that MakeName replaces.
var notInName = lazyregexp.New(`[^a-z0-9]+`)

// identity reads the fields that the manifests of all hosts have. Other hosts check them less, so fields that are not text are left out.
func (r *reader) identity(n *checked.Node) {
	text := func(field string) string {
		if v := n.Get(field); v != nil && v.Kind == checked.String {
			return v.Text
		}
		return ""
	}
	d := &r.p.Description
	d.Name = cmp.Or(strings.ToLower(text("name")), d.Name)
	d.Version, d.Summary = text("version"), text("description")
	r.p.License, r.p.Homepage = text("license"), cmp.Or(text("homepage"), text("repository"))
}

// extension reads tenon's part of the manifest.
func (r *reader) extension(rep *report, n *checked.Node) {
	c := rep.checker()
	c.Nulls = true
	var d sdk.Description
	c.Decode(n.Place(extensionField), n, &d) // after a problem, d is empty
	for _, field := range []string{"name", "version", "description"} {
		rep.need(n.Get(field) == nil, checked.Join(extensionField, field), "remove it", "belongs to the top of plugin.json, not into the extension")
	}
	d.Name, d.Version, d.Summary = r.p.Description.Name, r.p.Description.Version, r.p.Description.Summary
	v := &validator{report: rep, where: extensionField, own: d.Name}
	v.contributions(&d)
	if d.Runtime == nil {
		for _, field := range contributed(&d) {
			v.add(v.at(field), "add a runtime, or remove it", "needs a runtime")
		}
	} else {
		r.runtime(v, d.Runtime)
		v.forCarrier(&d, sdk.Carrier(d.Runtime.Type))
		r.p.Carrier = sdk.Carrier(d.Runtime.Type)
		r.p.Undescribed = len(contributed(&d)) == 0
	}
	if b := d.Build; b != nil { // only its author runs it
		v.need(len(b.Command) > 0 && b.Command[0] != "", checked.Join(v.at("build"), "command"), "write the program and its arguments", "is empty")
	}
	r.p.Description = d
}
