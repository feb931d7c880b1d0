package input

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/host/tools"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// maxTemplateShells bounds the shell commands of one template: each requires permission.
	maxTemplateShells = 32
	// MaxShownCommand bounds the part of a shell command in errors and the ledger, in bytes.
	MaxShownCommand = 200
)

// runTemplate runs the shell commands of a command's template, one after the other, and keeps their output.
// The output of a failing command is output like any other; a command that may not run, or is ended, fails the prompt.
func (r *Resolver) runTemplate(ctx context.Context, c *Command) error {
	shells := c.shells()
	switch {
	case len(shells) == 0:
		return nil
	case len(shells) > maxTemplateShells:
		return fmt.Errorf("command %s: %d shell commands in its template, at most %d are run; put them into a script", c.Label(), len(shells), maxTemplateShells)
	}
	run, err := r.Shell(ctx, c)
	if err != nil {
		return err
	}
	lines, size := tools.OutputLimits(r.Generation.Config.ToolOutput)
	for _, p := range shells {
		result, err := run(ctx, p.text)
		if err != nil {
			if c.line {
				return err
			}
			return fmt.Errorf("command %s: !`%s`: %w", c.Label(), visible.Cut(p.text, MaxShownCommand, "…"), err)
		}
		p.output = fitShell(result, lines, size)
	}
	return nil
}

// fitShell returns the output of a shell command as it goes into a prompt: within the limits of a tool's output, without the line
// breaks at its end.
func fitShell(r *sdk.ToolResult, lines, size int) string {
	output := strings.ToValidUTF8(r.Output, "\uFFFD")
	kept := tools.CutOutput(output, lines, size, r.KeepTail)
	if len(kept) < len(output) {
		kept = fmt.Sprintf("[the last %d of %d bytes]\n%s", len(kept), len(output), kept)
	}
	return strings.TrimRight(kept, "\r\n")
}
