//! Test runners, linters and environments of Python.

use crate::words::words;

use super::{Behind, Operands, ROW, Row};

const PYTEST: Row = Row {
    programs: &["pytest", "py.test"],
    flags: "--quiet --verbose --exitfirst --showlocals --no-showlocals --no-header --no-summary --full-trace \
            --disable-warnings --disable-pytest-warnings --strict-markers --strict-config --strict --runxfail --forked \
            --no-cov-on-fail --no-cov --cov --cov-append --cov-branch --cov-reset --ff --failed-first --nf --new-first --lf \
            --last-failed --sw --stepwise --stepwise-skip --stepwise-reset --cache-clear --cache-show --setup-show \
            --setup-only --setup-plan --force-sugar --doctest-modules --doctest-ignore-import-errors \
            --doctest-continue-on-failure --collect-only --co --fixtures --fixtures-per-test --funcargs --markers \
            --pdb --trace --noconftest --keep-duplicates --continue-on-collection-errors --snapshot-update \
            --inline-snapshot --benchmark-skip --benchmark-only --benchmark-disable --reuse-db --create-db --nomigrations \
            --no-migrations --migrations --randomly-dont-reorganize --flake-finder --looponfail --headed \
            --force-short-summary --runslow --slow --integration --e2e --headless",
    values: "--db --env --base-url --browser --device --tb --color --code-highlight --durations --durations-min --maxfail --cov --cov-fail-under --capture \
             --show-capture --timeout --timeout-method --log-level --log-cli-level --asyncio-mode --verbosity --dist \
             --numprocesses --maxprocesses --randomly-seed --deselect --ignore --ignore-glob --lfnf --last-failed-no-failures \
             --reruns --reruns-delay --count --repeat-scope --doctest-glob --max-worker-restart --maxschedchunk \
             --splits --group --random-order-seed --random-order-bucket --benchmark-min-rounds --show-capture --log-format \
             --log-date-format --log-cli-format --doctest-report --tags",
    names: "--cov-report",
    letters: "qvsxlhVN",
    letter_values: "knmr",
    letter_names: "W",
    ..ROW
};

