#!/bin/sh
# Installs a release of Interlock for the steps of a job that follow.
#
#   VERSION       the tag of a release; `latest` when left out
#   GITHUB_PATH   the file in which GitHub Actions takes further folders of the PATH
set -eu

version=${VERSION:-latest}
case $version in
    *[!0-9A-Za-z.+-]*)
        printf 'install.sh: `%s` is not the tag of a release\n' "$version" >&2
        exit 2
        ;;
esac
releases=https://github.com/interlock-cli/interlock/releases
if [ "$version" = latest ]; then
    base=$releases/latest/download
else
    base=$releases/download/$version
fi
directory=${RUNNER_TEMP:-${TMPDIR:-/tmp}}/interlock-bin
INTERLOCK_BASE_URL=${INTERLOCK_BASE_URL:-$base} sh "$(dirname "$0")/../install.sh" --dir "$directory"
[ -z "${GITHUB_PATH:-}" ] || printf '%s\n' "$directory" >>"$GITHUB_PATH"
