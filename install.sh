#!/bin/sh
# Installs the program `interlock` from a release, after a look at its checksum.
#
#   curl -fsSL https://github.com/interlock-cli/interlock/releases/latest/download/install.sh | sh
#   sh install.sh --dir ~/bin
#   INTERLOCK_BASE_URL=file:///path/to/archives sh install.sh
set -eu

base=${INTERLOCK_BASE_URL:-https://github.com/interlock-cli/interlock/releases/latest/download}
directory=${INTERLOCK_DIR:-${HOME:?HOME is not set}/.local/bin}
programs=interlock

fail() {
    printf 'install.sh: %s\n' "$1" >&2
    exit 1
}

usage() {
    printf '%s\n' 'Usage: install.sh [--dir DIRECTORY] [--shared] [--worker]' '' \
        'Installs interlock into DIRECTORY (default: ~/.local/bin).' \
        '--shared: also the program behind `interlock shared`, for a log in PostgreSQL.' \
        '--worker: also the program behind `interlock worker`, which carries runs of such a log.' \
        'INTERLOCK_BASE_URL: where the archives and SHA256SUMS lie, https:// or file://.'
}

while [ $# -gt 0 ]; do
    case $1 in
        --dir)
            [ $# -ge 2 ] || fail '--dir needs a directory'
            directory=$2
            shift 2
            ;;
        --dir=*)
            directory=${1#--dir=}
            shift
            ;;
        --shared)
            programs="$programs interlock-shared"
            shift
            ;;
        --worker)
            programs="$programs interlock-worker"
            shift
            ;;
        -h | --help)
            usage
            exit 0
            ;;
        *)
            usage >&2
            fail "\`$1\` is not an option"
            ;;
    esac
done

target() {
    machine=$(uname -m)
    case $machine in
        x86_64 | amd64) machine=x86_64 ;;
        aarch64 | arm64) machine=aarch64 ;;
        *) fail "there is no release for the machine \`$machine\`: build it with cargo" ;;
    esac
    case $(uname -s) in
        Linux) printf '%s-unknown-linux-gnu' "$machine" ;;
        Darwin) printf '%s-apple-darwin' "$machine" ;;
        *) fail "there is no release for \`$(uname -s)\`: build it with cargo" ;;
    esac
}

fetch() {
    case $1 in
        file://*) cp -- "${1#file://}" "$2" ;;
        https://*)
            if command -v curl >/dev/null 2>&1; then
                curl --proto '=https' --tlsv1.2 -fsSL --retry 3 -o "$2" -- "$1"
            elif command -v wget >/dev/null 2>&1; then
                wget -q -O "$2" -- "$1"
            else
                fail 'neither curl nor wget is here'
            fi
            ;;
        *) fail "\`$1\` is neither https:// nor file://" ;;
    esac
}

sum() {
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum -- "$1"
    elif command -v shasum >/dev/null 2>&1; then
        shasum -a 256 -- "$1"
    else
        fail 'neither sha256sum nor shasum is here: the archive cannot be checked'
    fi
}

target=$(target)
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
trap 'exit 1' HUP INT TERM

fetch "$base/SHA256SUMS" "$work/SHA256SUMS" || fail "no list of checksums at $base"
# Fetches the archive of a program, and unpacks it once its checksum is right.
unpack() {
    wanted='' archive=''
    while read -r digest name; do
        case $name in
            "$1"-[0-9]*-"$target".tar.gz) wanted=$digest archive=$name ;;
        esac
    done <"$work/SHA256SUMS"
    [ -n "$archive" ] || fail "the release has no archive for $target of $1"
    case $archive in
        */*) fail "\`$archive\` is not the name of an archive" ;;
    esac

    fetch "$base/$archive" "$work/$archive" || fail "\`$archive\` cannot be fetched from $base"
    found=$(sum "$work/$archive")
    found=${found%% *}
    [ "$found" = "$wanted" ] || fail "\`$archive\` has the checksum $found, and $wanted was expected: nothing was installed"

    mkdir -p "$work/content"
    tar -xzf "$work/$archive" -C "$work/content"
    program=$work/content/${archive%.tar.gz}/$1
    [ -f "$program" ] || fail "\`$archive\` holds no program"
    mv -f -- "$program" "$work/$1"
}

# Puts an unpacked program into the directory.
place() {
    # Written beside and renamed: a program that runs is not overwritten.
    cp -- "$work/$1" "$directory/.$1.$$"
    chmod 755 "$directory/.$1.$$"
    version=$("$directory/.$1.$$" --version) || {
        rm -f -- "$directory/.$1.$$"
        fail "$1 does not start on this system (on Linux it needs glibc 2.35 or newer): it was not installed"
    }
    mv -f -- "$directory/.$1.$$" "$directory/$1"
    printf 'installed %s as %s\n' "$version" "$directory/$1"
}

for name in $programs; do
    unpack "$name"
done
mkdir -p -- "$directory"
for name in $programs; do
    place "$name"
done
case :$PATH: in
    *:"$directory":*) printf 'Next: interlock demo\n' ;;
    *) printf 'Put %s on your PATH; then: interlock demo\n' "$directory" ;;
esac
