package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"strings"
	"syscall"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/host/input"
	"github.com/tenonhq/tenon/host/snapshot"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/internal/credentials"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/plugins/pins"
	"github.com/tenonhq/tenon/plugins/signature"
	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

// wording holds the names of actions in remedies, which differ between the command line and a chat.
type wording struct {
	goOn    string // continues the session: "… where it stopped"
	again   string // tries again
	fresh   string // starts a new session
	model   string // chooses another model
	usable  string // finds and chooses a usable model
	force   string // overwrites files that were modified
	details string // shows more about an error that has no other remedy; empty: nothing shows more
}

// OnCommandLine returns the wording for the command line.
func OnCommandLine() *wording {
	return &wording{
		goOn: `tenon run -c "continue" continues`, again: `tenon run -c "continue" tries again`, fresh: "start a new session (omit -c and -s)",
		model: "use another model (-m)", usable: "tenon models lists the available models; choose one with -m or under model in tenon.json",
		force: ", or pass --force to overwrite these files", details: "run it again with --log-level debug for details",
	}
}

// InChat returns the wording for a chat.
func InChat() *wording {
	return &wording{
		goOn: `send "continue" to continue`, again: `send "continue" to try again`, fresh: "start a new session with /new",
		model: "choose another model (/model)", usable: "/model lists the available models, /model NAME chooses one",
		force: "; the same command with force overwrites these files",
	}
}

// CheckPath is the remedy for a path that does not exist.
const CheckPath = "check the path; without a leading / it is relative to the current directory"

// Remedy returns an error with its exit code and its remedy on the command line. Only this file knows the remedies of other packages'
// errors.
func Remedy(err error) *Failure { return OnCommandLine().Remedy(err) }

func (w *wording) Remedy(err error) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	for _, find := range []func(error) *Failure{w.storeRemedy, configRemedy, w.turnRemedy, w.hostRemedy} {
		if f := find(err); f != nil {
			return f
		}
	}
	if f := (Remedies{
		{fs.ErrNotExist, ExitTurn, CheckPath},
		{projectfs.ErrOutside, ExitTurn, "replace the link with the file it points to"},
		{syscall.EROFS, ExitTurn, "make the file and its directory writable, then run it again"},
		{syscall.ENOSPC, ExitTurn, "free disk space, then run it again"},
		{syscall.EDQUOT, ExitTurn, "free disk space or raise the quota, then run it again"},
	}).Failure(err); f != nil {
		return f
	}
	path, _ := errors.AsType[*fs.PathError](err)
	if errors.Is(err, fs.ErrPermission) && !errors.As(err, new(*net.OpError)) && (path == nil || path.Op != "fork/exec") {
		return Fail(ExitTurn, err, "make the file and its directory readable and writable, then run it again")
	}
	if request, ok := errors.AsType[*url.Error](err); ok && request.Op != "parse" {
		return Fail(ExitTurn, err, "check the network, HTTPS_PROXY and NO_PROXY, then run it again")
	}
	return Fail(ExitTurn, err, w.details)
}

func (w *wording) storeRemedy(err error) *Failure {
	if owned, ok := errors.AsType[*store.OwnedError](err); ok && !errors.Is(err, store.ErrOlder) {
		process := "that process"
		if owned.PID != 0 {
			process = fmt.Sprintf("process %d or stop it", owned.PID)
		}
		return Fail(ExitStore, err, "wait for "+process+"; for another prompt, "+w.fresh)
	}
	corrupt := "tenon session repair saves what can be read; or move the database away, or choose another data directory with --data-dir DIR"
	if damage, ok := errors.AsType[*store.DamageError](err); ok {
		corrupt = RepairFix(damage.Rows) + "; undamaged data is kept"
	}
	return Remedies{
		{store.ErrOlder, ExitStore, "wait for that process or stop it, then run this again: tenon then copies and migrates the database"},
		{store.ErrFull, ExitStore, "free disk space, raise the quota, or store the data elsewhere with --data-dir DIR; everything reported so far is stored"},
		{store.ErrReadOnly, ExitStore, "make the data directory writable, or choose another with --data-dir DIR or TENON_DATA_DIR"},
		{store.ErrCorrupt, ExitStore, corrupt},
		{store.ErrUnavailable, ExitStore, "try again; if the store is locked, stop the process that holds the lock, or store the data elsewhere with --data-dir DIR; tenon doctor checks it"},
		{store.ErrNewer, ExitStore, "update tenon, or choose another data directory with --data-dir DIR"},
		{trust.ErrLockFile, ExitStore, "correct the file or its permissions as the error says, or move tenon.lock away and approve everything again"},
		{store.ErrFenced, ExitStore, "another process has continued this session: work there, or " + w.fresh},
	}.Failure(err)
}

