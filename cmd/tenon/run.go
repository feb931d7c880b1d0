package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// runFlags are the flags of "tenon run".
type runFlags struct {
	format, model, agent, variant string
	session, command, title       string
	schema                        string
	files, plugins                []string
	resume, auto, quiet, watch    bool
	fork                          bool
	chat                          bool // "tenon chat": lines of stdin are prompts
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] [prompt…]",
		Short: "Run one turn: from a prompt to the answer",
		Long: `Run one turn: from a prompt to the answer.

The prompt is made of the arguments and, when it is piped, of stdin. In the arguments @file and @dir/ attach
what they name, @agent asks for a subagent.

On a terminal the answer appears as it is written, and permissions are asked for. Otherwise stdout gets the
answer alone and what would have to be asked is refused, unless --auto allows it.`,
		Example: `  tenon run "fix the failing test"
  tenon run -c "now document it"
  git diff | tenon run "review this change"
  tenon run --format json --auto "update the changelog"`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.runTurn(cmd.Context(), &f, args) },
	}
	format(cmd, &f.format)
	f.conversation(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.command, "command", "", "run this command with the prompt as its arguments")
	flags.StringVar(&f.schema, "schema", "", "file with a JSON schema that the answer must meet")
	flags.BoolVar(&f.watch, "watch", false, "stay, take further prompts from stdin a line each, and load the plugins of --plugin anew when they change")
	return cmd
}

// conversation adds the flags that say which session goes on, and how its turns are run.
func (f *runFlags) conversation(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.model, "model", "m", "", "model, as provider/model")
	flags.StringVar(&f.agent, "agent", "", "agent that answers")
	flags.StringVar(&f.variant, "variant", "", "variant of the model, such as a reasoning effort")
	flags.BoolVarP(&f.resume, "continue", "c", false, "go on with the latest session of this directory")
	flags.StringVarP(&f.session, "session", "s", "", "go on with this session, by its id or the beginning of it")
	flags.BoolVar(&f.fork, "fork", false, "with -c or -s: go on in a copy of the session, which stays as it is")
	flags.StringArrayVarP(&f.files, "file", "f", nil, "attach a file or a directory; may be repeated")
	flags.StringVar(&f.title, "title", "", "title of the new session")
	flags.BoolVar(&f.auto, "auto", false, "allow what no rule denies, without asking")
	flags.StringArrayVar(&f.plugins, "plugin", nil, "use the plugin at this path too: a package, a .wasm module or an executable; may be repeated")
	flags.BoolVar(&f.quiet, "quiet", false, "print nothing but the answer and errors")
}

func (f *runFlags) check() error {
	switch {
	case f.resume && f.session != "":
		return usageError("use one of them", "-c and -s both name the session to go on with")
	case f.fork && !f.resume && f.session == "":
		return usageError("name the session with -c or -s", "--fork needs a session to go on from")
	case f.watch && len(f.plugins) == 0:
		return usageError("name the plugin to develop, as in tenon run --plugin . --watch", "--watch needs --plugin")
	case f.title != "" && (f.resume || f.session != ""):
		return usageError("leave --title out", "--title names a new session, and -c and -s go on with an old one")
	case f.model != "" && !strings.Contains(f.model, "/"):
		return fail(exitModel, fmt.Errorf("model %q: want provider/model", f.model), "tenon models lists the models that can be used")
	}
	return nil
}

// runTurn runs one turn in a new or an older session.
func (a *app) runTurn(ctx context.Context, f *runFlags, args []string) error {
	signals, stop := catchSignals()
	defer stop()
	interactive := a.screen.answers && f.format == "text"
	m, in, err := a.prepare(ctx, f, args, signals, interactive)
	if err != nil {
		return err
	}
	if f.watch {
		return watchLines(ctx, a, m, f, signals, in)
	}
	t := &oneTurn{
		a: a, m: m, signals: signals, format: f.format, quiet: f.quiet,
		begin: func(ctx context.Context) (*sdk.Session, error) { return a.address(ctx, m, f, in) },
		run:   func(ctx context.Context) (*sdk.MessageWithParts, error) { return m.Prompt(ctx, *in) },
	}
	if interactive {
		t.keys = newKeyboard(a.in)
	}
	return t.driveAndClose(ctx)
}

// prepare makes of flags and arguments a prompt and the machine to run it on, which the caller closes. interactive: somebody answers.
func (a *app) prepare(ctx context.Context, f *runFlags, args []string, signals <-chan os.Signal, interactive bool) (*machine, *host.PromptInput, error) {
	if err := f.check(); err != nil {
		return nil, nil, err
	}
	w, err := a.configured(ctx)
	if err != nil {
		return nil, nil, err
	}
	in, err := a.input(ctx, f, args, signals)
	if err != nil {
		return nil, nil, err
	}
	paths, err := absolute(f.plugins)
	if err == nil && f.watch {
		err = a.buildAll(ctx, paths)
	}
	if err != nil {
		return nil, nil, err
	}
	m, err := w.open(ctx, hostOptions{interactive: interactive, auto: f.auto, plugins: paths, watch: f.watch})
	return m, in, err
}

