// Package credentials stores the keys and tokens of the user: keys and sign-ins of model providers, and sign-ins to MCP servers.
//
// They are in one file that only the user can read. Writers replace it atomically under a file lock. Each token is refreshed under
// its own lock, so that only one process sends the request: a server may accept a refresh token only once.
//
// On request, a credential's secrets are stored in the system's keyring, and the rest in the file.
//
// The package knows neither providers nor protocols. Its callers refresh tokens and decide who receives them.
package credentials
