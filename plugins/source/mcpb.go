package source

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/plugins/archive"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/sdk"
)

// formatBundle is the format of MCP bundles: a zip file with a manifest.json, optionally followed by a
// signature, see https://github.com/modelcontextprotocol/mcpb/blob/main/MANIFEST.md.
const formatBundle = "mcpb"

// rootDirectory stands for the directory of the plugin in mcp.json.
const rootDirectory = "${PLUGIN_ROOT}"

// bundle is a plugin with one MCP server, which tenon writes.
type bundle struct {
	Name, Version, Description string
	manifest.Server                     // without a type, a process
	Needs                      []string // variables of the user's environment, which the plugin requests
}

// write writes plugin.json and mcp.json of the bundle.
func (b *bundle) write(dir string) error {
	name := manifest.MakeName(b.Name)
	if name == "" {
		return fmt.Errorf("%w: invalid name %q", ErrServer, visible.Cut(b.Name, 100, "…"))
	}
	about := map[string]any{"$schema": manifest.PluginSchema, "name": name, "version": b.Version, "description": b.Description}
	if len(b.Needs) > 0 {
		slices.Sort(b.Needs)
		about["extensions"] = map[string]any{sdk.ExtensionNamespace: map[string]any{"capabilities": []any{
			map[string]any{"name": sdk.CapabilityEnv, "scope": slices.Compact(b.Needs), "reason": "settings of the MCP server"},
		}}}
	}
	server := map[string]any{"type": manifest.ServerStdio, "command": b.Command, "args": append([]string{}, b.Args...), "env": b.Env}
	if b.Type != "" {
		server = map[string]any{"type": b.Type, "url": b.URL, "headers": b.Headers}
	}
	servers := map[string]any{"$schema": manifest.MCPSchema, "mcpServers": map[string]any{name: server}}
	for file, content := range map[string]any{manifest.File: about, "mcp.json": servers} {
		data, err := json.MarshalIndent(content, "", "  ")
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), append(data, '\n'), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bundleManifest is the part of a bundle's manifest.json that decides how the server starts.
type bundleManifest struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description"`
	Server      struct {
		Config struct {
			bundleCommand
			Overrides map[string]bundleCommand `json:"platform_overrides"` // by win32, darwin or linux
		} `json:"mcp_config"`
	} `json:"server"`
	Settings map[string]struct {
		Required bool `json:"required"`
		Default  any  `json:"default"`
	} `json:"user_config"`
	local bool // fill used a directory of this machine
}

type bundleCommand struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

// unpackBundle unpacks an MCP bundle, and writes a tenon manifest for it unless it has one.
func (f *Fetcher) unpackBundle(ctx context.Context, file *os.File, size int64, out *Fetched, dir string) error {
	data, size, err := withoutSignature(file, size)
	if err != nil {
		return err
	}
	a := archive.File{Format: archive.Zip, Data: data, Size: size}
	if err := out.unpacked(a.Extract(ctx, dir)); err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(dir, manifest.File)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		return fmt.Errorf("%w: not an MCP bundle: %w", ErrServer, err)
	}
	b, local, err := decodeBundle(text, runtime.GOOS)
	if err != nil {
		return err
	}
	out.Local = local
	return b.write(dir)
}

// decodeBundle decodes the manifest.json of a bundle for a system, and reports whether the result differs between machines. Errors wrap
// ErrServer.
func decodeBundle(data []byte, system string) (b *bundle, local bool, err error) {
	var m bundleManifest
	if err := jsontext.DecodeExact(data, &m); err != nil { // otherwise a default of a million would become 1e+06
		return nil, false, fmt.Errorf("%w: manifest.json: %w", ErrServer, err)
	}
	c := m.Server.Config.bundleCommand
	if system == "windows" {
		system = "win32"
	}
	o := m.Server.Config.Overrides[system]
	c.Command = cmp.Or(o.Command, c.Command)
	if o.Args != nil {
		c.Args = o.Args
	}
	env := map[string]string{}
	maps.Copy(env, c.Env)
	maps.Copy(env, o.Env) // as the reference implementation does: arguments are replaced, variables added
	b = &bundle{Name: m.Name, Version: m.Version, Description: m.Description}
	b.Env = map[string]string{}
	if b.Command, err = m.fill(c.Command); err != nil || b.Command == "" {
		return nil, false, errors.Join(err, fmt.Errorf("%w: manifest.json: no command", ErrServer))
	}
	if rest, ok := strings.CutPrefix(b.Command, rootDirectory+"/"); ok || strings.Contains(rest, "/") && filepath.IsLocal(rest) {
		b.Command = "./" + rest
	}
	for _, arg := range c.Args {
		for _, element := range m.elements(arg) {
			if arg, err = m.fill(fmt.Sprint(element)); err == nil {
				b.Args = append(b.Args, arg)
			} else if !errors.Is(err, errUnset) {
				return nil, false, err
			}
		}
	}
	for name, value := range env {
		switch filled, err := m.fill(value); {
		case err == nil:
			b.Env[name] = filled
		case setting().FindString(value) == value:
			b.Needs = append(b.Needs, name) // the user's own variable of this name
		case !errors.Is(err, errUnset):
			return nil, false, err
		}
	}
	return b, m.local || len(m.Server.Config.Overrides) > 0, nil
}

