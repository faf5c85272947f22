//! The words that keep a proof, by runner.

use crate::words::words;

/// The words that keep the proof of one kind of runner.
pub(super) struct Row {
    /// Names of the programs.
    pub(super) programs: &'static [&'static str],
    /// Words without a value.
    pub(super) words: &'static str,
    /// Options with a value, joined by `=` or separate.
    pub(super) valued: &'static str,
    /// Options followed by one of these values.
    pub(super) pairs: &'static [(&'static str, &'static [&'static str])],
    /// Letters that may be combined (`-qvx`).
    pub(super) letters: &'static str,
    /// Short options with a number, joined or separate (`-j4`).
    pub(super) numbers: &'static str,
    /// The same after `--`.
    pub(super) behind: &'static str,
    /// Options with a value after `--`.
    pub(super) behind_valued: &'static str,
}

pub(super) const ROW: Row = Row {
    programs: &[],
    words: "",
    valued: "",
    pairs: &[],
    letters: "",
    numbers: "",
    behind: "",
    behind_valued: "",
};

/// Words for test scripts that are passed on after `--`.
pub(super) const SCRIPT_WORDS: &str = "--ci --coverage --no-coverage --coverage=false --verbose --silent -s --quiet --color --colors --no-color \
    --runInBand -i --watchAll=false --watch=false --no-watch --run --forceExit --bail --exit --no-cache \
    --detectOpenHandles --logHeapUsage --no-file-parallelism --randomize";

/// Options with a value that are passed on to test scripts.
pub(super) const SCRIPT_VALUED: &str = "--bail= --reporter --reporters --maxWorkers --testTimeout --timeout --coverageReporters \
    --coverage.reporter --coverage-reporter --pool --seed";

