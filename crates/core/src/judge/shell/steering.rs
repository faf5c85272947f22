//! Options that choose another program or place for a listed command.
//!
//! An entry covers its program, not what such words make of it: they have to
//! stand in the entry itself. The table is read row by row; a program without
//! a row is held to [`ANYWHERE`] alone.

use super::{
    super::Bench,
    entries::{Beyond, longest, name_of, words_beyond},
};
use crate::facts::{CommandClass, ShellFacts, SimpleCommand, Word};

/// What steers one kind of program.
struct Row {
    /// Names of the programs.
    programs: &'static [&'static str],
    /// Letters of options that steer, joined or apart.
    short: &'static str,
    /// Letters of options that take a value; what follows them in a word is no option.
    valued: &'static str,
    /// Long names that steer, any unambiguous beginning of one too.
    long: &'static [&'static str],
    /// Long names that steer nothing though they begin like one that does.
    fine: &'static [&'static str],
    /// Long names whose value is the name of something built in, and steers where it is a path.
    named: &'static [&'static str],
    /// The same by letter.
    named_short: &'static str,
    /// Whether long names stand behind one dash as well, never abbreviated.
    one_dash: bool,
    /// Operands that steer.
    operands: Operands,
}

/// Operands that steer a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operands {
    /// None does.
    None,
    /// `NAME=value`, but for these names with a number or nothing.
    Variables(&'static [&'static str]),
    /// A word that begins so.
    Begin(&'static str),
}

const ROW: Row = Row {
    programs: &[],
    short: "",
    valued: "",
    long: &[],
    fine: &[],
    named: &[],
    named_short: "",
    one_dash: false,
    operands: Operands::None,
};

/// Long names that steer whatever program knows them.
const ANYWHERE: [&str; 25] = [
    "script-shell",
    "shell",
    "userconfig",
    "globalconfig",
    "config",
    "config-file",
    "manifest-path",
    "prefix",
    "target-dir",
    "artifact-dir",
    "basetemp",
    "junitxml",
    "junit-xml",
    "rootdir",
    "log-file",
    "override-ini",
    "confcutdir",
    "node-options",
    "init-script",
    "working-directory",
    "working-dir",
    "project-dir",
    "cwd",
    "output-file",
    "outputFile",
];

