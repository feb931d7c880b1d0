package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

// Fault is a failure in a handler, or at the start of the plugin.
type Fault string

// The faults. Each but the first ends with the plugin's memory or process gone, or with the deadline.
const (
	FaultPanic     Fault = "panic"     // panics with PanicText
	FaultHang      Fault = "hang"      // waits until the call is canceled; forever if the guest is not notified
	FaultDeaf      Fault = "deaf"      // waits forever, even if canceled
	FaultLoop      Fault = "loop"      // computes forever
	FaultRecursion Fault = "recursion" // calls itself until the stack is full
	FaultMemory    Fault = "memory"    // allocates all memory
	FaultExit      Fault = "exit"      // ends the process with status 3, by Plugin.Exit
	FaultFlood     Fault = "flood"     // fails with a text of 20 MiB
	FaultChatter   Fault = "chatter"   // writes to stdout and stderr endlessly
)

// PanicText is the text of the panic.
const PanicText = "strings: negative Repeat count"

// maxStack is the maximum stack of a recursion, in bytes. With Go's limit of 1 GiB it would take seconds.
const maxStack = 64 << 20

// floodBytes is the size of an oversized answer. Carriers pass on at most 16 MiB.
const floodBytes = 20 << 20

// The memory that the memory bomb allocates, and in which pieces. The default limit of a WASM plugin is 64 MiB.
const (
	hoardBytes = 96 << 20
	hoardBlock = 1 << 20
)

// commit causes the fault. Some faults never return.
func (p *Plugin) commit(ctx context.Context, f Fault) error {
	switch f {
	case "":
		return nil
	case FaultPanic:
		return errors.New(strings.Repeat(Name, -1))
	case FaultHang:
		<-ctx.Done()
		return ctx.Err()
	case FaultDeaf:
		select {}
	case FaultLoop:
		return loop()
	case FaultRecursion:
		debug.SetMaxStack(maxStack)
		return fmt.Errorf("recursion ended at %d", deeper(1))
	case FaultMemory:
		return p.hoard()
	case FaultExit:
		p.Exit(3)
	case FaultFlood:
		return fmt.Errorf("%s", strings.Repeat("flood ", floodBytes/6))
	case FaultChatter:
		for {
			fmt.Println(strings.Repeat("stdout ", 1000))
			fmt.Fprintln(os.Stderr, strings.Repeat("stderr ", 1000))
		}
	}
	return fmt.Errorf("unknown fault %q", string(f))
}

func loop() error {
	for n := uint64(1); ; n++ {
		if n == 0 {
			return fmt.Errorf("the loop came around")
		}
	}
}

// deeper uses its frame after the call, so that it is not compiled to a loop. Every stack overflows long before it ends.
func deeper(n int) int {
	if n < 0 {
		return 0
	}
	var frame [64]int
	frame[n%len(frame)] = n
	return frame[(n+1)%len(frame)] + deeper(n+1) + 1
}

// hoard allocates more memory than any guest may use. A process, which may use all memory, then exits as if the system had killed it.
func (p *Plugin) hoard() error {
	kept := make([][]byte, hoardBytes/hoardBlock)
	for i := range kept {
		kept[i] = make([]byte, hoardBlock)
		for at := 0; at < hoardBlock; at += 4096 {
			kept[i][at] = byte(i)
		}
	}
	p.Exit(137)
	return fmt.Errorf("%d blocks are kept", len(kept))
}
