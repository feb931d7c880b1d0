package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/internal/nearest"
)

// Work is the RunE function of a command.
type Work = func(*cobra.Command, []string) error

// Commands are the commands with their work, by path, such as "session list".
type Commands map[string]Command

// Command is the work of a command, and its flags.
type Command struct {
	Run   Work
	Flags Flags
	More  func(*cobra.Command) // adds flags that are not in the manual; nil: none
}

// Flags are the variables of flags by name: pointers to a bool, an int, a string, a list of strings or a time.Duration. The value of a
// variable is the default. Several commands may share a variable, since only one command runs.
type Flags map[string]any

// AddCommands adds commands to root with the texts of a manual. Each section of the manual begins with "== " and the usage line of a
// command. The next line says what the command does; lines with its aliases, and with other words that it is suggested for, may follow. The
// rest is the help: a text, examples below "Example:", and below "Flags:" a line per flag as addFlag reads it. A section without work is a
// group of commands or a page of help. A section with a colon is a heading for the commands of root that follow. Every command must have a
// section, every flag a line, and vice versa: anything else is an error.
func (a *App) AddCommands(root *cobra.Command, manual string, lists ...Commands) error {
	left := make(Commands, strings.Count(manual, "\n== "))
	for _, list := range lists {
		maps.Copy(left, list)
	}
	var problems []error
	added, heading := make(map[string]*cobra.Command, len(left)), ""
	for _, section := range strings.Split(manual, "\n== ")[1:] {
		text, flags, _ := strings.Cut(strings.TrimSpace(section), "\nFlags:\n")
		usage, text, _ := strings.Cut(text, "\n")
		if strings.HasSuffix(usage, ":") {
			heading = usage
			root.AddGroup(&cobra.Group{ID: heading, Title: heading})
			continue
		}
		cmd := described(text)
		parent, words := root, strings.Fields(usage)
		path := words[0]
		for len(words) > 1 && added[path] != nil { // The first words are the path of an earlier command, the group of this one.
			parent, words = added[path], words[1:]
			path += " " + words[0]
		}
		cmd.Use = strings.Join(words, " ")
		if parent == root {
			cmd.GroupID = heading
		}
		parent.AddCommand(cmd)
		added[path] = cmd
		work := left[path]
		delete(left, path)
		cmd.RunE = work.Run
		if work.More != nil {
			work.More(cmd)
		}
		for line := range strings.Lines(flags) {
			problems = append(problems, a.addFlag(cmd, strings.TrimSpace(line), work.Flags))
		}
		for name := range work.Flags {
			if cmd.Flags().Lookup(name) == nil {
				problems = append(problems, fmt.Errorf("the manual lacks the flag --%s of %s", name, path))
			}
		}
	}
	for path := range left {
		problems = append(problems, fmt.Errorf("the manual lacks the command %s", path))
	}
	complete(root)
	return errors.Join(problems...)
}

// described returns a command with the texts of a section.
func described(section string) *cobra.Command {
	text, example, _ := strings.Cut(section, "\nExample:\n")
	head, long, _ := strings.Cut(strings.TrimSpace(text), "\n\n")
	cmd := &cobra.Command{Long: strings.TrimSpace(long), Example: strings.TrimRight(example, "\n")}
	for line := range strings.SplitSeq(head, "\n") {
		if names, ok := strings.CutPrefix(line, "Aliases: "); ok {
			cmd.Aliases = strings.Split(names, ", ")
		} else if names, ok := strings.CutPrefix(line, "Suggested for: "); ok {
			cmd.SuggestFor = strings.Split(names, ", ")
		} else {
			cmd.Short = line
		}
	}
	return cmd
}

