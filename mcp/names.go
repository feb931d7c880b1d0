package mcp

import "github.com/tenonhq/tenon/internal/lazyregexp"

// maxToolID is the maximum length of a tool's identifier.
const maxToolID = 64

// Names of the tools for a server's resources, after the server's name.
const (
	listResources = "list_resources"
	readResource  = "read_resource"
)

// toolIDs returns the identifiers of a server's tools: the server's name and the tool's, joined by an underscore. It replaces characters
// that are not allowed by underscores. An identifier that is too long or not unique ends in a hash.
func toolIDs(server string, names []string) []string {
	ids := make([]string, len(names))
	count := map[string]int{}
	for i, name := range names {
		ids[i] = identifier(server) + "_" + identifier(name)
		count[ids[i]]++
	}
	for i, id := range ids {
		if len(id) > maxToolID || count[id] > 1 {
			sum := shortHash([]byte(server + "\x00" + names[i]))
			ids[i] = id[:min(len(id), maxToolID-len(sum)-1)] + "_" + sum
		}
	}
	return ids
}

// ToolID returns the identifier of a server's tool for permission rules. It differs from the one in requests
// if two tools of the server would have the same.
func ToolID(server, tool string) string { return toolIDs(server, []string{tool})[0] }

// notInIdentifier matches a character that tool identifiers cannot have.
var notInIdentifier = lazyregexp.New(`[^A-Za-z0-9_-]`)

func identifier(name string) string { return notInIdentifier().ReplaceAllString(name, "_") }
