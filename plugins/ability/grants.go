package ability

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// grants are the user's grants, prepared for checks. They are immutable.
type grants struct {
	scopes  map[string][]string // by the capability's name; a capability without scope has an empty list
	origins []origin            // the scope of http
}

// newGrants copies grants. It merges the scopes of several grants of one capability.
func newGrants(given []sdk.Capability, log *slog.Logger) grants {
	g := grants{scopes: map[string][]string{}}
	for _, c := range given {
		g.scopes[c.Name] = append(g.scopes[c.Name], c.Scope...)
		if c.Name != sdk.CapabilityHTTP {
			continue
		}
		for _, entry := range c.Scope {
			o, err := parseGrant(entry)
			if err != nil {
				log.Warn("grant has no effect", "capability", c.Name, "scope", entry, "err", err)
				continue
			}
			g.origins = append(g.origins, o)
		}
	}
	return g
}

// CheckAddress returns an error for a malformed or too wide entry in the scope of http. The error contains the entry and a remedy.
func CheckAddress(entry string) error {
	_, err := parseGrant(entry)
	return err
}

func (g *grants) has(capability string) bool {
	_, ok := g.scopes[capability]
	return ok
}

// names reports whether the scope contains exactly this name.
func (g *grants) names(capability, name string) bool {
	return name != "" && slices.Contains(g.scopes[capability], name)
}

// matches reports whether a pattern of the scope matches.
func (g *grants) matches(capability, name string) bool {
	return slices.ContainsFunc(g.scopes[capability], func(pattern string) bool { return Match(pattern, name) })
}

// origin returns the grant that covers the address.
func (g *grants) origin(o origin) (origin, bool) {
	for _, granted := range g.origins {
		if granted.covers(o) {
			return granted, true
		}
	}
	return origin{}, false
}

// Match compares a name with a pattern in which * matches any characters.
func Match(pattern, name string) bool {
	pieces := strings.Split(pattern, "*")
	last := len(pieces) - 1
	if last == 0 {
		return pattern == name
	}
	name, found := strings.CutPrefix(name, pieces[0])
	for _, piece := range pieces[1:last] {
		if found {
			_, name, found = strings.Cut(name, piece)
		}
	}
	return found && strings.HasSuffix(name, pieces[last])
}
