package config

import _ "embed"

// Schema is a JSON schema of tenon.json, for editors. TestSchema writes it from the types and comments of package sdk.
//
//go:embed schema.json
var Schema string
