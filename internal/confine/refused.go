package confine

import "github.com/tenonhq/tenon/internal/lazyregexp"

// refusal matches messages of programs that were denied access by the system. Java, Maven, Gradle, SQLite and pnpm do not name the system's error.
var refusal = lazyregexp.New(`(?i)permission denied|operation not permitted|\bEACCES\b|\bEPERM\b|read-only file system|cross-device link|os error 13\b|errno 13\b|` +
	`nio\.file\.AccessDeniedException|could not create local repository|could not create parent directory for lock file|unable to open database file|ERR_PNPM_UNEXPECTED_STORE`)

// Refused reports whether an output looks like that of a program without access.
func Refused(output string) bool { return refusal().MatchString(output) }
