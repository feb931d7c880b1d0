package extensions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

// Files with MCP servers.
const (
	ServerFile        = "mcp.json"  // in the user's configuration directory, kept by "tenon mcp add"
	ProjectServerFile = ".mcp.json" // in a project; other hosts read it, too
)

// servers finds MCP servers: of the configuration, of the user's file, of the project's files, and of approved packages. If two have
// the same name, the first in this order counts.
func (s *Set) servers(ctx context.Context, packaged []plugins.Server) {
	for _, name := range slices.Sorted(maps.Keys(s.opts.Config.Config.MCP)) {
		origin := s.opts.Config.ServerOrigin(name)
		configured := s.opts.Config.Config.MCP[name]
		server, err := mcp.FromConfig(name, &configured)
		project := origin.Layer == config.LayerProject
		if err != nil {
			s.reject(&Candidate{Kind: trust.KindServer, Name: name, Carrier: sdk.CarrierMCP, From: origin.Source, Project: project, named: server.PluginName()}, err)
			continue
		}
		server.Origin = origin.Source
		s.server(ctx, server, project, checked.Join("mcp", name))
	}
	s.serverFile(ctx, filepath.Join(s.opts.Project.ConfigDir, ServerFile), false)
	for _, dir := range slices.Backward(projectfs.Upward(s.opts.Project.Directory, s.opts.Project.Worktree)) {
		s.serverFile(ctx, filepath.Join(dir, ProjectServerFile), true)
	}
	for _, p := range packaged {
		if err := s.packagedServer(p); err != nil {
			s.reject(&Candidate{Kind: trust.KindServer, Name: p.Name, Carrier: sdk.CarrierMCP, From: packageOf(p.Plugin)}, err)
		}
	}
}

// MaxServerFile bounds a file of servers, in bytes; those in use have a few kilobytes.
const MaxServerFile = 1 << 20

// serverFile adds the servers of a file, if it exists.
func (s *Set) serverFile(ctx context.Context, path string, project bool) {
	var files projectfs.FS
	if project {
		files = projectfs.ForProject(s.opts.Project)
	}
	data, err := files.Read(path, MaxServerFile)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%s is not loaded: %v", path, err))
		return
	}
	list, warnings, err := mcp.ReadConfig(data, path, func(name string) (string, bool) { return child.Lookup(s.opts.Environ, name) })
	s.Warnings = append(s.Warnings, warnings...)
	if err != nil {
		s.Warnings = append(s.Warnings, err.Error())
	}
	for _, server := range list {
		s.server(ctx, server, project, "")
	}
}

// server adds a server, unless an earlier server has its name or a plugin with the same name. key is its key in the configuration; empty for a
// server of another file.
func (s *Set) server(ctx context.Context, server mcp.Server, project bool, key string) {
	plugin := server.PluginName()
	taken := func(c *Candidate) bool {
		return c.Kind == trust.KindServer && (c.Server == nil || !c.Server.Disabled) && (c.Name == server.Name || !server.Disabled && c.named == plugin)
	}
	if i := slices.IndexFunc(s.Candidates, taken); i >= 0 {
		why := " has a server with the same name"
		if other := s.Candidates[i].Name; other != server.Name {
			why = fmt.Sprintf(" has the server %q, whose name is too similar; rename one", other)
		}
		s.Warnings = append(s.Warnings, "MCP server "+server.Name+" of "+server.Origin+" is not loaded: "+s.Candidates[i].From+why)
		return
	}
	server.Own = !project
	c := &Candidate{Kind: trust.KindServer, Name: server.Name, Carrier: sdk.CarrierMCP, From: server.Origin, Project: project, Server: &server, named: plugin}
	if server.Disabled {
		c.State, c.Reason = plugins.StateDisabled, "disabled in "+server.Origin
		s.Candidates = append(s.Candidates, c)
		return
	}
	line := server.Mask(serverLine(&server))
	if project { // the user must see the command and its variables, but their values are secrets
		line = serverLine(server.Written())
	}
	c.Lines = []string{s.opts.Config.Mask(line)}
	if project {
		c.Lines = append(c.Lines, takes(append(s.opts.Config.Taken("", key), server.Taken()...))...)
		if kept := s.opts.Config.Kept(key); len(kept) > 0 {
			c.Lines = append(c.Lines, "with "+strings.Join(kept, ", ")+" of your own configuration")
		}
		c.files = s.serverFiles(&server)
	}
	rights := slices.DeleteFunc(c.serverHooks(), func(h trust.Hook) bool { return h.Right == "" }) // full rights
	if s.judge(ctx, c, server.Definition(), trust.Request{Servers: c.Lines, Hooks: rights}) {
		s.addServer(c)
	}
}