/// One row a kind of program.
const ROWS: &[Row] = &[
    Row {
        programs: &["cargo"],
        short: "CZ",
        valued: "pFj",
        long: &[
            "out-dir",
            "lockfile-path",
            "root",
            "path",
            "git",
            "index",
            "logfile",
        ],
        fine: &["target"],
        operands: Operands::Begin("+"),
        ..ROW
    },
    Row {
        programs: &["npm", "npx", "pnpm", "pnpx"],
        short: "Cg",
        valued: "w",
        long: &[
            "cache",
            "git",
            "editor",
            "viewer",
            "browser",
            "init-module",
            "global",
            "location",
            "dir",
            "call",
            "package",
            "global-dir",
            "store-dir",
            "modules-dir",
            "virtual-store-dir",
            "use-node-version",
            "script-prefix",
        ],
        fine: &["c", "no-color", "color"],
        ..ROW
    },
    Row {
        programs: &["yarn"],
        long: &[
            "use-yarnrc",
            "modules-folder",
            "cache-folder",
            "global-folder",
            "link-folder",
            "preferred-cache-folder",
        ],
        ..ROW
    },
    Row {
        programs: &["bun"],
        short: "cr",
        long: &[
            "preload",
            "require",
            "import",
            "env-file",
            "tsconfig-override",
            "define",
            "loader",
            "bunfile",
        ],
        ..ROW
    },
    Row {
        programs: &["pytest", "py.test"],
        short: "pco",
        valued: "kmnrW",
        long: &[
            "junit-prefix",
            "resultlog",
            "report-log",
            "cov-config",
            "cache-dir",
            "pastebin",
            "pdbcls",
            "collect-in-virtualenv",
            "html",
            "json-report-file",
            "debug",
            "import-mode",
            "pyargs",
            "inifile",
        ],
        fine: &["co", "cov", "log", "h", "p", "pdb", "c"],
        operands: Operands::Begin("@"),
        ..ROW
    },
    Row {
        programs: &["unittest"],
        short: "stp",
        valued: "k",
        long: &["start-directory", "top-level-directory", "pattern"],
        ..ROW
    },
    Row {
        programs: &["make", "gmake", "remake"],
        short: "fCIE",
        valued: "joWlO",
        long: &["file", "makefile", "directory", "include-dir", "eval"],
        operands: Operands::Variables(&["V", "VERBOSE", "DEBUG", "QUIET", "Q"]),
        ..ROW
    },
    Row {
        programs: &["go"],
        long: &[
            "exec",
            "toolexec",
            "vettool",
            "C",
            "o",
            "modfile",
            "overlay",
            "pkgdir",
            "coverprofile",
            "cpuprofile",
            "memprofile",
            "blockprofile",
            "mutexprofile",
            "trace",
            "outputdir",
            "gccgoflags",
            "gcflags",
            "ldflags",
            "asmflags",
            "compiler",
            "workfile",
            "test.coverprofile",
            "test.cpuprofile",
            "test.memprofile",
            "test.blockprofile",
            "test.mutexprofile",
            "test.trace",
            "test.outputdir",
            "test.testlogfile",
            "test.gocoverdir",
            "fuzzcachedir",
            "test.fuzzcachedir",
        ],
        one_dash: true,
        ..ROW
    },
    Row {
        programs: &["git"],
        short: "c",
        valued: "mFCtn",
        long: &[
            "git-dir",
            "work-tree",
            "namespace",
            "exec-path",
            "config-env",
            "super-prefix",
            "upload-pack",
            "receive-pack",
            "exec",
            "ext-diff",
            "textconv",
            "open-files-in-pager",
            "template",
            "separate-git-dir",
            "extcmd",
            "output-directory",
            "filters",
        ],
        operands: Operands::Begin("ext::"),
        ..ROW
    },
    Row {
        programs: &["jest"],
        short: "c",
        valued: "tw",
        long: &[
            "rootDir",
            "roots",
            "globalSetup",
            "globalTeardown",
            "setupFiles",
            "setupFilesAfterEnv",
            "testRunner",
            "runner",
            "transform",
            "resolver",
            "preset",
            "projects",
            "moduleNameMapper",
            "modulePaths",
            "moduleDirectories",
            "cacheDirectory",
            "coverageDirectory",
            "coverageReporters",
            "testResultsProcessor",
            "testSequencer",
            "snapshotResolver",
            "filter",
            "haste",
            "prettierPath",
            "watchPlugins",
        ],
        fine: &["coverage"],
        named: &["reporters", "testEnvironment", "env"],
        ..ROW
    },
    Row {
        programs: &["vitest"],
        short: "cr",
        valued: "t",
        long: &[
            "root",
            "dir",
            "globalSetup",
            "configLoader",
            "merge-reports",
            "coverage.reportsDirectory",
            "coverage.provider",
            "coverage.customProviderModule",
            "attachmentsDir",
            "browser",
            "api",
            "ui",
            "diff",
            "typecheck.checker",
        ],
        fine: &["coverage"],
        named: &["environment", "reporter", "pool"],
        ..ROW
    },
    Row {
        programs: &["mocha"],
        short: "rOn",
        valued: "gft",
        long: &[
            "require",
            "package",
            "opts",
            "import",
            "loader",
            "node-option",
            "file",
        ],
        named: &["reporter", "ui"],
        named_short: "Ru",
        ..ROW
    },
    Row {
        programs: &["eslint", "stylelint", "prettier", "biome"],
        short: "co",
        named: &["format", "formatter", "parser"],
        named_short: "f",
        long: &[
            "rulesdir",
            "resolve-plugins-relative-to",
            "plugin",
            "custom-formatter",
            "cache-location",
            "cache-file",
            "custom-syntax",
            "plugin-search-dir",
            "config-basedir",
            "config-path",
        ],
        ..ROW
    },
    Row {
        programs: &["tsc"],
        short: "pb",
        long: &[
            "project",
            "outDir",
            "outFile",
            "declarationDir",
            "rootDir",
            "tsBuildInfoFile",
            "build",
            "plugins",
            "generateTrace",
            "generateCpuProfile",
        ],
        one_dash: true,
        ..ROW
    },
    Row {
        programs: &["tox", "nox"],
        short: "cxfr",
        valued: "esk",
        long: &[
            "conf",
            "workdir",
            "root",
            "override",
            "result-json",
            "noxfile",
            "envdir",
            "report",
            "hashseed-file",
        ],
        ..ROW
    },
    Row {
        programs: &[
            "ruff", "mypy", "black", "isort", "flake8", "pylint", "pyright",
        ],
        short: "o",
        long: &[
            "cache-dir",
            "python-executable",
            "custom-typeshed-dir",
            "package-root",
            "html-report",
            "xml-report",
            "txt-report",
            "any-exprs-report",
            "linecount-report",
            "cobertura-xml-report",
            "load-plugins",
            "rcfile",
            "init-hook",
            "settings-path",
            "pythonpath",
            "project",
            "typeshed-path",
            "tee",
        ],
        ..ROW
    },
    Row {
        programs: &["mvn", "mvnw"],
        long: &[
            "f",
            "file",
            "s",
            "settings",
            "gs",
            "global-settings",
            "gt",
            "t",
            "toolchains",
            "global-toolchains",
            "l",
            "D",
            "define",
            "itr",
            "b",
            "builder",
        ],
        one_dash: true,
        ..ROW
    },
    Row {
        programs: &["gradle", "gradlew"],
        short: "bpcIgD",
        valued: "Px",
        long: &[
            "build-file",
            "project-dir",
            "settings-file",
            "gradle-user-home",
            "include-build",
            "project-cache-dir",
            "system-prop",
            "write-locks",
            "profile",
        ],
        ..ROW
    },
    Row {
        programs: &["ninja"],
        short: "fCt",
        valued: "jkl",
        ..ROW
    },
    Row {
        programs: &["just"],
        short: "fdEcg",
        long: &[
            "justfile",
            "shell-arg",
            "shell-command",
            "dotenv-path",
            "dotenv-filename",
            "set",
            "chooser",
            "command",
            "global-justfile",
            "cygpath",
            "tempdir",
        ],
        ..ROW
    },
    Row {
        programs: &["task"],
        short: "tdgo",
        long: &["taskfile", "dir", "global", "entrypoint", "temp-dir"],
        operands: Operands::Variables(&[]),
        ..ROW
    },
    Row {
        programs: &["rake"],
        short: "frRIeEpCNg",
        valued: "jmT",
        long: &[
            "rakefile",
            "require",
            "rakelibdir",
            "rakelib",
            "libdir",
            "execute",
            "execute-print",
            "execute-continue",
            "directory",
            "system",
            "no-search",
        ],
        operands: Operands::Variables(&["V", "VERBOSE"]),
        ..ROW
    },
    Row {
        programs: &["ctest", "cmake"],
        short: "SDOTMBP",
        valued: "jLERIC",
        long: &[
            "script",
            "build-and-test",
            "test-dir",
            "output-log",
            "output-junit",
            "dashboard",
            "overwrite",
            "toolchain",
            "install-prefix",
        ],
        fine: &["output-on-failure", "config"],
        ..ROW
    },
    Row {
        programs: &["rspec"],
        short: "rIOo",
        valued: "et",
        named: &["format"],
        named_short: "f",
        long: &[
            "require",
            "options",
            "out",
            "default-path",
            "drb-port",
            "failure-exit-code",
            "error-exit-code",
            "dry-run",
        ],
        ..ROW
    },
    Row {
        programs: &["phpunit", "pest"],
        short: "cd",
        long: &[
            "configuration",
            "bootstrap",
            "include-path",
            "log-junit",
            "log-events-text",
            "log-events-verbose-text",
            "testdox-html",
            "testdox-text",
            "coverage-html",
            "coverage-text",
            "coverage-xml",
            "coverage-clover",
            "coverage-php",
            "cache-directory",
            "printer",
            "extension",
            "prepend",
            "generate-configuration",
        ],
        ..ROW
    },
    Row {
        programs: &["dotnet"],
        short: "sdo",
        named: &["logger"],
        named_short: "l",
        long: &[
            "settings",
            "test-adapter-path",
            "results-directory",
            "output",
            "diag",
            "artifacts-path",
            "source",
        ],
        ..ROW
    },
    Row {
        programs: &["deno"],
        short: "cr",
        long: &[
            "import-map",
            "lock",
            "env-file",
            "cert",
            "location",
            "node-modules-dir",
            "vendor",
            "reload",
            "preload",
            "coverage",
            "junit-path",
        ],
        ..ROW
    },
    Row {
        programs: &["uv", "poetry", "pdm", "hatch", "pipenv"],
        short: "pPC",
        long: &[
            "with",
            "with-requirements",
            "with-editable",
            "project",
            "directory",
            "python",
            "script",
            "env-file",
            "index-url",
            "default-index",
            "index",
            "find-links",
        ],
        ..ROW
    },
    Row {
        programs: &["pip", "pip3"],
        short: "tce",
        valued: "r",
        long: &[
            "target",
            "root",
            "src",
            "config-settings",
            "python",
            "log",
            "report",
            "editable",
            "constraint",
            "build",
        ],
        ..ROW
    },
    Row {
        programs: &["curl", "wget"],
        short: "Kx",
        valued: "AbcdeEFHmoOrTuUwXyYz",
        long: &[
            "proxy",
            "use-askpass",
            "unix-socket",
            "abstract-unix-socket",
            "engine",
            "preproxy",
            "execute",
        ],
        ..ROW
    },
    Row {
        programs: &["bazel", "bazelisk"],
        long: &[
            "output_user_root",
            "output_base",
            "bazelrc",
            "run_under",
            "host_jvm_args",
            "override_repository",
            "override_module",
            "package_path",
            "install_base",
            "workspace_rc",
            "server_javabase",
        ],
        ..ROW
    },
    Row {
        programs: &["swift"],
        long: &[
            "package-path",
            "scratch-path",
            "build-path",
            "toolchain",
            "swift-sdk",
            "xunit-output",
            "cache-path",
            "config-path",
            "security-path",
        ],
        fine: &["config", "configuration"],
        ..ROW
    },
];

