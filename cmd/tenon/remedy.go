package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

// remedy finds exit code and remedy of an error. It is the one place that knows them for errors of other
// packages.
func remedy(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	for _, find := range []func(error) *failure{storeRemedy, configRemedy, turnRemedy, hostRemedy} {
		if f := find(err); f != nil {
			return f
		}
	}
	return &failure{exitTurn, err, "run it again with --log-level debug to see more"}
}

func storeRemedy(err error) *failure {
	var owned *store.OwnedError
	fix := ""
	switch {
	case errors.Is(err, store.ErrOlder):
		fix = "wait until that process is done or end it, then start this again: it makes a copy and migrates the database"
	case errors.As(err, &owned):
		fix = "wait until that process is done, or start a new session (leave out -c and -s)"
		if owned.PID != 0 {
			fix = fmt.Sprintf("wait until process %d is done or end it, or start a new session (leave out -c and -s)", owned.PID)
		}
	case errors.Is(err, store.ErrFull):
		fix = "make room on the disk, or keep the data elsewhere with --data-dir DIR; everything reported so far is stored"
	case errors.Is(err, store.ErrReadOnly):
		fix = "make the data directory writable, or choose another with --data-dir DIR or TENON_DATA_DIR"
	case errors.Is(err, store.ErrCorrupt):
		fix = "run tenon doctor; move the database away, or choose another data directory with --data-dir DIR"
	case errors.Is(err, store.ErrNewer):
		fix = "update tenon, or choose another data directory with --data-dir DIR"
	case errors.Is(err, trust.ErrLockFile):
		fix = "correct tenon.lock, or move it away: what you approved is then asked for again"
	case errors.Is(err, store.ErrFenced):
		fix = "another process has gone on with this session; start a new one or use -s there"
	default:
		return nil
	}
	return &failure{exitStore, err, fix}
}

func configRemedy(err error) *failure {
	var ce *config.Error
	if !errors.As(err, &ce) {
		if errors.Is(err, config.ErrConfig) {
			return &failure{exitConfig, err, "tenon config check lists every problem"}
		}
		return nil
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
		fixes = []string{"correct the value; tenon config check lists every problem"}
	}
	return &failure{exitConfig, errors.New(strings.Join(lines, "\n")), strings.Join(fixes, "\n")}
}

// turnRemedy knows how turns fail.
func turnRemedy(err error) *failure {
	var te *host.TurnError
	if !errors.As(err, &te) {
		return nil
	}
	var refusal *sdk.Refusal
	switch {
	case errors.Is(err, host.ErrModel):
		return hostRemedy(err)
	case errors.As(err, &refusal):
		return &failure{exitRefused, err, refusalFix(refusal)}
	}
	switch te.Named.Name {
	case sdk.ErrorAborted:
		return &failure{exitInterrupted, errors.New("interrupted"), "tenon run -c goes on where this stopped"}
	case sdk.ErrorProviderAuth:
		return &failure{exitModel, err, fmt.Sprintf("check the key of provider %s: its variable, or provider.%s.options.apiKey in tenon.json; tenon models shows where it comes from", te.Named.Data.ProviderID, te.Named.Data.ProviderID)}
	case sdk.ErrorContextOverflow:
		return &failure{exitTurn, err, "start a new session, or use a model with a larger context (-m)"}
	case sdk.ErrorStructuredOutput:
		return &failure{exitTurn, err, "try again, ask for less in the schema, or use another model (-m)"}
	case sdk.ErrorContentFilter:
		return &failure{exitTurn, err, "change the prompt, or use another model (-m)"}
	case sdk.ErrorAPI:
		return &failure{exitTurn, err, apiFix(te.Named)}
	}
	if f := hostRemedy(te.Err); f != nil {
		return f
	}
	return &failure{exitTurn, err, "what was done is stored: tenon run -c goes on from there"}
}

func refusalFix(r *sdk.Refusal) string {
	switch {
	case r.By == "headless":
		return "allow it with --auto, or with a rule under permission in tenon.json"
	case r.By == "user":
		return "tenon run -c goes on; answer [m] to tell the model what to do instead"
	case strings.HasPrefix(r.By, "plugin "):
		return "change what the plugin allows, or switch its hooks off under hook in tenon.json"
	}
	return "change the rule under permission in tenon.json; tenon config show names its place"
}

func apiFix(e *sdk.NamedError) string {
	switch status := e.Data.StatusCode; {
	case status == 404 || status == 400 && strings.Contains(strings.ToLower(e.Data.Message), "model"):
		return "check the model's name and the provider's baseURL; tenon models lists what is there"
	case status == 429:
		return "wait until the provider's limit allows more, or use another model (-m); tenon run -c goes on"
	case status == 0:
		return "check that the server runs and that provider.ID.options.baseURL is right; tenon doctor tries to reach it"
	}
	return "tenon run -c tries again from where it stopped"
}

// hostRemedy knows errors of the host that have nothing to do with the turn.
func hostRemedy(err error) *failure {
	switch {
	case errors.Is(err, host.ErrModel):
		return &failure{exitModel, err, "tenon models lists the models that can be used; choose one with -m or with model in tenon.json"}
	case errors.Is(err, host.ErrNotFound):
		return &failure{exitUsage, err, "check the name; tenon session list, agent list and command list show what there is"}
	case errors.Is(err, context.Canceled):
		return &failure{exitInterrupted, errors.New("interrupted"), "start it again"}
	}
	return nil
}
