// Package manifest reads plugin packages: directories by the Agent Plugins specification 1.0.0, with a plugin.json, skills and an
// mcp.json, and with tenon's part of the plugin.json in extensions["io.github.tenonhq"].
//
// It only reads: nothing is run, fetched or written. The files may change on disk afterwards, so carriers read
// the copy that package trust sealed. Errors wrap sdk.ErrManifest and name the file, the field and a remedy.
package manifest
