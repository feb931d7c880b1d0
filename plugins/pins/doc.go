// Package pins keeps tenon.plugins.lock: which plugins a project or a user has installed, each pinned to exactly one content. The file
// holds no approvals and no grants, so it may be committed. Earlier states of the file stay in the user's data directory.
package pins
