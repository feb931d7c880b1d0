package extensions

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/commandhooks"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

// commandHooks finds command hooks: of each file of the configuration, and of approved packages.
func (s *Set) commandHooks(ctx context.Context, packaged []plugins.HookFile) {
	counts := map[config.Layer]int{}
	for _, block := range s.opts.Config.HookBlocks() {
		counts[block.Origin.Layer]++
		name := fmt.Sprintf("hooks.%s", block.Origin.Layer)
		if n := counts[block.Origin.Layer]; n > 1 {
			name = fmt.Sprintf("%s-%d", name, n)
		}
		source := commandhooks.Source{Name: name, Where: block.Origin.Source, Data: block.Data}
		s.hookBlock(ctx, &source, block.Origin.Layer == config.LayerProject)
	}
	for _, f := range packaged {
		c := &Candidate{Kind: trust.KindHooks, Name: f.Plugin + ".hooks", Carrier: sdk.CarrierCommand, From: packageOf(f.Plugin), State: plugins.StateReady, pack: f.Plugin}
		policy := s.policy(c, f.Root, f.Data)
		if policy == nil { // otherwise it creates the directory at each start
			if err := os.MkdirAll(f.Data, 0o700); err != nil {
				s.Warnings = append(s.Warnings, fmt.Sprintf("%s run without PLUGIN_DATA: %v", c.Name, err)) // they need not use it
			}
		}
		s.addHooks(c, &commandhooks.Source{
			Confine: policy, Name: c.Name, Where: f.Path, Data: f.Content, Root: f.Root, Env: manifest.Variables(f.Root, f.Data),
		})
	}
}

// hookBlock adds the command hooks of one source of the configuration. Those of a project count with the files of the project that
// their commands name.
func (s *Set) hookBlock(ctx context.Context, source *commandhooks.Source, project bool) {
	c := &Candidate{Kind: trust.KindHooks, Name: source.Name, Carrier: sdk.CarrierCommand, From: source.Where, Project: project}
	lines, _, err := commandhooks.Commands(*source)
	if err != nil {
		s.reject(c, err)
		return
	}
	for _, line := range lines {
		c.Lines = append(c.Lines, s.opts.Config.Mask(line))
	}
	if project {
		c.Lines = append(c.Lines, takes(s.opts.Config.Taken(source.Where, "hooks"))...)
		root := s.opts.Project.Worktree
		lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, commandhooks.Question) })
		c.files = append(trust.LocalFiles(root, s.opts.Project.Directory, lines), trust.LocalFiles(root, filepath.Dir(source.Where), lines)...)
	}
	if s.judge(ctx, c, source.Data, trust.Request{CommandHooks: c.Lines}) {
		source.Confine = s.policy(c, "")
		s.addHooks(c, source)
	}
}

func (s *Set) addHooks(c *Candidate, source *commandhooks.Source) {
	if c.running() {
		p, err := commandhooks.New(*source)
		if err != nil {
			s.reject(c, err)
			return
		}
		c.plugin, c.key = p, source.Where+" "+string(source.Data)+" "+fmt.Sprint(s.free(c))
	}
	s.Candidates = append(s.Candidates, c)
}
