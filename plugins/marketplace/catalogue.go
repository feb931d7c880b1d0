package marketplace

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/source"
)

// Bounds of a catalogue. The largest public one had 286 entries in 250 KiB in 2026.
const (
	maxBytes    = 4 << 20
	maxEntries  = 5000
	maxProblems = 20
	maxText     = 200 // characters of a catalogue's words in a message
)

// ErrCatalogue is returned for an invalid catalogue.
var ErrCatalogue = errors.New("unusable marketplace")

// Catalogue is the content of a marketplace.json.
type Catalogue struct {
	Name        string
	Description string
	Entries     []Entry // in the order of the file
	// Problems are the entries that were left out, with the reason.
	Problems []string
	renames  map[string]*string // by old name; nil: the plugin was removed
	root     string             // directory of sources without "./"
}

// Entry is a plugin in a catalogue.
type Entry struct {
	Name        string
	Version     string
	Description string
	Words       []string // category, tags and keywords
	strict      bool
	source      json.RawMessage
	// definition are the fields that a manifest may have too.
	definition map[string]json.RawMessage
}

// header is the part of a file that tenon reads.
type header struct {
	Name        string             `json:"name"`
	Description string             `json:"description"`
	Plugins     []json.RawMessage  `json:"plugins"`
	Renames     map[string]*string `json:"renames"`
	Metadata    struct {
		Description string `json:"description"`
		PluginRoot  string `json:"pluginRoot"`
	} `json:"metadata"`
}

// Decode reads a catalogue. Individually invalid entries are left out and named in Problems. Errors wrap ErrCatalogue.
func Decode(data []byte) (*Catalogue, error) {
	var h header
	if err := json.Unmarshal(data, &h); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCatalogue, err)
	}
	switch {
	case !source.ValidEntry(h.Name):
		return nil, fmt.Errorf("%w: invalid name %q", ErrCatalogue, visible.Cut(h.Name, maxText, "…"))
	case len(h.Plugins) > maxEntries:
		return nil, fmt.Errorf("%w: %d plugins; the limit is %d", ErrCatalogue, len(h.Plugins), maxEntries)
	}
	c := &Catalogue{Name: h.Name, Description: cmp.Or(h.Description, h.Metadata.Description), root: h.Metadata.PluginRoot, renames: h.Renames}
	for i, raw := range h.Plugins {
		e, err := decodeEntry(raw)
		if err == nil && c.find(e.Name) != nil {
			err = fmt.Errorf("duplicate name %q", e.Name)
		}
		switch {
		case err == nil:
			c.Entries = append(c.Entries, *e)
		case len(c.Problems) < maxProblems:
			c.Problems = append(c.Problems, fmt.Sprintf("plugins[%d] is left out: %v", i, err))
		}
	}
	return c, nil
}

// notInManifest lists the fields of an entry that concern only the catalogue.
var notInManifest = []string{"source", "strict", "category", "tags", "relevance", "policy", "interface", "$schema"}

func decodeEntry(raw json.RawMessage) (*Entry, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, errors.New("want an object")
	}
	e := &Entry{
		Name: jsontext.StringValue(fields["name"]), Version: jsontext.StringValue(fields["version"]), Description: jsontext.StringValue(fields["description"]),
		strict: true, source: fields["source"], definition: map[string]json.RawMessage{},
	}
	if !source.ValidEntry(e.Name) {
		return nil, fmt.Errorf("invalid name %q", visible.Cut(e.Name, maxText, "…"))
	}
	if value, ok := fields["strict"]; ok && json.Unmarshal(value, &e.strict) != nil {
		return nil, fmt.Errorf("%s: strict must be true or false", e.Name)
	}
	if e.source == nil {
		return nil, fmt.Errorf("%s: source is missing", e.Name)
	}
	e.Words = append(e.Words, jsontext.StringValue(fields["category"]))
	for _, field := range []string{"tags", "keywords"} {
		var words []string
		if json.Unmarshal(fields[field], &words) == nil {
			e.Words = append(e.Words, words...)
		}
	}
	for name, value := range fields {
		if !slices.Contains(notInManifest, name) && string(value) != "null" {
			e.definition[name] = value
		}
	}
	return e, nil
}