func configRemedy(err error) *Failure {
	var ce *config.Error
	if !errors.Is(err, config.ErrConfig) || !errors.As(err, &ce) { // plugin descriptions cause errors of this type, too
		return Remedies{
			{pins.ErrFile, ExitConfig, "correct the file or its permissions as the error says, restore it from version control, or delete it and install the plugins again"},
			{signature.ErrPolicy, ExitConfig, "fix plugin_policy in your own or the administrator's configuration"},
			{hooks.ErrOverride, ExitConfig, "correct the key hook in the configuration; tenon config show prints its source"},
			{config.ErrConfig, ExitConfig, "tenon config check lists every problem"},
		}.Failure(err)
	}
	lines := make([]string, 0, len(ce.Problems)+1)
	var fixes []string
	for _, p := range ce.Problems {
		fix := p.Remedy
		p.Remedy = ""
		lines = append(lines, p.String())
		if fix != "" {
			fixes = append(fixes, fix)
		}
	}
	if ce.Omitted > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", ce.Omitted))
	}
	if len(fixes) == 0 {
		fixes = []string{"fix the value; tenon config check lists every problem"}
	}
	return Fail(ExitConfig, errors.New(strings.Join(lines, "\n")), strings.Join(fixes, "\n"))
}

// turnRemedy returns the remedy for a failed turn, or nil for other errors.
func (w *wording) turnRemedy(err error) *Failure {
	var te *host.TurnError
	if !errors.As(err, &te) {
		return nil
	}
	var refusal *sdk.Refusal
	switch {
	case errors.Is(err, host.ErrModel), errors.Is(err, host.ErrSubagent):
		return w.hostRemedy(err)
	case errors.As(err, &refusal):
		return Fail(ExitRefused, err, w.refusalFix(refusal))
	}
	switch te.Named.Name {
	case sdk.ErrorAborted:
		return Fail(ExitInterrupted, errors.New("interrupted"), w.goOn+" where this stopped")
	case sdk.ErrorProviderAuth:
		if pe, ok := errors.AsType[*sdk.ProviderError](te.Err); ok && pe.Err != nil { // no credentials to send
			return Fail(ExitModel, err, "correct the credentials as the error says, or "+w.model)
		}
		id := te.Named.Data.ProviderID
		return Fail(ExitModel, err, fmt.Sprintf("check the key of provider %s: its environment variable, provider.%s.options.apiKey in tenon.json, or the stored one, which tenon auth login %s replaces; tenon models shows its source", id, id, id))
	case sdk.ErrorContextOverflow:
		return Fail(ExitTurn, err, "shorten the prompt, "+w.fresh+", or "+w.model+" with a larger context")
	case sdk.ErrorStructuredOutput:
		return Fail(ExitTurn, err, "try again, ask for less in the schema, or "+w.model)
	case sdk.ErrorContentFilter:
		return Fail(ExitTurn, err, "change the prompt, or "+w.model)
	case sdk.ErrorAPI:
		return Fail(ExitTurn, err, w.apiFix(te))
	}
	if f := w.hostRemedy(te.Err); f != nil {
		return f
	}
	return Fail(ExitTurn, err, "everything so far is stored: "+w.goOn+" from there")
}

func (w *wording) refusalFix(r *sdk.Refusal) string {
	switch {
	case r.By == "headless":
		return "run it on a terminal to be asked, or add the rule that the error names"
	case r.By == "user":
		return w.goOn + "; answer [m] to tell the model what to do instead"
	case strings.HasPrefix(r.By, "plugin "):
		return "change what the plugin allows, or disable its hooks under hook in tenon.json"
	}
	return "change the rule under permission in tenon.json; tenon config show prints its source"
}

// noTools matches what Ollama, OpenRouter and Groq say of a model that calls no tools.
var noTools = lazyregexp.New(`(?i)support tools|support tool use|tool calling.{0,10} not supported`)

// badField matches what OpenAI, Azure and their gateways say of a field of the request that a model does not have.
var badField = lazyregexp.New(`(?i)(unsupported|unrecognized|unknown) (request argument|parameter|value)`)

