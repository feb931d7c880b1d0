// Command process-progress is a tenon plugin, a process: its tool measures directories and shows its progress.
package main

import "github.com/tenonhq/tenon/sdk/lines"

func main() { lines.Serve(plugin()) }
