package manifest

import (
	"encoding/json"
	"strings"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/sdk"
)

// hookFile finds the command hooks of a package: hooks/hooks.json in the directory of our extension, or where other tools have it. Its
// content is checked by the command hooks; here it only has to be JSON.
func (r *reader) hookFile() {
	for _, rel := range []string{sdk.ExtensionNamespace + "/" + usualHooks, usualHooks} {
		path, data, ok := r.part(rel, "command hooks")
		if !ok {
			continue
		}
		rep := newReport(path)
		switch {
		case rep.src.Parse(data, &rep.Report) == nil:
			r.warnAll(rep, "no command hooks are loaded: ")
		case r.p.HookFile != "":
			r.warn(path, "", "keep one of the two files", "is not read, because %s is", r.p.HookFile)
		default:
			r.p.HookFile, r.p.Hooks = path, string(data)
		}
	}
}

// foreignHooks finds the command hooks of another host's plugin: those of the usual file, and those that the manifest has or names.
func (r *reader) foreignHooks(n *checked.Node, manifest string) {
	r.hookFile()
	v := n.Get("hooks")
	if v == nil {
		return
	}
	all := map[string][]json.RawMessage{}
	if r.p.HookFile != "" {
		if err := addHooks(all, []byte(r.p.Hooks)); err != nil {
			r.warn(r.p.HookFile, "", "", "no command hooks are loaded: %v", err)
		}
	}
	usual, added := len(all), false
	for _, e := range elements(v) {
		data, err := e.Raw, error(nil)
		if e.Kind == checked.String {
			rel := strings.TrimPrefix(e.Text, "./")
			if rel == usualHooks && usual > 0 {
				continue
			}
			data, err = r.folder.read(rel, checked.MaxBytes)
		}
		if err == nil {
			err = addHooks(all, data)
		}
		added = added || err == nil
		if err != nil {
			r.warn(manifest, "hooks", "write a path inside of the package, or an object of events", "is left out: %v", err)
		}
	}
	if added && len(all) > 0 {
		data, _ := json.Marshal(map[string]any{"hooks": all}) // JSON that was valid before
		r.p.HookFile, r.p.Hooks = manifest, string(data)
	}
}

// elements returns the elements of a list, or another value as the only one.
func elements(v *checked.Node) []checked.Node {
	if v.Kind == checked.List {
		return v.Items
	}
	return []checked.Node{*v}
}

// usualHooks is the usual place of command hooks.
const usualHooks = "hooks/hooks.json"

// Members returns the members of the object in data. If one of them is an object named around, it returns that
// object's members instead.
func Members(data []byte, around string) (members map[string]json.RawMessage, err error) {
	err = json.Unmarshal(data, &members)
	if inner, ok := members[around]; ok && err == nil {
		members = nil
		err = json.Unmarshal(inner, &members)
	}
	return members, err
}

// addHooks adds a block of command hooks to others, event by event.
func addHooks(all map[string][]json.RawMessage, data []byte) error {
	block, err := Members(data, "hooks")
	for event, text := range block {
		var groups []json.RawMessage
		if json.Unmarshal(text, &groups) == nil && len(groups) > 0 { // otherwise the member is not an event but, for example, a description
			all[event] = append(all[event], groups...)
		}
	}
	return err
}
