// Package oauth has the parts of OAuth 2.1 that sign-ins to model providers and to MCP servers share: the loopback address that receives
// the answer of an authorization server, requests to a token endpoint, and the wait for a device code.
package oauth
