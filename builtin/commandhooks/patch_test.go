//go:build unix

package commandhooks_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/sdk"
)

// patch returns the text of a patch that adds a file, updates, moves and deletes others.
func patch(add, update, from, to, remove string) string {
	return "*** Begin Patch\n*** Add File: " + add + "\n+x\n*** Update File: " + update + "\n-x\n+y\n*** Update File: " + from + "\n*** Move to: " + to +
		"\n*** Delete File: " + remove + "\n*** End Patch"
}

func patchCall() *sdk.ToolInput {
	in := bashCall("1")
	in.Tool = "apply_patch"
	return in
}

// askPatch fires permission.ask for a patch whose call has begun.
func (r *rig) askPatch(text string) hooks.Result {
	r.tb.Helper()
	args, err := json.Marshal(sdk.Object{"patchText": text})
	if err != nil {
		r.tb.Fatal(err)
	}
	return r.ask(request(patchCall(), "edit", string(args)))
}

// perFile makes a command that does something with the file f of its input, and notes the file.
func perFile(do string) string {
	return `f=$(sed -n 's/.*"file_path":"\([^"]*\)".*/\1/p'); echo "$f" >> files; ` + do
}

// files returns the files that commands noted, without the project's directory.
func (r *rig) files() string { return strings.ReplaceAll(r.file("files"), r.dir+"/", "") }

const secrets = `case $f in */.env) echo secrets >&2; exit 2;; esac`

// A command that guards files sees each file of a patch, by its absolute path.
func TestPatchGuarded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text   string
		files  string // that the command saw
		denied string // the reason
	}{
		"harmless":  {patch("sub/a", "b", "c", "./d", "/e"), "d\n/e\nb\nc\nsub/a\n", ""},
		"add":       {patch(".env", "b", "c", "d", "e"), ".env\n", ".env: secrets"},
		"update":    {patch("a", "sub/../.env", "c", "d", "e"), "a\nc\nd\ne\n.env\n", "sub/../.env: secrets"},
		"move from": {patch("a", "b", ".env", "d", "e"), ".env\n", ".env: secrets"},
		"move to":   {patch("a", "b", "c", ".env", "e"), ".env\n", ".env: secrets"},
		"delete":    {patch("a", "b", "c", "d", ".env"), ".env\n", ".env: secrets"},
		"wrapped":   {"apply_patch <<'EOF'\n" + patch("a", "a", "a", "a", "a") + "\nEOF", "a\n", ""},
		"one file":  {"*** Begin Patch\n*** Delete File: .env\n*** End Patch", ".env\n", "secrets"},
		"no end":    {"*** Begin Patch\n*** Delete File: .env\n", "\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, event := range []string{"PreToolUse", "PermissionRequest"} {
				r := newRig(t, shell(t, event, "Edit|Write", perFile(secrets)))
				result, args := r.before(patchCall(), sdk.Object{"patchText": c.text})
				verdict, reason := result.Verdict, result.Reason
				if event == "PermissionRequest" {
					leave := r.askPatch(c.text)
					verdict, reason = leave.Verdict, leave.Reason
				}
				if reason != c.denied || (verdict == sdk.VerdictDeny) != (c.denied != "") {
					t.Errorf("%s: %q %q, want the reason %q", event, verdict, reason, c.denied)
				}
				if diff := cmp.Diff(c.files, r.files()); diff != "" {
					t.Errorf("%s: files (-want +got):\n%s", event, diff)
				}
				if diff := cmp.Diff(sdk.Object{"patchText": c.text}, args); diff != "" {
					t.Errorf("%s: arguments (-want +got):\n%s", event, diff)
				}
				r.clean()
			}
		})
	}
}

