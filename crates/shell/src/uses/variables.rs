//! Which programs a variable affects, and whether it selects tests.
//!
//! A variable that is not named here may select a program, a module, a configuration or a directory.

use interlock_core::{facts::SteersPrograms, policy::wildcard_matches};

/// Variables that affect no program: language, colours, terminal, and verbosity.
// Other values of pagers than `cat`, and of temporary directories, are refused by name before this table is asked.
const EVERYWHERE: &str = "CI CONTINUOUS_INTEGRATION GITHUB_ACTIONS LANG LANGUAGE LC_* TZ TERM COLORTERM COLUMNS LINES COLOR NO_COLOR \
    FORCE_COLOR CLICOLOR CLICOLOR_FORCE NODE_ENV NODE_NO_WARNINGS NODE_DISABLE_COLORS PYTHONUNBUFFERED \
    PYTHONDONTWRITEBYTECODE PYTHONUTF8 PYTHONIOENCODING PYTHONHASHSEED PYTHONFAULTHANDLER CARGO_TERM_* \
    CARGO_INCREMENTAL RUST_BACKTRACE RUST_LIB_BACKTRACE RUST_LOG RUST_LOG_STYLE GIT_TERMINAL_PROMPT \
    GIT_OPTIONAL_LOCKS PAGER GIT_PAGER TMPDIR TMP TEMP SOURCE_DATE_EPOCH DEBIAN_FRONTEND NO_UPDATE_NOTIFIER \
    DO_NOT_TRACK DISABLE_TELEMETRY NEXT_TELEMETRY_DISABLED ASTRO_TELEMETRY_DISABLED TURBO_TELEMETRY_DISABLED \
    CHECKPOINT_DISABLE PY_COLORS DOTNET_CLI_TELEMETRY_OPTOUT DOTNET_NOLOGO";

/// Variables that do not affect these programs.
const OF_PROGRAMS: [(&str, &str); 8] = [
    (
        "npm npx pnpm pnpx yarn bun bunx node jest vitest mocha ava tap playwright cypress eslint prettier tsc \
         next vite turbo nx",
        "DEBUG DEBUG_COLORS DEBUG_PRINT_LIMIT LOG_LEVEL LOGLEVEL BABEL_ENV VERBOSE",
    ),
    (
        "pytest py.test tox nox unittest mypy ruff black flake8 pylint uv poetry pdm hatch pipenv",
        "LOG_LEVEL LOGLEVEL DEBUG VERBOSE",
    ),
    (
        "cargo nextest",
        "RUST_MIN_STACK RUST_TEST_THREADS RUST_TEST_NOCAPTURE RUST_TEST_TIME_UNIT",
    ),
    ("go", "CGO_ENABLED"),
    ("rspec rake rails bundle", "RAILS_ENV RACK_ENV LOG_LEVEL"),
    ("mix", "MIX_ENV"),
    ("phpunit pest composer artisan", "APP_ENV XDEBUG_MODE"),
    ("gh", "GH_PROMPT_DISABLED GH_NO_UPDATE_NOTIFIER"),
];

/// Variables that select tests, or how they run.
const CHOOSING: &str = "PYTEST* TOX* NOX* NOSE* JEST* VITEST* MOCHA* AVA_* KARMA* PLAYWRIGHT* CYPRESS* GTEST* CTEST* \
    NEXTEST* RUST_TEST* TEST* *_TEST *_TESTS *SKIP* *FILTER* *_ONLY* *OPTS *OPTIONS *FLAGS *ARGS *_GREP";

/// Returns which programs are affected by setting `name`.
pub(crate) fn steers(name: &str) -> SteersPrograms {
    let is = |pattern: &str| wildcard_matches(pattern, name);
    if words(EVERYWHERE).any(is) {
        return SteersPrograms::None;
    }
    let of = OF_PROGRAMS.iter().filter(|(_, names)| words(names).any(is));
    SteersPrograms::AllBut(
        of.flat_map(|(programs, _)| words(programs))
            .map(str::to_owned)
            .collect(),
    )
}

/// Returns whether a variable selects tests, by its name.
pub(crate) fn chooses_tests(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    words(CHOOSING).any(|pattern| wildcard_matches(pattern, &upper))
}

fn words(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split_ascii_whitespace()
}
