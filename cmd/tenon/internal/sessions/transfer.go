package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/transfer"
	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/secret"
	"github.com/tenonhq/tenon/sdk"
)

// export holds the flags of "tenon session export".
type export struct {
	file, format string
	full, redact bool
}

func (g *group) runExport(cmd *cobra.Command, args []string) error {
	o := &g.export
	if o.format != "json" && o.format != "md" {
		return cli.UsageError("use json or md", "unknown format %q", o.format)
	}
	w, err := g.Configured(cmd.Context())
	if err != nil {
		return err
	}
	return g.OnSession(func(ctx context.Context, s store.Store, info *sdk.Session) error { return o.write(ctx, w, s, info) })(cmd, args)
}

func (o *export) write(ctx context.Context, w *cli.Workspace, s store.Store, info *sdk.Session) error {
	a := w.App
	f, err := transfer.Export(ctx, s, info, o.full)
	if err = a.WithoutDamage(err); err == nil && o.redact {
		f, err = f.Redact()
	}
	if err != nil {
		return err
	}
	text := ""
	if o.format == "md" {
		text = markdown(f)
	} else if text, err = cli.JSON(f); err != nil {
		return err
	}
	text = secret.Hide(a.Mask.Clean(text), w.Loaded.Secrets)
	if o.file == "" {
		return a.Print(text)
	}
	if err := atomicfile.Write(o.file, []byte(text), atomicfile.Options{Sync: true}); err != nil {
		return cli.Fail(cli.ExitTurn, fmt.Errorf("export to %q: %w", o.file, cli.Cause(err)), "choose another file with -o, or omit -o and redirect stdout")
	}
	a.Say("exported %s with %s to %s", info.ID, view.Plural(len(f.Messages), "message"), o.file)
	return nil
}

func (g *group) runImport(cmd *cobra.Command, args []string) error {
	f, err := readExport(g.App, args[0])
	if err != nil {
		return err
	}
	return g.WithStore(cmd.Context(), func(w *cli.Workspace, s store.Store) error {
		return importSession(cmd.Context(), w, s, f, g.force)
	})
}

func readExport(a *cli.App, file string) (*transfer.File, error) {
	var in io.Reader = a.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, cli.UsageError("pass a file that tenon session export or opencode export wrote", "import %q: %w", file, cli.Cause(err))
		}
		defer f.Close()
		in = f
	}
	var f *transfer.File
	err := a.Await(func() (err error) {
		f, err = transfer.Read(in)
		return err
	})
	if errors.Is(err, transfer.ErrFile) {
		return nil, cli.UsageError("export the session again; nothing was imported", "import %q: %w", file, err)
	}
	if err != nil {
		return nil, cli.UsageError("pass a file that can be read", "import %q: %w", file, cli.Cause(err))
	}
	return f, nil
}

func importSession(ctx context.Context, w *cli.Workspace, s store.Store, f *transfer.File, force bool) error {
	notes := f.Adopt(transfer.Place{ProjectID: w.ProjectID(), Directory: w.SessionDirectory()})
	err := s.Import(ctx, f.Imports(), force)
	if errors.Is(err, store.ErrExists) {
		return cli.UsageError("--force overwrites it; to keep a copy, first run: tenon session fork "+f.Info.ID, "%w", err)
	}
	if err != nil {
		return err
	}
	for _, note := range notes {
		w.App.Say("note: %s", note)
	}
	w.App.Say("imported %s with %s", f.Info.ID, view.Plural(len(f.Messages), "message"))
	return nil
}

// markdown returns a conversation as Markdown: prompts, answers, and tool calls with their outputs, without what was undone.
func markdown(f *transfer.File) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s · %s\n", terminal.OneLine(f.Info.Title), f.Info.ID, time.UnixMilli(f.Info.Time.Created).UTC().Format(time.DateTime+" UTC"))
	for _, m := range live.WithoutUndone(f.Messages, f.Info.Revert) {
		head := "User"
		if info, ok := m.Info.(*sdk.AssistantMessage); ok {
			head = "Assistant (" + info.ProviderID + "/" + info.ModelID + ")"
		}
		var body strings.Builder
		for _, p := range m.Parts {
			if text := markdownPart(p); text != "" {
				body.WriteString("\n" + text + "\n")
			}
		}
		if body.Len() > 0 {
			fmt.Fprintf(&b, "\n## %s\n%s", terminal.OneLine(head), body.String())
		}
	}
	return b.String()
}

// markdownPart returns a part as Markdown, or "" if it is not part of the conversation as the user saw it.
func markdownPart(p sdk.Part) string {
	switch p := p.(type) {
	case *sdk.TextPart:
		if !p.Synthetic && !p.Ignored {
			return strings.TrimSpace(terminal.Prose(p.Text))
		}
	case *sdk.FilePart:
		return "Attached: " + code(cmp.Or(p.Filename, p.Mime))
	case *sdk.ToolPart:
		out := fmt.Sprintf("**%s** %s\n\n%s", terminal.OneLine(p.Tool), p.State.Status, block("json", string(p.State.Input)))
		if result := p.State.Output + p.State.Error; result != "" { // a call has one of them
			out += "\n\n" + block("", result)
		}
		return out
	}
	return ""
}

// code returns text as a span of code.
func code(text string) string {
	return "`" + strings.ReplaceAll(terminal.OneLine(text), "`", "'") + "`"
}

// block returns text as a block of code. Its fence is longer than any in the text.
func block(language, text string) string {
	fence := "```"
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '`' }) {
		if len(run) >= len(fence) {
			fence = run + "`"
		}
	}
	return fence + language + "\n" + strings.TrimRight(terminal.Prose(text), "\n") + "\n" + fence
}
