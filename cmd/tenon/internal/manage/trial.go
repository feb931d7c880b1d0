package manage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/inspect"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// trialTimeout limits a scripted turn. A tool that never returns reaches its own limit first, and is named.
	trialTimeout = sdk.DefaultToolTimeout + 30*time.Second
	// trialHookTimeout limits each hook in it, whatever limit the plugin sets: the result must not depend on how busy the machine is.
	trialHookTimeout = 20 * time.Second
)

// trial is a scripted turn of a plugin's tests: a file tests/*.turn.json.
type trial struct {
	// Prompt is the user's prompt. Without a script, the offline model runs the tool calls in it.
	Prompt string `json:"prompt"`
	// Script is the list of answers of the offline model, as in a script of the offline provider.
	Script json.RawMessage `json:"script,omitempty"`
	// Files are written into the project before the turn; the keys are file names.
	Files map[string]string `json:"files,omitempty"`
	// Options are the plugin's options.
	Options json.RawMessage `json:"options,omitempty"`
	// Expect is the expected result; --update writes it.
	Expect *trialResult `json:"expect,omitempty"`
}

// trialResult is the part of a turn that tests compare. It is the same in every run.
type trialResult struct {
	Answer string      `json:"answer"`
	Error  string      `json:"error,omitempty"`
	Tools  []trialTool `json:"tools,omitempty"`
	Hooks  []trialHook `json:"hooks,omitempty"` // of the tested plugins
}

// failures returns an error if hooks failed. Without a comparison, a saved result may be wrong.
func (r *trialResult) failures() (err error) {
	for _, h := range r.Hooks {
		if h.ErrorMsg != "" {
			err = errors.Join(err, fmt.Errorf("the result is saved, but the hook %s failed: %s", cmp.Or(h.Hook, string(h.Point)), h.ErrorMsg))
		}
	}
	return err
}

// trialTool is one tool call of the turn.
type trialTool struct {
	Tool   string          `json:"tool"`
	Input  json.RawMessage `json:"input"`
	Status sdk.ToolStatus  `json:"status"`
	Output string          `json:"output,omitempty"` // or the error
}

// trialHook is one call of a hook.
type trialHook struct {
	Point    sdk.Point     `json:"point"`
	Hook     string        `json:"hook,omitempty"` // if it differs from the point
	Purpose  sdk.Purpose   `json:"purpose,omitempty"`
	Outcome  hooks.Outcome `json:"outcome"`
	Changed  []string      `json:"changed,omitempty"` // JSON pointers
	Dropped  []string      `json:"dropped,omitempty"`
	Reason   string        `json:"reason,omitempty"`
	ErrorMsg string        `json:"error,omitempty"`
}

// readTrial reads a test file.
func readTrial(path string) (*trial, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t := &trial{}
	if err := jsontext.DecodeStrict(content, t); err != nil {
		return nil, fmt.Errorf("%s: %w; its fields are prompt, script, files, options and expect", path, err)
	}
	if t.Prompt == "" {
		return nil, fmt.Errorf("%s: prompt is missing", path)
	}
	return t, nil
}

// write writes the test file.
func (t *trial) write(path string) error {
	out, err := cli.JSON(t)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(out), 0o644)
}

// run runs the turn with the offline model in a temporary project with a temporary store. Everything is allowed except what an
// administrator's file denies or asks for. under are the tested plugins; only their ledger entries are compared.
func (t *trial) run(ctx context.Context, a *cli.App, under []sdk.Plugin) (_ *trialResult, err error) {
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	dir, err := os.MkdirTemp("", "tenon-trial-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	project := scratchProject(dir)
	cfg := &sdk.Config{Model: "offline/offline", HookConfig: map[string]sdk.HookOverride{}}
	for _, p := range under {
		cfg.HookConfig[p.Manifest().Name] = sdk.HookOverride{Timeout: trialHookTimeout.Milliseconds()}
	}
	if len(t.Script) > 0 {
		extra := sdk.Extra{"script": jsontext.Quote(filepath.Join(dir, "script.json"))}
		cfg.Provider = map[string]sdk.ProviderConfig{"offline": {Options: sdk.ProviderOptions{Extra: extra}}}
		err = os.WriteFile(filepath.Join(dir, "script.json"), t.Script, 0o600)
	}
	if err = errors.Join(err, t.lay(project.Directory)); err != nil {
		return nil, err
	}
	administrator, err := config.Load(ctx, config.Options{Directory: project.Directory, Home: dir, Managed: a.Managed})
	if err != nil {
		return nil, err
	}
	s, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(dir, "tenon.db"), Version: a.Version, Logger: a.Log})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	h, err := host.New(ctx, host.Options{
		Config: cfg, PublicConfig: cfg, Project: project, Store: s, ReloadOptions: host.ReloadOptions{Plugins: append(cli.Shipped(), under...)},
		Logger: a.Log, Version: a.Version, Environ: a.Env, AutoApprove: true, Policy: permission.Policy{Managed: administrator.Managed},
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
	return t.turn(ctx, h, s)
}

// lay writes the project's files.
func (t *trial) lay(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range t.Files {
		if !filepath.IsLocal(name) {
			return fmt.Errorf("files: %q is not a path inside the project", name)
		}
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return err
		}
	}
	return nil
}

