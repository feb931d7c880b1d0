package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A command of the code or of the manual that lacks the other, and a flag of either, is an error.
func TestAddCommands(t *testing.T) {
	t.Parallel()
	var all bool
	work := func(*cobra.Command, []string) error { return nil }
	manual := "Commands.\n\n== thing\nThings\nAliases: things\n\n== thing list [WORDS…]\nList things\n\nThe help.\n\nExample:\n  thing list\n\nFlags:\n  -a, --all  all `of` them\n"
	for name, c := range map[string]struct {
		commands Commands
		want     string
	}{
		"complete":        {Commands{"thing list": {Run: work, Flags: Flags{"all": &all}}}, ""},
		"flag in manual":  {Commands{"thing list": {Run: work}}, "--all of tenon thing list has no variable"},
		"flag in code":    {Commands{"thing list": {Run: work, Flags: Flags{"all": &all, "more": &all}}}, "lacks the flag --more of thing list"},
		"command in code": {Commands{"thing list": {Run: work, Flags: Flags{"all": &all}}, "thing show": {Run: work}}, "lacks the command thing show"},
	} {
		t.Run(name, func(t *testing.T) { // one after another: they share a variable
			root := &cobra.Command{Use: "tenon"}
			err := (&App{}).AddCommands(root, manual, c.commands)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Fatalf("AddCommands() = %v, want %q", err, c.want)
			}
			list, rest, err := root.Find([]string{"things", "list"})
			if err != nil || len(rest) > 0 || list.Short != "List things" || list.Long != "The help." || list.Example != "  thing list" {
				t.Errorf("the command is %+v, %q, %v", list, rest, err)
			}
			if f := list.Flags().ShorthandLookup("a"); c.want == "" && (f == nil || f.Usage != "all `of` them") {
				t.Errorf("the flag is %+v", f)
			}
		})
	}
}

// The usage line of a command says how many arguments it has.
func TestArguments(t *testing.T) {
	t.Parallel()
	for usage, want := range map[string][4]bool{
		"list": {true}, "show [session]": {true, true}, "call NAME TOOL [ARGUMENTS]": {2: true, 3: true}, "remove NAME...": {1: true, 2: true, 3: true},
		"lock --platform=OS/ARCH...": {true}, "add NAME [flags] -- COMMAND [ARG…] | add NAME URL": {2: true, 3: true},
	} {
		for n, ok := range want {
			if err := checkArguments(&cobra.Command{Use: usage}, make([]string, n)); (err == nil) != ok {
				t.Errorf("%q with %d arguments: %v", usage, n, err)
			}
		}
	}
}
