#!/bin/sh
# Answers a request of a run as a comment of a pull request says, for a CI service.
#
#   INTERLOCK            the program; `interlock` when left out
#   INTERLOCK_COMMENT    the comment; its first line is `/interlock approve RUN ID` or `/interlock reject RUN ID`
#   INTERLOCK_AUTHOR     who wrote the comment, as the CI service says
#   INTERLOCK_APPROVERS  who may answer, one a line
#   INTERLOCK_TOKEN      the person's token
#
# Exit code: that of `interlock`; 2 where the comment is no answer or its author may not give one.
set -u

interlock=${INTERLOCK:-interlock}

fail() {
    printf 'approve.sh: %s\n' "$1" >&2
    exit 2
}

[ -n "${INTERLOCK_TOKEN:-}" ] || fail 'INTERLOCK_TOKEN is not set'
# One name: of several lines, grep would take any.
case ${INTERLOCK_AUTHOR:-} in
    '' | *[!0-9A-Za-z_.-]*) fail 'INTERLOCK_AUTHOR is not the name of a person' ;;
esac
printf '%s\n' "${INTERLOCK_APPROVERS:-}" | grep -Fxq -- "$INTERLOCK_AUTHOR" ||
    fail 'the author of the comment is not one of INTERLOCK_APPROVERS'

# The words of a comment are anybody's: they are compared, and never run.
line=$(printf '%s\n' "${INTERLOCK_COMMENT:-}" | head -n 1 | tr -d '\r')
set -f
# shellcheck disable=SC2086 # its words
set -- $line
{ [ $# -eq 4 ] && [ "$1" = /interlock ]; } || fail 'the comment does not begin with `/interlock approve RUN ID` or `/interlock reject RUN ID`'
case $2 in
    approve | reject) ;;
    *) fail 'the comment neither approves nor rejects' ;;
esac
case $3 in
    *[!0-9a-z]*) fail 'the comment names no run' ;;
esac
# A number, and not the name of a state: it stands for one question, and the next one has another.
case ${4#a} in
    "$4" | '' | *[!0-9]*) fail 'the comment names no request, such as `a1`' ;;
esac
exec "$interlock" "$2" "$3" "$4" --yes </dev/null
