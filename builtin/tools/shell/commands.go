package shell

// tool says what of a command's line has effects beyond its name. All lists are separated by spaces: letters and
// long names of options.
type tool struct {
	values string // options that take the next argument as their value
	writes string // options whose value is a file that is written
	runs   string // options that run what their value says, or change what is run
	place  string // options under which the operands are written in place
	target target // operands that are written
	skip   int    // operands before those that are written, or before the command of a wrapper
	stop   bool   // the first operand ends the options
	// named is set where everybody who allows the command by name means that it writes.
	named bool
}

// target says which operands are written.
type target int

const (
	targetNone target = iota
	targetAll
	targetLast
	targetSecond
	targetPlace // what unpacks something: into the directory it runs in
)

// tools are the commands whose lines are looked into. What is not listed is judged by its text alone.
var tools = map[string]tool{
	// What reads, but for these options.
	"sort":  {values: "k t S o T key field-separator buffer-size output temporary-directory compress-program", writes: "o output T temporary-directory", runs: "compress-program"},
	"uniq":  {values: "f s w skip-fields skip-chars check-chars", target: targetSecond},
	"xxd":   {values: "c g l s o n", target: targetSecond},
	"shuf":  {values: "n o i output head-count input-range", writes: "o output"},
	"tree":  {values: "L P I o", writes: "o output"},
	"iconv": {values: "f t o output from-code to-code", writes: "o output"},
	"rg":    {runs: "pre hostname-bin"},
	"ag":    {runs: "pager"},
	"ack":   {runs: "pager"},
	"bat":   {runs: "pager"},
	"file":  {runs: "C compile"},
	"date":  {values: "d f r date file reference", runs: "s set"},
	"yq":    {runs: "i inplace in-place s split-exp security-enable-system-operator"},
	"ss":    {values: "D f A F N", writes: "D diag", runs: "K kill"},
	"nm":    {runs: "plugin"}, "objdump": {runs: "plugin"},
	"dmesg":      {runs: "c C D E n clear read-clear console-on console-off console-level"},
	"journalctl": {runs: "vacuum-size vacuum-time vacuum-files rotate flush relinquish-var smart-relinquish-var sync setup-keys update-catalog"},
	"tcpdump":    {values: "w r z i c C G W", writes: "w", runs: "z"},
	"xmllint":    {values: "o output", writes: "o output", runs: "shell"},
	"tidy":       {values: "o output f file", writes: "o output f file", place: "m modify", runs: "config"},
	"pandoc":     {values: "o output F filter L lua-filter t to f from w write r read", writes: "o output", runs: "F filter L lua-filter pdf-engine d defaults"},
	// Formatters print, but for an option.
	"gofmt": {place: "w"}, "gofumpt": {place: "w"}, "goimports": {place: "w"}, "shfmt": {place: "w write"}, "clang-format": {place: "i"},
	"prettier": {place: "w write", runs: "plugin config"}, "eslint": {values: "o output-file c config", writes: "o output-file", place: "fix", runs: "rulesdir plugin c config"},
	"ruff": {place: "fix fix-only add-noqa", skip: 1},
	"curl": {
		values: "o output D dump-header c cookie-jar T upload-file K config d data H header X request u user A user-agent e referer F form b cookie m max-time w write-out x proxy",
		writes: "o output D dump-header c cookie-jar trace trace-ascii stderr libcurl etag-save hsts alt-svc output-dir", runs: "K config O remote-name remote-name-all J remote-header-name engine",
	},
	// What writes what it is told.
	"tee": {target: targetAll, named: true}, "touch": {values: "d r t date reference time", target: targetAll, named: true},
	"mkdir": {values: "m mode", target: targetAll, named: true}, "rmdir": {target: targetAll, named: true}, "rm": {target: targetAll, named: true},
	"unlink": {target: targetAll, named: true}, "shred": {values: "n s iterations size", target: targetAll, named: true},
	"truncate": {values: "s r size reference", target: targetAll, named: true}, "mkfifo": {values: "m mode", target: targetAll, named: true},
	"chmod": {target: targetAll, skip: 1, named: true}, "chown": {target: targetAll, skip: 1, named: true}, "chgrp": {target: targetAll, skip: 1, named: true},
	"setfacl": {values: "m x", target: targetAll, named: true}, "mv": {values: "t target-directory S suffix", writes: "t target-directory", target: targetAll, named: true},
	"cp":      {values: "t target-directory S suffix", writes: "t target-directory", target: targetLast, named: true},
	"install": {values: "t target-directory m mode o owner g group S suffix", writes: "t target-directory", runs: "strip-program", target: targetLast, named: true},
	"ln":      {values: "t target-directory S suffix", writes: "t target-directory", target: targetLast, named: true},
	"link":    {target: targetLast, named: true},
	"rsync":   {values: "e rsh f filter", writes: "log-file write-batch only-write-batch", runs: "e rsh rsync-path", target: targetLast, named: true},
	"split":   {values: "a b l n C", runs: "filter", target: targetSecond, named: true},
	"patch":   {values: "p d i o r B z D V F", writes: "o output r reject-file", target: targetPlace, named: true},
	"unzip":   {values: "d x P", writes: "d", target: targetPlace, named: true}, "csplit": {target: targetPlace, named: true},
	"zip":  {values: "i x b t n", runs: "T TT unzip-command", target: targetAll, named: true},
	"gzip": {target: targetAll, named: true}, "gunzip": {target: targetAll, named: true}, "bzip2": {target: targetAll, named: true}, "xz": {target: targetAll, named: true},
	"wget": {
		values: "O output-document o output-file a append-output P directory-prefix e execute", writes: "O output-document o output-file a append-output P directory-prefix",
		runs: "e execute use-askpass config", target: targetPlace, named: true,
	},
}