// A patch is allowed if each of its files is, and the user is asked if one of them requires it.
func TestPatchDecisions(t *testing.T) {
	t.Parallel()
	decide := func(pattern, decision string) string {
		return `case $f in ` + pattern + `) echo '{"hookSpecificOutput": {"permissionDecision": "` + decision + `", "permissionDecisionReason": "` + decision + `"}}'; exit;; esac; `
	}
	text := patch("src/a", "src/b", "src/c", "src/d", "e")
	for name, c := range map[string]struct {
		rule, do string
		want     sdk.Verdict
	}{
		"all":           {"Edit", decide("*", "allow"), sdk.VerdictAllow},
		"one":           {"Edit", decide("*/e", "allow"), ""},
		"others":        {"Edit", decide("*/src/*", "allow"), ""},
		"others by if":  {"Edit(src/**)", decide("*", "allow"), ""},
		"ask later":     {"Edit", decide("*/src/b", "ask"), sdk.VerdictAsk},
		"ask about one": {"Edit", decide("*/src/b", "ask") + decide("*", "allow"), sdk.VerdictAsk},
		"if of another": {"Edit(lib/**)", decide("*", "ask"), ""},
		"if of one":     {"Edit(e)", decide("*", "ask"), sdk.VerdictAsk},
	} {
		for _, event := range []string{"PreToolUse", "PermissionRequest"} {
			command, err := json.Marshal(perFile(c.do))
			if err != nil {
				t.Fatal(err)
			}
			r := newRig(t, `{"`+event+`": [{"hooks": [{"type": "command", "if": "`+c.rule+`", "command": `+string(command)+`}]}]}`)
			r.before(patchCall(), sdk.Object{"patchText": text})
			if got := r.askPatch(text); got.Verdict != c.want {
				t.Errorf("%s, %s = %q, want %q; files %s", name, event, got.Verdict, c.want, r.files())
			}
		}
	}
}

// A command that fails for one file, or has no time for all of them, lets no other file pass.
func TestPatchFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ do, reason, failure string }{
		"asks before":    {"case $f in */+a) echo '{\"hookSpecificOutput\": {\"permissionDecision\": \"ask\"}}'; exit;; esac; exit 1", "", ""},
		"fails before":   {"[ -e once ] || { touch once; exit 1; }; " + secrets, ".env: secrets", ""},
		"fails":          {"exit 1", "", "exit code 1"},
		"only advises":   {"case $f in */+a) echo '{\"hookSpecificOutput\": {\"additionalContext\": \"x\"}}'; exit;; esac; exit 1", "", "exit code 1"},
		"takes too long": {"exec sleep 100", "+a: no time left for the command hook PreToolUse[0].hooks[0]; change fewer files at a time", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := shell(t, "PreToolUse", "", perFile(c.do))
			if name == "takes too long" {
				events = strings.Replace(events, `"type":"command"`, `"type":"command","timeout":2`, 1)
			}
			r := newRig(t, events)
			text := patch("+a", "+b", "+c", "+d", ".env")
			result, _ := r.before(patchCall(), sdk.Object{"patchText": text})
			if result.Reason != c.reason || (result.Verdict == sdk.VerdictDeny) != (c.reason != "") {
				t.Errorf("the patch was %q %q, want the reason %q", result.Verdict, result.Reason, c.reason)
			}
			if f := r.failures(); (f == "") != (c.failure == "") || !strings.Contains(f, c.failure) {
				t.Errorf("failures %q, want %q", f, c.failure)
			}
			if failed := strings.Contains(r.host.logged(), "exit code 1"); failed != strings.HasSuffix(name, "before") {
				t.Errorf("log:\n%s", r.host.logged())
			}
			if got := r.askPatch(text).Verdict; (got == sdk.VerdictAsk) != (name == "asks before") {
				t.Errorf("the permission is %q", got)
			}
		})
	}
}

// updatedInput replaces the patch for the following files, too; the path in it is not an argument of the tool.
func TestPatchUpdated(t *testing.T) {
	t.Parallel()
	r := newRig(t, shell(t, "PreToolUse", "", `sed 's/.*"patchText":"\(.*\)\\n\*\*\* End Patch".*/{"hookSpecificOutput":{"updatedInput":{"file_path":"x","patchText":"\1\\n+z\\n*** End Patch"}}}/'`))
	_, args := r.before(patchCall(), sdk.Object{"patchText": "*** Begin Patch\n*** Add File: a\n+x\n*** Add File: b\n+y\n*** End Patch"})
	if diff := cmp.Diff(sdk.Object{"patchText": "*** Begin Patch\n*** Add File: a\n+x\n*** Add File: b\n+y\n+z\n+z\n*** End Patch"}, args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	r.clean()
}

// A permission for another patch than the one that is asked about is none, whichever file the command answered it for.
func TestPatchAllowedWithOtherInput(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"a", "b"} {
		r := newRig(t, shell(t, "PermissionRequest", "", perFile(`case $f in */`+file+`) other=',"updatedInput":{"patchText":"x"}';; esac
			echo '{"hookSpecificOutput":{"decision":{"behavior":"allow"'$other'}}}'`)))
		text := "*** Begin Patch\n*** Add File: a\n+x\n*** Add File: b\n+y\n*** End Patch"
		r.before(patchCall(), sdk.Object{"patchText": text})
		if got := r.askPatch(text); got.Verdict != "" || !strings.Contains(r.failures(), "updatedInput has no effect") {
			t.Errorf("%s: verdict %q, failures %q", file, got.Verdict, r.failures())
		}
	}
}

