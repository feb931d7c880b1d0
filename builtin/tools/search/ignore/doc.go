// Package ignore walks directory trees without ignored files: it applies the .gitignore files
// at every level, .git/info/exclude and .ignore files, and skips every .git directory.
//
// Rules have the same meaning as in git (see gitignore(5)); a test compares them with git on random trees. Patterns are matched
// by doublestar: it compares characters, not bytes, it knows no classes such as [[:alpha:]] and no ] at the start of a set, and a
// set such as [!a] matches a slash.
//
// In addition, like in ripgrep: .ignore files have the same syntax and override .gitignore; .gitignore rules do not apply to
// repositories below their directory; the root of a walk may be an ignored directory. Unlike in ripgrep, .gitignore files also
// apply outside repositories. The user's global excludes, and info/exclude of a linked working tree, are not read.
package ignore