// wrappers run the command behind their own options and, with skip, operands.
var wrappers = map[string]tool{
	"sudo":   {values: "C D g h p R r t T U u user group prompt chdir chroot host role type other-user close-from command-timeout", runs: "e edit s shell i login"},
	"doas":   {values: "C u", runs: "C s"},
	"nice":   {values: "n adjustment"},
	"nohup":  {},
	"setsid": {},
	"stdbuf": {values: "i o e input output error"},
	"time":   {values: "f o format output", writes: "o output"},
	// The seconds come first.
	"timeout":  {values: "k s kill-after signal", skip: 1},
	"builtin":  {},
	"exec":     {values: "a"},
	"ionice":   {values: "c n p P u class classdata"},
	"chrt":     {values: "T P D sched-runtime sched-period sched-deadline", skip: 1},
	"taskset":  {skip: 1},
	"strace":   {values: "a b e E I o O p P s S u U X output env", writes: "o output", runs: "E env"},
	"ltrace":   {values: "a e o l n s u w x output", writes: "o output"},
	"chroot":   {skip: 1},
	"unshare":  {values: "R w S G"},
	"setpriv":  {},
	"setarch":  {skip: 1},
	"unbuffer": {}, "fakeroot": {}, "firejail": {}, "caffeinate": {values: "t w"}, "pkexec": {values: "u user"},
	"systemd-run": {values: "p u M H E t property unit machine host setenv description slice uid gid nice working-directory", runs: "M H machine host E setenv p property"},
	"busybox":     {}, "toybox": {}, "bunx": {}, "catchsegv": {}, "numactl": {values: "C m N i l p"},
}

// opaque are commands that run or rebind what their lines do not show.
var opaque = map[string]bool{
	"less": true, "more": true, "most": true, "man": true, "info": true, "vi": true, "vim": true, "nvim": true, "view": true, "vimdiff": true, "ed": true,
	"ex": true, "emacs": true, "nano": true, "pico": true, "fzf": true, "gdb": true, "lldb": true, "expect": true, "crontab": true, "at": true, "batch": true,
	"hash": true, "enable": true, "bind": true, "complete": true, "compgen": true, "fc": true, "parallel": true, "ssh": true, "entr": true, "hyperfine": true,
	"bwrap": true, "proot": true, "sg": true, "newgrp": true, "pssh": true, "tmux": true, "screen": true, "socat": true,
	"ldd": true, "exiftool": true, // they run, or write, what they are shown
}

// interpreters run code of another language: from an option, from a file or from their input. The value names
// options before a file that change nothing.
var interpreters = map[string]string{
	"python": "u B O s E S I q", "python2": "u B O s E S", "python3": "u B O s E S I q", "pypy": "u", "pypy3": "u", "perl": "w", "ruby": "w", "node": "test check", "nodejs": "",
	"php": "l", "lua": "", "luajit": "", "Rscript": "", "tclsh": "", "wish": "", "osascript": "", "groovy": "", "elixir": "", "erl": "", "swift": "",
	"guile": "", "racket": "", "octave": "", "julia": "", "irb": "", "ipython": "", "sbcl": "", "clisp": "", "ghci": "", "tsx": "", "ts-node": "", "jshell": "",
	"fish": "", "pwsh": "", "powershell": "", "csh": "", "tcsh": "", "xonsh": "", "nu": "", "cmd": "", "cmd.exe": "", "m4": "", "dc": "", "bc": "",
}

// shells speak the language that is judged here, as far as it matters.
var shells = map[string]bool{"bash": true, "sh": true, "dash": true, "ash": true, "ksh": true, "mksh": true, "zsh": true, "rbash": true}

