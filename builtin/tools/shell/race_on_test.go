//go:build race

package shell_test

// hostilePart is how many hostile commands there are for each one that a test judges. Under the race detector it is a part of them: most of the
// time goes to programs that the detector does not see, and .ci/run judges all of them without it.
const hostilePart = 4