/// Names behind `-D` that only choose tests.
const PROPERTIES: [&str; 7] = [
    "test",
    "it.test",
    "skipTests",
    "skipITs",
    "style.color",
    "tests",
    "maven.test.skip",
];

/// Why a listed command is not covered by its entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Uncovered {
    /// A word makes it run or touch something else.
    Steers(String),
    /// A word may turn out to be an option that does.
    MaySteer(String),
    /// It runs outside the project.
    Strays,
    /// What makes it unknown stands in its words, not in the entry.
    Odd(String),
}

/// Finds the first listed command that its entry does not cover as it stands.
pub(super) fn first<'a>(
    bench: Bench<'_>,
    facts: &'a ShellFacts,
) -> Option<(&'a SimpleCommand, Uncovered)> {
    facts
        .commands
        .iter()
        .enumerate()
        .find_map(|(index, command)| {
            let (entry, beyond) = longest(bench, command)?;
            let why = uncovered(bench, facts, index, command, &entry.words, beyond)?;
            Some((command, why))
        })
}

/// Tells whether `words` name `command`, and nothing behind them steers it.
pub(in crate::judge) fn names_plainly(
    words: &[String],
    facts: &ShellFacts,
    command: &SimpleCommand,
) -> bool {
    words_beyond(words, command)
        .is_some_and(|beyond| steered(facts, command, words, beyond).is_none())
}