// decisive are variables that decide what other commands run, load or read.
var decisive = map[string]bool{
	"PATH": true, "IFS": true, "ENV": true, "BASH_ENV": true, "SHELLOPTS": true, "BASHOPTS": true, "PS0": true, "PS1": true, "PS2": true, "PS4": true, "PROMPT_COMMAND": true,
	"HOME": true, "SHELL": true, "CDPATH": true, "FPATH": true, "ZDOTDIR": true, "EDITOR": true, "VISUAL": true, "PAGER": true, "MANPAGER": true, "BROWSER": true,
	"LESS": true, "LESSOPEN": true, "LESSCLOSE": true, "LESSEDIT": true, "SUDO_ASKPASS": true, "SSH_ASKPASS": true, "RSYNC_RSH": true, "TAR_OPTIONS": true, "GREP_OPTIONS": true,
	"POSIXLY_CORRECT": true, "XDG_CONFIG_HOME": true, "GCONV_PATH": true, "AWKPATH": true, "AWKLIBPATH": true, "PYTHONPATH": true, "PYTHONSTARTUP": true,
	"PYTHONHOME": true, "PERL5OPT": true, "PERL5LIB": true, "PERL5DB": true, "RUBYOPT": true, "RUBYLIB": true, "NODE_OPTIONS": true, "NODE_PATH": true,
	"JAVA_TOOL_OPTIONS": true, "_JAVA_OPTIONS": true, "CLASSPATH": true, "CC": true, "CXX": true, "AR": true, "LD": true, "MAKEFLAGS": true, "MAKE": true,
	"RIPGREP_CONFIG_PATH": true, "RUSTC": true, "RUSTC_WRAPPER": true, "RUSTFLAGS": true, "TMPDIR": true, "BASH_XTRACEFD": true, "FIGNORE": true, "TERMINFO": true, "OPENSSL_CONF": true,
	"JQ_LIBRARY_PATH": true, "MANOPT": true, "GOFLAGS": true, "GOENV": true, "GOROOT": true, "GOTOOLDIR": true, "GOPROXY": true, "GONOSUMDB": true, "GOTOOLCHAIN": true,
	"GOCACHEPROG": true, "GOAUTH": true, "GOPACKAGESDRIVER": true, "GOWORK": true, "GOVCS": true, "GOSUMDB": true, "GOINSECURE": true, "GOPRIVATE": true, "GONOPROXY": true,
	"GOPATH": true, "GOMODCACHE": true, "GNUTLS_SYSTEM_PRIORITY_FILE": true, "CURL_HOME": true, "WGETRC": true, "PSQLRC": true, "ZLS_COLORS": true,
	"http_proxy": true, "https_proxy": true, "HTTP_PROXY": true, "HTTPS_PROXY": true, "ALL_PROXY": true, "all_proxy": true, "SSL_CERT_FILE": true, "SSL_CERT_DIR": true,
	"SSLKEYLOGFILE": true, "HOSTALIASES": true, "HISTFILE": true, "INPUTRC": true, "LOCPATH": true, "TERMCAP": true, "TERMINFO_DIRS": true, "XDG_CONFIG_DIRS": true, "XDG_DATA_HOME": true,
	"GNUPGHOME": true, "PHPRC": true, "PHP_INI_SCAN_DIR": true, "GEM_HOME": true, "GEM_PATH": true, "BUNDLE_GEMFILE": true, "JDK_JAVA_OPTIONS": true, "GCC_EXEC_PREFIX": true,
	"AWS_CONFIG_FILE": true, "AWS_ENDPOINT_URL": true, "DOCKER_HOST": true, "DOCKER_CONFIG": true, "TF_CLI_CONFIG_FILE": true, "TF_CLI_ARGS": true,
	"PGHOST": true, "PGSERVICEFILE": true, "PGPASSFILE": true, "PGOPTIONS": true, "COMPILER_PATH": true, "PKG_CONFIG": true, "PKG_CONFIG_PATH": true, "UNZIP": true, "ZIPOPT": true, "GZIP": true, "XZ_OPT": true, "XZ_DEFAULTS": true, "TAPE": true, "RSH": true,
}

// decisivePrefixes begin the names of further such variables.
var decisivePrefixes = []string{"LD_", "DYLD_", "GIT_", "BASH_FUNC_", "npm_config_", "NPM_CONFIG_", "PIP_", "CARGO_", "CGO_", "PYTHON", "MALLOC_", "LESS", "SYSTEMD_", "PERL", "LUA_", "DOTNET_", "FZF_", "BAT_", "OPENSSL_", "KUBE", "ANSIBLE_", "RUSTUP_", "PSQL_"}
