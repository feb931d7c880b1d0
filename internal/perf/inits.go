//go:build unix

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// largestInits is the number of packages that are listed.
const largestInits = 12

// packageInit is the initialization of a package.
type packageInit struct {
	name   string
	millis float64
	bytes  int
}

// inits lists the packages whose initialization allocates the most memory. It is part of every start.
func (b *bench) inits(ctx context.Context) {
	home := b.home()
	cmd := exec.CommandContext(ctx, b.tenon, "version")
	cmd.Dir, cmd.Env = home, append(environ(home), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		check(fmt.Errorf("%s version: %w: %s", b.tenon, err, trace.Bytes()))
	}
	all := parseInits(&trace)
	if len(all) == 0 {
		check(fmt.Errorf("%s version: no trace of initializations: %s", b.tenon, trace.Bytes()))
	}
	var sum packageInit
	for _, p := range all {
		sum.millis += p.millis
		sum.bytes += p.bytes
	}
	report("initialization of packages", ms(sum.millis), "-")
	report("  memory", fmt.Sprintf("%d KB", sum.bytes/1024), "under 2500 KB")
	for _, p := range all[:min(largestInits, len(all))] {
		fmt.Printf("  %6d KB %8s  %s\n", p.bytes/1024, ms(p.millis), p.name)
	}
}

// parseInits reads the lines "init NAME @0.1 ms, 0.2 ms clock, 300 bytes, 4 allocs", see https://pkg.go.dev/runtime, "inittrace". The
// packages with the most memory come first.
func parseInits(trace *bytes.Buffer) []packageInit {
	var all []packageInit
	for lines := bufio.NewScanner(trace); lines.Scan(); {
		var p packageInit
		var at float64
		name, rest, ok := strings.Cut(strings.TrimPrefix(lines.Text(), "init "), " @")
		if !ok {
			continue
		}
		if _, err := fmt.Sscanf(rest, "%f ms, %f ms clock, %d bytes", &at, &p.millis, &p.bytes); err == nil {
			p.name = name
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b packageInit) int { return cmp.Compare(b.bytes, a.bytes) })
	return all
}
