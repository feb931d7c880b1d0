// Package trust decides what may run. It records approvals by the digest of the content, and keeps read-only copies of approved content,
// so exactly the approved content runs.
//
//   - ReadTree takes the digest of a package or of a single file.
//   - Vault keeps the sealed copies, from which plugins run.
//   - Store is tenon.lock: the approvals and their grants. It belongs to the user and is never part of a repository.
package trust