pub(super) const ROWS: &[Row] = &[
    Row {
        programs: &["cargo"],
        words: "--quiet --verbose --workspace --all --all-targets --all-features --release --locked --offline \
            --frozen --no-fail-fast --timings --ignore-rust-version --future-incompat-report --no-capture \
            --nocapture --hide-progress-bar --cargo-quiet",
        valued: "--jobs --color --message-format --profile --target-dir",
        pairs: &[],
        letters: "qvr",
        numbers: "-j",
        behind: "--nocapture --no-capture --show-output --quiet -q --include-ignored --report-time",
        behind_valued: "--test-threads --color --format",
    },
    // Its `--profile` may select tests.
    Row {
        programs: &["nextest", "cargo-nextest"],
        words: "--workspace --all --all-targets --all-features --release --locked --offline --frozen --no-fail-fast \
            --no-capture --nocapture --hide-progress-bar --cargo-quiet --verbose --no-tests=fail \
            --run-ignored=all",
        valued: "--color --cargo-profile --target-dir --status-level --final-status-level --failure-output \
            --success-output --test-threads --retries --build-jobs",
        letters: "vr",
        numbers: "-j",
        ..ROW
    },
    Row {
        programs: &["pytest", "py.test"],
        words: "--quiet --verbose --exitfirst --showlocals --no-header --no-summary --full-trace --disable-warnings \
            --disable-pytest-warnings --strict-markers --strict-config --strict --runxfail --forked \
            --no-cov-on-fail --cov . ./ --no-cov --cov-append --cov-branch --ff --failed-first --nf --new-first \
            --cache-clear --setup-show --force-sugar --doctest-modules",
        valued: "--tb= --color= --durations= --durations-min= --maxfail= --cov= --capture= --show-capture= \
            --verbosity= --dist= --numprocesses= --cov-report= --timeout= --cov-fail-under= --durations \
            --maxfail --tb --color --timeout --cov --cov-report --capture --show-capture --durations-min \
            --log-level --log-cli-level --asyncio-mode --verbosity --dist --numprocesses --randomly-seed \
            --junitxml --junit-xml --import-mode -W",
        pairs: &[(
            "-p",
            words!(
                "no:cacheprovider no:warnings no:randomly no:sugar no:xdist no:logging
                 no:faulthandler no:rerunfailures"
            ),
        )],
        letters: "qvsxlrafEpPwN",
        numbers: "-n",
        ..ROW
    },
    Row {
        programs: &["go"],
        words: "./... -v -race -cover -json -failfast -x -trimpath -msan -asan -benchmem -mod=mod -mod=vendor \
            -mod=readonly -buildvcs=false -fullpath -v=true",
        valued: "-count -covermode -coverpkg -shuffle -parallel -p -timeout -cpu -coverprofile -outputdir",
        ..ROW
    },
    Row {
        programs: &["jest"],
        words: "--ci --coverage --verbose --silent --runInBand -i --no-cache --color --colors --no-color --forceExit \
            --detectOpenHandles --watchAll=false --watch=false --expand -e --errorOnDeprecated --logHeapUsage \
            --bail -b --json --noStackTrace --no-watchman --randomize --no-coverage --coverage=false \
            --collectCoverage --verbose=false --silent=false --no-color --clearMocks --workerThreads",
        valued: "--maxWorkers --bail= --reporters --testTimeout --coverageReporters --openHandlesTimeout \
            --coverageDirectory --workerIdleMemoryLimit --seed",
        numbers: "-w",
        ..ROW
    },
    Row {
        programs: &["vitest"],
        words: "run --run --coverage --no-color --color --silent --watch=false --no-watch --no-file-parallelism \
            --hideSkippedTests --no-threads --threads --isolate --no-isolate --globals --no-cache --no-ui \
            --ui=false --printConsoleTrace --logHeapUsage --disable-console-intercept --coverage.enabled \
            --coverage=false --no-coverage --verbose",
        valued: "--reporter --bail --pool --maxWorkers --minWorkers --testTimeout --hookTimeout --teardownTimeout \
            --coverage.reporter --coverage.provider --outputFile",
        ..ROW
    },
    Row {
        programs: &["mocha"],
        words: "--bail -b --exit --color --no-color --full-trace --check-leaks --parallel -p --recursive --colors -C \
            -c --forbid-only --forbid-pending --inline-diffs",
        valued: "--jobs --timeout --reporter -R --slow",
        numbers: "-j",
        ..ROW
    },
    Row {
        programs: &["npm"],
        words: "--silent -s --quiet --verbose --no-color --color --foreground-scripts --no-audit --no-fund \
            --no-progress --no-update-notifier",
        valued: "--loglevel=",
        behind: SCRIPT_WORDS,
        behind_valued: SCRIPT_VALUED,
        ..ROW
    },
    // These pass words on without `--`.
    Row {
        programs: &["pnpm", "yarn", "bun"],
        words: SCRIPT_WORDS,
        valued: SCRIPT_VALUED,
        behind: SCRIPT_WORDS,
        behind_valued: SCRIPT_VALUED,
        ..ROW
    },
    Row {
        programs: &["make", "gmake"],
        words: "--silent --quiet --no-print-directory --print-directory --always-make --trace --output-sync V=1 \
            VERBOSE=1 V=0 --keep-going -Otarget -Oline",
        // As a separate word, the value would be a goal.
        valued: "--jobs= --output-sync=",
        letters: "sBwk",
        numbers: "-j",
        ..ROW
    },
    Row {
        programs: &["mvn", "mvnw"],
        words: "-q --quiet -B --batch-mode -e --errors -X --debug -o --offline -U -ntp --no-transfer-progress -ff \
            --fail-fast -V --show-version -fae --fail-at-end clean -Dstyle.color=never -Djava.awt.headless=true \
            --color=never",
        numbers: "-T",
        valued: "--threads --color",
        ..ROW
    },
    Row {
        programs: &["gradle", "gradlew"],
        words: "-q --quiet -i --info -s --stacktrace --no-daemon --daemon --parallel --no-build-cache --rerun-tasks \
            --offline --no-parallel clean cleanTest --continue -S --full-stacktrace -w --warn --build-cache \
            --configuration-cache --no-configuration-cache --scan --no-scan --no-watch-fs",
        valued: "--console --warning-mode --max-workers",
        ..ROW
    },
    Row {
        programs: &["ctest"],
        words: "--output-on-failure -V -VV --verbose --extra-verbose --progress -Q --quiet --stop-on-failure \
            --schedule-random --no-tests=error",
        valued: "--parallel --timeout",
        numbers: "-j",
        ..ROW
    },
    Row {
        programs: &["rspec"],
        words: "--color --no-color --force-color --fail-fast --backtrace -b --profile -fd -fp --no-profile \
            --warnings -c",
        valued: "--format -f --order --seed --fail-fast= --profile=",
        ..ROW
    },
    Row {
        programs: &["tox"],
        words: "run r run-parallel -q -v -vv --quiet --verbose -r --recreate",
        valued: "-p --parallel",
        ..ROW
    },
    // Its `-p` selects sessions.
    Row {
        programs: &["nox"],
        words: "-v --verbose -r --reuse-existing-virtualenvs",
        ..ROW
    },
    Row {
        programs: &[
            "ruff", "mypy", "black", "isort", "flake8", "pylint", "pyright", "eslint", "prettier",
            "tsc", "biome",
        ],
        words: ". ./ -q --quiet --color --no-color --pretty --no-cache",
        valued: "--color= --max-warnings=0",
        ..ROW
    },
    Row {
        programs: &["unittest"],
        words: "discover -v --verbose -q --quiet -f --failfast -b --buffer -c --catch --locals",
        ..ROW
    },
    Row {
        programs: &["node"],
        words: "--experimental-test-coverage --no-warnings --enable-source-maps --test-force-exit",
        valued: "--test-reporter --test-reporter-destination --test-concurrency --test-timeout",
        ..ROW
    },
    Row {
        programs: &["phpunit", "pest"],
        words: "--testdox --no-coverage --coverage-text --stop-on-failure --stop-on-error --verbose -v --debug \
            --no-progress --display-warnings --display-deprecations --fail-on-warning --fail-on-risky --compact \
            --parallel",
        valued: "--colors= --memory-limit=",
        ..ROW
    },
    Row {
        programs: &["dotnet"],
        words: "--no-restore --nologo -nologo --blame -m:1",
        valued: "-v --verbosity -c --configuration -l --logger --collect --results-directory",
        ..ROW
    },
    Row {
        programs: &["deno"],
        words: "-A --allow-all --allow-read --allow-env --allow-net --allow-run --allow-write --allow-sys --parallel \
            --fail-fast --coverage --quiet -q --trace-leaks",
        valued: "--reporter --fail-fast=",
        ..ROW
    },
    Row {
        programs: &["mix"],
        words: "--color --trace --cover --warnings-as-errors --force --no-deps-check",
        valued: "--max-failures --seed --slowest --timeout",
        ..ROW
    },
    Row {
        programs: &["swift"],
        words: "--parallel -v --verbose -q --quiet --enable-code-coverage",
        valued: "--num-workers -c --configuration",
        numbers: "-j",
        ..ROW
    },
    Row {
        programs: &["rake"],
        words: "--trace -t -v --verbose -q --quiet -s --silent",
        ..ROW
    },
    Row {
        programs: &["bazel", "bazelisk"],
        words: "--keep_going -k --verbose_failures --noshow_progress --nocache_test_results --cache_test_results=no",
        valued: "--test_output --jobs --color --curses --test_timeout",
        ..ROW
    },
];

