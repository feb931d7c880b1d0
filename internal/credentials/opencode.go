package credentials

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/projectfs"
)

// OpencodeSource is the Source of credentials from opencode.
const OpencodeSource = "opencode's auth.json"

// Variables of opencode, see its packages auth and global.
const (
	opencodeContent = "OPENCODE_AUTH_CONTENT" // replaces the file
	opencodeData    = "XDG_DATA_HOME"
)

// opencodeDummy is the access token of entries without one, such as Azure's, see opencode's packages/opencode/src/auth.
const opencodeDummy = "opencode-oauth-dummy-key"

// Opencode reads the credentials of opencode, by provider. It returns keys and tokens that are not expired, without refresh tokens: a
// refreshed token would be lost for opencode. It leaves out entries of other kinds, which need a command.
//
// A missing file is not an error. Errors wrap ErrFile.
func Opencode(home string, lookup func(name string) string, now time.Time) (map[string]*Credential, error) {
	where, text := "variable "+opencodeContent, []byte(lookup(opencodeContent))
	if len(text) == 0 {
		data := lookup(opencodeData)
		if !filepath.IsAbs(data) {
			data = filepath.Join(home, ".local", "share")
		}
		where = filepath.Join(data, "opencode", "auth.json")
		var err error
		if text, err = projectfs.ReadRegular(where, maxFile); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrFile, where, err)
		}
	}
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(text, &entries); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrFile, where, plain(err))
	}
	out := map[string]*Credential{}
	for provider, raw := range entries {
		var e opencodeEntry
		if json.Unmarshal(raw, &e) != nil || e.Access == opencodeDummy {
			continue // opencode skips the former too
		}
		if c := e.credential(); c.check() == nil && !c.Expired(now) {
			out[strings.TrimRight(provider, "/")] = c
		}
	}
	return out, nil
}

// opencodeEntry is an entry of auth.json, see opencode's packages/opencode/src/auth.
type opencodeEntry struct {
	Type          string            `json:"type"`
	Key           string            `json:"key"`
	Access        string            `json:"access"`
	Expires       float64           `json:"expires"` // milliseconds; 0: never
	AccountID     string            `json:"accountId"`
	EnterpriseURL string            `json:"enterpriseUrl"`
	Metadata      map[string]string `json:"metadata"`
}

func (e *opencodeEntry) credential() *Credential {
	c := &Credential{Type: Type(e.Type), Key: e.Key, Access: e.Access, Metadata: e.Metadata, Source: OpencodeSource}
	if e.Expires > 0 && e.Expires < 1<<53 {
		c.Expires = int64(e.Expires)
	}
	if c.Metadata == nil && e.AccountID+e.EnterpriseURL != "" {
		c.Metadata = map[string]string{}
	}
	if e.AccountID != "" {
		c.Metadata[MetadataAccount] = e.AccountID
	}
	if e.EnterpriseURL != "" {
		c.Metadata[MetadataEnterprise] = e.EnterpriseURL
	}
	return c
}

// Names of values in Credential.Metadata, as in opencode.
const (
	MetadataAccount    = "accountId"     // account that requests are charged to
	MetadataEnterprise = "enterpriseUrl" // address of GitHub Enterprise
	MetadataResource   = "resourceName"  // of Azure
)
