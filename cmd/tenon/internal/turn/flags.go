package turn

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/frontend"
	"github.com/tenonhq/tenon/cmd/tenon/internal/manage"
	"github.com/tenonhq/tenon/cmd/tenon/internal/pages"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/input"
	"github.com/tenonhq/tenon/internal/confine"
	"github.com/tenonhq/tenon/sdk"
)

// Flags are the flags of "tenon run" and "tenon chat".
type Flags struct {
	Model, Agent, Variant           string
	Session, Command, Title, Schema string
	files, plugins                  []string
	Resume, Fork                    bool
	Auto, Quiet, Watch, Raw         bool
	Chat                            bool          // set by "tenon chat": lines of stdin are prompts
	Wait                            time.Duration // for MCP servers that have never been started
}

// Register adds the flags that "tenon run" and "tenon chat" share.
func (f *Flags) Register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.Model, "model", "m", "", "model to use, as `provider/model`")
	flags.StringVar(&f.Agent, "agent", "", "`agent` to use")
	flags.StringVar(&f.Variant, "variant", "", "`variant` of the model, such as a reasoning effort")
	flags.StringVar(&f.Variant, "effort", "", "reasoning `effort`; same as --variant")
	flags.BoolVarP(&f.Resume, "continue", "c", false, "continue the latest session of this directory")
	flags.StringVarP(&f.Session, "session", "s", "", "continue this `session` (ID or unique prefix)")
	flags.BoolVar(&f.Fork, "fork", false, "with -c or -s: continue in a copy of the session, leaving the original unchanged")
	flags.StringArrayVarP(&f.files, "file", "f", nil, "attach a `file` or directory; may be repeated")
	flags.StringVar(&f.Title, "title", "", "`title` of the new session")
	flags.BoolVar(&f.Auto, "auto", false, "allow everything that is not denied by a rule, without asking")
	flags.StringArrayVar(&f.plugins, "plugin", nil, "also load the plugin at this `path`: a package, a .wasm module or an executable; may be repeated")
	flags.BoolVar(&f.Raw, "raw", false, "on a terminal: print Markdown unrendered and leave out tool output")
	flags.BoolVar(&f.Quiet, "quiet", false, "print only the answer, notes about it, and errors")
}

func (f *Flags) check() error {
	switch {
	case f.Resume && f.Session != "":
		return cli.UsageError("use one of them", "-c and -s both select a session")
	case f.Fork && !f.Resume && f.Session == "":
		return cli.UsageError("name the session with -c or -s", "--fork needs a session to copy")
	case f.Watch && len(f.plugins) == 0:
		return cli.UsageError("name the plugin to develop, as in tenon run --plugin . --watch", "--watch needs --plugin")
	case f.Title != "" && (f.Resume || f.Session != ""):
		return cli.UsageError("omit --title", "--title names a new session, but -c and -s continue an existing one")
	case f.Model != "" && !strings.Contains(f.Model, "/"):
		return cli.Fail(cli.ExitModel, fmt.Errorf("model %q: want provider/model", f.Model), "tenon models lists the available models")
	}
	return nil
}

// Prepare returns the prompt from flags and arguments, and a machine to run it on, which the caller closes. interactive means that
// the user can be asked. The first signal ends ctx, so the caller calls TakeSignals afterwards.
func Prepare(ctx context.Context, a *cli.App, f *Flags, args []string, interactive bool) (*cli.Machine, *host.PromptInput, error) {
	if err := f.check(); err != nil {
		return nil, nil, err
	}
	pages.Release() // package initialization touches half of the program's file once
	cli.KeepWriting()
	w, err := a.Configured(ctx)
	if err != nil {
		return nil, nil, err
	}
	in, err := promptInput(ctx, a, f, args)
	if err != nil {
		return nil, nil, err
	}
	if f.Auto {
		if _, err := confine.Supported(); err != nil {
			a.Log.Warn("commands of the model run unconfined, and --auto does not ask", "err", err)
		}
	}
	paths := slices.Clone(f.plugins)
	for i := range paths {
		paths[i], _ = filepath.Abs(paths[i]) // Configured has found the working directory
	}
	if f.Watch {
		if err := manage.BuildAll(ctx, a, paths); err != nil {
			return nil, nil, err
		}
	}
	m, err := w.Open(ctx, cli.HostOptions{
		Interactive: interactive, Auto: f.Auto, Plugins: paths, Watch: f.Watch, Wait: f.Wait,
		Waiting: func(servers []string, limit time.Duration) {
			if !f.Quiet {
				a.Say("waiting up to %s for MCP servers that are new: %s (--no-wait runs without them)", limit, terminal.OneLine(strings.Join(servers, ", ")))
			}
		},
	})
	return m, in, err
}

// promptInput returns the input for the host, except for the session. Stdin is read if it is piped or an argument is "-". Its text is the prompt,
// or is appended verbatim to the prompt in the arguments, in which @file is resolved.
func promptInput(ctx context.Context, a *cli.App, f *Flags, args []string) (in *host.PromptInput, err error) {
	words := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "-" })
	in = &host.PromptInput{Command: f.Command, Agent: f.Agent, Model: f.Model, Variant: f.Variant, Text: strings.TrimSpace(strings.Join(words, " "))}
	if in.Parts, err = attachments(f.files); err != nil {
		return nil, err
	}
	if f.Schema != "" {
		if in.Format, err = readSchema(f.Schema); err != nil {
			return nil, err
		}
	}
	if f.Watch || f.Chat { // stdin contains more prompts, and the first one may be missing
		return in, nil
	}
	needed := in.Text == "" && f.Command == ""
	if len(words) < len(args) || isPiped(a.In) {
		text, err := readStdin(ctx, a)
		if err != nil {
			return nil, err
		}
		if needed {
			in.Text = text
		} else if text != "" {
			in.Parts = append(sdk.Parts{&sdk.TextPart{Text: text}}, in.Parts...)
		}
	}
	if needed && in.Text == "" {
		return nil, cli.UsageError(`pass it as an argument, as in tenon run "explain this project", or pipe it in`, "no prompt")
	}
	return in, nil
}

