//! Variables that may be set for a listed command, since they steer nothing.
//!
//! Whatever is not named here may choose a program, a module, a configuration or a place.

use crate::policy::wildcard_matches;

/// Names that steer no program: language, colours, terminal, and how much is said.
const EVERYWHERE: [&str; 50] = [
    "CI",
    "CONTINUOUS_INTEGRATION",
    "GITHUB_ACTIONS",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "COLOR",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "NODE_ENV",
    "NODE_NO_WARNINGS",
    "NODE_DISABLE_COLORS",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUTF8",
    "PYTHONIOENCODING",
    "PYTHONHASHSEED",
    "PYTHONFAULTHANDLER",
    "CARGO_TERM_*",
    "CARGO_INCREMENTAL",
    "RUST_BACKTRACE",
    "RUST_LIB_BACKTRACE",
    "RUST_LOG",
    "RUST_LOG_STYLE",
    "GIT_TERMINAL_PROMPT",
    "GIT_OPTIONAL_LOCKS",
    // Other values than `cat` and temporary directories are refused by name before this table is asked.
    "PAGER",
    "GIT_PAGER",
    "TMPDIR",
    "TMP",
    "TEMP",
    "SOURCE_DATE_EPOCH",
    "DEBIAN_FRONTEND",
    "NO_UPDATE_NOTIFIER",
    "DO_NOT_TRACK",
    "DISABLE_TELEMETRY",
    "NEXT_TELEMETRY_DISABLED",
    "ASTRO_TELEMETRY_DISABLED",
    "TURBO_TELEMETRY_DISABLED",
    "CHECKPOINT_DISABLE",
    "PY_COLORS",
    "DOTNET_CLI_TELEMETRY_OPTOUT",
    "DOTNET_NOLOGO",
];

/// Names that steer nothing of these programs.
const OF_PROGRAMS: [(&[&str], &[&str]); 8] = [
    (
        &[
            "npm",
            "npx",
            "pnpm",
            "pnpx",
            "yarn",
            "bun",
            "bunx",
            "node",
            "jest",
            "vitest",
            "mocha",
            "ava",
            "tap",
            "playwright",
            "cypress",
            "eslint",
            "prettier",
            "tsc",
            "next",
            "vite",
            "turbo",
            "nx",
        ],
        &[
            "DEBUG",
            "DEBUG_COLORS",
            "DEBUG_PRINT_LIMIT",
            "LOG_LEVEL",
            "LOGLEVEL",
            "BABEL_ENV",
            "VERBOSE",
        ],
    ),
    (
        &[
            "pytest", "py.test", "tox", "nox", "unittest", "mypy", "ruff", "black", "flake8",
            "pylint", "uv", "poetry", "pdm", "hatch", "pipenv",
        ],
        &["LOG_LEVEL", "LOGLEVEL", "DEBUG", "VERBOSE"],
    ),
    (
        &["cargo", "nextest"],
        &[
            "RUST_MIN_STACK",
            "RUST_TEST_THREADS",
            "RUST_TEST_NOCAPTURE",
            "RUST_TEST_TIME_UNIT",
        ],
    ),
    (&["go"], &["CGO_ENABLED"]),
    (
        &["rspec", "rake", "rails", "bundle"],
        &["RAILS_ENV", "RACK_ENV", "LOG_LEVEL"],
    ),
    (&["mix"], &["MIX_ENV"]),
    (
        &["phpunit", "pest", "composer", "artisan"],
        &["APP_ENV", "XDEBUG_MODE"],
    ),
    (&["gh"], &["GH_PROMPT_DISABLED", "GH_NO_UPDATE_NOTIFIER"]),
];

/// Tells whether setting `name` steers none of `programs`.
pub(super) fn is_harmless(name: &str, programs: &[&str]) -> bool {
    let is = |pattern: &&str| wildcard_matches(pattern, name);
    EVERYWHERE.iter().any(is)
        || OF_PROGRAMS
            .iter()
            .filter(|(of, _)| of.iter().any(|program| programs.contains(program)))
            .any(|(_, names)| names.iter().any(is))
}
