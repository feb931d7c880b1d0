// Package source fetches plugins: from directories, archives, git repositories, npm and other registries. A reference names a plugin as
// the user writes it; a pin names exactly one content of it. Fetched code is not run.
package source
