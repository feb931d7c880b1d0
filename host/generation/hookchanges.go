package generation

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/internal/envname"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// configFields are the fields that hooks of plugins outside of this process can change at config. All others decide what may run, which
// files are read, or who receives keys and conversations: only the user sets them.
var configFields = []string{
	"/model", "/small_model", "/username", "/compaction", "/retry", "/tool_output", "/tool_search",
	"/agent/*/model", "/agent/*/variant", "/agent/*/temperature", "/agent/*/top_p", "/agent/*/prompt", "/agent/*/description",
	"/agent/*/hidden", "/agent/*/color", "/agent/*/steps", "/agent/*/maxSteps", "/agent/*/options",
	"/provider/*/name", "/provider/*/whitelist", "/provider/*/blacklist",
	"/provider/*/models/*/name", "/provider/*/models/*/limit", "/provider/*/models/*/cost", "/provider/*/models/*/reasoning",
	"/provider/*/models/*/temperature", "/provider/*/models/*/tool_call", "/provider/*/models/*/attachment",
	"/provider/*/models/*/modalities", "/provider/*/models/*/status",
}

// checkHookChanges returns an error for changes that hooks of plugins outside of this process must not make, whatever their manifests
// declare. See hooks.Options.CheckChanges.
func checkHookChanges(hook *sdk.Hook, before, after any) error {
	switch hook.Point {
	case sdk.PointConfig:
		return guardConfig(before, after)
	case sdk.PointCommand:
		return guardParts(before.(*sdk.CommandValue).Parts, after.(*sdk.CommandValue).Parts)
	case sdk.PointChatMessage:
		old, v := before.(*sdk.ChatMessageValue), after.(*sdk.ChatMessageValue)
		return errors.Join(guardMessage(old.Message, v.Message), guardParts(old.Parts, v.Parts))
	case sdk.PointShellEnv:
		return guardEnv(envname.Declared(hook.Writes), before.(*sdk.ShellEnvValue).Env, after.(*sdk.ShellEnvValue).Env)
	}
	return nil
}

func guardConfig(before, after any) error {
	changes, err := value.Diff[sdk.Change](before, after)
	if err != nil {
		return err
	}
	if _, refused := value.Restrict(changes, configFields); len(refused) > 0 {
		return fmt.Errorf("a plugin must not change %s of the configuration: set it in your tenon.json", strings.Join(refused, ", "))
	}
	return nil
}

// guardMessage protects the rules of a prompt: the rules of its agent, and the tools that it removes.
func guardMessage(before, after *sdk.UserMessage) error {
	if after.Agent != before.Agent {
		return fmt.Errorf("a plugin must not change the agent of a message: the rules of %q apply", before.Agent)
	}
	for name, on := range before.Tools {
		if now, listed := after.Tools[name]; !on && (now || !listed) {
			return fmt.Errorf("a plugin must not restore the tool %q, which the message removes", name)
		}
	}
	return nil
}

// guardParts protects the parts of a prompt that are facts for the host: undo restores the files that they name, and offers to attach them again.
func guardParts(before, after sdk.Parts) error {
	for _, p := range after {
		switch p := p.(type) {
		case *sdk.TextPart, *sdk.AgentPart, *sdk.SubtaskPart:
			continue
		case *sdk.FilePart:
			same := func(old sdk.Part) bool {
				f, ok := old.(*sdk.FilePart)
				return ok && f.Source != nil && f.Source.Path == p.Source.Path
			}
			if p.Source != nil && p.Source.Path != "" && !slices.ContainsFunc(before, same) {
				return errors.New("a plugin must not name a file of this machine as the source of a part")
			}
		default:
			if !slices.ContainsFunc(before, func(old sdk.Part) bool { return reflect.DeepEqual(old, p) }) {
				return fmt.Errorf("a plugin must not add a part of type %.40q to a prompt", p.Type())
			}
		}
	}
	return nil
}

func guardEnv(listed []string, before, after map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(model.Merged(before, after))) {
		old, had := before[name]
		now, has := after[name]
		switch {
		case had == has && old == now:
		case envname.RunsCode(name):
			return fmt.Errorf("a plugin must not set the variable %q: programs run code that it names", name)
		case !slices.Contains(listed, name):
			return fmt.Errorf("the plugin sets the variable %q, which its manifest does not list: add %q to writes", name, "/env/"+name)
		}
	}
	return nil
}
