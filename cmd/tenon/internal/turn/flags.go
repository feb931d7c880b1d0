package turn

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/frontend"
	"github.com/tenonhq/tenon/cmd/tenon/internal/manage"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// Flags are the flags of "tenon run" and "tenon chat".
type Flags struct {
	Model, Agent, Variant      string
	Session, Command, Title    string
	Schema                     string
	files, plugins             []string
	Resume, auto, Quiet, Watch bool
	Raw                        bool
	Fork                       bool
	Chat                       bool          // set by "tenon chat": lines of stdin are prompts
	Wait                       time.Duration // for MCP servers that were never started before
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
	flags.BoolVar(&f.auto, "auto", false, "allow everything that is not denied by a rule, without asking")
	flags.StringArrayVar(&f.plugins, "plugin", nil, "also load the plugin at this `path`: a package, a .wasm module or an executable; may be repeated")
	flags.BoolVar(&f.Raw, "raw", false, "on a terminal: print Markdown unrendered and leave out tool output")
	flags.BoolVar(&f.Quiet, "quiet", false, "print only the answer and errors")
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
// the user can be asked.
func Prepare(ctx context.Context, a *cli.App, f *Flags, args []string, signals <-chan os.Signal, interactive bool) (*cli.Machine, *host.PromptInput, error) {
	if err := f.check(); err != nil {
		return nil, nil, err
	}
	w, err := a.Configured(ctx)
	if err != nil {
		return nil, nil, err
	}
	in, err := promptInput(ctx, a, f, args, signals)
	if err != nil {
		return nil, nil, err
	}
	paths, err := absolute(f.plugins)
	if err == nil && f.Watch {
		err = manage.BuildAll(ctx, a, paths)
	}
	if err != nil {
		return nil, nil, err
	}
	m, err := w.Open(ctx, cli.HostOptions{
		Interactive: interactive, Auto: f.auto, Plugins: paths, Watch: f.Watch, Wait: f.Wait,
		Waiting: func(servers []string, limit time.Duration) {
			if !f.Quiet {
				a.Say("waiting up to %s for MCP servers that are new: %s (--no-wait runs without them)", limit, terminal.OneLine(strings.Join(servers, ", ")))
			}
		},
	})
	return m, in, err
}

// promptInput returns the input for the host, except for the session.
func promptInput(ctx context.Context, a *cli.App, f *Flags, args []string, signals <-chan os.Signal) (*host.PromptInput, error) {
	in := &host.PromptInput{Command: f.Command, Agent: f.Agent, Model: f.Model, Variant: f.Variant}
	var err error
	if in.Parts, err = attachments(f.files); err != nil {
		return nil, err
	}
	if f.Schema != "" {
		if in.Format, err = readSchema(f.Schema); err != nil {
			return nil, err
		}
	}
	p, err := readPrompt(ctx, a, args, signals, f.Command != "", f.Watch || f.Chat)
	if err != nil {
		return nil, err
	}
	in.Text = p.text
	if p.piped != "" {
		in.Parts = append(sdk.Parts{&sdk.TextPart{Text: p.piped}}, in.Parts...)
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

// absolute returns the paths as absolute paths.
func absolute(paths []string) ([]string, error) {
	out := make([]string, len(paths))
	for i, path := range paths {
		var err error
		if out[i], err = filepath.Abs(path); err != nil {
			return nil, err
		}
	}
	return out, nil
}