var (
	bundleVariable = lazyregexp.New(`\$\{[^}]*\}`)
	setting        = lazyregexp.New(`\$\{user_config\.[^}]*\}`)
)

const settingStart = "${user_config."

// homeDirectories are the variables of bundles for directories of the user.
var homeDirectories = map[string]string{"${HOME}": "", "${DESKTOP}": "Desktop", "${DOCUMENTS}": "Documents", "${DOWNLOADS}": "Downloads"}

// errUnset is returned for text that uses a setting without a value, which is not required.
var errUnset = errors.New("a setting without a value")

// elements returns the elements of the list that is the value of the argument's setting, or the argument.
func (m *bundleManifest) elements(arg string) []any {
	if setting().FindString(arg) == arg && arg != "" {
		if list, _ := m.Settings[arg[len(settingStart):len(arg)-1]].Default.([]any); len(list) > 0 {
			return list
		}
	}
	return []any{arg}
}

// fill replaces the settings in a text of a bundle with their defaults, and then the variables of directories.
func (m *bundleManifest) fill(text string) (string, error) {
	var problem error
	missing := func(v string) error {
		return fmt.Errorf("%w: it needs %s; add it to your own configuration: tenon mcp add", ErrServer, visible.Clean(v, 100))
	}
	text = setting().ReplaceAllStringFunc(text, func(v string) string {
		s := m.Settings[v[len(settingStart):len(v)-1]]
		_, list := s.Default.([]any) // a value for a whole argument only
		switch {
		case s.Default != nil && !list:
			return fmt.Sprint(s.Default)
		case s.Required:
			problem = missing(v)
		default:
			problem = cmp.Or(problem, errUnset)
		}
		return ""
	})
	text = bundleVariable().ReplaceAllStringFunc(text, func(v string) string {
		home, err := os.UserHomeDir()
		directory, ofHome := homeDirectories[v]
		switch {
		case v == "${__dirname}":
			return rootDirectory
		case v == "${/}" || v == "${pathSeparator}":
			return "/"
		case ofHome && err == nil:
			m.local = true
			return filepath.Join(home, directory)
		}
		problem = missing(v)
		return ""
	})
	return text, problem
}

const (
	signatureStart = "MCPB_SIG_V1"
	signatureEnd   = "MCPB_SIG_END"
	maxSignature   = 64 << 10 // bytes: a PKCS#7 block with its certificates
	endRecord      = 22       // bytes of a zip file's end record; its last two are the length of a comment
)

// withoutSignature returns the zip file of a bundle and its size. A signature is not checked: it follows the zip file, and some tools
// declare it as the comment of the file.
func withoutSignature(file io.ReaderAt, size int64) (io.ReaderAt, int64, error) {
	start := max(0, size-maxSignature)
	tail := make([]byte, size-start)
	if _, err := file.ReadAt(tail, start); err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	at := bytes.LastIndex(tail, []byte(signatureStart))
	if at < endRecord || !bytes.HasSuffix(tail, []byte(signatureEnd)) {
		return file, size, nil
	}
	size = start + int64(at)
	if comment := binary.LittleEndian.Uint16(tail[at-2:]); int(comment) == len(tail)-at {
		return zeroed{file, size - 2}, size, nil
	}
	return file, size, nil
}

// zeroed is a file whose bytes from an offset on read as zero.
type zeroed struct {
	io.ReaderAt
	from int64
}

// ReadAt reads from the file.
func (z zeroed) ReadAt(p []byte, off int64) (int, error) {
	n, err := z.ReaderAt.ReadAt(p, off)
	if start := max(0, z.from-off); start < int64(n) {
		clear(p[start:n])
	}
	return n, err
}