// apiFix returns the remedy for a failed model request.
func (w *wording) apiFix(te *host.TurnError) string {
	pe := &sdk.ProviderError{ProviderID: "ID"}
	errors.As(te.Err, &pe)
	cut := pe.Cut
	switch status := te.Named.Data.StatusCode; {
	case errors.Is(te.Err, sdk.ErrAnswerLimit):
		return "ask for less at a time, or " + w.model + "; the beginning of the answer is stored"
	case errors.Is(te.Err, sdk.ErrWire):
		return "fix the server or the plugin of provider " + pe.ProviderID + ", or " + w.model
	case noTools().MatchString(te.Named.Data.Message):
		return w.model + " that calls tools, or set tool_call of this one to false under provider." + pe.ProviderID + ".models in tenon.json, to use it without"
	case status == 400 && badField().MatchString(te.Named.Data.Message):
		return "set the field that the error names under provider." + pe.ProviderID + ".models.MODEL.options in tenon.json, where null removes it, or " + w.model
	case status == 404 || status == 400 && strings.Contains(strings.ToLower(te.Named.Data.Message), "model"):
		return "check the model's name and provider." + pe.ProviderID + ".options.baseURL; tenon models lists the available models"
	case status == 402 || pe.Code == "insufficient_quota":
		return "add credit to your account with the provider, or " + w.model + "; " + w.goOn
	case status == 429:
		return "wait for the provider's rate limit, or " + w.model + "; " + w.goOn
	case status == 0 && !cut, status/100 == 3:
		return fmt.Sprintf("check that the server runs and that provider.%s.options.baseURL is correct; tenon doctor tests the connection", pe.ProviderID)
	case cut:
		return w.again + "; if it happens again, check the server's log, or " + w.model
	case !te.Named.Data.IsRetryable:
		return "correct the cause that the error names, or " + w.model
	}
	return w.again + " from where it stopped"
}

// hostRemedy returns the remedy for errors of the host and the stored credentials outside turns, or nil for other errors.
func (w *wording) hostRemedy(err error) *Failure {
	if conflict, ok := errors.AsType[*host.ConflictError](err); ok {
		text := "nothing was changed: another session, another program, you or a command that is not recorded also changed these files:"
		for _, file := range conflict.Files {
			text += "\n" + terminal.FileName(file)
		}
		return Fail(ExitTurn, errors.New(text), "save your changes first"+w.force)
	}
	f := Remedies{
		{host.ErrNothing, ExitUsage, "undo and summaries need a prompt in this session; redo needs an undone one, and works until the next prompt"},
		{host.ErrBusy, ExitStore, "wait for its turn to end, or interrupt it"},
		{host.ErrElsewhere, ExitTurn, "run it there, or pass that directory with --dir; if you moved the project, move it back first"},
		{snapshot.ErrGone, ExitTurn, "file states are kept for a week; restore the files from version control or a backup"},
		{snapshot.ErrChanged, ExitTurn, "run it again when no other program changes the file; move away a directory with your files that is in its place"},
		{snapshot.ErrOff, ExitTurn, "install git, or put it in PATH"},
		{host.ErrReceiver, ExitRefused, "review and approve the address and the files with tenon permission approve, or choose a model yourself with -m"},
		{host.ErrModel, ExitModel, w.usable},
		{input.ErrAttach, ExitTurn, "attach another file, or name it in the prompt without @: the model then reads it with its tools"},
		{input.ErrCommand, ExitTurn, "correct the command; tenon command list shows its arguments"},
		{credentials.ErrFile, ExitTurn, "correct the file or its permissions as the error says, or move it away and sign in again with tenon auth login"},
		{credentials.ErrKeyring, ExitTurn, "unlock the keyring, or sign in again without --keyring"},
		{host.ErrSubagent, ExitUsage, "choose a primary agent with --agent, or as default_agent in tenon.json; tenon agent list lists them"},
		{host.ErrDisabled, ExitUsage, "enable it in tenon.json, or choose another with --agent, or as default_agent in tenon.json"},
		{host.ErrNotFound, ExitUsage, "check the name; tenon session list, tenon agent list and tenon command list show the valid ones"},
	}.Failure(err)
	if f == nil && errors.Is(err, context.Canceled) {
		return Fail(ExitInterrupted, errors.New("interrupted"), "run it again")
	}
	return f
}
