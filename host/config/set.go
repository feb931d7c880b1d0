package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/tenonhq/tenon/internal/jsonpointer"
	"github.com/tenonhq/tenon/internal/lazyregexp"
)

// indentation is the indentation of one level in values that Set writes.
const indentation = "  "

// Set returns the text of a configuration file with another value at key, such as provider.mine.models."qwen-2.5". It adds missing
// objects around it. Comments and the layout of all other values stay as they are. A text without a value counts as an empty object.
func Set(text []byte, key string, value json.RawMessage) ([]byte, error) {
	path, err := splitKey(key)
	if err != nil {
		return nil, err
	}
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	known := len(path) // the number of names that lead to an existing value
	for root.Find(pointer(path[:known])) == nil {
		known-- // at the latest, the root exists
	}
	if known == len(path) {
		v, err := layOut(value, known)
		if err != nil {
			return nil, err
		}
		root.Find(pointer(path)).Value = v
		return root.Pack(), nil
	}
	parent, ok := root.Find(pointer(path[:known])).Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("%s is not an object", strings.Join(path[:known], "."))
	}
	for i := len(path) - 1; i > known; i-- {
		if value, err = json.Marshal(map[string]json.RawMessage{path[i]: value}); err != nil {
			return nil, err
		}
	}
	if err := addMember(&root, parent, path[:known+1], value); err != nil {
		return nil, err
	}
	return root.Pack(), nil
}

// Remove returns the text of a configuration file without the value at key. Comments and the layout of all other values stay as they are.
func Remove(text []byte, key string) ([]byte, error) {
	path, err := splitKey(key)
	if err != nil {
		return nil, err
	}
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	patch, err := json.Marshal([]any{map[string]any{"op": "remove", "path": pointer(path)}})
	if err != nil {
		return nil, err
	}
	for root.Find(pointer(path)) != nil { // the name may be a duplicate
		if err := root.Patch(patch); err != nil {
			return nil, err
		}
	}
	return root.Pack(), nil
}

// parse parses a configuration file in the way it is read: it ignores a byte order mark, and comments alone are an empty object.
func parse(text []byte) (hujson.Value, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	root, err := hujson.Parse(text)
	if err != nil {
		if empty, err := hujson.Parse(bytes.TrimLeft(slices.Concat(bytes.TrimSpace(text), []byte("\n{}\n")), "\n")); err == nil {
			return empty, nil
		}
	}
	return root, err
}

// addMember adds a value at the end of an object, whose path is path without its last name. The value is on a separate line if the others are.
func addMember(root *hujson.Value, object *hujson.Object, path []string, value json.RawMessage) error {
	depth, before := len(path), "\n"+strings.Repeat(indentation, len(path))
	if len(object.Members) > 0 {
		first := string(object.Members[0].Name.BeforeExtra)
		if at := strings.LastIndexByte(first, '\n'); at >= 0 {
			before = first[at:]
		} else {
			before = " "
		}
	}
	patch, err := json.Marshal([]any{map[string]any{"op": "add", "path": pointer(path), "value": value}})
	if err == nil {
		err = root.Patch(patch)
	}
	if err != nil {
		return err
	}
	added := &object.Members[len(object.Members)-1]
	if before != " " {
		if added.Value.Value, err = layOut(value, depth); err != nil {
			return err
		}
		if !bytes.Contains(object.AfterExtra, []byte("\n")) && !bytes.Contains(added.Value.AfterExtra, []byte("\n")) {
			object.AfterExtra = append(object.AfterExtra, "\n"+strings.Repeat(indentation, depth-1)...)
		}
		if bytes.HasSuffix(added.Name.BeforeExtra, []byte("\n")) { // after a comment
			before = before[1:]
		}
	}
	added.Name.BeforeExtra = append(added.Name.BeforeExtra, before...)
	added.Value.BeforeExtra = hujson.Extra(" ")
	return nil
}

// layOut returns the value with its lines indented for the depth.
func layOut(value json.RawMessage, depth int) (hujson.ValueTrimmed, error) {
	var b bytes.Buffer
	if err := json.Indent(&b, value, strings.Repeat(indentation, depth), indentation); err != nil {
		return nil, err
	}
	v, err := hujson.Parse(b.Bytes())
	return v.Value, err
}

// pointer returns the JSON pointer of a path.
func pointer(path []string) string {
	var out []byte
	for _, name := range path {
		out = jsonpointer.Append(out, name)
	}
	return string(out)
}

// keyName matches a name in a key with the dot after it, see checked.Join.
var keyName = lazyregexp.New(`^(?:"(?:[^"\\]|\\.)*"|[^."\[\]]+)\.`)

// splitKey returns the names in a key.
func splitKey(key string) (path []string, err error) {
	for rest := key + "."; rest != ""; {
		name := keyName().FindString(rest)
		if name == "" || !utf8.ValidString(name) {
			return nil, fmt.Errorf("key %q: want names with dots between them, such as compaction.auto; other names need quotation marks", key)
		}
		rest, name = rest[len(name):], name[:len(name)-1]
		if name[0] == '"' {
			if name, err = strconv.Unquote(name); err != nil {
				return nil, fmt.Errorf("key %q: %w", key, err)
			}
		}
		path = append(path, name)
	}
	return path, nil
}