fn uncovered(
    bench: Bench<'_>,
    facts: &ShellFacts,
    index: usize,
    command: &SimpleCommand,
    entry: &[String],
    beyond: Beyond<'_>,
) -> Option<Uncovered> {
    command.opaque.as_ref()?;
    if bench.call.facts.strayed.contains(&index) {
        return Some(Uncovered::Strays);
    }
    steered(facts, command, entry, beyond)
}

/// Returns what behind an entry makes something else of a command whose effect is not known.
fn steered(
    facts: &ShellFacts,
    command: &SimpleCommand,
    entry: &[String],
    beyond: Beyond<'_>,
) -> Option<Uncovered> {
    let opaque = command.opaque.as_deref()?;
    let is_reader = matches!(
        command.class,
        CommandClass::Nothing | CommandClass::Reader | CommandClass::Writer | CommandClass::Remover
    );
    if is_reader {
        // Such a program is known; only its words can have made it anything else.
        return (!beyond.words.is_empty()).then(|| Uncovered::Odd(opaque.to_owned()));
    }
    let name = runner(entry).or_else(|| name_of(command))?;
    let row = ROWS.iter().find(|row| row.programs.contains(&name));
    steering_word(row, facts, command, beyond)
}

/// Returns the program that an entry runs in the end (`npx jest`, `python -m pytest`).
fn runner(entry: &[String]) -> Option<&str> {
    entry
        .iter()
        .rev()
        .map(|word| word.rsplit('/').next().unwrap_or(word))
        .find(|word| ROWS.iter().any(|row| row.programs.contains(word)))
}

