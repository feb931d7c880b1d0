package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// The schemas of Agent Plugins 1.0.0. They are names that are compared; nothing is fetched.
const (
	PluginSchema = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"
	MCPSchema    = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"
)

// ownHost is the host of packages of Agent Plugins.
const ownHost = "tenon"

// File is the name of a package's manifest.
const File = "plugin.json"

// extensionField is the place of tenon's part of a plugin.json.
const extensionField = `extensions."` + sdk.ExtensionNamespace + `"`

// Package is a plugin package that was read. Paths are absolute.
type Package struct {
	// Root is the package's directory, symbolic links resolved.
	Root string
	// Host is the program the package was written for: "tenon" for Agent Plugins.
	Host string
	// Carrier is the carrier of the runtime; without a runtime, mcp if the package has servers, else command.
	Carrier  sdk.Carrier
	Homepage string
	License  string
	// Description is tenon's part, with name, version and summary filled in. Runtime.Command is the one for this platform.
	Description sdk.Description
	// Undescribed marks a package with a runtime that does not list its contributions: it is asked when it first starts.
	Undescribed bool
	Skills      []sdk.PackagedSkill // sorted by name
	Servers     map[string]Server   // of mcp.json
	// HookFile is the file with the package's command hooks, or the manifest if that has some or names several files; empty without hooks.
	HookFile string
	Hooks    string // the command hooks as JSON, unchanged, so that problems can name lines
	// Warnings name the parts that were left out, one line each with file, field and remedy.
	Warnings []string
}

// Read reads the package in dir. After an error, no part of the package may be used. Individually invalid parts (a skill, an
// MCP server) are left out and named in Warnings. Errors wrap sdk.ErrManifest, or are those of the file system.
func Read(dir string) (*Package, error) { return read(dir, "", true) }

// ReadNamed reads the package as Read does. If it has no manifest of any host, its parts are in the usual places and it has this name.
func ReadNamed(dir, name string) (*Package, error) { return read(dir, name, true) }

// Is reports whether a directory has a manifest, ours or that of another host.
func Is(dir string) bool {
	f, err := openFolder(dir)
	r := &reader{folder: f}
	return err == nil && (f.has(File) || r.isForeign(false))
}

// ReadUnbuilt is Read, except that the files of the runtime, which Description.Build makes, may be missing.
func ReadUnbuilt(dir string) (*Package, error) { return read(dir, "", false) }

func read(dir, name string, built bool) (*Package, error) {
	f, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	r := &reader{folder: f, built: built, p: &Package{Root: f.root, Host: ownHost}}
	path := filepath.Join(f.root, File)
	data, err := f.read(File, checked.MaxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist) && r.isForeign(name != ""), err == nil && !bytes.Contains(data, []byte(`"$schema"`)) && r.isForeign(false):
		err = r.foreign(name)
	case errors.Is(err, fs.ErrNotExist):
		if data, _ := f.read("package.json", checked.MaxBytes); bytes.Contains(data, []byte(`"@opencode-ai/plugin"`)) {
			return nil, fmt.Errorf("%w: plugins of opencode run in a package: see tenon docs plugin-opencode", ErrNoEquivalent)
		}
		err = fmt.Errorf("%w: %s: not found; a plugin package has one in its top directory, or a manifest of %s", ErrNone, path, hostNames())
	case err != nil:
		err = fmt.Errorf("%w: %s: %w", sdk.ErrManifest, path, err)
	default:
		err = r.ours(path, data)
	}
	if err != nil {
		return nil, err
	}
	if r.p.Carrier == "" {
		r.p.Carrier = sdk.CarrierCommand
		if len(r.p.Servers) > 0 {
			r.p.Carrier = sdk.CarrierMCP
		}
	}
	slices.SortFunc(r.p.Skills, func(a, b sdk.PackagedSkill) int { return strings.Compare(a.Name, b.Name) })
	return r.p, nil
}

