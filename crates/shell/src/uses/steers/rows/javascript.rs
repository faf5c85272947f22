//! npm and the like, test runners, linters and compilers of JavaScript and TypeScript.

use super::{Behind, Operands, ROW, Row};

/// Options of scripts: those of the common runners.
macro_rules! script_flags {
    () => {
        "--ci --coverage --no-coverage --collectCoverage --verbose --silent --quiet --color --colors --no-color \
            --runInBand --watch --watchAll --no-watch --run --forceExit --bail --no-bail --exit --no-cache --cache \
            --detectOpenHandles --logHeapUsage --no-file-parallelism --file-parallelism --randomize --update \
            --updateSnapshot --onlyChanged --onlyFailures --lastCommit --passWithNoTests --pass-with-no-tests \
            --listTests --showConfig --clearCache --json --fix --fix-dry-run --check --write --list --list-different \
            --noEmit --expand --debug-brk --full-trace --forbid-only --forbid-pending --parallel --serial --recursive \
            --invert --no-isolate --isolate --headed --headless --last-failed --fail-fast --no-fail-fast \
            --allowOnly --hideSkippedTests --testLocationInResults --errorOnDeprecated --noStackTrace \
            --coverage.enabled --coverage.all --strict --pretty --clearScreen --no-clearScreen \
            --max-warnings --bail --coverage --changed --retry --retries --slow --inline-diffs --no-watchman"
    };
}

/// Options of scripts with a value.
macro_rules! script_values {
    () => {
        "--testNamePattern --test-name-pattern --testPathPattern --testPathPatterns --testPathIgnorePatterns \
             --grep --fgrep --maxWorkers --minWorkers --max-workers --workers --testTimeout --test-timeout --timeout \
             --hookTimeout --teardownTimeout --shard --seed --selectProjects --ignoreProjects --changedSince \
             --findRelatedTests --related --runTestsByPath --exclude --max-warnings --ext --repeat-each --spec --jobs \
             --test-concurrency --concurrency --collectCoverageFrom --coverage-reporter --maxConcurrency \
             --test-reporter-timeout --workerIdleMemoryLimit --openHandlesTimeout --match --tags"
    };
}

/// Options of package managers.
macro_rules! package_flags {
    () => {
        "--silent --quiet --verbose --no-color --color --foreground-scripts --audit --no-audit --fund \
    --no-fund --no-progress --progress --no-update-notifier --ignore-scripts --if-present --workspaces \
    --include-workspace-root --json --long --parseable --dry-run --prefer-offline --offline --no-save --save \
    --save-dev --save-prod --save-exact --save-optional --save-peer --dev --exact --production --force \
    --legacy-peer-deps --strict-peer-deps --package-lock-only --no-package-lock --all --frozen-lockfile \
    --no-frozen-lockfile --immutable --recursive --stream --parallel --aggregate-output --no-bail --bail \
    --no-install --no --include-dependents --pure-lockfile --non-interactive --check-files --prod --lockfile-only -ws -iwr"
    };
}

/// Options of package managers with a value.
macro_rules! package_values {
    () => {
        "--workspace --loglevel --log-level --omit --include --tag --access --depth --otp --filter \
    --fetch-retries --fetch-timeout --network-timeout --mutex --since --workspace-concurrency"
    };
}

/// Words for scripts of a project after `--`: those of the common runners.
static SCRIPT: Row = Row {
    behind: Behind::By(&SCRIPT),
    ..SCRIPT_WORDS
};

const SCRIPT_WORDS: Row = Row {
    flags: script_flags!(),
    values: script_values!(),
    names: "--reporter --reporters --format --formatter --env --environment --testEnvironment --pool --browser \
            --project --coverageReporters --coverage.reporter --coverage.provider --test-reporter --log-level \
            --loglevel --logLevel",
    letters: "wvsibxlqh",
    letter_values: "tgj",
    letter_names: "fuR",
    ..ROW
};

const PACKAGES: &str = package_flags!();

const SELECTS: &str = package_values!();

