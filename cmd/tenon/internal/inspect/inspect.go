package inspect

import (
	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
)

// Commands returns the commands that only show something.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		statsCommand(a), doctorCommand(a), explainCommand(a), hooksCommand(a), modelsCommand(a), configCommand(a),
		agentCommand(a), commandCommand(a), skillCommand(a), versionCommand(a),
	}
}
