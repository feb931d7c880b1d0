package shell

import "strings"

// arity says how many words of a command name what it does; an answer "always" allows every command
// that begins with them. Zero: the words say nothing about what will run, so that only the very same
// command is allowed. A command that is not listed has one such word. The longest entry counts.
var arity = map[string]int{
	// What runs other commands, or code from its arguments.
	"command": 0, "doas": 0, "env": 0, "eval": 0, "exec": 0, "find": 0, "nice": 0, "nohup": 0, "parallel": 0, "script": 0,
	"setsid": 0, "source": 0, ".": 0, "ssh": 0, "stdbuf": 0, "su": 0, "sudo": 0, "time": 0, "timeout": 0, "trap": 0, "watch": 0, "xargs": 0,
	// What destroys, or reaches out: every line is another matter.
	"rm": 0, "rmdir": 0, "shred": 0, "dd": 0, "truncate": 0, "unlink": 0, "chmod": 0, "chown": 0, "chgrp": 0, "kill": 0, "pkill": 0, "killall": 0,
	"curl": 0, "wget": 0, "nc": 0, "scp": 0, "sftp": 0, "rsync": 0, "mv": 0, "cp": 0, "ln": 0, "install": 0, "tee": 0, "patch": 0,
	"git push": 0, "git fetch": 0, "git pull": 0, "git clone": 0, "git ls-remote": 0, "git clean": 0, "git reset": 0, "git rm": 0, "git rebase": 0,
	"git branch": 0, "git tag": 0, "git checkout": 0, "git restore": 0, "git apply": 0, "git reflog": 0, "git config": 0, "git stash drop": 0, "git stash clear": 0,
	"docker exec": 0, "docker run": 0, "docker rm": 0, "podman exec": 0, "podman run": 0, "kubectl exec": 0, "kubectl delete": 0, "kubectl apply": 0,
	"sqlite3": 0, "psql": 0, "mysql": 0, "mariadb": 0, "redis-cli": 0, "mongosh": 0,
	// Interpreters: the script is the second word.
	"bash": 2, "sh": 2, "zsh": 2, "dash": 2, "ksh": 2, "fish": 2, "pwsh": 2, "powershell": 2, "cmd": 2,
	"python": 2, "python3": 2, "python -m": 3, "python3 -m": 3, "node": 2, "ruby": 2, "perl": 2, "php": 2, "lua": 2, "java": 2, "Rscript": 2,
	"awk": 0, "gawk": 0, "deno": 2, "deno task": 3, "bun": 2, "bun run": 3, "bun x": 3, "bunx": 2, "tsx": 2, "ts-node": 2, "osascript": 0,
	// Version control and hosting.
	"git": 2, "git stash": 3, "git remote": 3, "git worktree": 3, "git submodule": 3, "git bisect": 3, "git notes": 3,
	"git lfs": 3, "git flow": 3, "gh": 3, "glab": 3, "hg": 2, "jj": 2, "svn": 2,
	// Builds and packages.
	"npm": 2, "npm run": 3, "npm exec": 3, "npm init": 3, "npx": 2, "pnpm": 2, "pnpm run": 3, "pnpm exec": 3, "pnpm dlx": 3,
	"yarn": 2, "yarn run": 3, "yarn dlx": 3, "corepack": 2, "nx": 2, "turbo": 2, "turbo run": 3, "vite": 2, "next": 2,
	"go": 2, "go mod": 3, "go tool": 3, "go work": 3, "cargo": 2, "cargo add": 3, "cargo run": 3, "rustup": 2, "make": 2, "just": 2,
	"task": 2, "cmake": 2, "ninja": 2, "bazel": 2, "gradle": 2, "./gradlew": 2, "mvn": 2, "./mvnw": 2, "sbt": 2, "ant": 2, "dotnet": 2,
	"swift": 2, "xcodebuild": 2, "mix": 2, "rails": 2, "rake": 2, "bundle": 2, "bundle exec": 3, "gem": 2, "composer": 2,
	"pip": 2, "pip3": 2, "pipx": 2, "pipx run": 3, "uv": 2, "uv run": 3, "uv pip": 3, "uvx": 2, "poetry": 2, "poetry run": 3,
	"pdm": 2, "hatch": 2, "conda": 2, "tox": 2, "apt": 2, "apt-get": 2, "brew": 2, "dnf": 2, "yum": 2, "pacman": 2, "apk": 2, "snap": 2,
	"nix": 2, "mise": 2, "asdf": 2, "nvm": 2, "flutter": 2, "dart": 2,
	// Machines and services.
	"docker": 2, "docker compose": 3, "docker container": 3, "docker image": 3, "docker network": 3, "docker volume": 3, "docker buildx": 3,
	"docker-compose": 2, "podman": 2, "podman container": 3, "podman image": 3,
	"kubectl": 2, "kubectl rollout": 3, "kubectl config": 3, "helm": 2, "helm repo": 3, "k9s": 1, "kind": 3,
	"minikube": 2, "terraform": 2, "terraform workspace": 3, "tofu": 2, "pulumi": 2, "pulumi stack": 3, "ansible": 2, "vagrant": 2,
	"systemctl": 2, "service": 3, "launchctl": 2, "journalctl": 1, "aws": 3, "az": 3, "gcloud": 3, "doctl": 3, "fly": 2, "flyctl": 2,
	"heroku": 2, "vercel": 2, "netlify": 2, "wrangler": 2, "firebase": 2, "supabase": 2, "sfdx": 3, "ip": 2, "nmcli": 2,
	"openssl": 2, "consul": 2, "vault": 2, "nomad": 2,
}

// prefixWords returns how many words name what a command with these leading words does; it may be more
// than there are.
func prefixWords(words []string) int {
	for n := min(len(words), 3); n > 0; n-- {
		if count, ok := arity[strings.Join(words[:n], " ")]; ok {
			return count
		}
	}
	return 1
}
