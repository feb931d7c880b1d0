// Package config reads the configuration: it finds the files, checks them against the keys of
// sdk.Config, merges the layers and remembers where each value came from.
//
//	defaults ← user directory ← project files, outer first ← $TENON_CONFIG ← $TENON_CONFIG_CONTENT
//	         ← other TENON_ variables ← flags ← the administrator's file
//
// Layers merge deeply: objects are merged key by key, and any other value in a later layer replaces the earlier
// value. Three lists are combined instead: instructions (each once), plugins (each path once; the last entry's
// options hold, at the place of the first) and permission rules (one list, in the order they are written,
// because the last rule that matches decides).
//
// The table of keys is read from the struct tags of sdk.Config. A new field needs no second place.
//
// The package only reads. It never writes a user's file.
package config
