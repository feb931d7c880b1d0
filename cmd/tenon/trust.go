package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/host/input"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// rulesPermission is the permission under which approved files with rules are stored; the pattern is path@digest.
const rulesPermission = permission.OfProject + "rules"

// managedFile returns the path of the administrator's configuration.
func managedFile() string {
	switch runtime.GOOS {
	case "windows":
		if base := os.Getenv("ProgramData"); base != "" {
			return filepath.Join(base, "tenon", "tenon.json")
		}
		return `C:\ProgramData\tenon\tenon.json`
	case "darwin":
		return "/Library/Application Support/tenon/tenon.json"
	}
	return "/etc/tenon/tenon.json"
}

// projectRules decides which rules of the project's files may allow something.
type projectRules struct {
	w         *cli.Workspace
	approved  map[string]bool // path@digest
	receivers sync.Map        // digests of the approved receivers, to which askReceivers adds while the host runs
	warned    sync.Once
}

// trust returns the origin of a rule. See permission.Policy.
func (p *projectRules) trust(origin, digest string) permission.Trust {
	path := p.source(origin)
	return permission.Trust{Repository: path != "", Approved: p.isApproved(path, digest)}
}

// unapproved warns, once, about an unapproved rule, which asks instead of allowing.
func (p *projectRules) unapproved(r sdk.PermissionRule) {
	p.warned.Do(func() {
		p.w.App.Log.Warn(fmt.Sprintf("%s contains rules that allow actions; until you approve them with tenon permission approve, tenon asks", p.source(r.Origin)))
	})
}

// source returns the file of the project that holds a rule with this origin, or "".
func (p *projectRules) source(origin string) string {
	if origin == "" {
		return ""
	}
	path := origin
	if at := strings.LastIndexByte(path, ':'); at > 1 && strings.Trim(path[at+1:], "0123456789") == "" {
		path = path[:at]
	}
	return projectFile(p.w, path)
}

// isApproved reports whether the content that was read from a file is approved. digest is set for Markdown files.
func (p *projectRules) isApproved(path, digest string) bool {
	return p.approved[approvalKey(p.w, path, digest)]
}

// approvalKey identifies a file and the content that was read, which may differ from the current one. Without a file, or if that content is
// unknown, the key is empty and never approved.
func approvalKey(w *cli.Workspace, path, digest string) string {
	if digest = cmp.Or(w.Loaded.ProjectFiles[path], digest); digest == "" || path == "" {
		return ""
	}
	return path + "@" + digest
}

// approveRules shows the allow rules in this project's files, the shell commands in its command templates, and the receivers of
// conversations that its files choose. It asks for confirmation, unless yes is set, and approves all of them.
func approveRules(ctx context.Context, w *cli.Workspace, yes, dryRun bool) (err error) {
	a := w.App
	m, err := wire(ctx, w, cli.HostOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close(context.WithoutCancel(ctx))) }()
	files := m.rules.waiting(ctx, m.Machine)
	var list []store.Approval
	for _, key := range slices.Sorted(maps.Keys(files)) {
		a.Say("not approved: %s\n  %s", key[:strings.LastIndexByte(key, '@')], strings.Join(files[key], "\n  "))
		list = append(list, approval(w, rulesPermission, key))
	}
	for _, r := range m.Receivers(ctx) {
		a.Say("not approved: %s", m.rules.receiverText(&r))
		list = append(list, receiverApproval(w, &r))
	}
	if len(list) == 0 {
		return a.Print("nothing in this project is waiting for approval\n")
	}
	notApproved := errors.New("not approved")
	if dryRun {
		return cli.Fail(cli.ExitRefused, notApproved, "tenon permission approve approves them")
	}
	if err := a.Consent(yes, "  approve all of this? [y/N] ", cli.Fail(cli.ExitRefused, notApproved, "nothing was changed")); err != nil {
		return err
	}
	if err := m.Store.Approve(ctx, list); err != nil {
		return err
	}
	return a.Print("valid until the files change; revoke with tenon permission forget\n")
}

// approval returns an approval of this command.
func approval(w *cli.Workspace, name, pattern string) store.Approval {
	return store.Approval{
		Project: w.ApprovalProject(), Permission: name, Pattern: pattern, Created: time.Now().UnixMilli(), Origin: "tenon permission approve",
	}
}

// waiting returns the unapproved allow rules, and the unapproved shell commands in the templates of the project's commands, as lines by the
// approvalKey of their file.
func (p *projectRules) waiting(ctx context.Context, m *cli.Machine) map[string][]string {
	files := map[string][]string{}
	add := func(path, digest, line string) {
		if key := approvalKey(p.w, path, digest); key != "" && !p.approved[key] {
			files[key] = append(files[key], line)
		}
	}
	rules := slices.Clone(p.w.Loaded.Config.Permission)
	for _, agent := range p.w.Loaded.Config.Agent {
		rules = append(rules, agent.Permission...)
	}
	for _, agent := range m.Agents() {
		rules = append(rules, agent.Permission...)
	}
	for _, r := range rules {
		if r.Action == sdk.ActionAllow {
			add(p.source(r.Origin), r.Digest, view.RuleText(r))
		}
	}
	for _, c := range m.CommandInfos(ctx) {
		path, _ := p.commandFile(&c.Command)
		for _, shell := range input.ShellCommands(c.Template) {
			if cli.IsShipped(c.Plugin) {
				add(path, c.Digest, fmt.Sprintf("/%s runs %s", terminal.OneLine(c.Name), terminal.OneLine(strings.ReplaceAll(shell, "\n", `\n`))))
			}
		}
	}
	return files
}

