package extensions

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/confine"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/sandbox"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
)

// unconfined returns the reason why the processes of plugins with these names are not confined; nil if they are confined. Only the user's
// configuration counts: project files cannot have a sandbox section.
func (o *Options) unconfined(names ...string) error {
	if _, err := confine.Supported(); err != nil {
		return err
	}
	c := &o.Config.Config.Sandbox
	if c.Enabled != nil && !*c.Enabled {
		return errors.New("your configuration disables the sandbox (sandbox)")
	}
	for _, name := range names {
		if slices.Contains(c.Unconfined, name) {
			return fmt.Errorf("your configuration lists %s in sandbox.unconfined", name)
		}
	}
	return nil
}

// free returns the reason why the processes of a candidate are not confined; nil if they are confined. Commands that the user configured
// have the user's rights.
func (s *Set) free(c *Candidate) error {
	if c.Item == nil && !c.Project && c.pack == "" {
		return errors.New("you configured it")
	}
	return s.opts.unconfined(c.Name, c.pack)
}

// policy returns the function that determines, at each start, the files that the processes of a server or command hook can access:
// those of the model's commands in this project, its package, and the directories in write. If the project contains secrets, as the
// home directory does, the processes can only read it, without the secrets. The function is nil if the processes are not confined.
func (s *Set) policy(c *Candidate, root string, write ...string) func() (confine.Policy, error) {
	if s.free(c) != nil {
		return nil
	}
	write = slices.DeleteFunc(write, func(dir string) bool { return dir == "" })
	return func() (confine.Policy, error) {
		for _, dir := range write { // a missing directory cannot be made writable
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return confine.Policy{}, fmt.Errorf("sandbox: %w", err)
			}
		}
		skills := sandbox.SkillDirectories(sdk.SkillsConfig{Paths: s.opts.Config.Config.Skills.Paths, Packaged: s.Skills})
		list, err := sandbox.Find(sandbox.Options{
			Project: s.opts.Project, Environ: s.opts.Environ, Config: s.opts.Config.Config.Sandbox, Skills: skills, Create: true, Origin: s.opts.Config.Origin,
		})
		if err != nil {
			return confine.Policy{}, fmt.Errorf("sandbox: %w", err)
		}
		for _, dir := range []string{root, s.opts.Project.Worktree} {
			if dir != "" {
				list = append(list, sandbox.Path{Path: dir, Access: sandbox.Read})
			}
		}
		p := sandbox.Policy(list, append(write[:len(write):len(write)], s.opts.Project.Worktree)...)
		rules, err := confine.New(p)
		if err == nil {
			return p, rules.Close()
		}
		if !errors.As(err, new(*confine.ConflictError)) {
			return confine.Policy{}, fmt.Errorf("sandbox: %w", err)
		}
		return sandbox.Policy(list, write...), nil
	}
}

// outside returns the host's environment with a PATH outside of the project, for programs that may do more than the model's commands, which can
// change the programs of the project.
func (o *Options) outside() []string {
	path, _ := child.Lookup(o.Environ, "PATH")
	return append(slices.Clip(o.Environ), "PATH="+projectfs.Path(path, o.Project.Worktree))
}

// openers returns the opener of each carrier.
func openers(o *Options) map[sdk.Carrier]remote.Opener {
	env := remote.Environment{
		Environ: o.outside, Host: "tenon " + o.Version, CacheDir: o.CacheDir, Logger: o.Logger,
		Unconfined: func(plugin string) bool { return o.unconfined(plugin) != nil },
	}
	out := map[sdk.Carrier]remote.Opener{}
	for _, c := range manifest.Carriers() {
		out[c.Name] = c.New(env)
	}
	return out
}
