package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/secret"
	"github.com/tenonhq/tenon/sdk"
)

// holdsSecrets reports whether any value at this place may be a secret.
func holdsSecrets(schema string) bool {
	return slices.ContainsFunc([]string{"provider", "mcp", "plugins", "hooks"}, func(top string) bool { return checked.Under(schema, top) })
}

// secretKey reports whether the value of this key is always a secret: all headers except those with the name of a provider, all variables of
// MCP servers, and keys with the name of a secret.
func secretKey(key string) bool {
	if strings.Contains(key, ".headers.") && !strings.HasSuffix(strings.ToLower(key), "-provider") || strings.HasPrefix(key, "mcp.") && strings.Contains(key, ".environment.") {
		return true
	}
	return secret.Named(key[strings.LastIndexByte(key, '.')+1:])
}

// isAddress reports whether the value of this key is the address of a server.
func isAddress(key string) bool {
	return strings.HasSuffix(key, ".baseURL") || strings.HasSuffix(key, ".api") || strings.HasSuffix(key, ".url")
}

// addSecret adds a value that must not be shown to a list of secrets.
func (l *loader) addSecret(list *[]string, value string) {
	if len(value) < secret.MinLength || l.isPlace(value) {
		return
	}
	*list = append(*list, value)
	if scheme, credential, ok := strings.Cut(value, " "); ok && len(credential) >= secret.MinLength && len(scheme) < secret.MinLength {
		*list = append(*list, credential) // the part after "Bearer", which may occur alone
	}
}

// argumentSecrets adds the secrets in the arguments of the user's own MCP servers. The arguments of a project's servers are shown: the user has
// to see what would run.
func (l *loader) argumentSecrets(cfg *sdk.Config, origins map[string]Origin) {
	for name, server := range cfg.MCP {
		if origins[checked.Join("mcp", name)+".command"].Layer == LayerProject {
			continue
		}
		for _, s := range secret.InArgs(server.Command) {
			l.addSecret(&l.secrets, s)
		}
	}
}

// sortedSecrets returns the secrets longest first, so that a secret inside another one does not hide only a part of it.
func sortedSecrets(list []string) []string {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	return slices.Compact(list)
}

// Redacted returns a copy of the configuration in which secrets are "***". An empty value stays empty.
func (l *Loaded) Redacted() (*sdk.Config, error) {
	data, err := json.Marshal(l.Config)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	var root any
	_ = jsontext.DecodeExact(data, &root) // it was encoded just now
	root = walkStrings("", root, func(key, text string) string {
		if text != "" && secretKey(key) {
			return secret.Mask
		}
		if isAddress(key) {
			text = secret.Hide(text, secret.InURL(text)) // short ones, too
		}
		return l.Mask(text)
	})
	data, _ = json.Marshal(root) // it was decoded from JSON
	out := &sdk.Config{}
	if err := json.Unmarshal(data, out); err != nil {
		return nil, fmt.Errorf("redacted configuration: %w", err)
	}
	return out, nil
}

// isPlace reports whether the value is a well-known directory: {env:HOME} is not a secret.
func (l *loader) isPlace(value string) bool {
	for _, dir := range []string{l.opts.Home, l.opts.Directory, l.opts.Worktree, l.opts.ConfigDir} {
		if rel, err := filepath.Rel(value, dir); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// walkStrings replaces each string in v, which it changes in place, by the result of f.
func walkStrings(key string, v any, f func(key, text string) string) any {
	switch v := v.(type) {
	case string:
		return f(key, v)
	case map[string]any:
		for name, value := range v {
			v[name] = walkStrings(checked.Join(key, name), value, f)
		}
	case []any:
		for i, e := range v {
			v[i] = walkStrings(checked.Index(key, i), e, f)
		}
	}
	return v
}
