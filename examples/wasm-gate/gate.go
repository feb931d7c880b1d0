package main

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// gate holds the plugin's options.
type gate struct {
	Editable []string `json:"editable"` // directories, relative to the project
}

func plugin() *sdk.Bundle {
	g := &gate{Editable: []string{"src"}}
	return &sdk.Bundle{
		Info: sdk.Manifest{
			Name: "wasm-gate", Version: "1.0.0", Description: "Denies forced pushes, and edits outside of the source directories", Carrier: sdk.CarrierWASM,
		},
		HookList: []sdk.Hook{sdk.OnPermissionAsk(g.judge)},
		Options:  g,
	}
}

// judge denies forced pushes, edits outside of the editable directories, and paths outside of the project. It sees the final arguments.
func (g *gate) judge(_ context.Context, in *sdk.PermissionRequest) (sdk.Decision, error) {
	switch in.Permission {
	case "bash":
		if i := slices.IndexFunc(in.Patterns, forcesPush); i >= 0 {
			return deny("a forced push overwrites the commits of others: " + in.Patterns[i]), nil
		}
	case "edit":
		if i := slices.IndexFunc(in.Patterns, g.outside); i >= 0 {
			return deny(fmt.Sprintf("%s is outside of %s", in.Patterns[i], strings.Join(g.Editable, ", "))), nil
		}
	case sdk.PermissionExternalDirectory:
		return deny("nothing outside of the project"), nil
	}
	return sdk.Decision{}, nil
}

func deny(reason string) sdk.Decision { return sdk.Decision{Verdict: sdk.VerdictDeny, Reason: reason} }

// forcesPush judges one simple command; the host splits pipes and lists into these.
func forcesPush(command string) bool {
	words := strings.Fields(command)
	if len(words) == 0 || path.Base(words[0]) != "git" {
		return false
	}
	at := slices.Index(words, "push")
	return at >= 0 && slices.ContainsFunc(words[at:], func(word string) bool {
		word = strings.Trim(word, `"'`)
		short := strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--")
		return word == "--force" || short && strings.Contains(word, "f") || strings.HasPrefix(word, "+")
	})
}

func (g *gate) outside(file string) bool {
	file = path.Clean(file)
	return !slices.ContainsFunc(g.Editable, func(dir string) bool {
		dir = path.Clean(dir)
		return dir == "." && !path.IsAbs(file) && file != ".." && !strings.HasPrefix(file, "../") || file == dir || strings.HasPrefix(file, dir+"/")
	})
}
