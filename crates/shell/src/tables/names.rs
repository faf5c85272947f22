//! Environment variables, row by row.

use crate::words::words;

/// Values with which a check stays the same check.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Values {
    /// All of them.
    Any,
    /// Only these words; one that ends with `=` takes a number.
    Words(&'static [&'static str]),
    /// Directories of the project, joined by `:`.
    Places(&'static [&'static str]),
    /// Paths with these prefixes.
    Below(&'static [&'static str]),
}

/// Variables that change what programs do, with the values that select no tests.
pub(crate) const LEAVE_CHECKS: &[(&[&str], Values)] = &[
    (
        &["PYTHONPATH"],
        Values::Places(&[
            "", ".", "src", "lib", "python", "tests", "test", "app", "backend",
        ]),
    ),
    (
        &["PYTHONWARNINGS"],
        Values::Words(&["ignore", "default", "always", "error"]),
    ),
    (
        words!(
            "PYTHONIOENCODING PYTHONFAULTHANDLER PYTHONHASHSEED PYTHONASYNCIODEBUG PYTHONTRACEMALLOC
             NODE_NO_WARNINGS NODE_DISABLE_COLORS GOCACHE GOMODCACHE GOTMPDIR CARGO_TARGET_DIR
             CARGO_BUILD_JOBS CARGO_NET_OFFLINE"
        ),
        Values::Any,
    ),
    (
        &["NODE_OPTIONS"],
        Values::Words(words!(
            "--experimental-vm-modules --experimental-strip-types --no-warnings --no-deprecation
             --no-experimental-strip-types --enable-source-maps --openssl-legacy-provider
             --max-old-space-size= --max_old_space_size= --stack-size= --stack-trace-limit="
        )),
    ),
    (
        &["GOFLAGS"],
        Values::Words(words!(
            "-mod=mod -mod=vendor -mod=readonly -count=1 -v -race -buildvcs=false"
        )),
    ),
    (&["GOTOOLCHAIN"], Values::Words(&["local", "auto"])),
    (&["GO111MODULE"], Values::Words(&["on", "auto"])),
    (&["JAVA_HOME"], Values::Below(&["/usr/lib/jvm/", "/opt/"])),
    (&["TMPDIR"], Values::Below(&["/tmp", "/var/tmp"])),
];

/// Variables that change what a program does, whatever their value.
pub(crate) const CHANGING: &[&str] = &[
    // the shell
    "PATH",
    "IFS",
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PS0",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "PROMPT_COMMAND",
    "CDPATH",
    "HISTFILE",
    "ZDOTDIR",
    "FPATH",
    "MODULE_PATH",
    "POSIXLY_CORRECT",
    "GLOBIGNORE",
    "EXECIGNORE",
    "SHELL",
    "FIGNORE",
    "FUNCNEST",
    "INPUTRC",
    "TERMINFO",
    "TERMCAP",
    "LOCPATH",
    "NLSPATH",
    "GCONV_PATH",
    "HOSTALIASES",
    "RES_OPTIONS",
    "MALLOC_TRACE",
    "MAGIC",
    "TZDIR",
    "GETCONF_DIR",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    // directories
    "HOME",
    "TMPDIR",
    "TMP",
    "TEMP",
    // programs to call
    "VISUAL",
    "BROWSER",
    "EDITOR",
    "PAGER",
    // tools
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "CLASSPATH",
    "CC",
    "CXX",
    "CPP",
    "LD",
    "AR",
    "AS",
    "RUSTFLAGS",
    "RUSTDOCFLAGS",
    "TAR_OPTIONS",
    "TAPE",
    "ZIPINFO",
    "ZIPINFOOPT",
    "GZIP",
    "BZIP",
    "BZIP2",
    "XZ_OPT",
    "XZ_DEFAULTS",
    "ZSTD_CLEVEL",
    "ZIPOPT",
    "UNZIP",
    "UNZIPOPT",
    "RIPGREP_CONFIG_PATH",
    "CURL_HOME",
    "WGETRC",
    "SYSTEM_WGETRC",
    "KUBECONFIG",
    "ACKRC",
    "ACK_PAGER",
    "BAT_CONFIG_PATH",
    "BAT_OPTS",
    "FZF_DEFAULT_COMMAND",
    "FZF_DEFAULT_OPTS",
    "GREP_OPTIONS",
    "JQ_COLORS",
    "DELTA_FEATURES",
    "MANOPT",
    "MANROFFOPT",
    "MANPATH",
    "TREE_COLORS",
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "TOX_TESTENV_PASSENV",
    "ESLINT_USE_FLAT_CONFIG",
    "RSYNC_RSH",
    "RSYNC_CONNECT_PROG",
    "CVS_RSH",
    "SVN_SSH",
    "HGRCPATH",
    "AWKPATH",
    "AWKLIBPATH",
    "EXINIT",
    "VIMINIT",
    "MYVIMRC",
    "SQLITE_HISTORY",
    "R_PROFILE",
    "R_PROFILE_USER",
    "R_ENVIRON",
    "JULIA_LOAD_PATH",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "TASKRC",
    "COMPOSER_HOME",
    "DOTNET_STARTUP_HOOKS",
    // programs, options and places of tools
    "DESTDIR",
    "GREP",
    "RUSTDOC",
    "JAVACMD",
    "MFLAGS",
    "GNUMAKEFLAGS",
    "SPEC_OPTS",
    "CFLAGS",
    "CPPFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "LDLIBS",
    "FC",
    "FFLAGS",
    "ARFLAGS",
    "RANLIB",
    "STRIP",
    "YACC",
    "LEX",
    "M4",
    "AUTOM4TE",
    "ACLOCAL",
    "PKG_CONFIG",
    "PKG_CONFIG_PATH",
    "ANT_OPTS",
    "ANT_ARGS",
    "SBT_OPTS",
    "KOTLIN_HOME",
    "SCALA_HOME",
    "MIX_EXS",
    "MIX_HOME",
    "MIX_ARCHIVES",
    "ERL_FLAGS",
    "ERL_AFLAGS",
    "ERL_ZFLAGS",
    "ERL_LIBS",
    "ELIXIR_ERL_OPTIONS",
    "TS_NODE_PROJECT",
    "TS_NODE_COMPILER",
    "BAZELISK_BASE_URL",
    "TF_CLI_CONFIG_FILE",
    "HELM_PLUGINS",
    "KUBECTL_EXTERNAL_DIFF",
    "BUILDX_CONFIG",
    "NIX_PATH",
    "MANROFFOPT",
    "MANROFFSEQ",
    "TROFF",
];

