//! Build tools and test runners of compiled languages, Ruby, PHP and the JVM.

use super::{Behind, NOTHING, Operands, ROW, Row};

/// Words of a Rust test program.
static LIBTEST: Row = Row {
    flags: "--nocapture --no-capture --show-output --quiet --include-ignored --ignored --exact --list --test --bench \
            --report-time --ensure-time --exclude-should-panic",
    values: "--test-threads --color --format --skip --shuffle-seed",
    letters: "qh",
    behind: Behind::By(&NOTHING),
    ..ROW
};

/// Words that `cargo clippy` passes to the compiler: levels of lints.
static LINTS: Row = Row {
    values: "--deny --warn --allow --forbid --cap-lints --force-warn",
    letter_values: "DWAF",
    behind: Behind::By(&NOTHING),
    ..ROW
};

/// Words that `cargo fmt` passes to `rustfmt`.
static RUSTFMT: Row = Row {
    flags: "--check --verbose --quiet --files-with-diff",
    values: "--emit --edition --style-edition --color",
    letters: "lvq",
    behind: Behind::By(&NOTHING),
    ..ROW
};

/// Words that `cmake --build` passes to the build tool.
static NATIVE_BUILD: Row = Row {
    flags: "--keep-going --silent --quiet",
    letters: "ksv",
    letter_values: "j",
    operands: Operands::Known(""),
    behind: Behind::By(&NOTHING),
    ..ROW
};

const CARGO: Row = Row {
    programs: &["cargo"],
    flags: "--quiet --verbose --workspace --all --all-targets --all-features --no-default-features --release --locked \
            --offline --frozen --no-fail-fast --timings --ignore-rust-version --future-incompat-report --lib --bins \
            --bin --examples --example --tests --test --benches --bench --doc --no-run --no-deps --list --fix \
            --allow-dirty --allow-staged --allow-no-vcs --keep-going --check --build-plan --unit-graph --dry-run \
            --no-verify --document-private-items --no-capture --nocapture --hide-progress-bar --cargo-quiet \
            --duplicates --no-dedupe --aggressive --recursive --no-metadata --no-tests --failed --keep-failed \
            --run-ignored --no-clean --html --lcov --json --summary-only --broken-code --edition-idioms",
    values: "--jobs --color --message-format --profile --package --exclude --features --bin --example --test --bench \
             --test-threads --retries --status-level --final-status-level --failure-output --success-output --partition \
             --filter-expr --filterset --run-ignored --no-tests --max-fail --prune --depth --charset --format --invert \
             --edges --precise --edition --cargo-profile --fail-under-lines --cap-lints --vers --otp --slow-timeout",
    names: "--target",
    letters: "qvrhVn",
    letter_values: "pFjeEi",
    starts: &["+"],
    behind: Behind::By(&LIBTEST),
    ..ROW
};

const BAZEL: Row = Row {
    programs: &["bazel", "bazelisk"],
    flags: "--keep_going --nokeep_going --verbose_failures --noshow_progress --show_progress --nocache_test_results \
            --cache_test_results --build_tests_only --test_keep_going --notest_keep_going --subcommands --nobuild \
            --announce_rc --check_up_to_date --show_timestamps --noshow_loading_progress --verbose_explanations",
    values: "--test_output --jobs --color --curses --test_timeout --test_filter --test_tag_filters --build_tag_filters \
             --runs_per_test --flaky_test_attempts --compilation_mode --test_summary --local_test_jobs --test_size_filters \
             --test_timeout_filters --test_lang_filters --show_result --ui_event_filters --output --notool_deps",
    letters: "k",
    letter_values: "jc",
    behind: Behind::By(&NOTHING),
    ..ROW
};

const PHPUNIT: Row = Row {
    programs: &["phpunit", "pest", "artisan"],
    flags: "--testdox --no-coverage --coverage --stop-on-failure --stop-on-error --stop-on-defect --stop-on-warning --verbose \
            --debug --no-progress --no-output --no-results --display-warnings --display-deprecations --display-skipped \
            --display-incomplete --display-errors --display-notices --display-all-issues --display-phpunit-deprecations \
            --fail-on-warning --fail-on-risky --fail-on-skipped --fail-on-incomplete --fail-on-deprecation \
            --compact --parallel --list-tests --list-suites --list-groups --teamcity --strict-coverage \
            --reverse-list --do-not-cache-result --cache-result --enforce-time-limit --process-isolation --dirty --bail \
            --ci --retry --profile --disallow-test-output --force --seed --pretend --step --no-interaction --without-tty",
    values: "--filter --exclude-filter --group --exclude-group --testsuite --exclude-testsuite --colors --order-by --random-order-seed \
             --repeat --default-time-limit --min --processes --memory-limit --shard --test-suffix --covers --uses",
    letters: "vh",
    letter_values: "p",
    ..ROW
};