// permissionOptions sets the host's options about trust in permission rules and receivers.
func permissionOptions(ctx context.Context, w *cli.Workspace, s store.Store, o *host.Options) (*projectRules, error) {
	p := &projectRules{w: w, approved: map[string]bool{}}
	list, err := s.Approvals(ctx, w.ApprovalProject())
	if err != nil {
		return nil, err
	}
	for _, a := range list {
		switch a.Permission {
		case rulesPermission:
			p.approved[a.Pattern] = true
		case receiverPermission:
			p.receivers.Store(a.Pattern[strings.LastIndexByte(a.Pattern, '@')+1:], true)
		}
	}
	o.Own, o.ApprovedReceiver = w.Loaded.Own, p.receives
	o.FromProject = func(origin string) bool { return projectFile(w, origin) != "" }
	o.Policy = permission.Policy{Managed: w.Loaded.Managed, Trust: p.trust, TrustCommand: p.trustCommand, Unapproved: p.unapproved}
	return p, nil
}

// projectFile returns the file of the repository that an origin names, or "". An origin is an absolute path, or one relative to ~ or to the
// working directory.
func projectFile(w *cli.Workspace, origin string) string {
	path := projectfs.Join(w.Project.Directory, projectfs.FromHome(w.Project.Home, origin))
	if w.Loaded.ProjectFiles[path] != "" {
		return path
	}
	if strings.EqualFold(filepath.Ext(path), ".md") && projectfs.Inside(w.Project.Worktree, path) && !projectfs.Inside(w.Project.ConfigDir, path) {
		return path
	}
	return ""
}

// trustCommand returns the origin of a command. See permission.Policy. A command that is in the configuration but in none of its files (a
// plugin's hook can add it) counts as the repository's.
func (p *projectRules) trustCommand(c *sdk.Command) permission.Trust {
	path, known := p.commandFile(c)
	return permission.Trust{Repository: path != "" || !known, Approved: p.isApproved(path, c.Digest)}
}

// commandFile returns the project file that defines a command, or "". known is false if the origin of the command is unknown.
func (p *projectRules) commandFile(c *sdk.Command) (path string, known bool) {
	if c.Origin != sdk.OriginConfiguration {
		return projectFile(p.w, c.Origin), true
	}
	o, known := p.w.Loaded.Origins["command."+c.Name+".template"]
	return projectFile(p.w, o.Source), known
}

// receiverPermission is the permission under which approved receivers are stored. The pattern is provider, address, @ and digest.
const receiverPermission = permission.OfProject + "address"

// receives reports whether the user approved the receiver with a digest. See host.Options.
func (p *projectRules) receives(digest string) bool {
	_, approved := p.receivers.Load(digest)
	return approved && digest != ""
}

// receiverApproval returns the approval of a receiver.
func receiverApproval(w *cli.Workspace, r *host.Receiver) store.Approval {
	return approval(w, receiverPermission, r.Provider+" "+r.Address+"@"+r.Digest)
}

// receiverText describes a receiver of conversations and the project files that choose it.
func (p *projectRules) receiverText(r *host.Receiver) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at %s receives conversations", r.Provider, r.Address)
	for i, key := range r.Keys {
		fmt.Fprintf(&b, "\n  %s in %s", key, strings.Join(p.choosing(key, r.Origins[i]), ", "))
	}
	return b.String()
}

// choosing returns the project files that set a key of a Receiver, or a value below it.
func (p *projectRules) choosing(key, origin string) []string {
	if path := projectFile(p.w, origin); path != "" {
		return []string{path}
	}
	var files []string
	for k, o := range p.w.Loaded.Origins {
		if o.Layer == config.LayerProject && strings.HasPrefix(k+".", key+".") && !slices.Contains(files, o.Source) {
			files = append(files, o.Source)
		}
	}
	if len(files) == 0 { // no single key decides, for example if only a provider is configured and no model
		files = slices.Collect(maps.Keys(p.w.Loaded.ProjectFiles))
	}
	slices.Sort(files)
	return files
}

// askReceivers asks the user to approve the receivers of conversations that the repository chooses, and stores the approvals.
func (m *wired) askReceivers(ctx context.Context) error {
	for _, r := range m.Receivers(ctx) {
		a := m.Workspace.App
		a.Say("not approved: %s", m.rules.receiverText(&r))
		ok, err := a.Confirm("  approve it? [y/N] ")
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := m.Store.Approve(ctx, []store.Approval{receiverApproval(m.Workspace, &r)}); err != nil {
			return err
		}
		m.rules.receivers.Store(r.Digest, true)
	}
	return nil
}
