package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// reachTimeout bounds the try to reach a provider.
const reachTimeout = 5 * time.Second

func (a *app) doctorCommand() *cobra.Command {
	var offline bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check what tenon needs: directories, database, git, keys, the provider, the terminal",
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context(), offline) },
	}
	cmd.Flags().BoolVar(&offline, "offline", false, "do not try to reach the provider")
	return cmd
}

// checkup collects the results of checks.
type checkup struct {
	a     *app
	first error // the first problem
}

func (c *checkup) ok(what, format string, args ...any) {
	c.line("ok", what, fmt.Sprintf(format, args...))
}

func (c *checkup) note(what, format string, args ...any) {
	c.line("note", what, fmt.Sprintf(format, args...))
}

func (c *checkup) bad(what string, err error) {
	f := remedy(err)
	c.line("BAD", what, f.err.Error())
	if f.fix != "" {
		c.line("", "", "fix: "+f.fix)
	}
	if c.first == nil {
		c.first = &failure{f.code, errors.New("not all is well; see above"), "follow the lines that begin with fix"}
	}
}

func (c *checkup) line(mark, what, text string) {
	fmt.Fprintf(c.a.out, "%-4s  %-9s  %s\n", mark, what, oneLine(c.a.mask.clean(text)))
}

// doctor checks one thing after another and fails with the exit code of the first problem.
func (a *app) doctor(ctx context.Context, offline bool) error {
	c := &checkup{a: a}
	b := build()
	c.ok("version", "%s, %s, %s/%s", b.Version, b.Go, b.OS, b.Arch)
	c.terminal()
	c.git(ctx)
	w, err := a.place(ctx)
	if err != nil {
		c.bad("place", err)
		return c.first
	}
	if w.project.Git {
		c.ok("project", "%s, a git repository (%s)", w.project.Worktree, w.projectID())
	} else {
		c.ok("project", "%s, no git repository", w.project.Directory)
	}
	stored := c.data(ctx, w)
	w, err = a.configured(ctx)
	if err != nil {
		c.bad("config", err)
		return c.first
	}
	c.config(w)
	c.sandbox(w)
	if !stored {
		c.note("host", "not started: it needs the database")
		return c.first
	}
	m, err := w.open(ctx, hostOptions{})
	if err != nil {
		c.bad("host", err)
		return c.first
	}
	c.models(ctx, w, m, offline)
	if err := m.Close(ctx); err != nil {
		c.bad("host", err)
	}
	return c.first
}

func (c *checkup) terminal() {
	s := c.a.screen
	if !s.live {
		c.note("terminal", "none on stdout or stderr: runs print the answer alone")
		return
	}
	c.ok("terminal", "%s, %d columns, colours %v, questions can be asked %v", c.a.env.lookup("TERM"), s.width(), s.color, s.answers)
}

func (c *checkup) git(ctx context.Context) {
	out, err := exec.CommandContext(ctx, "git", "--version").Output()
	if err != nil {
		c.note("git", "not found: sessions of all repositories are kept together")
		return
	}
	c.ok("git", "%s", strings.TrimSpace(string(out)))
}

// data reports whether sessions can be stored.
func (c *checkup) data(ctx context.Context, w *workspace) bool {
	if err := writable(w.dirs.data); err != nil {
		kind := store.ErrReadOnly
		if errors.Is(err, syscall.ENOSPC) {
			kind = store.ErrFull
		}
		c.bad("data", fmt.Errorf("%w: %s: %w", kind, w.dirs.data, cause(err)))
		return false
	}
	c.ok("data", "%s can be written", w.dirs.data)
	s, err := w.openStore(ctx)
	if err != nil {
		c.bad("database", err)
		return false
	}
	defer s.Close()
	damaged, err := store.Readable(s.Check(ctx, ""))
	if err != nil {
		c.bad("database", err)
		return false
	}
	list, err := s.List(ctx, store.Query{Limit: maxSessions, Archived: true})
	if _, err = store.Readable(err); err != nil {
		c.bad("database", err)
		return false
	}
	if len(damaged) > 0 {
		c.damaged(w.database(), damaged)
		return true
	}
	archived := 0
	for i := range list {
		if list[i].Archived != 0 {
			archived++
		}
	}
	size := int64(0)
	if info, err := os.Stat(w.database()); err == nil {
		size = info.Size()
	}
	c.ok("database", "%s is sound: %s, %d of them archived, %d KiB", w.database(), plural(len(list), "session"), archived, size>>10)
	return true
}

// damaged names damaged rows; what is not damaged can be used.
func (c *checkup) damaged(path string, rows []store.Damage) {
	for i, row := range rows {
		if i == maxDamaged {
			c.line("", "", fmt.Sprintf("and %d more damaged rows", len(rows)-i))
			break
		}
		c.line("BAD", "database", path+": "+row.String())
	}
	c.bad("database", &failure{exitStore, fmt.Errorf("%s has damage: %s", path, plural(len(rows), "damaged row")), repairFix(rows)})
}

// writable tries to write a file in the directory, which it makes.
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

func (c *checkup) config(w *workspace) {
	files := "no file, the defaults hold"
	if len(w.loaded.Files) > 0 {
		files = strings.Join(w.loaded.Files, ", ")
	}
	c.ok("config", "%s", files)
	for _, warning := range w.loaded.Warnings {
		c.note("config", "%s", warning.String())
	}
	for _, dir := range []string{w.dirs.config, filepath.Join(w.project.Directory, ".tenon")} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			c.ok("config", "%s is looked into", dir)
		}
	}
}

func (c *checkup) models(ctx context.Context, w *workspace, m *machine, offline bool) {
	sources := map[string]int{}
	var order []string
	for _, info := range m.Models(ctx) {
		source := info.Model.ProviderID + " (" + info.Source + ")"
		if sources[source]++; sources[source] == 1 {
			order = append(order, source)
		}
	}
	for _, source := range order {
		c.ok("provider", "%s: %s", source, plural(sources[source], "model"))
	}
	for _, r := range m.Receivers(ctx) {
		c.note("provider", "%s at %s: chosen by the repository and not approved; tenon permission approve approves it", r.Provider, r.Address)
	}
	choice, err := m.DefaultModel(ctx)
	if err != nil {
		c.bad("model", err)
		return
	}
	c.ok("model", "%s: %s", choice.Model.Ref(), choice.Reason)
	address := baseURL(m, choice.Model.ProviderID)
	if offline || address == "" {
		return
	}
	if err := reach(ctx, address); err != nil {
		c.bad("network", &failure{exitModel, fmt.Errorf("%s does not answer: %w", address, err), "check the network, the address and that the server runs"})
		return
	}
	c.ok("network", "%s answers", address)
}

// baseURL returns where a provider is, from the configuration or from the plugin that knows it.
func baseURL(m *machine, provider string) string {
	if p, ok := m.config.Provider[provider]; ok && p.Options.BaseURL != "" {
		return p.Options.BaseURL
	}
	for _, p := range shipped() {
		source, ok := p.(sdk.ProviderSource)
		if !ok {
			continue
		}
		for _, info := range source.Providers() {
			if info.ID == provider {
				return info.BaseURL
			}
		}
	}
	return ""
}

// reach asks the provider's server for anything, without a key: every answer will do.
func reach(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(address, "/")+"/models", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultTransport.RoundTrip(req) // a redirect is an answer, too
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