// ours reads a package of Agent Plugins.
func (r *reader) ours(path string, data []byte) error {
	if err := r.manifest(path, data); err != nil {
		return err
	}
	if r.folder.has(skillsDir) {
		r.skillsIn(skillsDir)
	}
	r.servers()
	r.hookFile()
	for _, place := range []string{"commands", "agents", ".mcp.json"} { // of authors who know the plugins of other programs; not a server's source files
		if r.p.Description.Runtime != nil || !r.folder.has(place) {
			continue
		}
		path := filepath.Join(r.folder.root, place)
		prompts, _ := fs.Glob(os.DirFS(path), "*.md") // patterns that cannot be malformed
		nested, _ := fs.Glob(os.DirFS(path), "*/*.md")
		if len(prompts)+len(nested) > 0 || place == ".mcp.json" {
			r.warn(path, "", "move plugin.json to "+ClaudeFile+"; in that layout, mcp.json is named .mcp.json", "is left out: packages of Agent Plugins have no such part")
		}
	}
	return nil
}

// reader reads one package.
type reader struct {
	folder folder
	built  bool
	p      *Package
	models bool // an agent of another host's plugin names a model
}

func (r *reader) warn(file, field, remedy, format string, args ...any) {
	r.warnOf(checked.Problem{File: file, Key: field, Message: fmt.Sprintf(format, args...), Remedy: remedy})
}

func (r *reader) warnOf(p checked.Problem) {
	if r.p.Host != ownHost {
		p.File = slashed(r.folder.root, p.File) // the package may be in a store
	}
	r.p.Warnings = append(r.p.Warnings, p.String())
}

// warnAll makes warnings of problems.
func (r *reader) warnAll(rep *report, prefix string) {
	for _, p := range rep.Problems {
		p.Message = prefix + p.Message
		r.warnOf(p)
	}
}

// part reads a file with some parts of the package, and returns its path. ok is false if the file is missing, or after a warning.
func (r *reader) part(rel, parts string) (path string, data []byte, ok bool) {
	top, _, below := strings.Cut(rel, "/")
	if !r.folder.has(top) {
		return "", nil, false
	}
	path = filepath.Join(r.folder.root, filepath.FromSlash(rel))
	data, err := r.folder.read(rel, checked.MaxBytes)
	if err != nil && !(below && errors.Is(err, fs.ErrNotExist)) { // otherwise the file exists as a link with a missing target
		r.warn(path, "", "", "no %s are loaded: %v", parts, err)
	}
	return path, data, err == nil
}

// folder gives access to the files of a package that stay inside of it.
type folder struct {
	root  string // absolute, resolved
	names map[string]bool
}

func openFolder(dir string) (folder, error) {
	root := projectfs.Real(dir)
	entries, err := os.ReadDir(root)
	if err != nil {
		return folder{}, fmt.Errorf("a plugin package is a directory: %w", err)
	}
	f := folder{root, make(map[string]bool, len(entries))}
	for _, e := range entries {
		f.names[e.Name()] = true
	}
	return f, nil
}

// has reports whether the top directory holds exactly this name, also where the file system ignores case.
func (f folder) has(name string) bool { return f.names[name] }

var errOutside = errors.New("leads out of the package; keep it inside")

// resolve returns the absolute path, links resolved, of something that exists inside of the package.
func (f folder) resolve(rel string) (string, error) {
	path := filepath.Join(f.root, filepath.FromSlash(rel))
	real := projectfs.Real(path)
	if !projectfs.Within(f.root, path) || !projectfs.Within(f.root, real) {
		return "", errOutside
	}
	_, err := os.Lstat(real)
	return real, err
}

// read returns the content of a regular file of the package. It does not wait for one that is a pipe.
func (f folder) read(rel string, limit int64) ([]byte, error) {
	if !strings.Contains(rel, "/") && !f.has(rel) {
		return nil, fs.ErrNotExist
	}
	path, err := f.resolve(rel)
	if err != nil {
		return nil, err
	}
	return projectfs.ReadRegular(path, limit)
}
