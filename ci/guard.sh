#!/bin/sh
# Runs an agent that is held to a workflow, for a CI service.
#
#   ci/guard.sh claude -p 'Fix the failing test.'
#
#   INTERLOCK            the program; `interlock` when left out
#   INTERLOCK_WORKFLOW   the workflow: a name or a file
#   INTERLOCK_CLIENT     the agent's client: claude-code, codex, gemini, copilot, cursor, opencode
#   INTERLOCK_DOCTOR     `false`: do not try the hooks first
#   INTERLOCK_REPORTS    a folder for the run: run.jsonl, run.svg, run.mmd, run.html; `interlock-run` when left out
#   GITHUB_STEP_SUMMARY, INTERLOCK_SUMMARY   a file to which the graph and the log are added
#
# Exit code: the agent's own when it is not 0; else 0 where the run has completed, 75 where it waits for a person, 1.
set -u

interlock=${INTERLOCK:-interlock}
reports=${INTERLOCK_REPORTS:-interlock-run}
summary=${INTERLOCK_SUMMARY:-${GITHUB_STEP_SUMMARY:-/dev/null}}

fail() {
    printf 'guard.sh: %s\n' "$1" >&2
    exit 2
}

# Reads the first field of a name in a line of JSON; within a text its quotes would be escaped.
first() {
    grep -o "\"$1\":\"[0-9a-z_]*\"" | head -n 1 | cut -d '"' -f 4
}

[ $# -gt 0 ] || fail 'name the command that starts the agent'
[ -n "${INTERLOCK_WORKFLOW:-}" ] || fail 'INTERLOCK_WORKFLOW names no workflow'
[ -n "${INTERLOCK_CLIENT:-}" ] || fail 'INTERLOCK_CLIENT names no client'
# Whoever starts the agent with the token hands it the person's voice.
[ -z "${INTERLOCK_TOKEN:-}" ] || fail 'INTERLOCK_TOKEN is set: leave it out of the job that runs an agent'

"$interlock" init --yes "$INTERLOCK_CLIENT" </dev/null >&2 || fail 'the hooks could not be installed'
if [ "${INTERLOCK_DOCTOR:-true}" != false ]; then
    "$interlock" doctor </dev/null >&2 || fail 'the hooks do not hold, so no agent is started'
fi
started=$("$interlock" start "$INTERLOCK_WORKFLOW" --json </dev/null) || fail 'the run could not be started'
run=$(printf '%s' "$started" | first run)
[ -n "$run" ] || fail 'the run has no id'

"$@"
agent=$?

mkdir -p "$reports"
"$interlock" log "$run" --json </dev/null >"$reports/run.jsonl"
"$interlock" graph --run "$run" --format svg </dev/null >"$reports/run.svg"
"$interlock" graph --run "$run" --format mermaid </dev/null >"$reports/run.mmd"
"$interlock" export "$run" -o "$reports/run.html" --force </dev/null >/dev/null 2>&1 ||
    printf 'guard.sh: run.html was not written\n' >&2
status=$("$interlock" status "$run" --json </dev/null | first status)
verified='verified'
"$interlock" log "$run" --verify </dev/null >/dev/null 2>&1 || verified='**not in order**'

{
    printf '### Interlock: the run of the agent\n\n'
    printf '| run | status | agent ended with | log |\n|---|---|---|---|\n'
    printf '| `%s` | %s | %s | %s |\n\n' "$run" "${status:-unknown}" "$agent" "$verified"
    printf '```mermaid\n'
    cat "$reports/run.mmd"
    printf '```\n\n<details><summary>The log</summary>\n\n'
    # Four spaces make code of whatever a line holds.
    "$interlock" log "$run" --color never </dev/null | sed 's/^/    /'
    printf '\n</details>\n\n'
} >>"$summary"

[ "$verified" = verified ] || exit 1
[ "$agent" -eq 0 ] || exit "$agent"
case $status in
    completed) exit 0 ;;
    awaiting_approval) exit 75 ;;
    *) exit 1 ;;
esac
