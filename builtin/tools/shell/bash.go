package shell

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/builtin/internal/gitkeep"
	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/builtin/internal/tool"
	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/sdk"
)

// Bounds of one call.
const (
	DefaultTimeout = 2 * time.Minute
	MaxCommand     = 128<<10 - 1 // bytes; Linux starts no program with a longer argument
)

// texts describe the tool; see tool.Spec.
//
//go:embed bash.md bash.json
var texts embed.FS

// bash is the tool that runs a command in a shell.
type bash struct {
	log    *slog.Logger
	wanted string // the shell that the configuration names
	guard  guard
	box    box
}

type bashArgs struct {
	Command     string  `json:"command"`
	Timeout     float64 `json:"timeout"` // milliseconds; models also write 5000.0, which is an integer in a schema
	Workdir     string  `json:"workdir"`
	Description string  `json:"description"`
	Unconfined  bool    `json:"unconfined"`
	dir         string  // in which the command runs
	shell       shell   // that runs the command
}

func (t *bash) tool() sdk.Tool {
	return tool.Spec[bashArgs]{ID: "bash", Texts: texts, Read: t.read, Prepare: t.prepare, Run: t.execute}.Tool()
}

// prepare returns the permissions for the commands in the text and for the paths outside the project that they name.
func (t *bash) prepare(ctx context.Context, call *sdk.ToolCall, args bashArgs) ([]sdk.PermissionRequest, error) {
	found := judgeText(ctx, call, args.Command, args.dir, args.shell)

	requests := paths.Externals(call, appendNew(append([]string{args.dir}, found.outside...), found.writes)...)
	for i := range requests {
		requests[i].Metadata["command"] = args.Command
		if found.parts > maxParts {
			requests[i].Verbatim, requests[i].Always = errParts.Error(), nil
		}
	}
	if len(found.writes) > 0 {
		edit := sdk.PermissionRequest{Permission: "edit", Metadata: sdk.Object{"command": args.Command}}
		var files []string
		for _, path := range found.writes {
			files = append(files, filepath.Clean(path))
		}
		edit.Patterns = appendNew(nil, gitkeep.EditPatterns(ctx, call, files...))
		edit.Always = edit.Patterns
		requests = append(requests, edit)
	}
	if request := bashRequest(&args, &found); request != nil {
		requests = append(requests, *request)
	}
	return t.confinement(ctx, call, &args, requests)
}

// bashRequest returns the permission for the commands, or for the whole text if it may run other commands as well. It returns nil if no
// permission is needed.
func bashRequest(args *bashArgs, found *judgement) *sdk.PermissionRequest {
	request := &sdk.PermissionRequest{Permission: "bash", Implied: found.implied, Metadata: sdk.Object{"command": args.Command, "description": args.Description}}
	if found.verbatim != nil {
		request.Patterns, request.Verbatim = []string{args.Command}, found.verbatim.Error()
		request.Metadata["verbatim"] = request.Verbatim
		return request
	}
	request.Patterns, request.Always = appendNew(nil, found.commands), found.always
	if len(request.Patterns) == 0 {
		return nil // only cd, which has no effect by itself
	}
	return request
}

