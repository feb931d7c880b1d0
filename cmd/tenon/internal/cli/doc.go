// Package cli is what all commands share: the streams and flags of the process, directories and configuration, the session
// store and the host, output, and errors with their remedies and exit codes.
package cli
