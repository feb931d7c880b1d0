package inspect

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/builtin/instructions"
	"github.com/tenonhq/tenon/builtin/tools/shell"
	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite"
	"github.com/tenonhq/tenon/internal/secret"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/sdk"
)

// reachTimeout limits the requests to providers.
const reachTimeout = 5 * time.Second

// checkup collects the results of checks.
type checkup struct {
	a    *cli.App
	end  func() error // of the command; the failures that an interruption causes are left out
	list []finding
	bads int
	code int   // the exit code of the first problem
	err  error // the first failed write
}

// finding is the result of a check.
type finding struct {
	Status  string `json:"status"` // ok, note or bad
	Subject string `json:"subject"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

func (c *checkup) ok(what, format string, args ...any) {
	c.add(finding{Status: "ok", Subject: what, Message: fmt.Sprintf(format, args...)})
}

func (c *checkup) note(what, format string, args ...any) {
	c.add(finding{Status: "note", Subject: what, Message: fmt.Sprintf(format, args...)})
}

func (c *checkup) bad(what string, err error) {
	f := cli.Remedy(err)
	c.add(finding{Status: "bad", Subject: what, Message: f.Err.Error(), Fix: f.Fix})
	if c.bads++; c.code == 0 {
		c.code = f.Code
	}
}

// add keeps a finding, and prints it unless JSON is printed at the end.
func (c *checkup) add(f finding) {
	if c.end() != nil {
		return
	}
	f.Message, f.Fix = c.a.Mask.Clean(f.Message), c.a.Mask.Clean(f.Fix)
	c.list = append(c.list, f)
	if c.a.JSON {
		return
	}
	mark := f.Status
	if mark == "bad" {
		mark = "BAD"
	}
	text := fmt.Sprintf("%-4s  %-9s  %s\n", mark, f.Subject, terminal.OneLine(f.Message))
	if f.Fix != "" {
		text += fmt.Sprintf("%-4s  %-9s  fix: %s\n", "", "", terminal.OneLine(f.Fix))
	}
	c.err = cmp.Or(c.err, c.a.Print(text))
}

// doctor runs all checks. Its error has the exit code of the first problem.
func (g *group) doctor(cmd *cobra.Command, _ []string) error {
	c := &checkup{a: g.App, end: cmd.Context().Err}
	c.all(cmd.Context(), g.offline)
	if err := c.end(); err != nil {
		return err
	}
	if g.JSON {
		if err := g.PrintJSON(c.list); err != nil {
			return err
		}
	}
	if c.err != nil || c.bads == 0 {
		return c.err
	}
	return cli.Fail(c.code, fmt.Errorf("%s found", view.Plural(c.bads, "problem")), "see the lines marked BAD")
}

func (c *checkup) all(ctx context.Context, offline bool) {
	a := c.a
	b := build(a.Version)
	c.ok("version", "%s, %s, %s/%s", b.Version, b.Go, b.OS, b.Arch)
	c.terminal()
	if pool, err := x509.SystemCertPool(); err == nil && pool.Equal(x509.NewCertPool()) { // small container images have none
		c.note("network", "no root certificates, so no https server is trusted: install ca-certificates, or set SSL_CERT_FILE to a file with them")
	}
	w, err := a.Place(ctx)
	if err != nil {
		c.bad("place", err)
		return
	}
	c.git(ctx, w.Project.Worktree)
	if w.Project.Git {
		c.ok("project", "%s, a git repository (%s)", w.Project.Worktree, w.ProjectID())
	} else {
		c.ok("project", "%s, not a git repository: undo covers only files that the edit tools write", w.Project.Directory)
	}
	stored := c.data(ctx, w)
	c.space(ctx, w.Project)
	if err := w.Configure(ctx); err != nil {
		c.bad("config", err)
		return
	}
	c.config(w)
	if files := instructions.Check(w.Project, w.Loaded.Config, a.Log); len(files) > 0 {
		c.ok("prompt", "instructions from %s", strings.Join(files, ", "))
	}
	c.sandbox(w)
	owners, some := c.servers(ctx, w, offline)
	if !stored {
		c.note("host", "not started: it needs the database")
		return
	}
	if some { // it reads all sessions of a week
		c.plugins(ctx, w, owners)
	}
	m, err := w.Open(ctx, cli.HostOptions{})
	if err != nil {
		c.bad("host", err)
		return
	}
	c.models(ctx, m, offline)
	if err := m.Close(context.WithoutCancel(ctx)); err != nil {
		c.bad("host", err)
	}
}

func (c *checkup) terminal() {
	s := c.a.Screen
	if !s.Live {
		c.note("terminal", "none on stdout or stderr: runs print only the answer")
		return
	}
	c.ok("terminal", "%s, %d columns, colors %v, can ask questions %v", c.a.Env.Lookup("TERM"), s.Width(), s.Color, s.Answers)
}

func (c *checkup) git(ctx context.Context, project string) {
	switch out := strings.TrimSpace(cli.Git(ctx, project, "--version")); {
	case out == "":
		c.note("git", "not found, or not working: the sessions of all repositories are kept together")
	case !shell.NewGit().MatchString(out):
		c.note("git", "%s; older than 2.38: the model's git commands ask even if a rule allows them", out)
	default:
		c.ok("git", "%s", out)
	}
}

// data reports whether sessions can be stored.
func (c *checkup) data(ctx context.Context, w *cli.Workspace) bool {
	if err := writable(w.Project.DataDir); err != nil {
		kind := store.ErrReadOnly
		if errors.Is(err, syscall.ENOSPC) {
			kind = store.ErrFull
		}
		c.bad("data", fmt.Errorf("%w: %s: %w", kind, w.Project.DataDir, cli.Cause(err)))
		return false
	}
	c.ok("data", "%s is writable", w.Project.DataDir)
	sessions, damaged, err := examine(ctx, w)
	switch {
	case err != nil:
		c.bad("database", err)
	case len(damaged) > 0:
		c.damaged(w.Database(), damaged)
	default:
		c.ok("database", "%s is intact: %s", w.Database(), view.Plural(sessions, "session"))
	}
	return err == nil
}

// space reports the size of what is in the data directory, the largest first, and of the cache.
func (c *checkup) space(ctx context.Context, p sdk.Project) {
	sizes, separator := map[string]int64{}, string(filepath.Separator)
	for _, root := range slices.Compact([]string{p.DataDir, p.CacheDir}) {
		if strings.HasPrefix(root, p.DataDir+separator) {
			continue // the cache is in the data directory
		}
		// The separator follows a directory that is a link. Files that are not readable, or gone, do not count.
		_ = filepath.WalkDir(root+separator, func(path string, d fs.DirEntry, err error) error {
			if info, missing := os.Lstat(path); err == nil && missing == nil && !d.IsDir() {
				name := "cache"
				if below, ok := strings.CutPrefix(path, p.DataDir+separator); ok {
					name, _, _ = strings.Cut(below, separator)
				}
				sizes[name] += info.Size()
			}
			return ctx.Err()
		})
	}
	var list []string
	maps.DeleteFunc(sizes, func(_ string, size int64) bool { return size < 1e6 })
	for _, name := range slices.SortedFunc(maps.Keys(sizes), func(a, b string) int { return cmp.Compare(sizes[b], sizes[a]) }) {
		list = append(list, fmt.Sprintf("%s %d MB", name, sizes[name]/1e6))
	}
	c.ok("space", "%s", cmp.Or(strings.Join(list, ", "), "less than 1 MB"))
}

// examine returns the number of sessions in the store and its damaged rows.
func examine(ctx context.Context, w *cli.Workspace) (sessions int, damaged []store.Damage, err error) {
	s, err := w.OpenStore(ctx, sqlite.Options{})
	if err != nil {
		return 0, nil, err
	}
	defer s.Close()
	if damaged, err = store.Readable(s.Check(ctx, "")); err != nil {
		return 0, nil, err
	}
	list, err := s.List(ctx, store.Query{Limit: cli.MaxSessions, Archived: true})
	_, err = store.Readable(err)
	return len(list), damaged, err
}

// damaged reports damaged rows.
func (c *checkup) damaged(path string, rows []store.Damage) {
	for i, row := range rows {
		if i == cli.MaxDamaged {
			c.note("database", "and %d more damaged rows", len(rows)-i)
			break
		}
		c.add(finding{Status: "bad", Subject: "database", Message: path + ": " + row.String()})
	}
	c.bad("database", cli.Fail(cli.ExitStore, fmt.Errorf("%s is damaged: %s", path, view.Plural(len(rows), "damaged row")), cli.RepairFix(rows)))
}

// writable creates the directory and tries to write a file in it.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".tenon-doctor-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString("doctor\n")
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

func (c *checkup) config(w *cli.Workspace) {
	files := "no file, using the defaults"
	if len(w.Loaded.Files) > 0 {
		files = strings.Join(w.Loaded.Files, ", ")
	}
	c.ok("config", "%s", files)
	for _, warning := range w.Loaded.Warnings {
		if strings.HasSuffix(warning.Key, ".options.apiKey") {
			fix := warning.Remedy
			warning.Remedy = ""
			c.bad("key", cli.Fail(cli.ExitModel, errors.New(warning.String()), fix))
			continue
		}
		c.note("config", "%s", warning.String())
	}
	for _, file := range []string{"opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc", ".claude/settings.json"} {
		if _, err := os.Stat(filepath.Join(w.Project.Directory, filepath.FromSlash(file))); err == nil {
			c.note("config", "%s is not read; tenon import translates it", file)
		}
	}
}

func (c *checkup) models(ctx context.Context, m *cli.Machine, offline bool) {
	sources, asked := map[string]int{}, map[string]bool{}
	var order []string
	for _, info := range m.Models(ctx) {
		asked[info.Model.ProviderID] = true
		source := info.Model.ProviderID + " (" + info.Source + ")"
		if sources[source]++; sources[source] == 1 {
			order = append(order, source)
		}
	}
	for _, source := range order {
		c.ok("provider", "%s: %s", source, view.Plural(sources[source], "model"))
	}
	for _, r := range m.Receivers(ctx) {
		c.note("provider", "%s at %s: chosen by the repository and not approved; approve it with tenon permission approve", r.Provider, r.Address)
	}
	broken := map[string]bool{}
	for _, p := range m.Check(ctx) {
		broken[p.Provider] = true
		switch {
		case p.Warning:
			c.note("model", "%s: %s", p.Key, p.Message())
		case p.Provider != "":
			c.bad("provider", cli.Fail(cli.ExitModel, fmt.Errorf("%s: %s", p.Key, p.Message()), "tenon config edit opens your configuration"))
		case !errors.Is(p.Err, host.ErrModel):
			at, fix := p.Key, "tenon config edit opens your configuration"
			if p.Origin != "" {
				at, fix = p.Origin+": "+at, "correct that file, or override the value in tenon.json"
			}
			c.bad("config", cli.Fail(cli.ExitConfig, fmt.Errorf("%s: %w", at, p.Err), fix))
		case p.Key != "model": // reported below
			c.bad("model", fmt.Errorf("%s: %w", p.Key, p.Err))
		}
	}
	choice, err := m.DefaultModel(ctx)
	if err != nil {
		c.bad("model", err)
	} else if !broken[choice.Model.ProviderID] {
		c.ok("model", "%s: %s", choice.Model.Ref(), choice.Reason)
	}
	for id := range m.Config().Provider { // includes providers without models; broken ones were already reported
		asked[id] = !broken[id]
	}
	if !offline {
		c.providers(ctx, m, asked, choice.Model.ProviderID)
	}
}

// providers reports whether providers answer and accept the credentials. They are asked in parallel. Only the needed one must answer.
func (c *checkup) providers(ctx context.Context, m *cli.Machine, asked map[string]bool, needed string) {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	list := slices.DeleteFunc(m.ProviderInfos(), func(p sdk.ProviderInfo) bool { return !asked[p.ID] || p.BaseURL == "" })
	type answer struct {
		models int
		err    error
	}
	answers := make([]answer, len(list))
	var waiting sync.WaitGroup
	for i := range list {
		waiting.Go(func() { // ends with ctx at the latest; waited for below
			answers[i].models, answers[i].err = m.TestProvider(ctx, list[i].ID)
		})
	}
	waiting.Wait()
	for i, p := range list {
		c.provider(p.ID, secret.WithoutSecrets(p.BaseURL), answers[i].models, answers[i].err, p.ID == needed)
	}
}

func (c *checkup) provider(id, address string, models int, err error, needed bool) {
	var answer *sdk.ProviderError
	refused := errors.As(err, &answer) && answer.StatusCode != 0 && answer.StatusCode != http.StatusProxyAuthRequired // by the provider, not by a proxy
	switch {
	case refused && answer.StatusCode == http.StatusUnauthorized && answer.Err != nil: // no credentials to send
		c.bad("key", cli.Fail(cli.ExitModel, err, "correct the credentials as the error says"))
	case refused && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden):
		c.bad("key", cli.Fail(cli.ExitModel, fmt.Errorf("%s refuses the credentials: %w", id, err), "check the key: tenon models shows its source; or run tenon auth login "+id))
	case errors.Is(err, errors.ErrUnsupported):
		c.note("network", "%s is not tested: no model of %s is known", address, id)
	case err != nil && !refused && !needed:
		c.note("network", "%s does not answer: %s", address, err)
	case err != nil && !refused:
		c.bad("network", cli.Fail(cli.ExitModel, fmt.Errorf("%s does not answer: %w", address, err), "check the network, the address and whether the server runs"))
	case err != nil:
		c.note("network", "%s answers with an error: %s", address, err)
	case models > 0:
		c.ok("network", "%s answers and lists %s", address, view.Plural(models, "model"))
	default:
		c.ok("network", "%s answers", address)
	}
}

// servers reports whether the MCP servers work. It starts the approved ones. It returns the owners of tools and skills, and
// whether this project may have plugins or servers.
func (c *checkup) servers(ctx context.Context, w *cli.Workspace, offline bool) (o *owners, some bool) {
	s, err := w.Extensions(ctx, nil, false)
	if err != nil {
		c.bad("mcp", err)
		return &owners{}, true
	}
	if !offline {
		s.CheckServers(ctx)
	}
	for _, warning := range s.Warnings {
		c.note("plugins", "%s", warning)
	}
	for _, one := range s.Candidates {
		if one.Server == nil {
			continue
		}
		last := s.LastCheck(one)
		switch {
		case one.State == plugins.StatePending:
			c.note("mcp", "%s: not approved; approve it with tenon mcp trust %s", one.Name, one.Argument())
		case one.State != plugins.StateReady:
			c.note("mcp", "%s: %s %s", one.Name, one.State, strings.TrimPrefix(one.Reason, "disabled "))
		case last == nil:
			c.note("mcp", "%s: never started", one.Name)
		case last.Error != "":
			c.bad("mcp", cli.Fail(cli.ExitConfig, fmt.Errorf("%s: %s", one.Name, last.Error), s.Remedy(one)+"; tenon mcp disable "+one.Argument()+" disables it"))
		default:
			show := c.ok
			if last.Withheld > 0 {
				show = c.note
			}
			show("mcp", "%s: %s, %s", one.Name, last.Title, view.Offered(last.Tools, last.Withheld, one.Argument()))
		}
	}
	if err := s.Discard(ctx); err != nil {
		c.bad("mcp", err)
	}
	return ownersOf(s.Candidates), len(s.Candidates) > 0
}

// sandbox reports whether commands of the model run confined.
func (c *checkup) sandbox(w *cli.Workspace) {
	list, err := w.Sandbox()
	if err != nil {
		c.bad("sandbox", err)
		return
	}
	for _, name := range w.Loaded.Config.Sandbox.Unconfined {
		c.note("sandbox", "%s runs unconfined: listed at %s", terminal.OneLine(name), w.Loaded.Origin("sandbox.unconfined"))
	}
	text := w.Confinement(list)
	report := c.ok
	if strings.HasPrefix(text, "not confined") {
		report = c.note
	}
	report("sandbox", "commands of the model are %s", text)
}
