package turn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/manage"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// Flags are the flags of "tenon run".
type Flags struct {
	Model, Agent, Variant      string
	Session, Command, Title    string
	Schema                     string
	files, plugins             []string
	Resume, auto, Quiet, Watch bool
	Fork                       bool
	Chat                       bool // "tenon chat": lines of stdin are prompts
}

// Register adds the flags that say which session goes on, and how its turns are run.
func (f *Flags) Register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.Model, "model", "m", "", "model, as provider/model")
	flags.StringVar(&f.Agent, "agent", "", "agent that answers")
	flags.StringVar(&f.Variant, "variant", "", "variant of the model, such as a reasoning effort")
	flags.BoolVarP(&f.Resume, "continue", "c", false, "go on with the latest session of this directory")
	flags.StringVarP(&f.Session, "session", "s", "", "go on with this session, by its id or the beginning of it")
	flags.BoolVar(&f.Fork, "fork", false, "with -c or -s: go on in a copy of the session, which stays as it is")
	flags.StringArrayVarP(&f.files, "file", "f", nil, "attach a file or a directory; may be repeated")
	flags.StringVar(&f.Title, "title", "", "title of the new session")
	flags.BoolVar(&f.auto, "auto", false, "allow what no rule denies, without asking")
	flags.StringArrayVar(&f.plugins, "plugin", nil, "use the plugin at this path too: a package, a .wasm module or an executable; may be repeated")
	flags.BoolVar(&f.Quiet, "quiet", false, "print nothing but the answer and errors")
}

func (f *Flags) check() error {
	switch {
	case f.Resume && f.Session != "":
		return cli.UsageError("use one of them", "-c and -s both name the session to go on with")
	case f.Fork && !f.Resume && f.Session == "":
		return cli.UsageError("name the session with -c or -s", "--fork needs a session to go on from")
	case f.Watch && len(f.plugins) == 0:
		return cli.UsageError("name the plugin to develop, as in tenon run --plugin . --watch", "--watch needs --plugin")
	case f.Title != "" && (f.Resume || f.Session != ""):
		return cli.UsageError("leave --title out", "--title names a new session, and -c and -s go on with an old one")
	case f.Model != "" && !strings.Contains(f.Model, "/"):
		return cli.Fail(cli.ExitModel, fmt.Errorf("model %q: want provider/model", f.Model), "tenon models lists the models that can be used")
	}
	return nil
}

// Prepare makes of flags and arguments a prompt and the machine to run it on, which the caller closes. interactive: somebody answers.
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
	m, err := w.Open(ctx, cli.HostOptions{Interactive: interactive, Auto: f.auto, Plugins: paths, Watch: f.Watch})
	return m, in, err
}

// promptInput is the prompt as the host takes it, but for the session.
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
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	defer close(done)
	go func() { // ends with input
		select {
		case <-signals:
			cancel(cli.Fail(cli.ExitInterrupted, errors.New("interrupted"), ""))
		case <-done:
		}
	}()
	p, err := readPrompt(ctx, a, args, f.Command != "", f.Watch || f.Chat)
	if err != nil {
		return nil, err
	}
	in.Text = p.text
	if p.piped != "" {
		in.Parts = append(sdk.Parts{&sdk.TextPart{Text: p.piped}}, in.Parts...)
	}
	return in, nil
}

// Address finds or creates the session and, where nobody chose one, the model.
func Address(ctx context.Context, a *cli.App, m *cli.Machine, f *Flags, in *host.PromptInput) (*sdk.Session, error) {
	var s *sdk.Session
	var err error
	switch {
	case f.Session != "":
		s, err = cli.FindSession(ctx, m.Store, f.Session)
	case f.Resume:
		s, err = cli.LatestSession(ctx, m.Workspace, m.Store)
	default:
		if err := chooseModel(ctx, a, m, f, in); err != nil {
			return nil, err
		}
		s, err = m.CreateSession(ctx, host.NewSession{Title: f.Title})
	}
	if err == nil && f.Fork {
		s, err = m.Fork(ctx, s.ID, "")
	}
	if err != nil {
		return nil, err
	}
	if here := m.Workspace.Project.Directory; s.Directory != here {
		a.Screen.Line(fmt.Sprintf("note: the session was started in %s; this turn works in %s (--dir changes that)", terminal.Visible(s.Directory), terminal.Visible(here)))
	}
	in.SessionID = s.ID
	return s, nil
}

// chooseModel picks the model when neither flags nor configuration name one, and says which and why.
func chooseModel(ctx context.Context, a *cli.App, m *cli.Machine, f *Flags, in *host.PromptInput) error {
	if f.Model != "" || f.Command != "" || m.Config().Model != "" || agentModel(m, f.Agent) {
		return nil
	}
	choice, err := m.DefaultModel(ctx)
	if err != nil {
		return err
	}
	in.Model = choice.Model.Ref().String()
	if !f.Quiet {
		a.Screen.Line(a.Screen.Paint(terminal.Dim, fmt.Sprintf("using %s: %s", terminal.Visible(in.Model), terminal.Visible(choice.Reason))))
	}
	return nil
}

// agentModel reports whether the agent that will answer brings its model.
func agentModel(m *cli.Machine, name string) bool {
	if name == "" {
		name = m.Config().DefaultAgent
	}
	if name == "" {
		name = sdk.AgentBuild
	}
	for _, agent := range m.Agents() {
		if agent.Name == name {
			return agent.Model != nil
		}
	}
	return false
}

// absolute makes the paths of a flag absolute.
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