// serverFiles returns the files of the project that a server is started with. Its command line may name them as words, within a
// shell command (sh -c "node ./server.js") or in an option (--require=./x.js), and its environment may name them, too.
func (s *Set) serverFiles(server *mcp.Server) []string {
	if server.Transport != mcp.TransportStdio {
		return nil
	}
	words := append([]string{server.Command}, server.Args...)
	words = append(words, strings.Join(words, " ")) // a directory that one word names is where the next may be found
	words = append(words, slices.Sorted(maps.Values(server.Env))...)
	return trust.LocalFiles(s.opts.Project.Worktree, server.Directory(s.opts.Project.Directory), words)
}

func (s *Set) addServer(c *Candidate) {
	c.Server.Timeout = cmp.Or(c.Server.Timeout, time.Duration(s.opts.Config.Config.Experimental.MCPTimeout)*time.Millisecond)
	s.Candidates = append(s.Candidates, c)
	if c.running() {
		c.plugin, c.key = mcp.New(*c.Server, s.serverOptions(c)), c.From+" "+c.Server.Root+" "+string(c.trusted.Digest)+" "+string(c.Server.Definition())+" "+fmt.Sprintf("%q %q %q %v", c.Server.Args, c.Server.Env, c.Server.Headers, s.free(c))
	}
}

func (s *Set) serverOptions(c *Candidate) mcp.Options {
	o := mcp.Options{
		Dir: s.serverDir(), Environ: s.opts.Environ, Version: s.opts.Version, Confine: s.policy(c, c.Server.Root, c.Server.Data),
		MayApprove: func(d *mcp.Definition) error { return s.checkOffers(c, d) }, Turns: s.turns,
	}
	if o.Confine == nil {
		o.Environ = s.opts.outside()
	}
	if a := s.authorizer(c, false); a != nil {
		o.Authorizer = a
	}
	return o
}

// serverDir is the directory of the servers' logs and pins.
func (s *Set) serverDir() string { return filepath.Join(s.opts.Project.DataDir, "mcp") }

// packagedServer adds a server of a package, which was approved with it.
func (s *Set) packagedServer(p plugins.Server) error {
	server := mcp.Server{
		Name: p.Name, Command: p.Entry.Command, Args: p.Entry.Args, Env: p.Entry.Env, Cwd: p.Entry.Cwd, URL: p.Entry.URL,
		Headers: p.Entry.Headers, Origin: packageOf(p.Plugin), Own: true, Root: p.Root, Data: p.Data,
	}
	transports := map[string]mcp.Transport{manifest.ServerStdio: mcp.TransportStdio, manifest.ServerSSE: mcp.TransportSSE}
	server.Transport = cmp.Or(transports[p.Entry.Type], mcp.TransportHTTP)
	if err := server.Validate(); err != nil {
		return err
	}
	lines := []string{serverLine(&server)}         // without the values of variables
	variables := maps.Collect(maps.All(p.Granted)) // not nil
	if slices.Contains(p.Entry.Variables, manifest.ProjectVariable) {
		variables[manifest.ProjectVariable] = s.opts.Project.Worktree
	}
	if err := server.Grant(variables, len(p.Entry.Variables) > 0); err != nil {
		return fmt.Errorf("%w; if you did not grant it: tenon plugin untrust %s, then tenon plugin trust %s", err, p.Plugin, p.Plugin)
	}
	p.Entry.Args, p.Entry.Env = server.Args, server.Env
	started, err := p.Resolve()
	if err != nil {
		return err
	}
	server.Place(started.Command, started.Args, started.Env, started.Cwd)
	s.addServer(&Candidate{
		Kind: trust.KindServer, Name: p.Name, Carrier: sdk.CarrierMCP, From: server.Origin, State: plugins.StateReady, Server: &server,
		Lines: lines, pack: p.Plugin,
	})
	return nil
}

