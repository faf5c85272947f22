#!/bin/sh
# Installs the program `interlock` from a release, after a look at its checksum.
#
#   curl -fsSL https://github.com/interlock-cli/interlock/releases/latest/download/install.sh | sh
#   sh install.sh --dir ~/bin
#   INTERLOCK_BASE_URL=file:///path/to/archives sh install.sh
set -eu

base=${INTERLOCK_BASE_URL:-https://github.com/interlock-cli/interlock/releases/latest/download}
directory=${INTERLOCK_DIR:-${HOME:?HOME is not set}/.local/bin}

fail() {
    printf 'install.sh: %s\n' "$1" >&2
    exit 1
}

usage() {
    printf '%s\n' 'Usage: install.sh [--dir DIRECTORY]' '' \
        'Installs interlock into DIRECTORY (default: ~/.local/bin).' \
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
wanted='' archive=''
while read -r digest name; do
    case $name in
        interlock-*-"$target".tar.gz) wanted=$digest archive=$name ;;
    esac
done <"$work/SHA256SUMS"
[ -n "$archive" ] || fail "the release has no archive for $target"
case $archive in
    */*) fail "\`$archive\` is not the name of an archive" ;;
esac

fetch "$base/$archive" "$work/$archive" || fail "\`$archive\` cannot be fetched from $base"
found=$(sum "$work/$archive")
found=${found%% *}
[ "$found" = "$wanted" ] || fail "\`$archive\` has the checksum $found, and $wanted was expected: nothing was installed"

mkdir "$work/content"
tar -xzf "$work/$archive" -C "$work/content"
program=$work/content/${archive%.tar.gz}/interlock
[ -f "$program" ] || fail "\`$archive\` holds no program"
mkdir -p -- "$directory"
# Written beside and renamed: a program that runs is not overwritten.
cp -- "$program" "$directory/.interlock.$$"
chmod 755 "$directory/.interlock.$$"
version=$("$directory/.interlock.$$" --version) || {
    rm -f -- "$directory/.interlock.$$"
    fail 'the program does not start on this system (on Linux it needs glibc 2.35 or newer): nothing was installed'
}
mv -f -- "$directory/.interlock.$$" "$directory/interlock"

printf 'installed %s as %s\n' "$version" "$directory/interlock"
case :$PATH: in
    *:"$directory":*) printf 'Next: interlock demo\n' ;;
    *) printf 'Put %s on your PATH; then: interlock demo\n' "$directory" ;;
esac
