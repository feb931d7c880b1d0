package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/value"
)

// The variables that hold configuration.
const (
	envFile    = "TENON_CONFIG"         // path of one more file
	envContent = "TENON_CONFIG_CONTENT" // configuration as text
)

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
	}
	if path := l.env[envFile]; path != "" {
		file(LayerFile, l.absolute(path, l.opts.Directory), true)
	}
	inline := &source{Source: checked.Source{Name: envContent}, layer: LayerInline, origin: "env " + envContent, dir: l.opts.Directory}
	if inline.parse([]byte(l.env[envContent]), &l.report) {
		out = append(out, inline)
	}
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

// file reads one file. It returns nil if the file does not exist, or after it reported why it cannot be read.
func (l *loader) file(layer Layer, path string, must bool) *source {
	s := &source{Source: checked.Source{Name: l.display(path)}, layer: layer, origin: path, dir: filepath.Dir(path)}
	text, err := l.readFile(layer, path)
	missing := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	if missing && !must {
		return nil
	}
	if errors.Is(err, projectfs.ErrOutside) {
		if _, err := l.inside.Stat(path); err != nil && !must {
			return nil // a link to another directory, without the file
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
		l.projectFiles[path] = digest(text)
	}
	if !s.parse(text, &l.report) {
		return nil
	}
	return s
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// display returns the path for problems, relative to the working directory if it is below.
func (l *loader) display(path string) string {
	if rel, err := filepath.Rel(l.opts.Directory, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// reason returns the error of reading a file without the path, which problems name already.
func reason(err error) string {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err.Error()
	}
	return err.Error()
}

// variables returns the sources of single variables, each of which sets a top-level key.
func (l *loader) variables() (out []*source) {
	for _, v := range [...][2]string{
		{"TENON_MODEL", "model"},
		{"TENON_SMALL_MODEL", "small_model"},
		{"TENON_LOG_LEVEL", "logLevel"},
		{"TENON_PERMISSION", "permission"}, // an action or JSON
	} {
		name, key := v[0], v[1]
		value := l.env[name]
		if value == "" {
			continue
		}
		s := &source{Source: checked.Source{Name: name}, layer: LayerEnvironment, origin: "env " + name, dir: l.opts.Directory}
		node := &checked.Node{Kind: checked.String, Text: value}
		if key == "permission" && strings.Trim(value, "abcdefghijklmnopqrstuvwxyz") != "" {
			if !s.parse([]byte(value), &l.report) {
				continue
			}
			node = s.root
		}
		s.root = &checked.Node{Kind: checked.Object, Members: []checked.Member{{Name: key, Value: *node}}}
		out = append(out, s)
	}
	return out
}

// absolute returns the absolute form of a path that begins with ~/ or is relative to dir.
func (l *loader) absolute(path, dir string) string {
	return projectfs.Join(dir, projectfs.FromHome(l.opts.Home, path))
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

// receiverKeys are the keys that determine who receives the conversation.
var receiverKeys = []string{"provider", "model", "small_model", "agent", "command", "enabled_providers", "disabled_providers"}

// receivers returns a copy of a layer's values of receiverKeys.
func receivers(layer tree) tree {
	out := tree{}
	for _, key := range receiverKeys {
		if v, ok := layer[key]; ok {
			out[key] = value.Clone(v)
		}
	}
	return out
}
