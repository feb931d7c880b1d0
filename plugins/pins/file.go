package pins

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/source"
	"github.com/tenonhq/tenon/plugins/trust"
)

// Name is the name of the file, in the root of a project or in the user's configuration directory.
const Name = "tenon.plugins.lock"

// ErrFile is returned for a file that cannot be read or understood. It is left unchanged.
var ErrFile = errors.New("unusable " + Name)

const (
	version  = 1
	maxBytes = 4 << 20
	maxPins  = 1000
	// maxObjects limits the memory: a pin of three bytes in the file takes 700 bytes of memory. An npm package has a few for each of its
	// dependencies.
	maxObjects = 100_000
)

// Plugin is an installed plugin.
type Plugin struct {
	Name string `json:"name"`
	source.Pin
	// Digest is of the unpacked tree, as package trust computes it. A Local pin has no digest in the file: History.Read adds the
	// digest of this machine, if there is one.
	Digest trust.Digest `json:"digest,omitempty"`
}

// File is the content of a lock file.
type File struct {
	Version int      `json:"version"` // Encode sets it
	Plugins []Plugin `json:"plugins"` // sorted by name
}

// Read reads a lock file. A missing file has no plugins. Errors wrap ErrFile.
func Read(path string) (*File, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &File{}, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	f, data := &File{}, []byte(nil)
	if err == nil {
		data, err = projectfs.ReadRegular(path, maxBytes)
	}
	if err == nil {
		f, err = Decode(data)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrFile, path, err)
	}
	return f, nil
}

// Decode reads the content of a lock file.
func Decode(data []byte) (*File, error) {
	if n := bytes.Count(data, []byte("{")); n > maxObjects {
		return nil, fmt.Errorf("%d objects; at most %d", n, maxObjects)
	}
	c := &File{}
	err := jsontext.DecodeStrict(data, c)
	switch {
	case err != nil:
		return nil, err
	case c.Version != version:
		return nil, fmt.Errorf("version %d; this tenon reads version %d: use the tenon that wrote it", c.Version, version)
	case len(c.Plugins) > maxPins:
		return nil, fmt.Errorf("%d plugins; at most %d", len(c.Plugins), maxPins)
	}
	seen := map[string]bool{}
	for i := range c.Plugins {
		p := &c.Plugins[i]
		switch {
		case !manifest.ValidName(p.Name):
			return nil, fmt.Errorf("plugins[%d]: invalid name %q", i, p.Name)
		case seen[p.Name]:
			return nil, fmt.Errorf("plugins[%d]: duplicate name %q", i, p.Name)
		case p.Local && p.Digest != "":
			return nil, fmt.Errorf("plugins[%d] (%s): want no digest: each machine makes this content itself", i, p.Name)
		case !p.Local && !p.Digest.Valid():
			return nil, fmt.Errorf("plugins[%d] (%s): invalid digest %q", i, p.Name, p.Digest)
		}
		// The base of relative paths does not matter for the check.
		r, err := p.Resolved("/", "/")
		if err == nil {
			err = p.Check(r)
		}
		if err != nil {
			return nil, fmt.Errorf("plugins[%d] (%s): %w", i, p.Name, err)
		}
		seen[p.Name] = true
	}
	slices.SortFunc(c.Plugins, func(a, b Plugin) int { return strings.Compare(a.Name, b.Name) })
	return c, nil
}

// Encode returns the content of the lock file: one field per line, so that changes can be reviewed and merged.
func (f *File) Encode() []byte {
	list := append([]Plugin{}, f.Plugins...)
	for i := range list {
		if list[i].Local {
			list[i].Digest = ""
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(File{version, list}) // strings always encode
	return b.Bytes()
}

// Find returns the plugin with a name; nil without one.
func (f *File) Find(name string) *Plugin {
	if at := slices.IndexFunc(f.Plugins, func(p Plugin) bool { return p.Name == name }); at >= 0 {
		return &f.Plugins[at]
	}
	return nil
}

// With returns a copy of the file with a plugin added or replaced.
func (f *File) With(p Plugin) *File {
	out := f.Without(p.Name)
	out.Plugins = append(out.Plugins, p)
	slices.SortFunc(out.Plugins, func(a, b Plugin) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Without returns a copy of the file without a plugin.
func (f *File) Without(name string) *File {
	return &File{Plugins: slices.DeleteFunc(slices.Clone(f.Plugins), func(p Plugin) bool { return p.Name == name })}
}

// write replaces the file at path.
func (f *File) write(path string) error {
	return atomicfile.Write(path, f.Encode(), atomicfile.Options{Mode: 0o644, MakeDirs: 0o755, Sync: true, SyncDir: true})
}