/// Words that composer passes to the test runner.
static PHPUNIT_WORDS: Row = Row {
    behind: Behind::By(&NOTHING),
    ..PHPUNIT
};

pub(super) const ROWS: &[Row] = &[
    CARGO,
    Row {
        subs: &["clippy"],
        behind: Behind::By(&LINTS),
        ..CARGO
    },
    Row {
        subs: &["fmt"],
        behind: Behind::By(&RUSTFMT),
        ..CARGO
    },
    Row {
        subs: &[
            "build", "b", "check", "c", "doc", "d", "fix", "rustc", "rustdoc", "publish",
            "package", "install",
        ],
        behind: Behind::By(&NOTHING),
        ..CARGO
    },
    Row {
        subs: &["run", "r"],
        behind: Behind::By(&NOTHING),
        operands: Operands::Script,
        ..CARGO
    },
    Row {
        programs: &["make", "gmake", "remake"],
        flags: "--silent --quiet --no-print-directory --print-directory --always-make --trace --keep-going --dry-run \
                --just-print --recon --question --touch --ignore-errors --no-silent --stop --no-keep-going \
                --warn-undefined-variables --output-sync --no-builtin-rules --no-builtin-variables --jobs --print-data-base",
        values: "",
        letters: "sBkniqtwSrRpdh",
        letter_values: "jlO",
        operands: Operands::Goals("clean"),
        variables: Some("V VERBOSE DEBUG QUIET Q"),
        behind: Behind::Operands,
        ..ROW
    },
    Row {
        programs: &["go"],
        flags: "-v -race -cover -json -failfast -x -trimpath -msan -asan -benchmem -short -c -i -n -a -fullpath -buildvcs \
                -work -m -u -t -d -e -deps -test -s -l -linkshared -cgo -update -fix -diff -all -artifacts -why -json=true",
        values: "-count -covermode -coverpkg -shuffle -parallel -p -timeout -cpu -run -skip -list -bench -benchtime -fuzz \
                 -fuzztime -fuzzminimizetime -mod -tags -vet -buildvcs -f -go -compat -buildmode -installsuffix -lang",
        one_dash: true,
        behind: Behind::By(&NOTHING),
        ..ROW
    },
    Row {
        programs: &["go"],
        subs: &["run", "generate", "tool"],
        flags: "-v -race -x -n -a -trimpath",
        values: "-p -mod -tags",
        one_dash: true,
        operands: Operands::Script,
        behind: Behind::By(&NOTHING),
        ..ROW
    },
    Row {
        programs: &["go"],
        subs: &["env"],
        flags: "-json -changed",
        one_dash: true,
        ..ROW
    },
    Row {
        programs: &["gofmt", "goimports", "gofumpt"],
        letters: "lwdse",
        ..ROW
    },
    Row {
        programs: &["golangci-lint", "staticcheck", "revive"],
        flags: "--verbose --fast --fast-only --fix --new --no-config --tests --show-stats --allow-parallel-runners \
                --allow-serial-runners --sort-results --print-issued-lines --print-linter-name --uniq-by-line --disable-all \
                --enable-all --color",
        values: "--timeout --concurrency --new-from-rev --new-from-merge-base --enable --disable --enable-only --disable-only \
                 --default --max-issues-per-linter --max-same-issues --issues-exit-code --build-tags --exclude --presets \
                 --modules-download-mode --color --max-same-issues --go",
        letters: "vhn",
        letter_values: "jED",
        ..ROW
    },
    Row {
        programs: &["cmake"],
        flags: "--verbose --clean-first --parallel",
        values: "--parallel --config --build --resolve-package-references --list-presets",
        letters: "vN",
        letter_values: "j",
        operands: Operands::Any,
        behind: Behind::By(&NATIVE_BUILD),
        ..ROW
    },
    Row {
        programs: &["ctest"],
        flags: "--output-on-failure --verbose --extra-verbose --progress --quiet --stop-on-failure --schedule-random \
                --rerun-failed --show-only --no-label-summary --no-subproject-summary --repeat-until-fail \
                -VV --print-labels --parallel",
        values: "--parallel --timeout --tests-regex --exclude-regex --label-regex --label-exclude --repeat --no-tests \
                 --build-config --stop-time --tests-information --union",
        letters: "VQNFUHh",
        letter_values: "jRELCI",
        operands: Operands::Any,
        behind: Behind::By(&NOTHING),
        ..ROW
    },
    Row {
        programs: &["ninja", "samu"],
        flags: "--verbose --quiet",
        letters: "vnh",
        letter_values: "jkl",
        operands: Operands::Goals("clean"),
        ..ROW
    },
    Row {
        programs: &["meson"],
        flags: "--verbose --print-errorlogs --no-rebuild --list --quiet --no-stdsplit --clean",
        values: "--suite --no-suite --num-processes --timeout-multiplier --repeat --jobs --maxfail",
        letters: "vqh",
        letter_values: "jt",
        ..ROW
    },
    Row {
        programs: &[
            "just", "task", "go-task", "invoke", "inv", "mage", "lein", "rake", "thor", "tusk",
        ],
        flags: "--quiet --verbose --dry-run --list --list-all --summary --silent --force --parallel --trace --tasks \
                --prereqs --yes --color --no-color --status --highlight --no-highlight --unsorted --exit-code \
                --rules --echo",
        values: "--concurrency --color --output --interval --jobs",
        letters: "qvnlsaPhVyATW",
        letter_values: "j",
        operands: Operands::Goals("clean"),
        variables: Some(""),
        behind: Behind::By(&NOTHING),
        ..ROW
    },
    Row {
        programs: &["ant"],
        flags: "-q -quiet -v -verbose -S -silent -d -debug -e -emacs -k -keep-going -noinput -p -projecthelp",
        one_dash: true,
        operands: Operands::Goals("clean"),
        ..ROW
    },
    Row {
        programs: &["mvn", "mvnw", "mvnd"],
        flags: "-q --quiet -B --batch-mode -e --errors -X --debug --verbose -o --offline -U --update-snapshots -ntp \
                --no-transfer-progress -ff --fail-fast -V --show-version -v -fae --fail-at-end -fn --fail-never -N \
                --non-recursive -am --also-make -amd --also-make-dependents -nsu --no-snapshot-updates -C \
                --strict-checksums -c --lax-checksums -ntp --help -h",
        values: "--threads --color -T -pl --projects -P --activate-profiles -rf --resume-from",
        properties: "test it.test skipTests skipITs style.color tests maven.test.skip java.awt.headless surefire.failIfNoSpecifiedTests \
                     failIfNoTests failIfNoSpecifiedTests surefire.failIfNoTests groups excludedGroups \
                     surefire.rerunFailingTestsCount trimStackTrace spotless.check.skip checkstyle.skip jacoco.skip \
                     maven.javadoc.skip enforcer.skip surefire.useFile surefire.printSummary",
        letter_values: "T",
        one_dash: true,
        operands: Operands::Goals("clean"),
        ..ROW
    },
    Row {
        programs: &["gradle", "gradlew"],
        flags: "--quiet --info --stacktrace --full-stacktrace --no-daemon --daemon --parallel --no-parallel --build-cache \
                --no-build-cache --rerun-tasks --offline --continue --warn --configuration-cache --no-configuration-cache \
                --no-scan --no-watch-fs --watch-fs --dry-run --debug --rerun --fail-fast --test-dry-run --status \
                --configure-on-demand --refresh-dependencies --no-rebuild --continuous --all",
        values: "--console --warning-mode --max-workers --tests --exclude-task --priority --configuration --dependency --task",
        letters: "qisSwdmath",
        letter_values: "x",
        operands: Operands::Goals("clean cleanTest"),
        ..ROW
    },
    Row {
        programs: &["sbt", "sbtn"],
        flags: "-no-colors --no-colors -batch --batch -v --verbose --no-server --client --error --warn --info --debug",
        one_dash: true,
        operands: Operands::Known(
            "clean compile test Test/compile test:compile Test/test it:test IntegrationTest/test testQuick testOnly_ Test/testOnly_ testQuick_ update doc \
             scalafmt scalafmtAll scalafmtCheck scalafmtCheckAll scalafmtSbtCheck scalastyle coverage coverageReport \
             headerCheck headerCheckAll dependencyTree projects tasks evicted",
        ),
        ..ROW
    },
    Row {
        programs: &["dotnet"],
        flags: "--no-restore --no-build --nologo -nologo --blame --list-tests --no-incremental --force \
                --verify-no-changes --interactive --no-dependencies --outdated --vulnerable --include-transitive --info \
                --self-contained --tl --no-self-contained",
        values: "-v --verbosity -c --configuration -f --framework --filter --runtime --os --arch --severity -m \
                 --disable-build-servers --version-suffix --blame-hang-timeout",
        names: "-l --logger --collect --coverage-output-format",
        one_dash: true,
        behind: Behind::By(&NOTHING),
        ..ROW
    },
    Row {
        programs: &["swift"],
        flags: "--parallel --no-parallel --verbose --quiet --enable-code-coverage --skip-build --list-tests --show-bin-path \
                --enable-xctest --disable-xctest --enable-swift-testing --disable-swift-testing --very-verbose --skip-update",
        values: "--num-workers --configuration --filter --skip --sanitize --jobs --product --target",
        letters: "vqh",
        letter_values: "cjs",
        behind: Behind::By(&NOTHING),
        ..ROW
    },
    BAZEL,
    Row {
        subs: &["run"],
        operands: Operands::Script,
        ..BAZEL
    },
    Row {
        programs: &["mix"],
        flags: "--color --no-color --trace --cover --warnings-as-errors --force --no-deps-check --stale --failed --raise \
                --all-warnings --no-compile --no-start --check-formatted --check-unused --dry-run --strict --all \
                --no-archives-check --no-elixir-version-check --preload-modules --no-optional-deps --check-equivalent --unlock",
        values: "--max-failures --seed --slowest --slowest-modules --timeout --only --exclude --include --partitions \
                 --max-cases --max-requires --repeat-until-failure --exit-status",
        letters: "h",
        behind: Behind::By(&NOTHING),
        ..ROW
    },
    Row {
        programs: &["rspec"],
        flags: "--color --no-color --force-color --fail-fast --no-fail-fast --backtrace --profile --no-profile --warnings \
                --only-failures --next-failure --bisect --dry-run --no-drb",
        values: "--order --seed --tag --example --example-matches --pattern --exclude-pattern --failure-exit-code --fail-fast --profile",
        names: "--format",
        letters: "bcwnpvh",
        letter_values: "etPE",
        letter_names: "f",
        ..ROW
    },
    Row {
        programs: &["bundle", "bundler"],
        flags: "--quiet --verbose --no-color --local --jobs --frozen --deployment --parseable --outdated",
        values: "--jobs --retry",
        launches: true,
        behind: Behind::By(&NOTHING),
        ..ROW
    },
    Row {
        programs: &["bundle", "bundler"],
        subs: &["exec"],
        flags: "--quiet --verbose --no-color",
        launches: true,
        operands: Operands::Script,
        behind: Behind::By(&NOTHING),
        ..ROW
    },
    Row {
        programs: &["rubocop", "standardrb"],
        flags: "--autocorrect --autocorrect-all --auto-correct --fix --parallel --no-parallel --color --no-color --lint --fail-fast \
                --display-cop-names --extra-details --debug --only-recognized-file-types --force-exclusion --no-server",
        values: "--only --except --fail-level --stdin",
        names: "--format",
        letters: "aAlxPDEdhvV",
        letter_names: "f",
        ..ROW
    },
    Row {
        programs: &["rails"],
        flags: "--verbose --trace --fail-fast --defer-output --backtrace --quiet --pretend --force --skip",
        values: "--name --seed --include --exclude",
        letters: "vbdfqh",
        letter_values: "ns",
        variables: Some("VERBOSE VERSION STEP"),
        ..ROW
    },
    PHPUNIT,
    Row {
        programs: &["composer"],
        flags: "--quiet --verbose --no-interaction --no-dev --dev --dry-run --no-progress --no-ansi --ansi --no-scripts --no-plugins \
                --prefer-dist --optimize-autoloader --strict --no-check-publish --locked --with-all-dependencies --direct \
                --outdated --ignore-platform-reqs --classmap-authoritative --no-cache -vv -vvv",
        values: "--format",
        letters: "nqvowWao",
        behind: Behind::By(&PHPUNIT_WORDS),
        ..ROW
    },
    Row {
        programs: &["php", "ruby", "perl", "lua", "Rscript", "julia", "java"],
        launches: true,
        operands: Operands::Script,
        letters: "wv",
        ..ROW
    },
];