func (t *trial) turn(ctx context.Context, h *host.Host, s store.Store) (*trialResult, error) {
	session, err := h.CreateSession(ctx, host.NewSession{Title: "trial"})
	if err != nil {
		return nil, err
	}
	answer, turnErr := h.Prompt(ctx, host.PromptInput{SessionID: session.ID, Text: t.Prompt})
	if ctx.Err() != nil {
		return nil, fmt.Errorf("the turn did not end in %s", trialTimeout)
	}
	result := &trialResult{Answer: view.AnswerText(answer)}
	if turnErr != nil {
		result.Error = turnErr.Error()
	}
	messages, err := s.Messages(ctx, session.ID, store.Page{})
	if err != nil {
		return nil, err
	}
	for call := range store.PartsOf[*sdk.ToolPart](messages...) {
		state := &call.State
		result.Tools = append(result.Tools, trialTool{call.Tool, state.Input, state.Status, state.Output + state.Error}) // one of them is empty
	}
	ledger, _, err := inspect.ReadLedger(ctx, s, session.ID, nil, func(err error) error { return err })
	for _, request := range ledger {
		for _, entry := range request.Entries {
			if !cli.IsShipped(entry.Plugin) {
				result.Hooks = append(result.Hooks, trialHookOf(request.Purpose, &entry))
			}
		}
	}
	return result, err
}

// trialHookOf returns the part of a ledger entry that is the same in every run.
func trialHookOf(purpose sdk.Purpose, e *hooks.Entry) trialHook {
	h := trialHook{Point: e.Point, Outcome: e.Outcome, Dropped: e.Dropped, Reason: e.Reason, ErrorMsg: e.Error}
	if e.Hook != string(e.Point) {
		h.Hook = e.Hook
	}
	if purpose != sdk.PurposeTurn {
		h.Purpose = purpose
	}
	h.Changed = cli.Mapped(e.Changes, func(change *hooks.EntryChange) string { return change.Pointer })
	return h
}

// scriptStep is one answer of a model, as in a script of the offline provider.
type scriptStep struct {
	Text      string       `json:"text,omitempty"`
	ToolCalls []scriptCall `json:"toolCalls,omitempty"`
}

type scriptCall struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

// recordTurns writes each turn of a session to the tests: the prompt, and the model's answers as a script. The files have no expected
// result yet.
func (t *pluginTest) recordTurns(ctx context.Context) error {
	return t.WithStore(ctx, func(_ *cli.Workspace, s store.Store) error {
		info, err := cli.FindSession(ctx, s, t.record)
		if err = t.WithoutDamage(err); err != nil {
			return err
		}
		messages, err := s.Messages(ctx, info.ID, store.Page{})
		if err != nil {
			return err
		}
		turns, err := turnsOf(messages)
		if err != nil {
			return err
		}
		if len(turns) == 0 {
			return cli.UsageError("tenon session list shows sessions", "session %s has no turn with an answer", info.ID)
		}
		dir := filepath.Join(t.root, "tests")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		for i, turn := range turns {
			path := filepath.Join(dir, fmt.Sprintf("%s-%d.turn.json", info.ID, i+1))
			if err := turn.write(path); err != nil {
				return err
			}
			t.Say("recorded %s", path)
		}
		return nil
	})
}

// turnsOf returns the turns of a conversation that were answered. Steps after a message that the host wrote, such as the one that follows
// a summary, belong to the turn before it.
func turnsOf(messages []sdk.MessageWithParts) (turns []*trial, err error) {
	var steps []scriptStep
	for i := range messages {
		m := &messages[i]
		switch info := m.Info.(type) {
		case *sdk.UserMessage:
			if prompt := view.TypedText(m.Parts); prompt != "" {
				turns, steps = append(turns, &trial{Prompt: prompt}), nil
			}
		case *sdk.AssistantMessage:
			step := stepOf(m)
			if info.Summary || len(turns) == 0 || step.Text == "" && len(step.ToolCalls) == 0 {
				continue
			}
			steps = append(steps, step)
			if turns[len(turns)-1].Script, err = json.Marshal(steps); err != nil {
				return nil, err
			}
		}
	}
	return slices.DeleteFunc(turns, func(t *trial) bool { return t.Script == nil }), nil
}

// stepOf returns an answer of the model.
func stepOf(m *sdk.MessageWithParts) scriptStep {
	step := scriptStep{Text: view.AnswerText(m)}
	for call := range store.PartsOf[*sdk.ToolPart](*m) {
		if live.Ignored(call) {
			continue
		}
		args := call.State.Input
		if len(args) == 0 {
			args = json.RawMessage("{}")
		}
		step.ToolCalls = append(step.ToolCalls, scriptCall{call.Tool, args})
	}
	return step
}
