package pins

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/plugins/trust"
)

// madeDir has a file for each pin whose content this machine made, with the digest of the content.
const madeDir = "made"

// Read reads a lock file as the function Read does, and adds the digests of contents that this machine made from their pins. Such a
// plugin has no digest before it is fetched.
func (h History) Read(path string) (*File, error) {
	f, err := Read(path)
	if err != nil {
		return nil, err
	}
	for i := range f.Plugins {
		p := &f.Plugins[i]
		if !p.Local {
			continue
		}
		data, err := os.ReadFile(h.madeFile(p))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if d := trust.Digest(strings.TrimSpace(string(data))); d.Valid() {
			p.Digest = d
		}
	}
	return f, nil
}

// Made records the digest of content that this machine made from its pin. It ignores other plugins.
func (h History) Made(p Plugin) error {
	if !p.Local {
		return nil
	}
	return atomicfile.Write(h.madeFile(&p), []byte(string(p.Digest)+"\n"), atomicfile.Options{MakeDirs: 0o700, Sync: true})
}

// madeFile returns the file for a pin on this platform.
func (h History) madeFile(p *Plugin) string {
	sum := sha256.Sum256(append(p.content(), runtime.GOOS+"/"+runtime.GOARCH...))
	return filepath.Join(h.Dir, madeDir, hex.EncodeToString(sum[:16]))
}

// Same reports whether two plugins have the same content. Of content that each machine makes, the pins decide.
func (p *Plugin) Same(o *Plugin) bool {
	if !p.Local && !o.Local {
		return p.Digest == o.Digest
	}
	return bytes.Equal(p.content(), o.content())
}

// content returns the fields of a pin that determine its content. Signer and Platforms do not: the policy of a machine decides about the
// signer, and Manifest about the variant of each platform.
func (p *Plugin) content() []byte {
	pin := p.Pin
	pin.Signer, pin.Platforms = "", nil
	data, _ := json.Marshal(pin) // text and JSON that was valid before
	return data
}
