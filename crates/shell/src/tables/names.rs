//! Names of the environment, row by row.

/// Names that change what a program does, whatever their value.
pub(crate) const CHANGING: &[&str] = &[
    // the shell
    "PATH", "IFS", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS0", "PS1", "PS2", "PS3", "PS4", "PROMPT_COMMAND",
    "CDPATH", "HISTFILE", "ZDOTDIR", "FPATH", "MODULE_PATH", "POSIXLY_CORRECT", "GLOBIGNORE", "EXECIGNORE", "SHELL",
    "FIGNORE", "FUNCNEST", "INPUTRC", "TERMINFO", "TERMCAP", "LOCPATH", "NLSPATH", "GCONV_PATH", "HOSTALIASES",
    "RES_OPTIONS", "MALLOC_TRACE", "MAGIC", "TZDIR", "GETCONF_DIR", "OPENSSL_CONF", "OPENSSL_ENGINES", "OPENSSL_MODULES",
    // places
    "HOME", "TMPDIR", "TMP", "TEMP",
    // programs to call
    "VISUAL", "BROWSER", "EDITOR", "PAGER",
    // tools
    "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "CC", "CXX", "CPP", "LD", "AR", "AS", "RUSTFLAGS", "RUSTDOCFLAGS",
    "TAR_OPTIONS", "GZIP", "BZIP", "BZIP2", "XZ_OPT", "XZ_DEFAULTS", "ZSTD_CLEVEL", "ZIPOPT", "UNZIP", "UNZIPOPT",
    "RIPGREP_CONFIG_PATH", "CURL_HOME", "WGETRC", "SYSTEM_WGETRC", "KUBECONFIG", "ACKRC", "ACK_PAGER", "BAT_CONFIG_PATH",
    "BAT_OPTS", "FZF_DEFAULT_COMMAND", "FZF_DEFAULT_OPTS", "GREP_OPTIONS", "JQ_COLORS", "DELTA_FEATURES", "MANOPT",
    "MANPATH", "TREE_COLORS", "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "TOX_TESTENV_PASSENV", "ESLINT_USE_FLAT_CONFIG",
    "RSYNC_RSH", "RSYNC_CONNECT_PROG", "CVS_RSH", "SVN_SSH", "HGRCPATH", "AWKPATH", "AWKLIBPATH", "EXINIT", "VIMINIT",
    "MYVIMRC", "SQLITE_HISTORY", "R_PROFILE", "R_PROFILE_USER", "R_ENVIRON", "JULIA_LOAD_PATH", "PHPRC", "PHP_INI_SCAN_DIR",
    "TASKRC", "COMPOSER_HOME", "DOTNET_STARTUP_HOOKS",
];

/// Beginnings of such names.
pub(crate) const CHANGING_PREFIXES: &[&str] = &[
    "LD_", "DYLD_", "BASH_FUNC_", "XDG_", "LESS", "GIT_", "SSH_", "SUDO_", "PYTHON", "PERL", "RUBY", "NODE_", "npm_config_",
    "NPM_CONFIG_", "YARN_", "PNPM_", "LUA_", "JAVA_", "GRADLE_", "MAVEN_", "MAKE", "RUSTC", "CARGO_", "RUSTUP_", "GO",
    "DOCKER_", "AWS_", "UV_", "PIP_", "CMAKE_", "BUNDLE_", "GEM_", "DENO_", "BUN_", "MVN_", "INTERLOCK_", "CLAUDE_", "CODEX_",
    "GEMINI_", "DOTNET_", "COREHOST_", "ASAN_", "LSAN_", "UBSAN_", "TSAN_",
];

/// Endings of such names.
pub(crate) const CHANGING_SUFFIXES: &[&str] = &["PAGER", "EDITOR", "_proxy", "_PROXY"];

/// Names that match a row above and change nothing that matters.
pub(crate) const HARMLESS: &[&str] = &[
    "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONUTF8", "NODE_ENV",
    "CARGO_INCREMENTAL",
];

/// Beginnings of such names.
pub(crate) const HARMLESS_PREFIXES: &[&str] = &["CARGO_TERM_"];
