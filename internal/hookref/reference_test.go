package hookref

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/sdk"
)

const intro = `# Hook reference

A hook is a handler that a plugin puts at a *hook point*, a named place in the loop. This page is written from
the code: run ` + "`go test ./internal/hookref -update`" + ` after changing a point.

There are three kinds of points:

- **observe**: the hook receives the event and cannot change anything. It never delays the loop.
- **transform**: the hook gets a value and may change it. Each hook sees what those before it made of the value.
- **gate**: the hook allows, denies, asks or abstains, with a reason. Gates come after all transforms, so they
  see the exact bytes that will run; an answer holds for that one call.

## Rules for all hooks

- **Order**: lower ` + "`priority`" + ` first (default 0), then ` + "`before`" + `/` + "`after`" + `, then the order of the configuration. It is
  fixed when tenon starts; ` + "`tenon hooks`" + ` shows it.
- **Deadline**: 2 seconds for a call unless the plugin asks for another one (at most 60 seconds) or the configuration sets
  one. The turn goes on when it is over.
- **Failure**: a hook that fails, panics or runs out of time is skipped and named in a notice; a gate that fails
  denies. A hook may ask for ` + "`onError: \"stop\"`" + `, which ends the turn instead: a redactor should. After three failures in
  a row a plugin is quarantined. A WASM module that is still being compiled for the first time when the deadline passes has not failed:
  only the policy holds.
- **Fields**: a hook lists the fields it reads and writes as JSON pointers, in which ` + "`*`" + ` stands for any one member. A
  plugin outside the host is sent those fields alone, and changes elsewhere are dropped and reported.
- **Order of demands**: ` + "`before`" + ` and ` + "`after`" + ` that contradict each other are named in a notice, and those of the hook that is
  configured last are ignored.
- **Size of an answer**: whatever carries it, the answer of a hook outside the host has at most 16 MiB, 4,096 changes (also after an
  object was divided into its declared members), 64 segments and 4 KiB in a pointer, 256 levels in a value, and
  256 KiB of reason or message. Where changes make JSON
  be read again that the host has no type for, that is at most 32 MiB. An answer beyond that is a failure of the hook. Applying an
  answer is part of the hook's time.
- **Quarantine**: a plugin in quarantine is never called, and never more permissive than one that fails: its gates deny, its hooks
  with ` + "`onError: \"stop\"`" + ` end the turn, the others are skipped. Failures in a row count over runs. Each run says how to end it.
- **No rights**: at ` + "`config`" + `, hooks of plugins outside the host change models, prompts and limits, but neither rules nor what receives
  keys, files or commands. At ` + "`shell.env`" + ` they set the variables that they list in ` + "`writes`" + ` as ` + "`/env/NAME`" + `, and none by which
  programs run code (PATH, HOME, BASH_ENV, LD_PRELOAD, GIT_*, NODE_OPTIONS, PYTHON*, …). Anything else is a failure of the hook.
- **Ledger**: every call is recorded with what it changed. ` + "`tenon explain`" + ` shows it.

The names with the prefix ` + "`experimental.`" + ` that opencode uses are accepted too.

## Changing a plugin's hooks

In ` + "`tenon.json`" + `, by the name of the plugin:

` + "```json" + `
{"hook": {"my-plugin": {"timeout": 500, "onError": "skip", "priority": 10, "disable": false}}}
` + "```" + `

` + "`timeout`" + ` is in milliseconds.

## Points

In the order a turn passes them.
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
		fmt.Fprintf(&b, "- Input: %s\n", shape(p.NewInput()))
		if p.NewValue != nil {
			fmt.Fprintf(&b, "- Value: %s\n", shape(p.NewValue()))
		}
	}
	return b.String()
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

// shape lists the fields of a pointer to a struct as JSON has them.
func shape(v any) string {
	t := reflect.TypeOf(v).Elem()
	var fields []string
	for _, f := range reflect.VisibleFields(t) {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		optional := ""
		if strings.HasPrefix(rest, "omit") {
			optional = "?"
		}
		fields = append(fields, fmt.Sprintf("`%s%s` (%s)", name, optional, typeOf(f.Type)))
	}
	return fmt.Sprintf("`%s`: %s", t.Name(), strings.Join(fields, ", "))
}

// typeOf says what JSON a Go type becomes.
func typeOf(t reflect.Type) string {
	switch t {
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
		return "list of " + typeOf(t.Elem())
	case reflect.Struct:
		return t.Name()
	}
	return "any JSON"
}