pub(super) const ROWS: &[Row] = &[
    Row {
        programs: &["npm"],
        flags: PACKAGES,
        values: SELECTS,
        letters: "sqdlaDESOBPfh",
        letter_values: "w",
        at: true,
        behind: Behind::By(&SCRIPT),
        ..ROW
    },
    Row {
        programs: &["npm"],
        subs: &["exec", "x"],
        flags: PACKAGES,
        values: SELECTS,
        letters: "sq",
        letter_values: "w",
        at: true,
        launches: true,
        operands: Operands::Script,
        behind: Behind::By(&super::NOTHING),
        ..ROW
    },
    Row {
        programs: &["npx", "pnpx", "bunx"],
        flags: "--yes --no --no-install --quiet --silent --offline --prefer-offline --bun --verbose",
        values: "--workspace --loglevel",
        letters: "yqsh",
        letter_values: "w",
        at: true,
        launches: true,
        operands: Operands::Script,
        behind: Behind::By(&super::NOTHING),
        ..ROW
    },
    // Words that these do not know are passed on to the script.
    Row {
        programs: &["pnpm"],
        flags: concat!(script_flags!(), " ", package_flags!()),
        values: concat!(script_values!(), " ", package_values!()),
        names: SCRIPT_WORDS.names,
        letters: "wvsibxlqhr",
        letter_values: "tgjF",
        letter_names: "fuR",
        at: true,
        launches: true,
        behind: Behind::By(&SCRIPT),
        ..ROW
    },
    Row {
        programs: &["yarn", "bun"],
        flags: SCRIPT_WORDS.flags,
        values: SCRIPT_WORDS.values,
        names: SCRIPT_WORDS.names,
        letters: "wvsibxlqh",
        letter_values: "tgj",
        letter_names: "fuR",
        at: true,
        launches: true,
        behind: Behind::By(&SCRIPT),
        ..ROW
    },
    Row {
        programs: &["pnpm", "yarn", "bun"],
        subs: &[
            "install", "i", "add", "remove", "rm", "update", "up", "upgrade", "ci", "list", "ls",
            "outdated", "why", "audit", "info", "view", "pack", "publish", "dedupe", "prune",
            "link", "unlink",
        ],
        flags: PACKAGES,
        values: SELECTS,
        letters: "DEOPSsdqraLh",
        letter_values: "wF",
        at: true,
        ..ROW
    },
    Row {
        programs: &["jest"],
        flags: SCRIPT_WORDS.flags,
        values: SCRIPT_WORDS.values,
        names: SCRIPT_WORDS.names,
        letters: "ibefouhv",
        letter_values: "tw",
        ..ROW
    },
    Row {
        programs: &["vitest"],
        flags: SCRIPT_WORDS.flags,
        values: SCRIPT_WORDS.values,
        names: SCRIPT_WORDS.names,
        letters: "uwhv",
        letter_values: "t",
        ..ROW
    },
    Row {
        programs: &["mocha"],
        flags: SCRIPT_WORDS.flags,
        values: SCRIPT_WORDS.values,
        names: "--reporter --ui",
        letters: "bcCpwAivhV",
        letter_values: "gfstj",
        letter_names: "Ru",
        ..ROW
    },
    Row {
        programs: &["playwright", "cypress", "ava", "tap", "karma", "wtr"],
        flags: SCRIPT_WORDS.flags,
        values: SCRIPT_WORDS.values,
        names: SCRIPT_WORDS.names,
        letters: "xuvsh",
        letter_values: "gj",
        ..ROW
    },
    Row {
        programs: &["eslint", "stylelint", "biome", "oxlint", "xo", "standard"],
        flags: "--fix --fix-dry-run --quiet --cache --no-cache --color --no-color --no-inline-config --debug \
                --no-error-on-unmatched-pattern --report-unused-disable-directives --exit-on-fatal-error --write \
                --pass-on-no-patterns --no-warn-ignored --allow-empty-input --stats --verbose --unsafe --apply \
                --error-on-warnings --no-errors-on-unmatched --changed --staged --print-config --type-aware",
        values: "--max-warnings --ext --rule --global --ignore-pattern --fix-type --cache-strategy --concurrency \
                 --stdin-filename --max-diagnostics --diagnostic-level --since --only --skip --deny --allow --warn",
        names: "--format --formatter --reporter --parser --log-level --colors",
        letters: "qvh",
        letter_names: "f",
        ..ROW
    },
    Row {
        programs: &["prettier", "dprint"],
        flags: "--check --write --list-different --no-config --no-editorconfig --color --no-color --cache --no-cache \
                --ignore-unknown --single-quote --no-semi --use-tabs --bracket-same-line --jsx-single-quote \
                --no-error-on-unmatched-pattern --with-node-modules --no-bracket-spacing --require-pragma \
                --insert-pragma --single-attribute-per-line --experimental-ternaries --require-config",
        values: "--print-width --tab-width --trailing-comma --end-of-line --prose-wrap --quote-props --arrow-parens \
                 --cache-strategy --stdin-filepath --html-whitespace-sensitivity --object-wrap",
        names: "--parser --log-level --loglevel",
        letters: "clwuh",
        ..ROW
    },
    Row {
        programs: &["tsc", "vue-tsc", "svelte-check"],
        flags: "--noEmit --pretty --watch --incremental --strict --skipLibCheck --listFiles --listFilesOnly \
                --listEmittedFiles --diagnostics --extendedDiagnostics --traceResolution --showConfig --all --force \
                --noErrorTruncation --noUnusedLocals --noUnusedParameters --noImplicitAny --esModuleInterop \
                --allowJs --checkJs --isolatedModules --resolveJsonModule --preserveWatchOutput --explainFiles \
                --declaration --emitDeclarationOnly --sourceMap --clean --dry --verbose --assumeChangesOnlyAffectDirectDependencies \
                --noImplicitReturns --strictNullChecks --allowImportingTsExtensions -w -v -h -d -i --init --noEmitOnError",
        values: "--target --module --moduleResolution --jsx --lib --locale --maxNodeModuleJsDepth --newLine --threshold \
                 --fail-on-warnings --output -t -m",
        one_dash: true,
        ..ROW
    },
    Row {
        programs: &[
            "next", "vite", "turbo", "nx", "webpack", "rollup", "esbuild", "ng", "astro",
        ],
        flags: "--debug --profile --no-lint --turbo --turbopack --watch --force --minify --sourcemap --emptyOutDir \
                --no-cache --verbose --dry-run --dry --continue --no-daemon --skip-nx-cache --progress --silent --strict",
        values: "--mode --logLevel --filter --concurrency --parallel --target --targets --projects --exclude --base \
                 --head --configuration --affected",
        letters: "dvh",
        letter_values: "t",
        behind: Behind::By(&SCRIPT),
        ..ROW
    },
    Row {
        programs: &["node", "nodejs"],
        flags: "--test --experimental-test-coverage --no-warnings --enable-source-maps --test-force-exit --test-only \
                --check --watch --trace-warnings --trace-uncaught --trace-deprecation --no-deprecation \
                --experimental-strip-types --experimental-transform-types --experimental-vm-modules \
                --experimental-test-module-mocks --experimental-test-snapshots --test-update-snapshots \
                --pending-deprecation --throw-deprecation --expose-gc --preserve-symlinks --no-experimental-strip-types",
        values: "--test-name-pattern --test-skip-pattern --test-concurrency --test-timeout --test-shard \
                 --max-old-space-size --max_old_space_size --stack-size --stack-trace-limit --unhandled-rejections \
                 --test-coverage-include --test-coverage-exclude --test-coverage-lines --test-coverage-branches \
                 --test-coverage-functions --test-isolation --experimental-test-isolation --dns-result-order",
        names: "--test-reporter",
        letters: "chv",
        operands: Operands::Script,
        ..ROW
    },
    Row {
        programs: &["deno"],
        flags: "--parallel --fail-fast --quiet --trace-leaks --no-check --check --cached-only --no-remote --no-npm \
                --shuffle --doc --permit-no-files --watch --no-prompt --no-run --clean --fix --json --compact \
                --no-lock --frozen --unstable --hide-stacktraces",
        values: "--filter --ignore --fail-fast --shuffle --ext --line-width --indent-width --log-level --rules-include \
                 --rules-exclude",
        names: "--reporter",
        letters: "qh",
        letter_values: "L",
        ..ROW
    },
];
