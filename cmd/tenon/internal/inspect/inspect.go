package inspect

import (
	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
)

// Commands returns the commands that show something and change nothing.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		statsCommand(a), doctorCommand(a), explainCommand(a), hooksCommand(a), modelsCommand(a), configCommand(a),
		agentCommand(a), commandCommand(a), skillCommand(a), versionCommand(a),
	}
}
