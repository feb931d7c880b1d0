// Package credentials stores the keys and tokens of the user: keys and sign-ins of model providers, and sign-ins to MCP servers.
//
// They are in one file that only the user can read. Writers replace it atomically under a file lock. A token is refreshed under a lock
// of its own, so two processes that need it send one request: a server may accept a refresh token only once.
//
// If the user asks for it, the secrets of a credential are in the system's keyring, and the file has the rest.
//
// The package knows neither providers nor protocols. Its callers refresh tokens and decide who receives them.
package credentials
