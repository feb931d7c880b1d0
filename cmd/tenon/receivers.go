package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/host/store"
)

// receiverPermission is the permission under which approved receivers are stored. The pattern is provider, address, @ and digest.
const receiverPermission = permission.OfProject + "address"

// receives reports whether the user approved the receiver with a digest. See host.Options.
func (p *projectRules) receives(digest string) bool {
	_, approved := p.receivers.Load(digest)
	return approved && digest != ""
}

// receiverApproval returns the approval of a receiver.
func receiverApproval(w *cli.Workspace, r *host.Receiver) store.Approval {
	return store.Approval{
		Project: w.ApprovalProject(), Permission: receiverPermission, Pattern: r.Provider + " " + r.Address + "@" + r.Digest,
		Created: time.Now().UnixMilli(), Origin: "tenon permission approve",
	}
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