// Address finds or creates the session, sets it in the input, and chooses a model if none is configured.
func Address(ctx context.Context, m *cli.Machine, f *Flags, in *host.PromptInput) (*sdk.Session, error) {
	var s *sdk.Session
	var err error
	switch {
	case f.Session != "":
		s, err = cli.FindSession(ctx, m.Store, f.Session)
	case f.Resume:
		s, err = cli.LatestSession(ctx, m.Workspace, m.Store)
	default:
		if err := chooseModel(ctx, m, f, in); err != nil {
			return nil, err
		}
		if name := cmp.Or(in.Model, m.Config().Model); name != "" && !f.Quiet {
			if doubt := m.DoubtModel(name); doubt != nil {
				m.Workspace.App.Say("note: %s", doubt.Error())
			}
		}
		s, err = m.CreateSession(ctx, host.NewSession{Title: f.Title})
	}
	if err == nil && f.Fork {
		s, err = m.Fork(ctx, s.ID, "")
	}
	if err != nil {
		return nil, err
	}
	if here := m.Workspace.SessionDirectory(); s.Directory != here {
		m.Workspace.App.Say("note: the session was started in %s; this turn works in %s (--dir changes that)", s.Directory, here)
	}
	in.SessionID = s.ID
	return s, nil
}

// chooseModel chooses a model if neither flags nor configuration name one, and prints the choice and its reason.
func chooseModel(ctx context.Context, m *cli.Machine, f *Flags, in *host.PromptInput) error {
	if f.Model != "" || f.Command != "" {
		return nil
	}
	model, reason, err := frontend.Model(ctx, frontend.Local{Machine: m}, cmp.Or(f.Agent, m.Config().DefaultAgent, sdk.AgentBuild))
	if err != nil || reason == "" { // it is configured
		return err
	}
	in.Model = model
	if screen := m.Workspace.App.Screen; !f.Quiet {
		screen.Line(screen.Paint(terminal.Dim, screen.Wrapped(fmt.Sprintf("using %s: %s", terminal.Visible(model), terminal.Visible(reason)))))
	}
	return nil
}

const (
	// MaxStdin is the maximum size of a prompt from stdin, in bytes. More does not fit into any model's context.
	MaxStdin = 8 << 20
	// stdinNotice is the time after which a run reports that it waits for stdin.
	stdinNotice = 2 * time.Second
)

// isPiped reports whether f is a pipe, a file or a socket, not a terminal or /dev/null.
func isPiped(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0 && info.Mode()&os.ModeDevice == 0
}

// readStdin reads all of stdin as text.
func readStdin(ctx context.Context, a *cli.App) (string, error) {
	var data []byte
	read := make(chan error, 1)
	// Ends with stdin or the process: a read of a pipe cannot be canceled.
	go func() {
		var err error
		data, err = io.ReadAll(io.LimitReader(a.In, MaxStdin+1))
		read <- err
	}()
	notice := time.After(stdinNotice)
	for {
		select {
		case <-notice:
			a.Say("waiting for stdin to end, because it is part of the prompt (to skip it, use <" + os.DevNull + ")")
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case err := <-read:
			return stdinText(data, err)
		}
	}
}

func stdinText(data []byte, err error) (string, error) {
	switch {
	case err != nil:
		return "", cli.UsageError("pipe text in, or use </dev/null", "read stdin: %w", cli.Cause(err))
	case len(data) > MaxStdin:
		return "", cli.UsageError("save it to a file and name the file in the prompt", "stdin is larger than %d MiB", MaxStdin>>20)
	case bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data):
		return "", cli.UsageError("attach files with -f FILE", "stdin is not UTF-8 text")
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}

// attachments returns the parts for attached files.
func attachments(paths []string) (sdk.Parts, error) {
	var parts sdk.Parts
	for _, path := range paths {
		if path == "" { // for example from an unset variable
			return nil, cli.UsageError("name a file", "-f has no file")
		}
		abs, _ := filepath.Abs(path)
		if _, err := os.Stat(abs); err != nil {
			return nil, cli.UsageError("check the path", "attach %q: %w", path, cli.Cause(err))
		}
		parts = append(parts, &sdk.FilePart{Filename: filepath.Base(abs), URL: input.FileURL(abs)})
	}
	return parts, nil
}

// readSchema reads the JSON schema of an answer.
func readSchema(path string) (*sdk.OutputFormat, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, cli.UsageError("check the path", "schema %q: %w", path, cli.Cause(err))
	}
	var object map[string]any
	err = json.Unmarshal(data, &object)
	if _, other := errors.AsType[*json.UnmarshalTypeError](err); other || err == nil && object == nil {
		err = errors.New("it is not an object")
	}
	if err != nil {
		return nil, cli.UsageError("write a JSON schema of type object", "schema %q: %w", path, err)
	}
	if t, ok := object["type"]; ok && t != "object" {
		return nil, cli.UsageError(`give it the type "object"; wrap lists and values in a property`, "schema %q: the type is %v", path, t)
	}
	return &sdk.OutputFormat{Type: sdk.FormatJSONSchema, Schema: data}, nil
}