/// Prefixes of such names.
pub(crate) const CHANGING_PREFIXES: &[&str] = words!(
    "LD_ DYLD_ BASH_ XDG_ LESS GIT_ SSH_ SUDO_ PYTHON PERL RUBY NODE_ YARN_ PNPM_ LUA_ JAVA_ GRADLE_
     MAVEN_ MAKE RUSTC CARGO_ RUSTUP_ GO DOCKER_ AWS_ UV_ PIP_ CMAKE_ BUNDLE_ GEM_ DENO_ BUN_ MVN_
     INTERLOCK_ CLAUDE_ CODEX_ GEMINI_ DOTNET_ COREHOST_ ASAN_ LSAN_ UBSAN_ TSAN_ GROFF_ GTEST_
     CTEST_ TOX_ NOX_ PRE_COMMIT_ JULIA_ R_LIBS CCACHE_ SCCACHE_ VITEST_ JEST_ ESLINT_ TF_CLI_ARGS
     BAZEL"
);

/// Suffixes of such names.
pub(crate) const CHANGING_SUFFIXES: &[&str] = &["PAGER", "EDITOR", "_proxy", "_PROXY"];

/// Variables by which a few scripts find the programs they start, and those scripts.
pub(crate) const STEERED: &[(&[&str], &[&str])] = &[
    (
        &["GREP", "EGREP", "FGREP"],
        &[
            "zgrep", "zegrep", "zfgrep", "bzgrep", "bzegrep", "bzfgrep", "xzgrep", "xzegrep",
            "xzfgrep", "lzgrep", "lzegrep", "lzfgrep", "zstdgrep", "zipgrep", "lz4grep", "zpgrep",
        ],
    ),
    (
        &["DIFF", "CMP"],
        &[
            "zdiff", "zcmp", "bzdiff", "bzcmp", "xzdiff", "xzcmp", "lzdiff", "lzcmp", "lz4diff",
        ],
    ),
    (&["ZCAT"], &["zstdgrep"]),
    (&["ZSTD"], &["zstdless", "zstdgrep"]),
    (
        &["MORE"],
        &["more", "zmore", "bzmore", "xzmore", "lzmore", "man"],
    ),
];

/// Arrays whose elements determine what a name runs.
pub(crate) const COMMAND_TABLES: &[&str] = &["BASH_CMDS", "BASH_ALIASES"];

/// Variables whose value a shell expands and runs.
pub(crate) const RUN_AS_TEXT: &[&str] = words!("PS0 PS1 PS2 PS4 PROMPT_COMMAND BASH_ENV ENV");

/// Variables that match a row above but do not matter.
pub(crate) const HARMLESS: &[&str] = words!(
    "GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONUTF8
     NODE_ENV CARGO_INCREMENTAL DOTNET_CLI_TELEMETRY_OPTOUT DOTNET_NOLOGO"
);

/// Prefixes of such names.
pub(crate) const HARMLESS_PREFIXES: &[&str] = &["CARGO_TERM_"];

/// The same, in any case: programs that read these ignore case.
pub(crate) const CHANGING_IN_ANY_CASE: &[&str] = &["npm_config_"];

/// Variables without which programs use the defaults of the system or their own.
pub(crate) const UNSET_PLAIN: &[&str] = words!(
    "HOME TMPDIR XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME XDG_RUNTIME_DIR LD_PRELOAD
     LD_LIBRARY_PATH BASH_ENV ENV CDPATH PYTHONPATH PYTHONHOME NODE_OPTIONS NODE_PATH CLASSPATH
     JAVA_TOOL_OPTIONS HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy"
);