// addFlag adds the flag of a line, such as "-m, --model  model to use, as `provider/model`". --format, unless the command has its own, selects
// the output format.
func (a *App) addFlag(cmd *cobra.Command, line string, variables Flags) error {
	name, usage, _ := strings.Cut(line, "  ")
	short, name, _ := strings.Cut(name, "--")
	short, usage = strings.Trim(short, "-, "), strings.TrimSpace(usage)
	flags := cmd.Flags()
	switch p := variables[name].(type) {
	case *bool:
		flags.BoolVarP(p, name, short, *p, usage)
	case *int:
		flags.IntVarP(p, name, short, *p, usage)
	case *string:
		flags.StringVarP(p, name, short, *p, usage)
	case *[]string:
		flags.StringArrayVarP(p, name, short, *p, usage)
	case *time.Duration:
		flags.DurationVarP(p, name, short, *p, usage)
	default:
		if name != "format" {
			return fmt.Errorf("the flag --%s of %s has no variable", name, cmd.CommandPath())
		}
		a.formatFlag(cmd)
	}
	return nil
}

// formatFlag adds the flag that selects the output format.
func (a *App) formatFlag(cmd *cobra.Command) {
	format := cmd.Flags().String("format", "text", "output `format`: text or json")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if a.JSON = *format == "json"; !a.JSON && *format != "text" {
			return UsageError("use text or json", "unknown format %q", *format)
		}
		return nil
	}
}

// Group makes a command a group of its subcommands. Without arguments it prints its help; for an unknown command it returns an error with
// a suggestion.
func Group(cmd *cobra.Command) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		err := UnknownCommand(cmd, args[0])
		if cmd.Parent() == nil {
			err.Fix += fmt.Sprintf("; to run it as a prompt: tenon run %q", args[0])
		}
		return err
	}
}

// UnknownCommand returns the error for a missing command below cmd, with a suggestion.
func UnknownCommand(cmd *cobra.Command, name string) *Failure {
	fix := fmt.Sprintf("%s --help lists the commands", cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 1
	near := within(cmd, name)
	if len(near) == 0 && name != "" {
		near = cmd.SuggestionsFor(name) // commands that begin with the word, or are suggested for it
	}
	names := Mapped(cmd.Commands(), func(c **cobra.Command) string { return (*c).Name() })
	if best := nearest.Name(name, names); len(near) == 0 && best != "" {
		near = []string{best}
	}
	if len(near) > 0 {
		fix = fmt.Sprintf("did you mean %s? %s", strings.Join(near, " or "), fix)
	}
	return UsageError(fix, "unknown command %q for %s", name, cmd.CommandPath())
}

// within returns the paths of the commands with this name in the groups of cmd.
func within(cmd *cobra.Command, name string) (paths []string) {
	for _, group := range cmd.Commands() {
		for _, c := range group.Commands() {
			if c.Name() == name {
				paths = append(paths, c.CommandPath())
			}
		}
	}
	return paths
}

// complete turns commands below cmd that have no work into groups. It makes the others check their arguments by their usage lines, which show
// optional arguments in brackets. An ellipsis means any number of them.
func complete(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		complete(c)
		switch {
		case c.Args != nil:
		case c.RunE != nil:
			c.Args = checkArguments
		case c.HasSubCommands():
			Group(c)
		}
	}
}

// checkArguments checks arguments by the usage line of their command. In this line, words with a hyphen are flags, and a bar precedes
// another usage.
func checkArguments(cmd *cobra.Command, args []string) error {
	usage, _, _ := strings.Cut(cmd.Use, " | ")
	all := slices.DeleteFunc(strings.Fields(usage)[1:], func(word string) bool { return word[0] == '-' })
	required := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name[0] == '[' })
	unlimited := slices.ContainsFunc(all, func(name string) bool { return strings.Contains(name, "…") || strings.Contains(name, "...") })
	fix := fmt.Sprintf("usage: %s", cmd.UseLine())
	switch {
	case len(args) < len(required):
		return UsageError(fix+"; --help explains them", "%s needs arguments: %s", cmd.CommandPath(), strings.Join(required, " "))
	case len(args) > len(all) && !unlimited:
		return UsageError(fix, "%s: unexpected argument %q", cmd.CommandPath(), args[len(all)])
	}
	return nil
}
