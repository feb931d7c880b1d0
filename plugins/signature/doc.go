// Package signature decides which plugins the user's policy permits, and checks who signed them: minisign keys in this process, Sigstore
// identities with the program tenon-verify. It reads no configuration: the policy is the caller's.
package signature
