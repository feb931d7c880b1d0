package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/nearest"
	"github.com/tenonhq/tenon/internal/projectfs"
)

// The variables that hold configuration.
const (
	envFile    = "TENON_CONFIG"         // path of one more file
	envContent = "TENON_CONFIG_CONTENT" // configuration as text
	envPrefix  = "TENON_"
)

// variables returns the variables that set one key each.
func variables() [][2]string {
	return [][2]string{
		{"TENON_MODEL", "model"},
		{"TENON_SMALL_MODEL", "small_model"},
		{"TENON_LOG_LEVEL", "logLevel"},
		{"TENON_PERMISSION", "permission"}, // an action or JSON
	}
}

// sources returns all sources that could be parsed, lowest layer first. A further layer is a further line here.
func (l *loader) sources(ctx context.Context) ([]*source, error) {
	var out []*source
	seen := map[string]bool{}
	file := func(layer Layer, path string, must bool) {
		if path = filepath.Clean(path); seen[path] {
			return
		}
		seen[path] = true
		if s := l.file(layer, path, must); s != nil {
			out = append(out, s)
		}
	}
	for _, path := range UserFiles(l.opts.ConfigDir) {
		file(LayerUser, path, false)
	}
	for _, dir := range projectfs.Upward(l.opts.Directory, l.opts.Worktree) {
		for _, path := range ProjectFiles(dir) {
			file(LayerProject, path, false)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	if path := l.env[envFile]; path != "" {
		file(LayerFile, l.absolute(path, l.opts.Directory), true)
	}
	out = append(out, l.inline()...)
	out = append(out, l.variables()...)
	if l.opts.Managed != "" {
		file(LayerManaged, l.opts.Managed, false)
	}
	return out, ctx.Err()
}

// UserFiles returns the paths of configuration files in the user's configuration directory. Empty dir: none.
func UserFiles(dir string) []string {
	if dir == "" {
		return nil
	}
	return []string{filepath.Join(dir, "tenon.json"), filepath.Join(dir, "tenon.jsonc")}
}

// ProjectFiles returns the paths of configuration files in a directory of a project.
func ProjectFiles(dir string) []string {
	return append(UserFiles(dir), UserFiles(filepath.Join(dir, ".tenon"))...)
}

// file reads one file. It returns nil when there is none, or after it reported why it cannot be read.
func (l *loader) file(layer Layer, path string, must bool) *source {
	s := &source{Source: checked.Source{Name: l.display(path)}, layer: layer, origin: path, dir: filepath.Dir(path), expand: true}
	text, err := l.readFile(layer, path)
	missing := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	if missing && !must {
		return nil
	}
	if errors.Is(err, projectfs.ErrOutside) {
		if _, err := l.inside.Stat(path); err != nil && !must {
			return nil // behind a link to another directory, and not there
		}
		l.report.Warn(Problem{File: s.Name, Message: "ignored: " + reason(err), Remedy: "replace the link by the file, or name the file with --config"})
		return nil
	}
	if err != nil {
		p := Problem{File: s.Name, Message: "cannot be read: " + reason(err)}
		switch {
		case layer == LayerFile:
			p.Remedy = "correct or omit --config or " + envFile
		case errors.Is(err, fs.ErrPermission):
			p.Remedy = "make it readable, or move it away"
		}
		l.report.Add(p)
		return nil
	}
	l.files = append(l.files, path)
	if layer == LayerProject {
		sum := sha256.Sum256(text)
		l.projectFiles[path] = hex.EncodeToString(sum[:])
	}
	if !s.parse(text, &l.report) {
		return nil
	}
	return s
}

// display returns how problems name the file: relative to the working directory when that is shorter to read.
func (l *loader) display(path string) string {
	if rel, err := filepath.Rel(l.opts.Directory, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// reason returns why a file could not be read without the path, which the reader knows already.
func reason(err error) string {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err.Error()
	}
	return err.Error()
}

func (l *loader) inline() []*source {
	text := l.env[envContent]
	if text == "" {
		return nil
	}
	s := &source{Source: checked.Source{Name: envContent}, layer: LayerInline, origin: "env " + envContent, dir: l.opts.Directory, expand: true}
	if !s.parse([]byte(text), &l.report) {
		return nil
	}
	return []*source{s}
}

func (l *loader) variables() []*source {
	var out []*source
	known := []string{envFile, envContent}
	for _, v := range variables() {
		name, key := v[0], v[1]
		known = append(known, name)
		value := l.env[name]
		if value == "" {
			continue
		}
		s := &source{Source: checked.Source{Name: name}, layer: LayerEnvironment, origin: "env " + name, dir: l.opts.Directory}
		if key != "permission" || strings.Trim(value, "abcdefghijklmnopqrstuvwxyz") == "" {
			s.root = nest(key, &checked.Node{Kind: checked.String, Text: value})
			out = append(out, s)
			continue
		}
		if !s.parse([]byte(value), &l.report) {
			continue
		}
		s.root = nest(key, s.root)
		out = append(out, s)
	}
	l.warnUnknown(known)
	return out
}

// warnUnknown warns of variables whose names are slips of known ones. Others with our prefix are not ours
// to judge: other parts of tenon, and its plugins, have theirs.
func (l *loader) warnUnknown(known []string) {
	for _, entry := range l.opts.Environ {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, envPrefix) || slices.Contains(known, name) {
			continue
		}
		// Compared without the prefix, which would make every short name near every other.
		for _, k := range known {
			short, want := strings.TrimPrefix(name, envPrefix), strings.TrimPrefix(k, envPrefix)
			if nearest.Name(short, []string{want}) != "" {
				l.report.Warn(Problem{File: "environment", Key: name, Message: "unknown variable, ignored", Remedy: `did you mean "` + k + `"?`})
				break
			}
		}
	}
}

// nest returns the object that has the value at the dotted key.
func nest(key string, value *checked.Node) *checked.Node {
	for _, name := range slices.Backward(strings.Split(key, ".")) {
		value = &checked.Node{Kind: checked.Object, Members: []checked.Member{{Name: name, Value: *value}}}
	}
	return value
}

// absolute returns path with ~/ replaced and relative to dir.
func (l *loader) absolute(path, dir string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && l.opts.Home != "" {
		return filepath.Join(l.opts.Home, rest)
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// environment returns the variables by name. The last of several values counts, as in child.Lookup.
func environment(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		env[envName(name)] = value
	}
	return env
}

// envName returns the form in which the system compares names of variables.
func envName(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}