// A patch that another plugin's tool reads, and a path that the model adds, are not those of our tool.
func TestPatchOfOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t, shell(t, "PreToolUse", "", perFile("")))
	in := patchCall()
	r.before(in, sdk.Object{"patchText": patch("a", "a", "a", "a", "a"), "file_path": "harmless"})
	in.Origin = sdk.Origin{Carrier: sdk.CarrierWASM, Plugin: "x"}
	r.before(in, sdk.Object{"patchText": patch("a", "b", "c", "d", "e")})
	if r.files() != "a\n\n" {
		t.Errorf("files %q, want a, and none of the other tool", r.files())
	}
	r.clean()
}

// After a patch, the command runs for the files that exist. After one that failed, it runs for all.
func TestPatchApplied(t *testing.T) {
	t.Parallel()
	for outcome, c := range map[sdk.Outcome]struct{ event, want string }{
		sdk.OutcomeOK:    {"PostToolUse", "done\n\nA hook objects: a: format\n\nb\n\nd"},
		sdk.OutcomeError: {"PostToolUseFailure", "done\n\nA hook objects: a: format\n\nb\n\nc\n\nd\n\ne"},
	} {
		r := newRig(t, shell(t, c.event, "Edit", perFile(`case $f in */a) echo format >&2; exit 2;; esac; echo '{"hookSpecificOutput": {"additionalContext": "'$(basename "$f")'"}}'`)))
		args, err := json.Marshal(sdk.Object{"patchText": patch("a", "b", "c", "d", "e")})
		if err != nil {
			t.Fatal(err)
		}
		v := &sdk.ToolAfterValue{Output: "done"}
		in := &sdk.ToolAfterInput{ToolInput: *patchCall(), Args: args, Outcome: outcome}
		if _, err := r.engine.Transform(t.Context(), sdk.PointToolAfter, hooks.Scope{}, in, v); err != nil {
			t.Fatal(err)
		}
		if v.Output != c.want {
			t.Errorf("%s: output %q, want %q", outcome, v.Output, c.want)
		}
		r.clean()
	}
}

// The text of a command about one file reaches the model, even if the command fails for another.
func TestPatchAppliedWithError(t *testing.T) {
	t.Parallel()
	r := newRig(t, shell(t, "PostToolUse", "Edit", perFile(`case $f in */a) exit 1;; esac; echo format >&2; exit 2`)))
	args, err := json.Marshal(sdk.Object{"patchText": "*** Begin Patch\n*** Add File: a\n+x\n*** Add File: b\n+y\n*** End Patch"})
	if err != nil {
		t.Fatal(err)
	}
	v := &sdk.ToolAfterValue{Output: "done"}
	in := &sdk.ToolAfterInput{ToolInput: *patchCall(), Args: args, Outcome: sdk.OutcomeOK}
	if _, err := r.engine.Transform(t.Context(), sdk.PointToolAfter, hooks.Scope{}, in, v); err != nil {
		t.Fatal(err)
	}
	if v.Output != "done\n\nA hook objects: b: format" || !strings.Contains(r.host.logged(), "exit code 1") {
		t.Errorf("output %q, log:\n%s", v.Output, r.host.logged())
	}
}

// A model that is slow lets no patch pass that has too many files for it.
func TestPatchQuestion(t *testing.T) {
	t.Parallel()
	r := newModelRig(t, &model{slow: true}, `{"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "Safe?", "timeout": 0.6}]}]}`)
	result, _ := r.before(patchCall(), sdk.Object{"patchText": patch("a", "b", "c", "d", "e")})
	if result.Verdict != sdk.VerdictDeny || !strings.Contains(result.Reason, "no time left") {
		t.Errorf("%+v", result)
	}
}
