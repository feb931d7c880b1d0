package checked

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/tenonhq/tenon/internal/visible"
)

// Kind is the kind of a JSON value, as messages name it.
type Kind string

// The kinds of JSON values.
const (
	Object Kind = "an object"
	List   Kind = "a list"
	String Kind = "a string"
	Number Kind = "a number"
	Bool   Kind = "true or false"
	Null   Kind = "null"
)

// Node is a JSON value in a Source.
type Node struct {
	Kind    Kind
	Text    string          // the text of a string; the source of a number, true or false
	Members []Member        // the members of an object, in order
	Items   []Node          // the elements of a list
	Offset  int             // of the first byte in the source
	Raw     json.RawMessage // the source; may contain comments unless the source is strict
}

// Member is a member of an object.
type Member struct {
	Name   string
	Offset int // of the name
	Value  Node
}

// Get returns the first member with this name, or nil.
func (n *Node) Get(name string) *Node {
	for i := range n.Members {
		if n.Members[i].Name == name {
			return &n.Members[i].Value
		}
	}
	return nil
}

// Place returns the place of the node, if key is its key.
func (n *Node) Place(key string) Place { return Place{Key: key, Schema: key, Offset: n.Offset} }

// find returns the offset of the value with the key, or of the nearest value around it. at is the key of the node.
func (n *Node) find(at, key string) int {
	best := n.Offset
	for i := range n.Members {
		m := &n.Members[i]
		if child := Join(at, m.Name); child == key {
			return m.Offset
		} else if Under(key, child) {
			best = m.Value.find(child, key)
		}
	}
	for i := range n.Items {
		if child := Index(at, i); Under(key, child) {
			best = n.Items[i].find(child, key)
		}
	}
	return best
}

// keyBytes returns the total size of the keys of the values in the node; key is the size of the node's own key.
func (n *Node) keyBytes(key int) int {
	size := 0
	for i := range n.Members {
		below := key + 1 + len(n.Members[i].Name)
		size += below + n.Members[i].Value.keyBytes(below)
	}
	for i := range n.Items {
		size += key + n.Items[i].keyBytes(key)
	}
	return size
}

// newNode converts the result of the parser. It also returns the offset of a value that is nested too deep, or -1.
func newNode(v *hujson.Value, text []byte, depth int) (n Node, tooDeep int) {
	if depth > maxDepth {
		return n, v.StartOffset
	}
	n = Node{Offset: v.StartOffset, Raw: json.RawMessage(text[v.StartOffset:v.EndOffset])}
	switch value := v.Value.(type) {
	case *hujson.Object:
		n.Kind = Object
		n.Members = make([]Member, len(value.Members))
		for i := range value.Members {
			m := &value.Members[i]
			n.Members[i] = Member{Name: m.Name.Value.(hujson.Literal).String(), Offset: m.Name.StartOffset}
			if n.Members[i].Value, tooDeep = newNode(&m.Value, text, depth+1); tooDeep >= 0 {
				return n, tooDeep
			}
		}
	case *hujson.Array:
		n.Kind = List
		n.Items = make([]Node, len(value.Elements))
		for i := range value.Elements {
			if n.Items[i], tooDeep = newNode(&value.Elements[i], text, depth+1); tooDeep >= 0 {
				return n, tooDeep
			}
		}
	case hujson.Literal:
		n.Kind, n.Text = Bool, value.String()
		switch value.Kind() {
		case 'n':
			n.Kind = Null
		case '0':
			n.Kind = Number
		case '"':
			n.Kind = String
		}
	}
	return n, -1
}

// Join returns the key of a member of the object at key. It quotes ambiguous names: provider.openai.models."gpt-4.1".
func Join(key, name string) string {
	misread := func(r rune) bool {
		return r <= ' ' || r == '.' || r == '"' || r == '[' || r == ']' || r > '~' && !visible.Is(r)
	}
	if name == "" || strings.ContainsFunc(name, misread) {
		name = strconv.Quote(name)
	}
	if key == "" {
		return name
	}
	return key + "." + name
}

// Under reports whether key is prefix or a key below it.
func Under(key, prefix string) bool {
	rest, ok := strings.CutPrefix(key, prefix)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Index returns the key of an element of the list at key.
func Index(key string, i int) string { return key + "[" + strconv.Itoa(i) + "]" }
