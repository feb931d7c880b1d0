package manage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenonhq/tenon/builtin/tools/shell"
	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// shellHost is the host for the shell plugin, which only analyzes commands here.
type shellHost struct {
	w *cli.Workspace
}

func (h shellHost) Logger() *slog.Logger { return h.w.App.Log }

func (h shellHost) Options() json.RawMessage { return nil }

func (h shellHost) Project() sdk.Project { return h.w.Project }

func (h shellHost) Config() *sdk.Config { return h.w.Loaded.Config }

// judged returns the permission requests for a subject. For a shell command, they are those of a real call.
func judged(ctx context.Context, w *cli.Workspace, key, text string) (requests []sdk.PermissionRequest, err error) {
	r := sdk.PermissionRequest{Permission: permission.Key(key), Patterns: []string{text}}
	if text == "" {
		r.Patterns = []string{"*"}
	}
	if key != "bash" || text == "" {
		return []sdk.PermissionRequest{r}, nil
	}
	p := shell.New()
	if err := p.Start(ctx, shellHost{w}); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close(context.WithoutCancel(ctx))) }()
	args, err := json.Marshal(map[string]string{"command": text})
	if err != nil {
		return nil, err
	}
	call := &sdk.ToolCall{Tool: "bash", Args: args, Directory: w.Project.Directory, Worktree: w.Project.Worktree}
	return p.Tools()[0].(sdk.ToolPreparer).Prepare(ctx, call)
}

// parseRule reads PERMISSION PATTERN ACTION; the pattern may be quoted.
func parseRule(text string) (sdk.PermissionRule, error) {
	key, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	at := strings.LastIndexByte(rest, ' ')
	bad := cli.UsageError(`write it as  bash "git push *" deny`, "invalid rule %q: want a permission, a pattern, and allow, ask or deny", text)
	if at < 0 {
		return sdk.PermissionRule{}, bad
	}
	pattern, action := strings.TrimSpace(rest[:at]), sdk.Action(rest[at+1:])
	if len(pattern) > 1 && (pattern[0] == '"' || pattern[0] == '\'') && pattern[len(pattern)-1] == pattern[0] {
		pattern = pattern[1 : len(pattern)-1]
	}
	switch action {
	case sdk.ActionAllow, sdk.ActionAsk, sdk.ActionDeny:
	default:
		return sdk.PermissionRule{}, bad
	}
	return sdk.PermissionRule{Permission: key, Pattern: pattern, Action: action, Origin: "the tested rule"}, nil
}

// testRule prints the recorded calls of this project that would be decided differently with one more rule at the end.
func testRule(ctx context.Context, a *cli.App, text string) error {
	rule, err := parseRule(text)
	if err != nil {
		return err
	}
	return a.WithMachine(ctx, func(m *cli.Machine) error {
		w := m.Workspace
		q := store.Query{Limit: 10_000, Children: true, Archived: true}
		q.ProjectID, q.Directory = w.Scope()
		sessions, err := m.Store.Sessions(ctx, q)
		if err = a.WithoutDamage(err); err != nil {
			return err
		}
		t, calls, changed := &view.Table{}, 0, 0
		for _, s := range sessions {
			before, err := m.Rules(s.Agent)
			if err != nil {
				if before, err = m.Rules(""); err != nil {
					return err
				}
			}
			after := permission.Compile(w.Project.Home, before.Rules(), sdk.PermissionRules{rule}).Within(permission.Compile(w.Project.Home, w.Loaded.Managed))
			messages, err := m.Store.Messages(ctx, s.ID, store.Page{})
			if err = a.WithoutDamage(err); err != nil {
				return err
			}
			for _, part := range toolCalls(messages) {
				requests, ok := recorded(ctx, w, part)
				if !ok {
					continue
				}
				calls++
				was, would := decided(before, requests), decided(after, requests)
				if was == would {
					continue
				}
				changed++
				when := time.UnixMilli(part.State.Time.Start).Format(time.DateTime)
				t.Add(s.ID, when, part.Tool, fmt.Sprintf("%s → %s", was, would), view.Clip(terminal.OneLine(patternsOf(requests)), view.SubjectLength))
			}
		}
		if err := a.PrintTable(t); err != nil {
			return err
		}
		return a.Print(fmt.Sprintf("%d of %d recorded calls would change\n", changed, calls))
	})
}

// decided returns the decision about all requests of a call. A call without requests is allowed.
func decided(rules *permission.Rules, requests []sdk.PermissionRequest) sdk.Action {
	all := sdk.ActionAllow
	for i := range requests {
		all = permission.Combine(all, rules.DecideRequest(permission.RequestOf(&requests[i])).Action)
	}
	return all
}

func patternsOf(requests []sdk.PermissionRequest) string {
	var patterns []string
	for _, r := range requests {
		patterns = append(patterns, r.Patterns...)
	}
	return strings.Join(patterns, ", ")
}

func toolCalls(messages []sdk.MessageWithParts) (out []*sdk.ToolPart) {
	for _, m := range messages {
		for _, p := range m.Parts {
			if call, ok := p.(*sdk.ToolPart); ok && call.State.Status != sdk.ToolPending {
				out = append(out, call)
			}
		}
	}
	return out
}

// recorded returns the permission requests of a recorded call, as far as its arguments show them.
func recorded(ctx context.Context, w *cli.Workspace, part *sdk.ToolPart) ([]sdk.PermissionRequest, bool) {
	var args struct {
		Command, FilePath, Pattern, URL, Path string
	}
	if json.Unmarshal(part.State.Input, &args) != nil {
		return nil, false
	}
	subject := "*"
	for _, s := range []string{args.Command, args.FilePath, args.Pattern, args.URL, args.Path} {
		if s != "" {
			subject = s
			break
		}
	}
	if rel, err := filepath.Rel(w.Project.Worktree, subject); args.Command == "" && filepath.IsAbs(subject) && err == nil && filepath.IsLocal(rel) {
		subject = filepath.ToSlash(rel)
	}
	r, err := judged(ctx, w, part.Tool, subject)
	return r, err == nil
}