/// Words of a script that the entry names by its path.
pub(super) static OWN_SCRIPT: Row = Row {
    words: "-q --quiet --silent --verbose --color --no-color",
    valued: "--color=",
    ..ROW
};

/// Programs that pass the words after another program's name on to it.
pub(super) const LAUNCHERS: &str = "npx pnpx bunx pnpm yarn bun python python2 python3 python3.10 python3.11 python3.12 python3.13 \
    python3.14 pypy3 uv poetry pdm hatch pipenv rye pixi bundle php ruby docker docker-compose podman mise \
    direnv conda mamba micromamba xvfb-run timeout env nice time cargo";

/// Options whose value names something to load: built in, or other code.
pub(super) const LOADED: &str = "--reporter --reporters -R --pool --test-reporter --logger -l --collect --coverageReporters \
    --coverage.reporter --coverage-reporter --coverage.provider --format -f --import-mode";

/// Options whose value is a number: for a runner without them, it would be a name of tests.
pub(super) const COUNTED: &str = "--timeout --testTimeout --test-timeout --hookTimeout --teardownTimeout --maxWorkers --minWorkers --seed \
    --slow --slowest --jobs -p --parallel --threads --max-workers --num-workers --max-failures \
    --test-concurrency --test-threads --maxfail --bail";

/// Words that make any command only report what it would do.
pub(super) const ONLY_SAYS: &str =
    "--help --version --dry-run --dryrun --just-print --list --validate-only";

/// Words that alone ask a program for information about itself.
pub(super) const ASKS: &str = "-h -V -? help version";

/// The beginning of a command, with the options and letters that make it do nothing.
type Undone = (&'static [&'static str], &'static str, &'static str);

/// Options that make commands without code of the project do nothing.
pub(super) const UNDONE: &[Undone] = &[
    (&["git", "commit"], "--short --porcelain --long --null", "z"),
    (&["git", "push"], "", "n"),
    (&["git", "add"], "--refresh", "n"),
    (&["git", "fetch"], "", "n"),
    (&["git", "rm"], "", "n"),
    (&["git", "mv"], "", "n"),
    (&["git", "clean"], "", "n"),
    (&["git", "merge"], "--abort --quit --no-commit", ""),
    (&["git", "rebase"], "--abort --quit", ""),
    (&["git", "tag"], "--verify --contains", "lnv"),
    (&["gh"], "--web", "w"),
    (&["docker", "build"], "--check --call", ""),
    (&["rsync"], "", "n"),
];
