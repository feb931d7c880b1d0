// Package trust decides what may run: it knows what the user approved, by the digest of its content, and keeps copies of that
// content which nobody changes, so that what runs is what was approved.
//
//   - ReadTree takes the digest of a package or of a single file.
//   - Vault keeps the sealed copies. What runs, runs from there.
//   - Store is tenon.lock: what was approved, with which grants. It belongs to the user and never lies in a repository.
package trust
