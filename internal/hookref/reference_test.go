package hookref

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/sdk"
)

const intro = `# Hook reference

A hook is a plugin's handler at a *hook point*, a named place in the loop. This page is generated from the code: run
` + "`" + `go test ./internal/hookref -update` + "`" + ` after you change a point.

There are three kinds of points:

- **observe**: the hook receives the event and cannot change anything. It never delays the loop.
- **transform**: the hook receives a value and may change it. Each hook sees the changes of the hooks before it.
- **gate**: the hook allows, denies, asks or abstains, with a reason. Gates run after all transforms, so they see the exact bytes that
  will run. An answer applies only to that call.

## Rules for all hooks

- **Order**: lower ` + "`" + `priority` + "`" + ` first (default 0), then ` + "`" + `before` + "`" + `/` + "`" + `after` + "`" + `, then the order of the configuration. tenon fixes the order at
  its start; ` + "`" + `tenon hooks` + "`" + ` shows it. If ` + "`" + `before` + "`" + ` and ` + "`" + `after` + "`" + ` contradict each other, a notice names the hooks, and tenon ignores the
  ` + "`" + `before` + "`" + ` and ` + "`" + `after` + "`" + ` of the hook that is configured last.
- **Deadline**: 2 seconds per call. The plugin (up to 60 seconds) or the configuration can set another. A call that
  takes longer fails.
- **Failure**: if a hook fails, panics or times out, tenon skips it and names it in a notice; a gate that fails denies. With
  ` + "`onError: \"stop\"`" + ` the turn ends instead: use it for a redactor. A WASM module that is still compiling for the first time at the deadline
  has not failed; only its ` + "`" + `onError` + "`" + ` policy applies.
- **Quarantine**: after three failures in a row, also across runs, a plugin is quarantined. tenon no longer calls it: its gates deny, its
  hooks with ` + "`onError: \"stop\"`" + ` end the turn, and its other hooks are skipped. Each run names the command that ends the quarantine. Calls
  that fail together are one failure, for instance at a crash or while tenon is suspended: a call counts if it began after the last failure
  that counted. Calls that time out during one start of a process are one failure, too. A call that fails because the machine has no files, processes, memory or disk space left, or no usable temporary directory, does not
  count: tenon reports it once until a call succeeds.
- **Fields**: a hook lists the fields it reads and writes as JSON pointers, in which ` + "`" + `*` + "`" + ` matches any one member. A plugin outside the host
  receives only these fields. tenon drops changes to other fields, with one notice for each hook.
- **Size of an input**: a process receives at most 16 MiB at once. A larger input, such as messages with many images, is not sent. The
  hook's ` + "`onError`" + ` policy applies, with one notice in each session until the hook is called again, but the plugin is not quarantined for it. A
  WASM module receives at most 64 MiB; a larger input, or one that its memory does not hold, is a failure of the hook. Let a hook read only
  the fields that it needs.
- **Size of an answer**: the answer of a hook outside the host is limited over every carrier: to 16 MiB (8 MiB in WASM); to 4,096 changes, even after
  tenon splits an object into its declared members; to 64 segments and 4 KiB per pointer; to 256 levels per value; to 256 KiB of reason or
  message. Changes inside fields without a Go type may make the host parse at most 64 MiB of JSON again. A larger answer is a failure of the hook.
  The deadline includes the time to apply an answer.
- **Limited rights**: at ` + "`" + `config` + "`" + `, hooks of plugins outside the host can change models, prompts and limits, but not permission rules, nor
  the receivers of keys, files and commands. At ` + "`" + `shell.env` + "`" + ` they can set only the variables that they list in ` + "`" + `writes` + "`" + ` as ` + "`" + `/env/NAME` + "`" + `, and
  none that make programs run code (PATH, HOME, BASH_ENV, LD_PRELOAD, GIT_*, NODE_OPTIONS, PYTHON*, …). At ` + "`" + `chat.message` + "`" + ` they cannot
  change the agent, whose rules apply, or restore a tool that the message removes. There and at ` + "`" + `command.execute.before` + "`" + ` parts
  that they add must be texts, files (as data), agents or subtasks; mentions in such subtasks attach nothing. A forbidden change is a failure of the hook.
- **Ledger**: tenon records every call with its changes; ` + "`" + `tenon explain` + "`" + ` shows them. ` + "`--log-level trace`" + ` prints the input and
  the answer of each hook, in ` + "`tenon plugin test`" + ` and ` + "`tenon run`" + `; the output may contain conversations and keys.

opencode's names with the prefix ` + "`" + `experimental.` + "`" + ` are also accepted.

## Changing a plugin's hooks

In ` + "`tenon.json`" + `, under the name of the plugin:

` + "```json" + `
{"hook": {"my-plugin": {"timeout": 500, "onError": "skip", "priority": 10, "disable": false}}}
` + "```" + `

` + "`timeout`" + ` is in milliseconds.

## Points

In the order of a turn. ` + "`purpose`" + ` is ` + "`turn`, `title`, `compaction`, `subtask` or `sampling`; `outcome` is `ok`, `error`, `denied` or `aborted`" + `.
`

const partsIntro = `
## Parts

The ` + "`info`" + ` of a message is a UserMessage or an AssistantMessage; its ` + "`role`" + ` says which. The ` + "`type`" + ` of a part says what it
has besides ` + "`id`, `sessionID` and `messageID`" + `. A hook that redacts what models see reads and writes ` + "`/messages/*/parts/*/text`" + ` and
` + "`/messages/*/parts/*/state`" + `, whose ` + "`input` and `output`" + ` are those of a tool; see ` + "`examples/wasm-redactor`" + `.

` + "```json" + `
{"info": {"id": "msg_1", "role": "user", …}, "parts": [{"id": "prt_1", "type": "text", "text": "Fix the bug"}]}
{"info": {"id": "msg_2", "role": "assistant", …}, "parts": [
  {"id": "prt_2", "type": "tool", "tool": "read", "state": {"status": "completed", "input": {"filePath": "go.mod"}, "output": "…", …}}
]}
` + "```" + `

`

