#!/bin/sh
# Checks, tests and proves the workflows of a project, for a CI service, and holds them against recorded sessions.
#
#   INTERLOCK          the program; `interlock` when left out
#   INTERLOCK_STEPS    some of `check test prove backtest`; `check test prove` when left out
#   INTERLOCK_PATHS    files and folders, one a line; `.interlock/workflows` when left out
#   INTERLOCK_SESSIONS for `backtest`: recordings of sessions, files and folders, one a line
#   INTERLOCK_FORMAT   what is printed: `github`, `text` or another format; annotations where GITHUB_ACTIONS is `true`
#   INTERLOCK_STRICT   `true`: a warning fails the check, and a property that was not decided fails the proof
#   INTERLOCK_REPORTS  a folder for STEP.sarif and STEP.junit.xml of every step, backtest-N.json and summary.md; none when left out
#   GITHUB_STEP_SUMMARY, INTERLOCK_SUMMARY   a file to which a table of results is added
#
# Exit code: 0 all is in order, 1 something is not, 2 a step could not be carried out.
set -u

interlock=${INTERLOCK:-interlock}
steps=${INTERLOCK_STEPS:-check test prove}
strict=${INTERLOCK_STRICT:-false}
reports=${INTERLOCK_REPORTS:-}
summary=${INTERLOCK_SUMMARY:-${GITHUB_STEP_SUMMARY:-/dev/null}}
default_format=text
[ "${GITHUB_ACTIONS:-}" = true ] && default_format=github
format=${INTERLOCK_FORMAT:-$default_format}
newline='
'
worst=0

# Keeps the worst code: 2 before 1 before 0.
note() {
    [ "$1" -le "$worst" ] || worst=$1
}

# Makes a name of the repository harmless in a table of Markdown.
cell() {
    printf '%s' "$1" | tr -d '`|<>&\r\n[]'
}

# Adds text to the summary, and to the one that is kept with the reports.
say() {
    printf '%s\n' "$1" >>"$summary"
    [ -z "$reports" ] || printf '%s\n' "$1" >>"$reports/summary.md"
}

row() {
    say "| $1 | $(cell "$2") | $3 |"
}

# Lists the files to be looked at, one a line: workflows, or the cases beside them.
listed() {
    kind=$1
    printf '%s\n' "${INTERLOCK_PATHS:-.interlock/workflows}" | while IFS= read -r path; do
        [ -n "$path" ] || continue
        if [ -d "$path" ]; then
            find "$path" -type f \( -name '*.yaml' -o -name '*.yml' -o -name '*.json' \) | LC_ALL=C sort
        else
            printf '%s\n' "$path"
        fi
    done | while IFS= read -r file; do
        case $file in
            *.test.yaml | *.test.yml) [ "$kind" = cases ] && printf '%s\n' "$file" ;;
            *.properties.yaml | *.properties.yml) ;;
            *) [ "$kind" = workflows ] && printf '%s\n' "$file" ;;
        esac
    done
}

# Calls a step once for what is printed, and once for each report; returns its code.
call() {
    step=$1
    name=$2
    shift 2
    "$interlock" "$step" --format "$format" "$@" </dev/null
    code=$?
    if [ -n "$reports" ]; then
        "$interlock" "$step" --format sarif "$@" </dev/null >"$reports/$name.sarif" 2>/dev/null
        "$interlock" "$step" --format junit "$@" </dev/null >"$reports/$name.junit.xml" 2>/dev/null
    fi
    return "$code"
}

# Runs a step over files, which are arguments.
over() {
    step=$1
    shift
    if [ $# -eq 0 ]; then
        row "$step" '' 'nothing there'
        return
    fi
    if [ "$step" = check ] && [ "$strict" = true ]; then
        set -- --deny-warnings "$@"
    fi
    call "$step" "$step" "$@"
    code=$?
    shown="$# files"
    [ $# -eq 1 ] && shown=$1
    case $code in
        0) row "$step" "$shown" 'in order' ;;
        1) row "$step" "$shown" '**failed**'; note 1 ;;
        *) row "$step" "$shown" '**could not be carried out**'; note 2 ;;
    esac
}

# Proves one workflow.
proved() {
    call prove "prove-$number" "$1"
    case $? in
        0) row prove "$1" 'holds' ;;
        1) row prove "$1" '**fails**'; note 1 ;;
        3)
            row prove "$1" 'not decided'
            [ "$strict" = true ] && note 1
            ;;
        *) row prove "$1" '**could not be carried out**'; note 2 ;;
    esac
}

# Holds one workflow against recorded sessions, which are the other arguments.
backtested() {
    file=$1
    "$interlock" backtest "$@" </dev/null
    code=$?
    if [ -n "$reports" ]; then
        "$interlock" backtest --json "$@" </dev/null >"$reports/backtest-$number.json" 2>/dev/null
    fi
    case $code in
        0) row backtest "$file" 'refuses nothing' ;;
        1)
            row backtest "$file" 'refuses calls'
            [ "$strict" = true ] && note 1
            ;;
        3) row backtest "$file" 'refuses nothing that could be judged' ;;
        *) row backtest "$file" '**could not be carried out**'; note 2 ;;
    esac
}

if [ -n "$reports" ]; then
    mkdir -p "$reports" || exit 2
    : >"$reports/summary.md"
fi
say "### Interlock

| step | what | result |
|---|---|---|"
old_ifs=$IFS
for step in $steps; do
    case $step in
        check)
            IFS=$newline
            set -f
            # shellcheck disable=SC2046 # one file a line
            set -- $(listed workflows)
            IFS=$old_ifs
            over check "$@"
            ;;
        test)
            IFS=$newline
            set -f
            # shellcheck disable=SC2046 # one file a line
            set -- $(listed cases)
            IFS=$old_ifs
            over test "$@"
            ;;
        prove)
            IFS=$newline
            set -f
            # shellcheck disable=SC2046 # one file a line
            set -- $(listed workflows)
            IFS=$old_ifs
            [ $# -gt 0 ] || row prove '' 'nothing there'
            number=0
            for file; do
                number=$((number + 1))
                proved "$file"
            done
            ;;
        backtest)
            IFS=$newline
            set -f
            # shellcheck disable=SC2046 # one file a line
            set -- $(listed workflows)
            number=0
            if [ -z "${INTERLOCK_SESSIONS:-}" ]; then
                printf 'verify.sh: `backtest` needs recordings: name them in INTERLOCK_SESSIONS\n' >&2
                row backtest '' '**no recordings are named**'
                note 2
                set --
            fi
            for file; do
                number=$((number + 1))
                # shellcheck disable=SC2086 # one recording a line
                backtested "$file" ${INTERLOCK_SESSIONS:-}
            done
            IFS=$old_ifs
            ;;
        *)
            printf 'verify.sh: there is no step `%s`: check, test, prove, backtest\n' "$step" >&2
            note 2
            ;;
    esac
done
say ''
exit "$worst"
