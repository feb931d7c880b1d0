package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/input"
	"github.com/tenonhq/tenon/host/snapshot"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/credentials"
	"github.com/tenonhq/tenon/sdk"
)

// A remedy names what the user can do where the error is shown: flags on the command line, commands in a conversation. Both have the
// same exit code.
func TestRemedyWording(t *testing.T) {
	t.Parallel()
	turn := func(name string, status int) error {
		return &host.TurnError{Named: &sdk.NamedError{Name: name, Data: sdk.ErrorData{Message: "no", StatusCode: status, IsRetryable: status >= 500}}, Err: errors.New("no")}
	}
	answer := func(err error) error {
		data := sdk.ErrorData{}
		if pe, ok := errors.AsType[*sdk.ProviderError](err); ok {
			data.StatusCode = pe.StatusCode
		}
		return &host.TurnError{Named: &sdk.NamedError{Name: sdk.ErrorAPI, Data: data}, Err: err}
	}
	for name, c := range map[string]struct {
		err           error
		line, talking string
	}{
		"interrupted":     {turn(sdk.ErrorAborted, 0), `tenon run -c "continue" continues where this stopped`, `send "continue" to continue where this stopped`},
		"too long":        {turn(sdk.ErrorContextOverflow, 0), "use another model (-m) with a larger context", "choose another model (/model) with a larger context"},
		"filtered":        {turn(sdk.ErrorContentFilter, 0), "or use another model (-m)", "or choose another model (/model)"},
		"no schema":       {turn(sdk.ErrorStructuredOutput, 0), "or use another model (-m)", "or choose another model (/model)"},
		"limit":           {turn(sdk.ErrorAPI, 429), `(-m); tenon run -c "continue" continues`, `(/model); send "continue" to continue`},
		"no credit":       {turn(sdk.ErrorAPI, 402), "add credit to your account with the provider, or use another model (-m); tenon run -c", "or choose another model (/model)"},
		"quota used up":   {answer(&sdk.ProviderError{StatusCode: 429, Code: "insufficient_quota"}), "add credit", "add credit"},
		"a field":         {&host.TurnError{Named: &sdk.NamedError{Name: sdk.ErrorAPI, Data: sdk.ErrorData{Message: "Unsupported parameter: 'max_tokens' is not supported with this model.", StatusCode: 400}}, Err: errors.New("no")}, "set the field that the error names under provider.ID.models.MODEL.options", "null removes it"},
		"no tools":        {&host.TurnError{Named: &sdk.NamedError{Name: sdk.ErrorAPI, Data: sdk.ErrorData{Message: "model x does not support tools", StatusCode: 400}}, Err: errors.New("no")}, "use another model (-m) that calls tools, or set tool_call", "tool_call"},
		"redirect":        {turn(sdk.ErrorAPI, 307), "options.baseURL is correct", "options.baseURL is correct"},
		"server":          {turn(sdk.ErrorAPI, 500), `tenon run -c "continue" tries again from`, `send "continue" to try again from`},
		"another format":  {answer(&sdk.ProviderError{StatusCode: 200}), "correct the cause", "correct the cause"},
		"refused key":     {turn(sdk.ErrorProviderAuth, 401), "check the key", "check the key"},
		"no credentials":  {&host.TurnError{Named: &sdk.NamedError{Name: sdk.ErrorProviderAuth}, Err: &sdk.ProviderError{StatusCode: 401, Err: errors.New("run x")}}, "as the error says, or use another model (-m)", "or choose another model (/model)"},
		"answer too long": {answer(&sdk.ProviderError{Err: sdk.ErrAnswerLimit}), "ask for less at a time, or use another model (-m)", "or choose another model (/model)"},
		"wrong type":      {answer(&sdk.ProviderError{Err: fmt.Errorf("%w: text", sdk.ErrWire)}), "fix the server or the plugin of provider", "or choose another model (/model)"},
		"answer broken":   {answer(&sdk.ProviderError{Cut: true}), `tenon run -c "continue" tries again; if it happens again`, `send "continue" to try again; if it happens again`},
		"no answer":       {answer(&sdk.ProviderError{}), "check that the server runs", "check that the server runs"},
		"unknown":         {turn(sdk.ErrorUnknown, 0), `stored: tenon run -c "continue" continues`, `stored: send "continue" to continue`},
		"no model":        {fmt.Errorf("x: %w", host.ErrModel), "choose one with -m", "/model lists the available models"},
		"attachment":      {fmt.Errorf("%w x: too large", input.ErrAttach), "attach another file", "attach another file"},
		"command":         {fmt.Errorf("%w x: missing argument", input.ErrCommand), "correct the command", "correct the command"},
		"bad credentials": {fmt.Errorf("%w: x", credentials.ErrFile), "sign in again with tenon auth login", "sign in again"},
		"keyring":         {fmt.Errorf("%w: x", credentials.ErrKeyring), "sign in again without --keyring", "sign in again"},
		"owned":           {&store.OwnedError{PID: 7}, "omit -c and -s", "start a new session with /new"},
		"fenced":          {fmt.Errorf("x: %w", store.ErrFenced), "omit -c and -s", "start a new session with /new"},
		"full":            {fmt.Errorf("x: %w", store.ErrFull), "free disk space, raise the quota, or store the data elsewhere with --data-dir DIR", "free disk space"},
		"file, full":      {&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, "free disk space, then run it again", "free disk space, then run it again"},
		"file, denied":    {&fs.PathError{Op: "write", Path: "x", Err: syscall.EACCES}, "make the file and its directory readable", "make the file and its directory readable"},
		"file, read-only": {&fs.PathError{Op: "write", Path: "x", Err: syscall.EROFS}, "make the file and its directory writable", "make the file and its directory writable"},
		"read-only":       {fmt.Errorf("x: %w", store.ErrReadOnly), "make the data directory writable, or choose another with --data-dir DIR", "make the data directory writable"},
		"damaged":         {fmt.Errorf("x: %w", store.ErrCorrupt), "tenon session repair saves what can be read; or move the database away", "tenon session repair"},
		"newer":           {fmt.Errorf("x: %w", store.ErrNewer), "update tenon", "update tenon"},
		"no network":      {fmt.Errorf("x: %w", &url.Error{Op: "Post", URL: "x", Err: syscall.ECONNREFUSED}), "check the network", "check the network"},
		"undo, changed":   {fmt.Errorf("a: %w", snapshot.ErrChanged), "no other program", "no other program"},
		"undo, conflict":  {&host.ConflictError{Files: []string{"a"}}, "pass --force", "the same command with force"},
		"older":           {fmt.Errorf("%w: x: %w", store.ErrOlder, &store.OwnedError{PID: 7}), "wait for that process or stop it", "wait for that process or stop it"},
		"locked, removed": {fmt.Errorf("x: %w", store.ErrUnavailable), "try again; if the store is locked, stop the process", "try again; if the store is locked, stop the process"},
		"refused by user": {&host.TurnError{Named: &sdk.NamedError{}, Err: &sdk.Refusal{By: "user"}}, `tenon run -c "continue" continues; answer [m]`, `send "continue" to continue; answer [m]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line, talking := Remedy(c.err), InChat().Remedy(c.err)
			if !strings.Contains(line.Fix, c.line) {
				t.Errorf("on the command line: %q, want %q", line.Fix, c.line)
			}
			if !strings.Contains(talking.Fix, c.talking) || strings.Contains(talking.Fix, "tenon run") || strings.Contains(talking.Fix, "-m") {
				t.Errorf("in a conversation: %q, want %q", talking.Fix, c.talking)
			}
			if line.Code != talking.Code {
				t.Errorf("exit codes %d and %d", line.Code, talking.Code)
			}
		})
	}
}

// A description of a plugin is checked like the configuration; its errors are not about the configuration.
func TestRemedyOfDescription(t *testing.T) {
	t.Parallel()
	invalid := fmt.Errorf("bad.wasm: %w", &checked.Error{Kind: sdk.ErrManifest, Problems: []checked.Problem{{Message: "invalid tool id"}}})
	if f := Remedy(invalid); f.Code != ExitTurn || !strings.Contains(f.Error(), "bad.wasm") {
		t.Errorf("exit code %d, %v, want %d and the name of the file", f.Code, f, ExitTurn)
	}
}

// Several errors keep their remedies, each once.
func TestJoin(t *testing.T) {
	t.Parallel()
	none := error(nil)
	if err := Join(none, none); err != nil {
		t.Errorf("Join() = %v", err)
	}
	f := Remedy(Join(none, UsageError("do this", "one"), UsageError("do that", "two"), UsageError("do this", "three")))
	if f.Code != ExitUsage || f.Error() != "one\ntwo\nthree" || f.Fix != "do this\ndo that" {
		t.Errorf("Join() = %d, %q, %q", f.Code, f.Error(), f.Fix)
	}
}
