// Package auth signs in to MCP servers with OAuth 2.1, see
// https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization. go-sdk's package auth implements the flow: discovery,
// registration, PKCE, resource, issuer and scopes. This package adds the user's part (a browser, or an address to copy), the store of
// tokens, and the check of addresses that a server names.
//
//	Authorizer.Authorize   adds the stored token, refreshed if it is expired
//	Authorizer.Challenged  the server refused: refresh, else sign in, else a SignInError with the command to run
package auth