// reference returns the text of docs/hooks.md.
func reference(t *testing.T) string {
	t.Helper()
	names := constructors(t)
	var b strings.Builder
	b.WriteString(intro)
	for _, p := range hookpoint.All() {
		fmt.Fprintf(&b, "\n### %s\n\n%s%s. Kind: **%s**", p.Point, strings.ToUpper(p.Summary[:1]), p.Summary[1:], p.Kind)
		if p.MayDeny {
			b.WriteString(", may refuse")
		}
		b.WriteString(".\n\n")
		fmt.Fprintf(&b, "- In Go: `sdk.%s`\n", names[p.Point])
		fmt.Fprintf(&b, "- Input: %s\n", shape(reflect.TypeOf(p.NewInput()).Elem()))
		if p.NewValue != nil {
			fmt.Fprintf(&b, "- Value: %s\n", shape(reflect.TypeOf(p.NewValue()).Elem()))
		}
	}
	b.WriteString(types(t))
	return b.String()
}

// types lists the types of the inputs and values, but not those of the configuration, which have a page.
func types(t *testing.T) string {
	t.Helper()
	parts, named := "", map[string]string{}
	var add func(reflect.Type)
	addFields := func(t reflect.Type) {
		for _, f := range reflect.VisibleFields(t) {
			if !f.Anonymous && f.Name != "Extra" {
				add(f.Type)
			}
		}
	}
	add = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Map, reflect.Slice:
			add(t.Elem())
		case reflect.Struct:
			if _, known := named[t.Name()]; !known && typeOf(t) == t.Name() && fields(t) != "" {
				named[t.Name()] = shape(t)
				addFields(t)
			}
		}
	}
	for _, m := range matches(t, "part.go", `PartType\w+\s+= "(.+?)"`) {
		part, err := sdk.DecodePart([]byte(`{"type":"` + m[1] + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		kind := reflect.TypeOf(part).Elem()
		own := strings.TrimPrefix(fields(kind), fields(reflect.TypeFor[sdk.PartHead]())+", ")
		parts += fmt.Sprintf("- `%s`: %s\n", m[1], own)
		addFields(kind)
	}
	add(reflect.TypeFor[sdk.UserMessage]())
	add(reflect.TypeFor[sdk.AssistantMessage]())
	for _, p := range hookpoint.All() {
		if p.Point != sdk.PointConfig {
			addFields(reflect.TypeOf(p.NewInput()).Elem())
			if p.NewValue != nil {
				addFields(reflect.TypeOf(p.NewValue()).Elem())
			}
		}
	}
	list := slices.Sorted(maps.Values(named))
	return partsIntro + parts + "\n## Types\n\n`status` of a `ToolState` is `pending`, `running`, `completed` or `error`.\n\n- " + strings.Join(list, "\n- ") + "\n"
}

// constructors returns the names of the functions that make hooks, by the points' constants without "Point".
func constructors(t *testing.T) map[sdk.Point]string {
	t.Helper()
	names, values := map[string]string{}, map[sdk.Point]string{}
	for _, m := range matches(t, "on.go", `(?s)\nfunc (On\w+)\([^{]*\{\n\treturn newHook\((Point\w+),`) {
		names[m[2]] = m[1]
	}
	for _, m := range matches(t, "point.go", `(Point\w+)\s+Point = "(.+?)"`) {
		values[sdk.Point(m[2])] = names[m[1]]
	}
	return values
}

func matches(t *testing.T, file, pattern string) [][]string {
	t.Helper()
	source, err := os.ReadFile("../../sdk/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(pattern).FindAllStringSubmatch(string(source), -1)
}

// shape lists the fields of a struct as JSON has them, after its name.
func shape(t reflect.Type) string { return fmt.Sprintf("`%s`: %s", t.Name(), fields(t)) }

// fields lists the fields of a struct as JSON has them.
func fields(t reflect.Type) string {
	var fields []string
	if t.Implements(reflect.TypeFor[sdk.Message]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[sdk.Message]()) {
		fields = append(fields, "`role` (string)")
	}
	for _, f := range reflect.VisibleFields(t) {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if t == reflect.TypeFor[sdk.ToolState]() && f.Name != "Extra" { // which has a form for each status
			name, rest = strings.ToLower(f.Name), map[bool]string{true: "omit"}[f.Name != "Status"]
		}
		if name == "" || name == "-" {
			continue
		}
		optional := ""
		if strings.HasPrefix(rest, "omit") {
			optional = "?"
		}
		fields = append(fields, fmt.Sprintf("`%s%s` (%s)", name, optional, typeOf(f.Type)))
	}
	return strings.Join(fields, ", ")
}

// typeOf says what JSON a Go type becomes.
func typeOf(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[sdk.Message]():
		return "UserMessage or AssistantMessage"
	case reflect.TypeFor[sdk.FilePart]():
		return "`file` part"
	case reflect.TypeFor[sdk.Parts]():
		return "list of parts"
	case reflect.TypeFor[sdk.Object](), reflect.TypeFor[sdk.ConfigInput]():
		return "object"
	case reflect.TypeFor[sdk.PermissionRules]():
		return "permission rules"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeOf(t.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64, reflect.Float64:
		return "number"
	case reflect.Map:
		return "map of " + typeOf(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "any JSON"
		}
		return strings.Replace("list of "+typeOf(t.Elem()), "` part", "` parts", 1)
	case reflect.Struct:
		return t.Name()
	}
	return "any JSON"
}