// takes returns the line of a question that names the variables whose values a project's server or hook gets. It returns
// nothing if there are none.
func takes(variables []string) []string {
	if len(variables) == 0 {
		return nil
	}
	slices.Sort(variables)
	return []string{"takes " + strings.Join(slices.Compact(variables), ", ") + " from your environment"}
}

// serverLine returns the command or address of a server.
func serverLine(s *mcp.Server) string {
	if s.Transport != mcp.TransportStdio {
		return string(s.Transport) + " " + s.URL
	}
	line := "starts " + strings.Join(append([]string{s.Command}, s.Args...), " ")
	if len(s.Env) > 0 {
		line += " with " + strings.Join(slices.Sorted(maps.Keys(s.Env)), ", ") + " in its environment"
	}
	return line
}

const (
	// noticeAfter is the time after which a line names the servers that a run waits for.
	noticeAfter = time.Second
	// maxProbes bounds how many servers are started at the same time, unless they are needed.
	maxProbes = 8
)

// Meet starts the user's servers that have no approved items yet, and stores the items that they offer as approved, so that the first run has
// their tools. It waits for each until its timeout, and for all at most for limit. It calls waiting once with the names of those it still
// waits for, and for how long at most. A server that does not work is not waited for again: LastCheck has the reason, and the run reports it.
func (s *Set) Meet(ctx context.Context, limit time.Duration, waiting func(names []string, limit time.Duration)) {
	strangers := slices.DeleteFunc(slices.Clone(s.Candidates), func(c *Candidate) bool {
		if !c.mayStart() || !c.Server.Own {
			return true
		}
		pin, err := s.pins().Load(*c.Server) // the plugin reports the error
		last := s.LastCheck(c)
		return err != nil || pin != nil || last != nil && last.Error != ""
	})
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var done sync.Map // of the candidates
	notice := time.AfterFunc(noticeAfter, func() {
		var names []string
		var longest time.Duration
		for _, c := range strangers {
			if _, ok := done.Load(c); !ok {
				names, longest = append(names, c.Name), max(longest, min(limit, c.Server.Limit()))
			}
		}
		if len(names) > 0 {
			waiting(names, longest)
		}
	})
	defer notice.Stop()
	each(strangers, func(c *Candidate) {
		if ctx.Err() != nil {
			return // not tried, so it is not broken
		}
		defer done.Store(c, true)
		ctx, cancel := context.WithTimeout(ctx, c.Server.Limit())
		defer cancel()
		_ = s.Pin(ctx, c) // the error is in the record
	})
}

// CheckServers starts every server that may run, and records whether it works. ctx limits all of them.
func (s *Set) CheckServers(ctx context.Context) {
	each(slices.DeleteFunc(slices.Clone(s.Candidates), func(c *Candidate) bool { return !c.mayStart() }), func(c *Candidate) {
		_, _ = s.Offered(ctx, c) // the error is in the record
	})
}

// each calls f for all candidates, several at the same time, and waits.
func each(list []*Candidate, f func(*Candidate)) {
	var running sync.WaitGroup
	tokens := make(chan struct{}, maxProbes)
	for _, c := range list {
		tokens <- struct{}{}
		running.Go(func() { // ends with f
			defer func() { <-tokens }()
			f(c)
		})
	}
	running.Wait()
}

// LastCheck returns the outcome of the last start of a server; nil if it was never started.
func (s *Set) LastCheck(c *Candidate) *mcp.Check { return mcp.LastCheck(s.serverDir(), *c.Server) }

// mayStart reports whether the candidate is a server that runs may start.
func (c *Candidate) mayStart() bool { return c.Server != nil && c.State == plugins.StateReady }
