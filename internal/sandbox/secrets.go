package sandbox

import (
	"os"
	"os/user"
	"path/filepath"
)

// secretNames returns the names of files and directories in the home directory, or in a directory in it, with keys, tokens, mail, histories
// or browser profiles.
func secretNames() []string {
	return []string{
		".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".oci", ".ibmcloud", ".bluemix", ".aliyun", ".chef", ".vagrant.d", ".fly", ".heroku",
		".netrc", "_netrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".git-credentials", ".gitcookies", ".pgpass", ".my.cnf", ".mylogin.cnf", ".s3cfg", ".boto",
		".vault-token", ".terraformrc", ".terraform.d", ".password-store", ".pki", ".putty", ".electrum", ".bitcoin", ".ethereum", ".authinfo", ".authinfo.gpg",
		".mozilla", ".thunderbird", ".var", "snap", ".claude", ".claude.json", ".codex", ".gemini", ".snowsql", ".databrickscfg", ".dbt", ".wakatime.cfg", ".rclone.conf",
		".smbcredentials", ".msmtprc", ".fetchmailrc", ".muttrc", ".mutt", ".irssi", ".weechat", ".purple", ".kodi", ".Xauthority", ".ICEauthority", ".config.gh",
		".bash_history", ".zsh_history", ".sh_history", ".history", ".histfile", ".python_history", ".node_repl_history", ".psql_history", ".mysql_history",
		".sqlite_history", ".rediscli_history", ".irb_history", ".lesshst", ".viminfo", ".mongorc.js", ".dbshell", ".wget-hsts",
	}
}

// secretPaths returns further paths below the home directory.
func secretPaths() []string {
	return []string{
		".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties",
		".composer/auth.json", ".nuget/NuGet", ".subversion/auth", ".bundle/config", ".ivy2/.credentials", ".sbt/1.0/credentials", ".jupyter", ".android/debug.keystore",
		".hex/hex.config", ".cabal/config", ".zsh_sessions", ".bash_sessions",
	}
}

// configSecrets returns directories and files in .config.
func configSecrets() []string {
	return []string{
		"gh", "hub", "glab-cli", "op", "1Password", "Bitwarden", "Bitwarden CLI", "gcloud", "rclone", "git/credentials", "doctl", "fly", "flyctl", "heroku", "stripe",
		"configstore", "sops", "age", "containers", "helm", "kube", "hcloud", "linode-cli", "scw", "oci", "supabase", "neonctl", "turso", "railway", "cdk", "netlify",
		"vercel", "wrangler", ".wrangler", "google-chrome", "google-chrome-beta", "chromium", "BraveSoftware", "microsoft-edge", "vivaldi", "opera", "mozilla", "firefox",
		"Signal", "Slack", "discord", "Element", "keybase", "lastpass", "pass", "gopass", "keepassxc", "KeePass", "remmina", "evolution", "filezilla", "github-copilot",
		"tenon", "opencode", "codex", "claude", "gemini", "goose", "crush", "pypoetry/auth.toml", "composer/auth.json", "NuGet", "gspread", "gcloud-sdk", "aws-sso", "snowflake", "rstudio",
		"Code/User/globalStorage", "Cursor/User/globalStorage", "VSCodium/User/globalStorage", "JetBrains", "dconf", "pulse/cookie", "spotify", "teams-for-linux", "Microsoft",
	}
}

// shareSecrets returns directories and files in .local/share.
func shareSecrets() []string {
	return []string{
		"keyrings", "kwalletd", "gopass", "pass", "password-store", "gnupg", "TelegramDesktop", "tenon", "opencode", "evolution", "fish/fish_history", "com.vercel.cli", "containers",
		"crush", "goose", "Trash", "nvim/shada", "JetBrains", "keyring", "flatpak/db", "sops", "python_keyring", "virtualenv/auth", "mc/history", "nushell",
	}
}

// secrets hides the secrets of the home directory, and files with the names of secrets in its directories. If HOME differs from the home
// directory of the account, it hides the secrets of both.
func (f *finder) secrets() {
	if home := f.Project.Home; home != "" {
		f.secretsOf(home, "secret of the home directory")
	}
	if u, err := user.Current(); err == nil && u.HomeDir != f.Project.Home && filepath.Dir(u.HomeDir) != u.HomeDir {
		f.secretsOf(u.HomeDir, account)
	}
}

func (f *finder) secretsOf(home, origin string) {
	under := func(dir string, names []string) {
		for _, name := range names {
			f.add(Hide, origin, filepath.Join(dir, name))
		}
	}
	under(home, secretNames())
	under(home, secretPaths())
	places := []string{home}
	for _, d := range []struct {
		usual, moved string
		secrets      []string
	}{
		{filepath.Join(home, ".config"), f.lookup("XDG_CONFIG_HOME"), configSecrets()},
		{filepath.Join(home, ".local", "share"), f.lookup("XDG_DATA_HOME"), shareSecrets()},
	} {
		under(d.usual, d.secrets)
		under(d.moved, d.secrets) // add ignores paths that are not absolute
		places = append(places, d.usual, d.moved)
	}
	known := map[string]bool{}
	for _, name := range secretNames() {
		known[name] = true
	}
	for _, place := range places {
		f.below(place, known)
	}
}

// below hides files with the names of secrets in the directories of place. It does not follow links.
func (f *finder) below(place string, known map[string]bool) {
	entries, _ := os.ReadDir(place) // commands cannot read an unreadable directory either
	for _, e := range entries {
		if !e.IsDir() || known[e.Name()] {
			continue
		}
		dir := filepath.Join(place, e.Name())
		inner, _ := os.ReadDir(dir)
		for _, file := range inner {
			if known[file.Name()] {
				f.add(Hide, deeper, filepath.Join(dir, file.Name()))
			}
		}
	}
}
