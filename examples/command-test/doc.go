// Package commandtest runs the example of command hooks, tenon.json and the scripts in hooks, in turns of a real host.
package commandtest
