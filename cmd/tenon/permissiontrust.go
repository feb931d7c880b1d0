package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
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
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// rulesPermission is the permission under which approved files of rules are kept; the pattern is path@digest.
const rulesPermission = "project rules"

// managedFile is where an administrator's configuration is.
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
	w        *cli.Workspace
	warn     func(text string)
	approved map[string]bool // path@digest

	receivers approvedReceivers
	warned    sync.Once
}

func newProjectRules(ctx context.Context, w *cli.Workspace, s store.Store) (*projectRules, error) {
	p := &projectRules{w: w, warn: func(text string) { w.App.Log.Warn(text) }, approved: map[string]bool{}}
	list, err := s.Approvals(ctx, w.ApprovalProject())
	for _, a := range list {
		if a.Permission == rulesPermission {
			p.approved[a.Pattern] = true
		}
		p.receivers.add(a)
	}
	return p, err
}

// trust returns the rules; those that allow something and come from a file nobody approved ask. See host.Options.
func (p *projectRules) trust(rules sdk.PermissionRules) sdk.PermissionRules {
	approved := map[string]bool{} // by path
	return p.held(rules, "not approved: asks instead of allowing", func(path string) bool {
		if _, seen := approved[path]; !seen {
			approved[path] = p.isApproved(path)
		}
		if !approved[path] {
			p.warned.Do(func() {
				p.warn(fmt.Sprintf("%s contains rules that allow actions; until you approve them with tenon permission approve, tenon asks", terminal.Visible(path)))
			})
		}
		return approved[path]
	})
}

// held returns the rules; those that allow something and come from a file of the project that is not let ask, and say why.
func (p *projectRules) held(rules sdk.PermissionRules, why string, let func(path string) bool) sdk.PermissionRules {
	out := rules
	for i, r := range rules {
		path := p.file(r)
		if path == "" || let(path) {
			continue
		}
		if &out[0] == &rules[0] {
			out = slices.Clone(rules)
		}
		out[i].Action, out[i].Held = sdk.ActionAsk, true
		out[i].Origin += " (" + why + ")"
	}
	return out
}

// file returns the file of the project that brings a rule which allows something, "" for another rule.
func (p *projectRules) file(r sdk.PermissionRule) string {
	if r.Action != sdk.ActionAllow {
		return ""
	}
	return p.source(r)
}

// mayLift reports whether a rule is the user's own, or comes from a file that the user approved. See host.Options.
func (p *projectRules) mayLift(r sdk.PermissionRule) bool {
	path := p.source(r)
	return path == "" || p.isApproved(path)
}

// source returns the file of the project that brings a rule, "" when none does.
func (p *projectRules) source(r sdk.PermissionRule) string {
	if r.Origin == "" {
		return ""
	}
	path := r.Origin
	if at := strings.LastIndexByte(path, ':'); at > 1 && strings.Trim(path[at+1:], "0123456789") == "" {
		path = path[:at]
	}
	return projectFile(p.w, path)
}

// isApproved reports whether the file is approved as it is now.
func (p *projectRules) isApproved(path string) bool {
	key, err := approvalKey(p.w, path)
	return err == nil && p.approved[key]
}

