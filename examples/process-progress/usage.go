package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/sdk"
)

func plugin() *sdk.Bundle {
	return &sdk.Bundle{
		Info: sdk.Manifest{
			Name: "process-progress", Version: "1.0.0", Description: "A tool that measures directories and shows its progress", Carrier: sdk.CarrierProcess,
			Capabilities: []sdk.Capability{{Name: sdk.CapabilityRead, Scope: []string{"$PROJECT"}, Reason: "measures the project"}},
		},
		ToolList: []sdk.Tool{diskUsage{}},
	}
}

// diskUsage is the tool.
type diskUsage struct{}

const parameters = `{
	"type": "object",
	"properties": {
		"directory": {"type": "string", "description": "relative to the project; default its root"},
		"top": {"type": "integer", "minimum": 1, "maximum": 100, "description": "how many to list; default 10"}
	},
	"additionalProperties": false
}`

// Definition describes the tool to the model.
func (diskUsage) Definition() sdk.ToolDefinition {
	return sdk.ToolDefinition{
		ID: "disk_usage", Description: "Measures the directories in a directory of the project and lists the largest first.",
		Parameters: json.RawMessage(parameters),
	}
}

// Deadline limits a call. A small project takes far less time.
func (diskUsage) Deadline() time.Duration { return time.Minute }

// Execute measures.
func (diskUsage) Execute(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
	args := struct {
		Directory string `json:"directory"`
		Top       int    `json:"top"`
	}{Top: 10}
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(call.Worktree) // nothing outside of the project can be reached through it
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	dir, err := root.OpenRoot(cmp.Or(args.Directory, "."))
	if err != nil {
		return nil, fmt.Errorf("directory: %w", err)
	}
	defer func() { _ = dir.Close() }()
	m := &measurement{sizes: map[string]int64{}, host: call.Host}
	if err := m.measure(ctx, dir.FS()); err != nil {
		return nil, err
	}
	return &sdk.ToolResult{
		Title: fmt.Sprintf("%d files", m.files), Output: m.largest(args.Top), Metadata: sdk.Object{"files": m.files, "bytes": m.bytes},
	}, nil
}

// measurement adds up the sizes of the files below each top directory.
type measurement struct {
	sizes        map[string]int64
	files, bytes int64
	host         sdk.ToolHost
	shown        time.Time
}

// measure walks all of fsys, and stops when ctx ends.
func (m *measurement) measure(ctx context.Context, fsys fs.FS) error {
	return fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || !entry.Type().IsRegular() {
			return nil // unreadable files count as empty
		}
		info, err := entry.Info()
		if err != nil {
			return nil
		}
		top, _, below := strings.Cut(filepath.ToSlash(name), "/")
		if !below {
			top = "."
		}
		m.sizes[top] += info.Size()
		m.files, m.bytes = m.files+1, m.bytes+info.Size()
		m.show(top)
		return nil
	})
}

// show tells the user about the progress, a few times a second.
func (m *measurement) show(top string) {
	if time.Since(m.shown) < 200*time.Millisecond {
		return
	}
	m.shown = time.Now()
	m.host.Progress(fmt.Sprintf("%d files, in %s", m.files, top), sdk.Object{"files": m.files, "bytes": m.bytes})
}

func (m *measurement) largest(n int) string {
	names := slices.SortedFunc(maps.Keys(m.sizes), func(a, b string) int {
		return cmp.Or(cmp.Compare(m.sizes[b], m.sizes[a]), cmp.Compare(a, b))
	})
	var out strings.Builder
	for _, name := range names[:min(n, len(names))] {
		fmt.Fprintf(&out, "%d\t%s\n", m.sizes[name], name)
	}
	return out.String()
}
