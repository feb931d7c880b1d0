package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/confine"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
)

// policy returns the files that a process of the plugin can access: the system, its interpreter, its package, its data, its grants, and the
// directory of its socket. It returns an error for a grant that cannot be honored.
func policy(u *remote.Unit, project sdk.Project, env []string, socketDir string) (confine.Policy, error) {
	p := confine.Policy{
		Read:  append(confine.System(), "/home/linuxbrew/.linuxbrew", u.Root, u.Program),
		Write: append(confine.Devices(), socketDir),
	}
	for _, program := range programs(u, env) {
		p.Read = append(p.Read, confine.Installation(program)...)
	}
	if u.DataDir != "" {
		p.Write = append(p.Write, u.DataDir) // made by environ
	}
	for _, g := range u.Grants {
		if g.Name != sdk.CapabilityRead && g.Name != sdk.CapabilityWrite {
			continue
		}
		for _, entry := range g.Scope {
			dir, err := directory(u, entry, project)
			switch {
			case errors.Is(err, fs.ErrNotExist) && g.Name == sdk.CapabilityRead: // nothing to read
			case err != nil:
				return confine.Policy{}, fmt.Errorf("grant of the directory %s: %w", entry, err)
			case dir == "":
			case g.Name == sdk.CapabilityRead:
				p.Read = append(p.Read, dir)
			default:
				p.Write = append(p.Write, dir)
			}
		}
	}
	return p, nil
}

// directory returns the directory of an entry in the scope of fs.read or fs.write; empty if the entry refers to none. Links that leave the
// project or the plugin's data directory are errors.
func directory(u *remote.Unit, entry string, project sdk.Project) (string, error) {
	base, rest, data := remote.Locate(entry, project, u.DataDir)
	if base == "" {
		return "", nil
	}
	base, err := filepath.EvalSymlinks(base)
	if err != nil {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(base, rest))
	if err != nil {
		return "", err
	}
	if !projectfs.Within(base, dir) {
		return "", fmt.Errorf("it is a link that leads out of %s; such links are not followed", base)
	}
	if own := remote.Private(dir, project, u.ConfigFiles); own != "" && !data {
		return "", fmt.Errorf("it contains tenon's own %s or is inside it; plugins have no access to that", own)
	}
	return dir, nil
}

// programs returns the programs that start the plugin: its command and, for a script, the interpreter in its first line.
func programs(u *remote.Unit, env []string) []string {
	out := []string{u.Command[0]}
	f, _, err := projectfs.OpenRegular(u.Command[0])
	if err != nil {
		return out // the start will fail with the reason
	}
	defer func() { _ = f.Close() }()
	line, _ := bufio.NewReader(io.LimitReader(f, 256)).ReadString('\n') // Linux reads 255 bytes of such a line
	script, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return out
	}
	for i, word := range strings.Fields(script) {
		if i == 0 {
			out = append(out, word)
		} else if path := child.LookPath(word, env); path != "" { // the program after /usr/bin/env
			out = append(out, path)
		}
	}
	return out
}