// execute runs the command. A command that fails, is aborted or exceeds its timeout is a result, not an error; an error means that it did
// not run.
func (t *bash) execute(ctx context.Context, call *sdk.ToolCall, args bashArgs) (*sdk.ToolResult, error) {
	host, ok := call.Host.(sdk.Shell)
	if !ok {
		return nil, errors.New("this host provides no environment for commands (sdk.Shell)")
	}
	env, err := host.ShellEnv(ctx, args.dir)
	if err != nil {
		return nil, fmt.Errorf("environment of the command: %w", err)
	}
	timeout := args.timeout()
	first, _, _ := strings.Cut(strings.TrimSpace(args.Command), "\n")
	title := cmp.Or(args.Description, first)
	out := &output{}
	progress := func(output string) {
		call.Host.Progress(title, sdk.Object{"output": output, "description": args.Description})
	}
	progress("")
	tmp, err := t.box.enter(ctx, call, &args)
	if err != nil {
		return nil, err
	}
	// These would give the text another meaning: cd changes to another directory, or the shell has options such as globstar and nocaseglob.
	// The user's editor for rebases would wait for the user.
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return name == "CDPATH" || name == "BASHOPTS" || name == "SHELLOPTS" || name == "GIT_SEQUENCE_EDITOR"
	})
	j := job{shell: args.shell, command: args.Command, dir: args.dir, timeout: timeout, out: out, progress: progress}
	confined := tmp != ""
	if confined {
		env = t.box.environ(env, tmp)
		j.confine = func(start func() error) error { return t.box.start(ctx, start) }
	}
	j.env = withGitEnv(env)
	end, err := t.run(ctx, j)
	var notes []string
	if confined {
		notes = t.box.leave(ctx, &j, &end, !errors.Is(err, errUnkillable))
	}
	if err != nil {
		return nil, err
	}
	if end.exit == 127 && strings.Contains(args.Command, "apply_patch") { // models were trained with such a program
		notes = append(notes, "apply_patch is not a program here; use the tools that edit files.")
	}
	if left := out.missing(); left > 0 { // of a long output, the model sees only the end
		notes = append(notes, fmt.Sprintf("%d bytes in the middle of the output were not kept, so a search of it is incomplete.", left))
	}
	return &sdk.ToolResult{
		Title:    title,
		Output:   settled(out.String()) + end.trailer(timeout, notes...),
		Metadata: sdk.Object{"output": out.last(liveBytes), "exit": end.exit, "description": args.Description, "confined": confined},
		KeepTail: true,
	}, nil
}

// withGitEnv returns an environment in which git opens no editor, which would wait for a user until the timeout, does not use a bare repository
// inside another one, and runs no file system monitor and no daemon, which would be killed. The settings are in the variable in which git
// passes its option -c to its children, so that a command can override them.
func withGitEnv(env []string) []string {
	const name = "GIT_CONFIG_PARAMETERS"
	settings, _ := child.Lookup(env, name)
	return append(env[:len(env):len(env)], "GIT_EDITOR=:", name+"="+strings.TrimSpace(settings+" 'safe.bareRepository=explicit' 'core.fsmonitor=false' 'sequence.editor=:' 'gc.autoDetach=false' 'maintenance.autoDetach=false'"))
}

// timeout returns how long the command may run: as long as the model wants, because only it knows how long a build or a test takes.
func (a bashArgs) timeout() time.Duration {
	return cmp.Or(time.Duration(min(a.Timeout, 1e12))*time.Millisecond, DefaultTimeout) // 1e12 ms still fit
}

// read returns the arguments with the directory and the shell.
func (t *bash) read(call *sdk.ToolCall) (bashArgs, error) {
	args, err := tool.Args[bashArgs](call)
	if err != nil {
		return args, err
	}
	switch {
	case strings.TrimSpace(args.Command) == "":
		return args, errors.New("bash: command is empty")
	case strings.ContainsRune(args.Command, 0):
		return args, errors.New("bash: command contains a NUL byte, which no shell accepts")
	case len(args.Command) > MaxCommand:
		return args, fmt.Errorf("bash: command has %d bytes, at most %d can be run; write it to a file and run that", len(args.Command), MaxCommand)
	}
	if args.dir, err = paths.Resolve(call, args.Workdir); err != nil {
		return args, fmt.Errorf("bash: workdir: %w", err)
	}
	info, err := os.Stat(args.dir)
	if err != nil && args.Workdir == "" {
		return args, fmt.Errorf("bash: working directory: %w", err)
	}
	if err != nil {
		return args, fmt.Errorf("bash: workdir: %w; omit workdir to use the working directory", err)
	}
	if !info.IsDir() {
		return args, fmt.Errorf("bash: workdir %q is not a directory", args.dir)
	}
	args.shell, err = findShell(t.wanted, worktreeOf(call))
	return args, err
}

func appendNew[T comparable](list, more []T) []T {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
