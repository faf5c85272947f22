//! Version control, code hosts, containers and clusters.

use crate::words::words;

use super::{Behind, NOTHING, Operands, ROW, Row};

pub(super) const ROWS: &[Row] = &[
    Row {
        programs: &["git"],
        flags: "--verbose --quiet --force --force-with-lease --force-if-includes --no-verify --verify --tags --no-tags --follow-tags \
                --all --prune --set-upstream --delete --dry-run --porcelain --progress --no-progress --atomic --mirror --thin \
                --amend --no-edit --signoff --allow-empty --allow-empty-message --reset-author --no-gpg-sign --no-signoff \
                --rebase --no-rebase --ff --ff-only --no-ff --squash --no-squash --commit --no-commit --autostash --no-autostash \
                --stat --no-stat --unshallow --update-shallow --recurse-submodules --no-recurse-submodules --keep --merge \
                --soft --mixed --hard --staged --cached --worktree --ours --theirs --patch --interactive --continue --abort \
                --skip --quit --root --onto --update-refs --no-track --track --orphan --detach --guess --no-guess --list \
                --init --recursive --remote --intent-to-add --update --renormalize --ignore-errors --short --branch --long \
                --oneline --graph --decorate --name-only --name-status --numstat --shortstat --summary --cc --no-color --color \
                --no-patch --reverse --follow --no-merges --merges --first-parent --check --index --reject --3way --ignore-whitespace \
                --dry-run --keep-index --include-untracked --no-keep-index --clear --show-current --ipv4 --ipv6 --annotate --no-renames \
                --word-diff --ignore-all-space --ignore-space-change --ignore-blank-lines --full-index --binary --no-index --exit-code",
        values: "--message --author --date --cleanup --fixup --squash --pathspec-from-file --force-with-lease --depth --deepen \
                 --shallow-since --shallow-exclude --branch --jobs --since --until --after --before --grep --max-count --format --pretty \
                 --sort --contains --merged --no-merged --points-at --diff-filter --unified --color --track --trailer --refmap --abbrev",
        names: "--strategy-option",
        letters: "vqfnuadkpsSztlDr0123456789",
        letter_values: "mbBjCFU",
        starts: &["ext::", "fd::"],
        at: true,
        ..ROW
    },
    // Its `-u` names a program.
    Row {
        programs: &["git"],
        subs: &["clone", "ls-remote", "fetch-pack", "send-pack"],
        flags: "--quiet --verbose --progress --single-branch --no-single-branch --recurse-submodules --bare --mirror --no-tags \
                --shallow-submodules --no-checkout --sparse --dissociate --tags --heads --refs --exit-code",
        values: "--depth --branch --origin --jobs --filter --shallow-since --sort",
        letters: "qvnlth",
        letter_values: "bjo",
        starts: &["ext::", "fd::"],
        at: true,
        ..ROW
    },
    Row {
        programs: &["gh"],
        flags: "--draft --fill --fill-first --fill-verbose --dry-run --no-maintainer-edit --squash --merge --rebase --auto \
                --delete-branch --admin --approve --request-changes --comment --latest --prerelease --generate-notes \
                --notes-from-tag --verify-tag --fail-on-no-commits --clobber --cleanup-tag --yes --all --closed --comments --patch \
                --name-only --required --fail-fast --log --log-failed --exit-status --failed --debug --verbose --compact --edit-last \
                --force --detach --recurse-submodules --archived --no-archived --private --public --internal --paginate --include --silent",
        values: "--title --body --base --head --label --assignee --reviewer --milestone --project --limit --state --author --search \
                 --json --jq --template --match-head-commit --subject --notes --target --tag --discussion-category --sort --order \
                 --color --interval --branch --event --status --workflow --user --job --attempt --add-label --remove-label \
                 --add-assignee --remove-assignee --add-reviewer --remove-reviewer --reason --notes-start-tag",
        letters: "dfsmrapycvhi",
        letter_values: "tblLAMSBHTqn",
        ..ROW
    },
    Row {
        programs: &["gh"],
        subs: words!(
            "extension ext alias codespace cs ssh-key gpg-key auth config secret variable"
        ),
        ..ROW
    },
    Row {
        programs: &["gh"],
        subs: &["api"],
        flags: "--paginate --slurp --include --silent --verbose",
        values: "--jq --template --cache --preview",
        letters: "i",
        letter_values: "qtp",
        ..ROW
    },
    Row {
        programs: &["docker", "podman", "nerdctl", "docker-compose"],
        flags: "--all --quiet --no-trunc --size --latest --follow --timestamps --details --no-stream --no-cache --pull --force-rm \
                --detach --build --remove-orphans --wait --no-deps --force-recreate --no-recreate --no-build --volumes --no-color \
                --no-log-prefix --services --status --digests --human --check --force --rm --no-start --abort-on-container-exit \
                --always-recreate-deps --renew-anon-volumes --attach-dependencies --push --load",
        values: "--filter --format --last --tail --since --until --tag --progress --target --platform --timeout --scale --type \
                 --exit-code-from --wait-timeout --pull --no-attach --attach --parallel --ansi --signal --label",
        letters: "aqsltd",
        letter_values: "n",
        behind: Behind::By(&NOTHING),
        ..ROW
    },
    Row {
        programs: &["docker", "podman", "nerdctl"],
        subs: &[
            "ps", "images", "logs", "inspect", "top", "stats", "port", "diff", "history", "events",
            "info", "volume", "network",
        ],
        flags: "--all --quiet --no-trunc --size --latest --follow --timestamps --details --no-stream --digests --human",
        values: "--filter --format --last --tail --since --until --type",
        letters: "aqsltf",
        letter_values: "n",
        behind: Behind::By(&NOTHING),
        ..ROW
    },
    Row {
        programs: &["apt-get", "apt"],
        flags: "--yes --assume-yes --quiet --no-install-recommends --install-suggests --no-install-suggests --fix-broken \
                --only-upgrade --no-upgrade --reinstall --simulate --dry-run --purge --auto-remove --autoremove",
        letters: "yqsVf",
        ..ROW
    },
    Row {
        programs: &["dnf", "yum"],
        flags: "--assumeyes --quiet --refresh --best --nobest --allowerasing",
        letters: "yq",
        ..ROW
    },
    // What they run inside may be anything.
    Row {
        programs: &["docker", "podman", "nerdctl"],
        subs: &["run", "exec", "create", "cp", "plugin", "context"],
        flags: "--rm --interactive --tty --detach --quiet --init --read-only",
        letters: "itdq",
        operands: Operands::Script,
        behind: Behind::By(&NOTHING),
        ..ROW
    },
    Row {
        programs: &["kubectl", "oc"],
        flags: "--all-namespaces --watch --watch-only --show-labels --no-headers --ignore-not-found --recursive --wait --force --now \
                --all-containers --follow --previous --timestamps --prefix --server-side --force-conflicts --prune --record \
                --overwrite --all --list --short --containers --validate --show-kind --show-managed-fields --cascade --client \
                --allow-missing-template-keys --diff",
        values: "--namespace --output --selector --field-selector --sort-by --label-columns --chunk-size --tail --since --since-time \
                 --container --filename --dry-run --timeout --grace-period --for --replicas --type --field-manager --max-log-requests \
                 --limit-bytes --subresource --revision --to-revision --current-replicas --resource-version --request-timeout --image",
        letters: "AwRp",
        letter_values: "noclLvf",
        behind: Behind::By(&NOTHING),
        ..ROW
    },
    Row {
        programs: &["kubectl", "oc"],
        subs: words!("exec run debug cp port-forward proxy plugin config attach edit"),
        values: "--namespace --container",
        letter_values: "nc",
        behind: Behind::By(&NOTHING),
        ..ROW
    },
    Row {
        programs: &["helm"],
        flags: "--install --atomic --wait --wait-for-jobs --dry-run --debug --force --cleanup-on-fail --create-namespace --no-hooks \
                --reset-values --reuse-values --reset-then-reuse-values --skip-crds --all --all-namespaces --short --devel --keep-history \
                --include-crds --strict --failed --deployed --pending",
        values: "--namespace --timeout --version --values --set --set-string --output --history-max --revision --max --description --filter",
        letters: "iAaq",
        letter_values: "nfo",
        behind: Behind::By(&NOTHING),
        ..ROW
    },
    Row {
        programs: &["terraform", "tofu"],
        flags: "-no-color -input -refresh -refresh-only -compact-warnings -detailed-exitcode -json -auto-approve -recursive -check \
                -diff -upgrade -lock -destroy -list",
        values: "-input -refresh -lock -lock-timeout -parallelism -target -replace",
        one_dash: true,
        ..ROW
    },
    Row {
        programs: &["twine"],
        flags: "--skip-existing --verbose --non-interactive --disable-progress-bar --strict",
        ..ROW
    },
    Row {
        programs: &["prisma"],
        flags: "--create-only --skip-generate --skip-seed --force --accept-data-loss --no-hints --no-engine --watch",
        values: "--name",
        letters: "fh",
        letter_values: "n",
        ..ROW
    },
    Row {
        programs: &["sqlx", "diesel", "flyway", "dbmate", "goose", "atlas"],
        flags: "--dry-run --all --ignore-missing --verbose --redo --no-dotenv --strict",
        letters: "vnh",
        ..ROW
    },
    Row {
        programs: words!("shellcheck hadolint yamllint markdownlint actionlint cspell typos"),
        flags: "--color --no-color --verbose --quiet --strict --norc --no-progress --no-summary --diff --no-fail --ignore-case --fix --check-sourced",
        values: "--severity --exclude --include --shell --enable --ignore --failure-threshold",
        names: "--format",
        letters: "xsqvanhC",
        letter_values: "Sei",
        letter_names: "f",
        ..ROW
    },
];