// approvalKey names a file with its content: of a configuration file the content that was parsed, whatever the file holds now.
func approvalKey(w *cli.Workspace, path string) (string, error) {
	if digest := w.Loaded.ProjectDigests[path]; digest != "" {
		return path + "@" + digest, nil
	}
	data, err := readProjectFile(w, path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return path + "@" + hex.EncodeToString(sum[:]), nil
}

// maxProjectFile bounds a file that is approved, in bytes: no file of rules or commands may be larger.
const maxProjectFile = 1 << 20

// readProjectFile reads a file that came with the repository.
func readProjectFile(w *cli.Workspace, path string) ([]byte, error) {
	f, _, err := projectfs.ForProject(w.Project).Open(path)
	if err != nil {
		return nil, err
	}
	data, cut, err := projectfs.ReadLimited(f, maxProjectFile)
	if err == nil && cut {
		err = fmt.Errorf("%s: larger than %d bytes", path, maxProjectFile)
	}
	return data, err
}

// approveRules shows the rules of this project's files that allow something, the shell commands in templates of its commands, and
// the receivers of conversations that its files choose. It asks unless yes is set, and approves all of them.
func approveRules(ctx context.Context, a *cli.App, yes bool) (err error) {
	w, err := a.Configured(ctx)
	if err != nil {
		return err
	}
	m, err := wire(ctx, w, cli.HostOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close(context.WithoutCancel(ctx))) }()
	p := m.rules
	waiting, files := p.waitingRules(m.Machine)
	shells := p.waitingCommands(m.CommandInfos(ctx))
	for path := range shells {
		if waiting[path] == nil {
			files = append(files, path)
		}
	}
	receivers := m.Receivers(ctx)
	if len(files)+len(receivers) == 0 {
		return a.Print("nothing in this project is waiting for approval\n")
	}
	slices.Sort(files)
	var list []store.Approval
	for _, path := range files {
		key, err := approvalKey(w, path)
		if err != nil {
			return err
		}
		text := terminal.Visible(path) + "\n"
		for _, r := range waiting[path] {
			text += "  " + view.RuleText(r) + "\n"
		}
		for _, shell := range shells[path] {
			text += "  " + shell + "\n"
		}
		a.Screen.Line("not approved: " + strings.TrimRight(text, "\n"))
		list = append(list, store.Approval{
			Project: w.ApprovalProject(), Permission: rulesPermission, Pattern: key, Created: time.Now().UnixMilli(), Origin: "tenon permission approve",
		})
	}
	for _, r := range receivers {
		a.Screen.Line("not approved: " + strings.TrimRight(p.receiverText(&r), "\n"))
		list = append(list, receiverApproval(w, &r))
	}
	if !yes {
		ok, err := a.Confirm("  approve all of this? [y/N] ")
		if err != nil {
			return err
		}
		if !ok {
			return cli.Fail(cli.ExitRefused, errors.New("not approved"), "nothing was changed")
		}
	}
	if err := m.Store.Approve(ctx, list); err != nil {
		return err
	}
	return a.Print("valid until the files change; revoke with tenon permission forget\n")
}

// waitingRules returns, by file of the project, the rules that allow something and are not approved, and the files.
func (p *projectRules) waitingRules(m *cli.Machine) (map[string]sdk.PermissionRules, []string) {
	all := slices.Clone(p.w.Loaded.Config.Permission)
	for _, agent := range p.w.Loaded.Config.Agent {
		all = append(all, agent.Permission...)
	}
	for _, agent := range m.Agents() {
		all = append(all, agent.Permission...)
	}
	waiting := map[string]sdk.PermissionRules{}
	var files []string
	for _, r := range all {
		path := p.file(r)
		if path == "" || p.isApproved(path) {
			continue
		}
		if waiting[path] == nil {
			files = append(files, path)
		}
		waiting[path] = append(waiting[path], r)
	}
	return waiting, files
}

// permissionOptions adds to the host's options what bounds and trusts permission rules and receivers.
func permissionOptions(ctx context.Context, w *cli.Workspace, s store.Store, o *host.Options) (*projectRules, error) {
	p, err := newProjectRules(ctx, w, s)
	if err != nil {
		return nil, err
	}
	o.Own, o.ApprovedReceiver = w.Loaded.Own, p.receivers.has
	o.FromProject = func(origin string) bool { return projectFile(w, origin) != "" }
	o.Managed, o.TrustRules, o.OwnRules, o.TrustCommand, o.MayLift = w.Loaded.Managed, p.trust, p.own, p.trustCommand, p.mayLift
	return p, nil
}