pub(super) const ROWS: &[Row] = &[
    PYTEST,
    Row {
        programs: &["unittest"],
        flags: "--verbose --quiet --failfast --buffer --catch --locals -vv",
        values: "--durations",
        letters: "vqfbch",
        letter_values: "k",
        ..ROW
    },
    Row {
        programs: &["tox"],
        flags: "--quiet --verbose --recreate --notest --list --listenvs --listenvs-all --no-recreate-pkg --skip-pkg-install \
                --parallel-live --parallel-no-spinner --no-provision --showconfig --develop \
                --no-recreate-provision --sdistonly --stderr-color --fail-fast -vv -qq",
        values: "--skip-missing-interpreters --parallel --colored --skip-env --env",
        letters: "qvrlahon",
        letter_values: "epmf",
        operands: Operands::Known("run r run-parallel p list l legacy le config c depends de"),
        behind: Behind::By(&PYTEST_WORDS),
        ..ROW
    },
    // Words for what they run come after `--`.
    Row {
        programs: &["tox"],
        subs: &["exec", "e", "devenv", "d"],
        letters: "qv",
        letter_values: "e",
        operands: Operands::Known(""),
        behind: Behind::By(&REFUSED),
        ..ROW
    },
    Row {
        programs: &["nox"],
        flags: "--verbose --reuse-existing-virtualenvs --no-venv --no-install --stop-on-first-error --list \
                --error-on-missing-interpreters --error-on-external-run --non-interactive --no-stop-on-first-error \
                --list-sessions --no-reuse-existing-virtualenvs",
        values: "--sessions --session --python --pythons --keywords --tags",
        letters: "rRlvxNh",
        letter_values: "spkte",
        behind: Behind::By(&PYTEST_WORDS),
        ..ROW
    },
    Row {
        programs: &["ruff"],
        flags: "--fix --no-fix --fix-only --unsafe-fixes --no-unsafe-fixes --diff --check --watch --show-fixes \
                --statistics --add-noqa --show-files --show-settings --preview --no-preview --quiet --verbose --silent \
                --no-cache --isolated --exit-zero --exit-non-zero-on-fix --respect-gitignore --force-exclude \
                --ignore-noqa --no-show-fixes --exit-non-zero-on-format",
        values: "--select --ignore --extend-select --extend-ignore --fixable --unfixable --exclude --extend-exclude \
                 --target-version --line-length --output-format --per-file-ignores --stdin-filename --range --color",
        letters: "qvsnhVe",
        ..ROW
    },
    Row {
        programs: &["mypy"],
        flags: "--strict --pretty --no-pretty --show-error-codes --hide-error-codes --show-error-context \
                --show-column-numbers --show-error-end --no-error-summary --no-color-output --ignore-missing-imports \
                --check-untyped-defs --disallow-untyped-defs --disallow-any-generics --warn-unused-ignores \
                --warn-return-any --warn-unreachable --no-incremental --namespace-packages --explicit-package-bases \
                --non-interactive --skip-cache-mtime-checks --no-implicit-optional --strict-optional --show-absolute-path \
                --scripts-are-modules --no-site-packages --verbose \
                --allow-redefinition --disallow-untyped-calls --warn-redundant-casts --strict-equality",
        values: "--python-version --platform --follow-imports --exclude --disable-error-code \
                 --enable-error-code --package --module --level --threads --color --output-format --always-true --always-false",
        letters: "vhV",
        letter_values: "pm",
        ..ROW
    },
    Row {
        programs: &["pyright", "basedpyright", "ty"],
        flags: "--outputjson --warnings --stats --watch --verbose --quiet --skipunannotated --ignoreexternal --error-on-warning",
        values: "--level --threads --pythonversion --pythonplatform --color --output-format",
        letters: "hwvq",
        ..ROW
    },
    Row {
        programs: &["manage.py"],
        flags: "--noinput --no-input --keepdb --parallel --failfast --check --dry-run --plan --traceback --no-color \
                --force-color --reverse --buffer --list --debug-sql --timing --fake-initial --empty --deploy --skip-checks",
        values: "--verbosity --tag --exclude-tag --database --parallel --shuffle --name",
        letters: "rblhp",
        letter_values: "vkn",
        ..ROW
    },
    Row {
        programs: &["black", "isort", "yapf", "autopep8", "pyupgrade"],
        flags: "--check --diff --color --no-color --quiet --verbose --fast --safe --preview --unstable \
                --skip-string-normalization --skip-magic-trailing-comma --pyi --ipynb --check-only --atomic --only-modified \
                --filter-files --force-single-line-imports --in-place --recursive --no-cache",
        values: "--line-length --target-version --exclude --extend-exclude --force-exclude --include --workers \
                 --stdin-filename --line-ranges --line-width --jobs --python-cell-magics --max-line-length",
        names: "--profile",
        letters: "qvCSthir",
        letter_values: "lWj",
        ..ROW
    },
    Row {
        programs: words!("flake8 pylint pydocstyle pycodestyle bandit codespell vulture"),
        flags: "--quiet --verbose --statistics --count --show-source --benchmark --exit-zero --disable-noqa --recursive \
                --errors-only --score --no-score --doctests --clear-cache-post-run",
        values: "--select --ignore --extend-select --extend-ignore --max-line-length --max-complexity --exclude \
                 --extend-exclude --per-file-ignores --jobs --disable --enable --fail-under --fail-on --msg-template \
                 --max-doc-length --filename --indent-size --color --min-confidence --severity-level",
        names: "--format --output-format",
        letters: "qvhEr",
        letter_values: "jde",
        letter_names: "f",
        ..ROW
    },
    Row {
        programs: &["uv", "poetry", "pdm", "hatch", "pipenv", "rye", "pixi"],
        flags: "--quiet --verbose --no-progress --offline --frozen --locked --no-sync --exact --all-extras --all-groups \
                --no-dev --dev --only-dev --no-default-groups --no-interaction --no-ansi --ansi --dry-run --no-root \
                --sync --all-packages --no-cache --isolated --system --no-build-isolation --upgrade --no-self --check",
        values: "--extra --group --only-group --no-group --color --package --without --only",
        letters: "qvnh",
        letter_values: "G",
        launches: true,
        operands: Operands::Any,
        behind: Behind::By(&super::NOTHING),
        ..ROW
    },
    Row {
        programs: &["uv", "poetry", "pdm", "hatch", "pipenv", "rye", "pixi"],
        subs: &["run"],
        flags: "--quiet --verbose --no-progress --offline --frozen --locked --no-sync --exact --all-extras --all-groups \
                --no-dev --dev --only-dev --no-default-groups --no-interaction --no-ansi --all-packages --isolated",
        values: "--extra --group --only-group --no-group --color --package",
        letters: "qvn",
        launches: true,
        operands: Operands::Script,
        behind: Behind::By(&super::NOTHING),
        ..ROW
    },
    Row {
        programs: &["pip", "pip3"],
        flags: "--quiet --verbose --upgrade --no-deps --no-input --no-color --pre --user --yes --dry-run \
                --no-build-isolation --force-reinstall --ignore-installed --no-cache-dir --disable-pip-version-check \
                --outdated --uptodate --local --not-required --prefer-binary --require-hashes --no-warn-script-location \
                --break-system-packages --no-python-version-warning --all --files",
        values: "--format --timeout --retries --progress-bar --exclude --upgrade-strategy --only-binary --no-binary --requirement",
        letters: "qvUIylhou",
        letter_values: "r",
        ..ROW
    },
    Row {
        programs: words!(
            "python python2 python3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13
             python3.14 pypy pypy3"
        ),
        letters: "uBIEsSOqvbdPhV",
        letter_names: "W",
        launches: true,
        operands: Operands::Script,
        ..ROW
    },
    Row {
        programs: &["pre-commit", "prek"],
        flags: "--all-files --show-diff-on-failure --verbose --no-progress --fail-fast --dry-run",
        values: "--color --hook-stage --from-ref --to-ref --files --stage",
        letters: "avhs",
        ..ROW
    },
    Row {
        programs: &["alembic"],
        flags: "--sql --verbose --raiseerr",
        values: "--rev-range --head --splice",
        letters: "vhq",
        letter_values: "mr",
        ..ROW
    },
];

/// Words of which none is known to be harmless.
static REFUSED: Row = Row {
    operands: Operands::Known(""),
    behind: Behind::By(&REFUSED),
    ..ROW
};

/// Words that tox and nox pass to the session, most often pytest.
static PYTEST_WORDS: Row = Row {
    behind: Behind::By(&PYTEST_WORDS),
    ..PYTEST
};