func (c *Catalogue) find(name string) *Entry {
	if at := slices.IndexFunc(c.Entries, func(e Entry) bool { return e.Name == name }); at >= 0 {
		return &c.Entries[at]
	}
	return nil
}

// Find returns the entry of a plugin, which may have been renamed since.
func (c *Catalogue) Find(name string) (*Entry, error) {
	asked := name
	for range len(c.renames) + 1 {
		if e := c.find(name); e != nil {
			return e, nil
		}
		to, renamed := c.renames[name]
		if renamed && (to == nil || *to == "") {
			return nil, fmt.Errorf("%w: marketplace %s has removed %q", ErrNotFound, c.Name, asked)
		}
		if !renamed {
			break
		}
		name = *to
	}
	return nil, fmt.Errorf("%w: %q in marketplace %s", ErrNotFound, asked, c.Name)
}

// ErrNotFound is returned for a plugin or a marketplace that is not known.
var ErrNotFound = errors.New("not found")

// components are the fields of a manifest that name parts of the plugin, see
// https://code.claude.com/docs/en/plugins-reference#plugin-manifest-schema.
var components = []string{
	"skills", "commands", "agents", "hooks", "mcpServers", "lspServers", "outputStyles", "workflows", "channels", "userConfig", "dependencies", "experimental",
}

// ErrConflict is returned for a plugin whose manifest and entry both name parts, although the entry claims to be the only definition.
var ErrConflict = errors.New("the marketplace and the plugin's own manifest both define its parts")

// Manifest returns the manifest that the entry defines for a plugin; empty if the plugin's own is sufficient. own is the plugin's manifest of
// Claude Code; nil without one. has reports whether the plugin has any manifest. Errors wrap ErrConflict, or are about JSON.
func (e *Entry) Manifest(own []byte, has bool) (json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if own != nil {
		if err := json.Unmarshal(own, &fields); err != nil {
			return nil, fmt.Errorf("%s: %w", manifest.ClaudeFile, err)
		}
	}
	names := func(set map[string]json.RawMessage) []string {
		return slices.DeleteFunc(slices.Clone(components), func(name string) bool { return set[name] == nil })
	}
	adds, declared := names(e.definition), names(fields)
	switch {
	case has && len(adds) == 0:
		return nil, nil
	case !e.strict && len(declared) > 0:
		return nil, fmt.Errorf("%w: %s of %s", ErrConflict, declared[0], manifest.ClaudeFile)
	}
	merged := maps.Clone(e.definition)
	if e.strict {
		for name, value := range fields {
			if slices.Contains(adds, name) {
				value = join(value, e.definition[name])
			}
			merged[name] = value
		}
	} else if merged["skills"] != nil {
		merged[manifest.OnlyListed] = json.RawMessage("true")
	}
	return encode(merged), nil
}

// join adds an entry's value of a component to that of the manifest: lists are appended, and the manifest's members of an object take
// precedence. If the types differ, the manifest's value is used.
func join(own, added json.RawMessage) json.RawMessage {
	var left, right map[string]json.RawMessage
	if json.Unmarshal(own, &left) == nil && json.Unmarshal(added, &right) == nil {
		maps.Copy(right, left)
		return encode(right)
	}
	first, ok := list(own)
	second, also := list(added)
	if !ok || !also {
		return own
	}
	return encode(append(first, second...))
}

func encode(v any) json.RawMessage {
	data, _ := json.Marshal(v) // JSON that was valid before
	return data
}

// list returns the elements of a list, or a text as the only element of one.
func list(raw json.RawMessage) ([]json.RawMessage, bool) {
	var out []json.RawMessage
	if json.Unmarshal(raw, &out) == nil {
		return out, true
	}
	var s string
	return []json.RawMessage{raw}, json.Unmarshal(raw, &s) == nil
}
