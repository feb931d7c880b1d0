// Package commandhook is an example of command hooks: tenon.json and the scripts in hooks. It has no Go code but the test that
// runs them.
package commandhook
