#!/bin/sh
# Checks that a commit has an attestation of a run, for a CI service; it is kept as a git note of that commit.
#
#   INTERLOCK            the program; `interlock` when left out
#   INTERLOCK_COMMIT     the commit that is to be merged; HEAD when left out
#   INTERLOCK_BASE       the commit that it is merged into, of which the keys and the workflow are trusted
#   INTERLOCK_WORKFLOW   the workflow that the run must have followed; any when left out
#   INTERLOCK_REQUIRE    what it must prove, with commas: `tests_passed,approved,completed`
#   INTERLOCK_REPOSITORY the repository that it must come from, such as `github.com/acme/shop`; any when left out
#   INTERLOCK_REMOTE     where notes are fetched from; `origin` when left out
#
# Exit code: 0 it is attested, 1 it is not, 2 the check could not be carried out.
set -u

interlock=${INTERLOCK:-interlock}
commit=${INTERLOCK_COMMIT:-HEAD}
notes=refs/notes/interlock

fail() {
    printf 'attested.sh: %s\n' "$1" >&2
    exit "$2"
}

[ -n "${INTERLOCK_BASE:-}" ] || fail 'set INTERLOCK_BASE to the commit that is merged into, such as `origin/main`' 2
[ -n "${INTERLOCK_REQUIRE:-}" ] || fail 'set INTERLOCK_REQUIRE to what must be proved, such as `tests_passed,approved`' 2
commit=$(git rev-parse --verify --quiet --end-of-options "$commit^{commit}") ||
    fail "there is no commit \`$commit\` here: fetch it first" 2
# Where there are no notes yet, nothing is attested.
git fetch --quiet --no-tags "${INTERLOCK_REMOTE:-origin}" "+$notes:$notes" 2>/dev/null || :
note=$(git notes --ref "$notes" show "$commit" 2>/dev/null) ||
    fail "commit $commit has no attestation: sign it with \`interlock attest\`, and push it as a git note (refs/notes/interlock)" 1
set -- --commit "$commit" --base "$INTERLOCK_BASE" --require "$INTERLOCK_REQUIRE"
[ -z "${INTERLOCK_WORKFLOW:-}" ] || set -- "$@" --workflow "$INTERLOCK_WORKFLOW"
[ -z "${INTERLOCK_REPOSITORY:-}" ] || set -- "$@" --repository "$INTERLOCK_REPOSITORY"
printf '%s\n' "$note" | "$interlock" verify - "$@"
