// Package turn runs one turn of a session for a command: it reads the prompt, finds the session, shows events, asks the user
// questions and passes interrupts on to the host.
package turn
