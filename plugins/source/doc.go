// Package source fetches plugins from where people publish them: directories, archives, git repositories, npm. A reference names a
// plugin as the user writes it; a pin names exactly one content of it. Nothing that was fetched runs.
package source