fn steering_word(
    row: Option<&Row>,
    facts: &ShellFacts,
    command: &SimpleCommand,
    beyond: Beyond<'_>,
) -> Option<Uncovered> {
    let mut forwarded = false;
    let mut words = beyond.words.iter().enumerate().peekable();
    while let Some((at, word)) = words.next() {
        let text = match word {
            Word::Literal(text) => text,
            Word::Dynamic(source) => {
                let loose = command.loose.contains(&(beyond.from + at));
                if row.is_some() && loose && !forwarded && is_of_line(facts, command, source) {
                    return Some(Uncovered::MaySteer(source.clone()));
                }
                continue;
            }
        };
        let next = words.peek().and_then(|(_, word)| word.literal());
        if text == "--" {
            forwarded = true;
        } else if steers(row.filter(|_| !forwarded), text, next) {
            return Some(Uncovered::Steers(text.clone()));
        }
    }
    None
}

/// Wrappers that add words of their own finding.
const APPENDING: [&str; 6] = ["xargs", "parallel", "find", "fd", "fdfind", "entr"];

/// Tells whether the line itself makes the text of a word, and may make it an option.
///
/// A variable that the line does not set is the person's.
fn is_of_line(facts: &ShellFacts, command: &SimpleCommand, source: &str) -> bool {
    if command
        .via
        .iter()
        .any(|via| APPENDING.contains(&via.as_str()))
        || source.contains('`')
    {
        return true;
    }
    let mut names = source.split('$').skip(1).peekable();
    if names.peek().is_none() {
        return true;
    }
    names.any(|name| {
        let name = name.strip_prefix('{').unwrap_or(name);
        let end = name
            .find(|c: char| c != '_' && !c.is_ascii_alphanumeric())
            .unwrap_or(name.len());
        let name = name.split_at_checked(end).map_or("", |(name, _)| name);
        let is_name = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
        !is_name || facts.env.set.iter().any(|set| set.name == name)
    })
}

/// Tells whether `word` steers a program of `row`; `next` is the word behind it.
fn steers(row: Option<&Row>, word: &str, next: Option<&str>) -> bool {
    let Some(rest) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
        return row.is_some_and(|row| operand_steers(row.operands, word));
    };
    let Some(long) = rest.strip_prefix('-') else {
        return row.is_some_and(|row| short_steers(row, rest, next));
    };
    let (name, value) = long
        .split_once('=')
        .map_or((long, next), |(name, value)| (name, Some(value)));
    let Some(row) = row else {
        return ANYWHERE.contains(&name);
    };
    if row.one_dash {
        return row.long.contains(&name) || ANYWHERE.contains(&name) || properties_steer(row, long);
    }
    if row.fine.contains(&name) {
        return name == "target" && value.is_some_and(is_path);
    }
    begins_one(&ANYWHERE, name)
        || begins_one(row.long, name)
        || begins_one(row.named, name) && value.is_none_or(is_path)
        || name.starts_with("config.")
}

/// Tells whether the letters behind one dash steer.
fn short_steers(row: &Row, rest: &str, next: Option<&str>) -> bool {
    if row.one_dash {
        let name = rest.split_once('=').map_or(rest, |(name, _)| name);
        return row.long.contains(&name) || properties_steer(row, rest);
    }
    for (at, letter) in rest.char_indices() {
        if row.short.contains(letter) {
            return !(letter == 'D' && is_harmless_property(rest));
        }
        if row.named_short.contains(letter) {
            let joined = rest
                .get(at + letter.len_utf8()..)
                .filter(|value| !value.is_empty());
            return joined.or(next).is_none_or(is_path);
        }
        if row.valued.contains(letter) {
            return false;
        }
    }
    false
}

/// Tells whether a value names a file and not something built in.
fn is_path(value: &str) -> bool {
    value.contains(['/', '.', '\\', '@'])
}

/// Tells whether `-Dname=value` steers, for programs that know it.
fn properties_steer(row: &Row, word: &str) -> bool {
    word.starts_with('D') && row.long.contains(&"D") && !is_harmless_property(word)
}

fn is_harmless_property(word: &str) -> bool {
    word.strip_prefix('D').is_some_and(|property| {
        let name = property.split('=').next().unwrap_or_default();
        PROPERTIES.contains(&name)
    })
}

/// Tells whether `name` is one of `options` or the beginning of one.
fn begins_one(options: &[&str], name: &str) -> bool {
    !name.is_empty() && options.iter().any(|option| option.starts_with(name))
}

fn operand_steers(operands: Operands, word: &str) -> bool {
    match operands {
        Operands::None => false,
        Operands::Begin(start) => word.starts_with(start),
        Operands::Variables(harmless) => word.split_once('=').is_some_and(|(name, value)| {
            !(harmless.contains(&name) && value.bytes().all(|byte| byte.is_ascii_digit()))
        }),
    }
}