// input is the prompt as the host takes it, but for the session.
func (a *app) input(ctx context.Context, f *runFlags, args []string, signals <-chan os.Signal) (*host.PromptInput, error) {
	in := &host.PromptInput{Command: f.command, Agent: f.agent, Model: f.model, Variant: f.variant}
	var err error
	if in.Parts, err = attachments(f.files); err != nil {
		return nil, err
	}
	if f.schema != "" {
		if in.Format, err = readSchema(f.schema); err != nil {
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
			cancel(fail(exitInterrupted, errors.New("interrupted"), ""))
		case <-done:
		}
	}()
	p, err := a.readPrompt(ctx, args, f.command != "", f.watch || f.chat)
	if err != nil {
		return nil, err
	}
	in.Text = p.text
	if p.piped != "" {
		in.Parts = append(sdk.Parts{&sdk.TextPart{Text: p.piped}}, in.Parts...)
	}
	return in, nil
}

// address finds or creates the session and, where nobody chose one, the model.
func (a *app) address(ctx context.Context, m *machine, f *runFlags, in *host.PromptInput) (*sdk.Session, error) {
	var s *sdk.Session
	var err error
	switch {
	case f.session != "":
		s, err = findSession(ctx, m.store, f.session)
	case f.resume:
		s, err = latestSession(ctx, m.workspace, m.store)
	default:
		if err := a.chooseModel(ctx, m, f, in); err != nil {
			return nil, err
		}
		s, err = m.CreateSession(ctx, host.NewSession{Title: f.title})
	}
	if err == nil && f.fork {
		s, err = m.Fork(ctx, s.ID, "")
	}
	if err != nil {
		return nil, err
	}
	if here := m.workspace.project.Directory; s.Directory != here {
		a.screen.line(fmt.Sprintf("note: the session was started in %s; this turn works in %s (--dir changes that)", visible(s.Directory), visible(here)))
	}
	in.SessionID = s.ID
	return s, nil
}

// chooseModel picks the model when neither flags nor configuration name one, and says which and why.
func (a *app) chooseModel(ctx context.Context, m *machine, f *runFlags, in *host.PromptInput) error {
	if f.model != "" || f.command != "" || m.Config().Model != "" || agentModel(m, f.agent) {
		return nil
	}
	choice, err := m.DefaultModel(ctx)
	if err != nil {
		return err
	}
	in.Model = choice.Model.Ref().String()
	if !f.quiet {
		a.screen.line(a.screen.paint(styleDim, fmt.Sprintf("using %s: %s", visible(in.Model), visible(choice.Reason))))
	}
	return nil
}

// agentModel reports whether the agent that will answer brings its model.
func agentModel(m *machine, name string) bool {
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

// findSession finds a session by its identifier or the beginning of it. Beside a *store.DamageError it returns what is known
// without the damaged row.
func findSession(ctx context.Context, s store.Store, id string) (*sdk.Session, error) {
	found, _, err := s.Session(ctx, id)
	if err == nil || !errors.Is(err, store.ErrNotFound) {
		return found, err
	}
	all, err := s.List(ctx, store.Query{Children: true, Archived: true, Limit: maxSessions})
	if _, err = store.Readable(err); err != nil { // a damaged one is in the list all the same
		return nil, err
	}
	var matches []store.Listed
	for _, candidate := range all {
		if strings.HasPrefix(candidate.ID, id) || strings.HasPrefix(candidate.ID, sdk.PrefixSession+"_"+id) {
			matches = append(matches, candidate)
		}
	}
	switch len(matches) {
	case 1:
		found, _, err := s.Session(ctx, matches[0].ID)
		return found, err
	case 0:
		return nil, usageError("tenon session list shows the sessions", "there is no session %q", id)
	}
	var lines strings.Builder
	for i, match := range matches {
		if i == 10 {
			fmt.Fprintf(&lines, "\nand %d more", len(matches)-i)
			break
		}
		fmt.Fprintf(&lines, "\n%s  %s", match.ID, oneLine(match.Title))
	}
	return nil, usageError("write more of the id", "session %q is ambiguous:%s", id, lines.String())
}

// maxSessions is how many sessions are looked through for the beginning of an identifier.
const maxSessions = 1 << 20

// latestSession finds, with errors like findSession, the session of the directory that was updated last; when there is none, that of the directories of the same
// working tree. Another clone of a repository is the same project, but its files are others.
func latestSession(ctx context.Context, w *workspace, s store.Store) (*sdk.Session, error) {
	list, err := s.Sessions(ctx, store.Query{Directory: w.project.Directory, Limit: 1})
	if len(list) > 0 {
		return &list[0], err
	}
	if err != nil {
		return nil, err
	}
	if w.project.Git {
		all, err := s.List(ctx, store.Query{ProjectID: w.projectID(), Limit: maxSessions})
		if _, err = store.Readable(err); err != nil {
			return nil, err
		}
		for i := range all {
			if rel, err := filepath.Rel(w.project.Worktree, all[i].Directory); err == nil && filepath.IsLocal(rel) {
				found, _, err := s.Session(ctx, all[i].ID)
				return found, err
			}
		}
	}
	return nil, usageError("leave out -c to start one, or name one with -s; tenon session list --all shows all", "there is no session in %s yet", w.project.Directory)
}
