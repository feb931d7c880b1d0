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

// formatBundle is the format of MCP bundles: a zip file with a manifest.json, and perhaps a signature behind it,
// see https://github.com/modelcontextprotocol/mcpb/blob/main/MANIFEST.md.
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
}

type bundleCommand struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

// unpackBundle unpacks an MCP bundle and writes a manifest of tenon's for it, unless it has one.
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
	b, perPlatform, err := decodeBundle(text, runtime.GOOS)
	if err != nil {
		return err
	}
	out.Local = perPlatform
	return b.write(dir)
}

// decodeBundle decodes the manifest.json of a bundle for a system, and reports whether the result differs between systems. Errors wrap
// ErrServer.
func decodeBundle(data []byte, system string) (b *bundle, perPlatform bool, err error) {
	var m bundleManifest
	if err := jsontext.DecodeExact(data, &m); err != nil { // else a default of a million would be 1e+06
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
	if o.Env != nil {
		c.Env = o.Env
	}
	b = &bundle{Name: m.Name, Version: m.Version, Description: m.Description}
	b.Env = map[string]string{}
	if b.Command, err = m.fill(c.Command); err != nil || b.Command == "" {
		return nil, false, errors.Join(err, fmt.Errorf("%w: manifest.json: no command", ErrServer))
	}
	if rest, ok := strings.CutPrefix(b.Command, rootDirectory+"/"); ok {
		b.Command = "./" + rest
	}
	for _, arg := range c.Args {
		if arg, err = m.fill(arg); err == nil {
			b.Args = append(b.Args, arg)
		} else if !errors.Is(err, errUnset) {
			return nil, false, err
		}
	}
	for name, value := range c.Env {
		switch filled, err := m.fill(value); {
		case err == nil:
			b.Env[name] = filled
		case setting().FindString(value) == value:
			b.Needs = append(b.Needs, name) // the user's own variable of this name
		case !errors.Is(err, errUnset):
			return nil, false, err
		}
	}
	return b, len(m.Server.Config.Overrides) > 0, nil
}

var (
	bundleVariable = lazyregexp.New(`\$\{[^}]*\}`)
	setting        = lazyregexp.New(`\$\{user_config\.[^}]*\}`)
)

// errUnset is returned for text that uses a setting without a value, which is not required.
var errUnset = errors.New("a setting without a value")

// fill replaces the variables in a text of a bundle.
func (m *bundleManifest) fill(text string) (string, error) {
	var problem error
	out := bundleVariable().ReplaceAllStringFunc(text, func(v string) string {
		name := strings.Trim(v, "${}")
		key, isSetting := strings.CutPrefix(name, "user_config.")
		s := m.Settings[key]
		_, list := s.Default.([]any) // its elements are separate arguments, which are not supported
		switch {
		case name == "__dirname":
			return rootDirectory
		case name == "/" || name == "pathSeparator":
			return "/"
		case isSetting && s.Default != nil && !list && !strings.Contains(fmt.Sprint(s.Default), "${"):
			return fmt.Sprint(s.Default)
		case isSetting && !s.Required:
			problem = errUnset
		default:
			problem = fmt.Errorf("%w: it needs %s; add it to your own configuration: tenon mcp add", ErrServer, visible.Clean(v, 100))
		}
		return ""
	})
	return out, problem
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

// zeroed is a file whose bytes from a place on are zero.
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
