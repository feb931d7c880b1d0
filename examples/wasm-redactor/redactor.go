package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/tenonhq/tenon/sdk"
)

// mark replaces a secret.
const mark = "[redacted]"

// known are the forms of common secrets. None of them matches a quote or a backslash, so they may be replaced in JSON, too.
var known = []*regexp.Regexp{
	regexp.MustCompile(`\bAKIA[0-9A-Z]{16}\b`),                       // AWS
	regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{36,}\b`),             // GitHub
	regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{20,}`),                    // OpenAI and others
	regexp.MustCompile(`\bxox[abprs]-[A-Za-z0-9-]{10,}`),             // Slack
	regexp.MustCompile(`\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}`), // JSON web tokens
	regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[^-"]*-----END [A-Z ]*PRIVATE KEY-----`),
}

// redactor holds the plugin's options and the patterns in force.
type redactor struct {
	Patterns []string `json:"patterns"` // of the user

	patterns []*regexp.Regexp
}

func plugin() *sdk.Bundle {
	r := &redactor{patterns: known}
	messages := sdk.OnChatMessages(r.messages)
	messages.Reads = []string{"/messages/*/parts/*/text", "/messages/*/parts/*/state"}
	output := sdk.OnToolAfter(r.output)
	output.Reads = []string{"/title", "/output"}
	for _, hook := range []*sdk.Hook{&messages, &output} {
		hook.Writes = hook.Reads
		hook.OnError = sdk.OnErrorStop // no answer is better than one that leaks a secret
		hook.Priority = 1000           // run after hooks that add text
	}
	return &sdk.Bundle{
		Info: sdk.Manifest{
			Name: "wasm-redactor", Version: "1.0.0", Description: "Removes secrets from the text that models see", Carrier: sdk.CarrierWASM,
		},
		HookList: []sdk.Hook{messages, output},
		Options:  r,
		OnStart:  r.start,
	}
}

func (r *redactor) start(context.Context, sdk.Host) error {
	patterns := append([]*regexp.Regexp(nil), known...)
	for i, text := range r.Patterns {
		pattern, err := regexp.Compile(text)
		if err != nil {
			return fmt.Errorf("options of wasm-redactor: patterns[%d]: %w", i, err)
		}
		patterns = append(patterns, pattern)
	}
	r.patterns = patterns
	return nil
}

// messages redacts a model request: texts of the user and the model, and inputs and outputs of tools.
func (r *redactor) messages(_ context.Context, _ *sdk.ChatInput, v *sdk.ChatMessagesValue) error {
	for _, m := range v.Messages {
		for _, part := range m.Parts {
			switch part := part.(type) {
			case *sdk.TextPart:
				part.Text = r.text(part.Text)
			case *sdk.ReasoningPart:
				part.Text = r.text(part.Text)
			case *sdk.ToolPart:
				if err := r.state(&part.State); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (r *redactor) state(s *sdk.ToolState) error {
	s.Title, s.Output, s.Error, s.Raw = r.text(s.Title), r.text(s.Output), r.text(s.Error), r.text(s.Raw)
	clean := json.RawMessage(r.text(string(s.Input)))
	if len(clean) > 0 && !json.Valid(clean) {
		return fmt.Errorf("a pattern of the options breaks the JSON of a tool's arguments; let it match neither quotes nor brackets")
	}
	s.Input = clean
	return nil
}

// output redacts the result of a tool before it is stored.
func (r *redactor) output(_ context.Context, _ *sdk.ToolAfterInput, v *sdk.ToolAfterValue) error {
	v.Title, v.Output = r.text(v.Title), r.text(v.Output)
	return nil
}

func (r *redactor) text(s string) string {
	for _, pattern := range r.patterns {
		s = pattern.ReplaceAllLiteralString(s, mark)
	}
	return s
}
