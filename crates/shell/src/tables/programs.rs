//! All known programs, with their class and what is known of their options.

use interlock_core::facts::CommandClass;

use super::options::*;
use crate::options::Spec;
use crate::words::words;

/// How a program of the tables is handled.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// It touches nothing; its operands are not files. A reader has its known options.
    Nothing,
    /// It reads its operands; none of its known options is dangerous.
    Plain,
    /// Its options decide.
    Options(&'static Spec),
    /// The first operand must be one of these words, or there must be none.
    Verbs(&'static Spec, &'static [&'static str]),
    /// It runs something that the line does not show.
    Opaque(&'static str),
    /// It needs special handling.
    Special(Special),
}

/// Programs that need special handling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Special {
    Find,
    Fd,
    Sed,
    Awk,
    Git,
    Tar,
    Unzip,
    Zip,
    Compress,
    SevenZip,
    Ar,
    Cpio,
    Dd,
    Ip,
    Ps,
    Jq,
    Yq,
    Curl,
    Wget,
    Kill,
    Gh,
    Split,
    Csplit,
    Mktemp,
    Rsync,
    Patch,
    Editor,
    Scp,
    Printenv,
    Grep,
    Man,
    Getent,
    Top,
}

/// A row of programs that are handled alike.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) names: &'static [&'static str],
    pub(crate) class: CommandClass,
    pub(crate) kind: Kind,
}

const fn row(names: &'static [&'static str], class: CommandClass, kind: Kind) -> Row {
    Row { names, class, kind }
}

use CommandClass::{
    Interpreter, Network, Nothing, ProjectCode, Reader, Remover, System, VersionControl, Writer,
};

const CODE: &str = "runs code that is given to it";
const PROJECT: &str = "runs code of the project";
const ELSEWHERE: &str = "starts something that runs elsewhere";
const CHANGES: &str = "may change more than its words tell";

/// All programs.
pub(crate) const PROGRAMS: &[Row] = &[
    // ---- nothing ----
    row(
        &[
            "pwd", "echo", "printf", "true", "false", ":", "sleep", "yes",
        ],
        Nothing,
        Kind::Nothing,
    ),
    row(&["test", "["], Nothing, Kind::Nothing),
    // ---- plain readers ----
    row(
        &[
            "cat", "tac", "head", "tail", "nl", "wc", "cut", "paste", "join", "comm", "cmp", "diff",
        ],
        Reader,
        Kind::Plain,
    ),
    row(
        &[
            "fold", "fmt", "expand", "unexpand", "column", "rev", "od", "hexdump", "hd", "strings",
            "look", "pr",
        ],
        Reader,
        Kind::Plain,
    ),
    row(
        &[
            "tr", "seq", "numfmt", "expr", "basename", "dirname", "cal", "factor", "tsort",
        ],
        Reader,
        Kind::Nothing,
    ),
    row(
        &["realpath", "readlink", "bc", "tokei"],
        Reader,
        Kind::Plain,
    ),
    row(
        words!("cksum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum shasum"),
        Reader,
        Kind::Plain,
    ),
    row(&["b2sum", "base32", "sum"], Reader, Kind::Plain),
    row(
        &[
            "grep", "egrep", "fgrep", "zgrep", "zegrep", "zfgrep", "bzgrep", "xzgrep",
        ],
        Reader,
        Kind::Special(Special::Grep),
    ),
    row(&["diff3"], Reader, Kind::Options(&DIFF3)),
    row(&["cloc"], Reader, Kind::Options(&CLOC)),
    // ---- the same, about the machine ----
    row(
        &[
            "ls", "eza", "exa", "lsd", "getfacl", "getfattr", "lsattr", "wdiff", "stat", "du",
            "df", "lsblk", "lsof",
        ],
        Reader,
        Kind::Plain,
    ),
    row(
        words!(
            "lscpu free uptime nproc uname id whoami groups who logname w last users pstree pidof
             vmstat lsmod lspci lsusb apropos lsb_release sw_vers iostat locate plocate whatis"
        ),
        Reader,
        Kind::Nothing,
    ),
    row(
        &[
            "locale", "getconf", "tty", "which", "whereis", "pgrep", "netstat",
        ],
        Reader,
        Kind::Nothing,
    ),
    row(&["arch"], Reader, Kind::Options(&ARCH)),
    row(&["ptx"], Reader, Kind::Options(&PTX)),
    row(&["getent"], Reader, Kind::Special(Special::Getent)),
    row(&["printenv"], Reader, Kind::Special(Special::Printenv)),
    // ---- readers with dangerous options ----
    row(&["find"], Reader, Kind::Special(Special::Find)),
    row(&["fd", "fdfind"], Reader, Kind::Special(Special::Fd)),
    row(&["sed", "gsed"], Reader, Kind::Special(Special::Sed)),
    row(
        &["awk", "gawk", "mawk", "nawk"],
        Reader,
        Kind::Special(Special::Awk),
    ),
    row(&["sort"], Reader, Kind::Options(&SORT)),
    row(&["shuf"], Reader, Kind::Options(&SHUF)),
    row(&["iconv"], Reader, Kind::Options(&ICONV)),
    row(&["clear"], Nothing, Kind::Nothing),
    row(
        &["tput"],
        Reader,
        Kind::Verbs(
            &TPUT,
            &[
                "cols", "lines", "colors", "bold", "dim", "sgr0", "setaf", "setab", "smul", "rmul",
                "smso", "rmso", "el", "longname",
            ],
        ),
    ),
    row(&["zipinfo"], Reader, Kind::Plain),
    row(&["tree"], Reader, Kind::Options(&TREE)),
    row(&["base64"], Reader, Kind::Options(&BASE64)),
    row(&["uniq"], Reader, Kind::Options(&UNIQ)),
    row(&["xxd"], Reader, Kind::Options(&XXD)),
    row(&["tee"], Writer, Kind::Options(&TEE)),
    row(&["dd"], Writer, Kind::Special(Special::Dd)),
    row(&["less", "zless"], Reader, Kind::Options(&LESS)),
    row(&["more", "zmore"], Reader, Kind::Options(&MORE)),
    row(&["man"], Reader, Kind::Special(Special::Man)),
    row(&["bat", "batcat"], Reader, Kind::Options(&BAT)),
    row(&["delta"], Reader, Kind::Options(&DELTA)),
    row(&["rg"], Reader, Kind::Options(&RG)),
    row(&["ag"], Reader, Kind::Options(&AG)),
    row(&["ack"], Reader, Kind::Options(&ACK)),
    row(
        &["tar", "gtar", "bsdtar"],
        Writer,
        Kind::Special(Special::Tar),
    ),
    row(&["unzip"], Writer, Kind::Special(Special::Unzip)),
    row(&["zip"], Writer, Kind::Special(Special::Zip)),
    row(
        &[
            "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "unzstd", "lzma",
        ],
        Writer,
        Kind::Special(Special::Compress),
    ),
    row(
        &[
            "zcat", "bzcat", "xzcat", "zstdcat", "gzcat", "lzcat", "lz4cat",
        ],
        Reader,
        Kind::Options(&ZCAT),
    ),
    row(
        &["7z", "7za", "7zr"],
        Writer,
        Kind::Special(Special::SevenZip),
    ),
    row(&["ar"], Writer, Kind::Special(Special::Ar)),
    row(&["cpio"], Writer, Kind::Special(Special::Cpio)),
    row(&["date"], Reader, Kind::Options(&DATE)),
    row(&["hostname"], Reader, Kind::Options(&HOSTNAME)),
    row(&["mount"], Reader, Kind::Options(&MOUNT)),
    row(&["ip"], Reader, Kind::Special(Special::Ip)),
    row(&["ifconfig", "route"], Reader, Kind::Options(&IFCONFIG)),
    row(&["sysctl"], Reader, Kind::Options(&SYSCTL)),
    row(&["dmesg"], Reader, Kind::Options(&DMESG)),
    row(&["ss"], Reader, Kind::Options(&SS)),
    row(&["stty"], Reader, Kind::Verbs(&STTY, &["size", "speed"])),
    row(&["top"], Reader, Kind::Special(Special::Top)),
    row(
        &["systemctl"],
        Reader,
        Kind::Verbs(
            &SYSTEMCTL,
            words!(
                "status show cat is-active is-enabled is-failed is-system-running list-units
                 list-unit-files list-timers list-sockets list-jobs list-dependencies list-machines"
            ),
        ),
    ),
    row(&["journalctl"], Reader, Kind::Options(&JOURNALCTL)),
    row(
        &["timedatectl"],
        Reader,
        Kind::Verbs(&SYSTEMCTL, &["status", "show", "list-timezones"]),
    ),
    row(
        &["loginctl"],
        Reader,
        Kind::Verbs(
            &SYSTEMCTL,
            words!(
                "list-sessions list-users list-seats show-session show-user session-status
                 user-status"
            ),
        ),
    ),
    row(&["crontab"], Reader, Kind::Options(&CRONTAB)),
    row(&["file"], Reader, Kind::Options(&FILE)),
    row(&["nm"], Reader, Kind::Options(&NM)),
    row(
        &["size", "c++filt", "addr2line"],
        Reader,
        Kind::Options(&SIZE),
    ),
    row(&["objdump"], Reader, Kind::Options(&OBJDUMP)),
    row(&["readelf"], Reader, Kind::Options(&READELF)),
    row(&["ps"], Reader, Kind::Special(Special::Ps)),
    row(&["jq"], Reader, Kind::Special(Special::Jq)),
    row(&["yq"], Reader, Kind::Special(Special::Yq)),
    row(&["xmllint"], Reader, Kind::Options(&XMLLINT)),
    row(&["curl"], Network, Kind::Special(Special::Curl)),
    row(&["wget"], Network, Kind::Special(Special::Wget)),
    // ---- writers ----
    row(&["cp"], Writer, Kind::Options(&CP)),
    row(&["mv"], Writer, Kind::Options(&MV)),
    row(&["ln"], Writer, Kind::Options(&LN)),
    row(&["install"], Writer, Kind::Options(&INSTALL)),
    row(&["rsync"], Writer, Kind::Special(Special::Rsync)),
    row(&["touch"], Writer, Kind::Options(&TOUCH)),
    row(&["mkdir"], Writer, Kind::Options(&MKDIR)),
    row(&["mkfifo"], Writer, Kind::Options(&MKFIFO)),
    row(&["mknod"], Writer, Kind::Options(&MKFIFO)),
    row(&["mktemp"], Writer, Kind::Special(Special::Mktemp)),
    row(&["truncate"], Writer, Kind::Options(&TRUNCATE)),
    row(&["split"], Writer, Kind::Special(Special::Split)),
    row(&["csplit"], Writer, Kind::Special(Special::Csplit)),
    row(&["patch"], Writer, Kind::Special(Special::Patch)),
    row(&["sdiff"], Reader, Kind::Options(&SDIFF)),
    row(&["chmod", "chown", "chgrp"], Writer, Kind::Options(&CHMOD)),
    row(&["chattr"], Writer, Kind::Options(&CHATTR)),
    row(&["setfacl", "setfattr"], Writer, Kind::Options(&SETFACL)),
    row(&["sponge"], Writer, Kind::Options(&SPONGE)),
    row(&["dos2unix", "unix2dos"], Writer, Kind::Options(&SPONGE)),
    row(
        &[
            "ed", "ex", "vi", "vim", "nvim", "view", "nano", "pico", "emacs", "sqlite3", "rvim",
            "vimdiff",
        ],
        Writer,
        Kind::Special(Special::Editor),
    ),
    // ---- removers ----
    row(&["rm"], Remover, Kind::Options(&RM)),
    row(&["rmdir"], Remover, Kind::Options(&RMDIR)),
    row(&["unlink"], Remover, Kind::Options(&UNLINK)),
    row(&["shred"], Remover, Kind::Options(&SHRED)),
    row(&["srm", "trash", "trash-put"], Remover, Kind::Options(&RM)),
    // ---- version control ----
    row(&["git"], VersionControl, Kind::Special(Special::Git)),
    row(
        &[
            "hg", "svn", "cvs", "bzr", "fossil", "jj", "darcs", "p4", "sl",
        ],
        VersionControl,
        Kind::Opaque("a version control system that is not read"),
    ),
    // ---- Interlock itself: what changes a run is refused elsewhere ----
    row(
        &["interlock"],
        Reader,
        Kind::Verbs(
            &INTERLOCK,
            &[
                "status", "list", "log", "check", "graph", "explain", "simulate", "test", "verify",
            ],
        ),
    ),
    // ---- interpreters ----
    row(
        &["python", "python2", "python3", "pypy", "pypy3", "ipython"],
        Interpreter,
        Kind::Opaque(CODE),
    ),
    row(
        &[
            "node", "nodejs", "deno", "bun", "ts-node", "tsx", "perl", "ruby", "irb", "php", "lua",
            "luajit",
        ],
        Interpreter,
        Kind::Opaque(CODE),
    ),
    row(
        &[
            "tclsh", "wish", "expect", "R", "Rscript", "julia", "java", "jshell", "scala",
            "kotlin", "groovy", "clojure",
        ],
        Interpreter,
        Kind::Opaque(CODE),
    ),
    row(
        words!("runghc ghci ghc osascript pwsh powershell gdb lldb m4 dc psql mysql redis-cli"),
        Interpreter,
        Kind::Opaque(CODE),
    ),
    row(
        &[
            "fish", "nu", "csh", "tcsh", "elvish", "xonsh", "mongo", "mongosh", "sqlcmd", "guile",
            "sbcl", "elixir", "iex", "erl",
        ],
        Interpreter,
        Kind::Opaque(CODE),
    ),
    // ---- keys and certificates: the effects depend on the subcommand ----
    row(
        words!("openssl gpg gpg2 ssh-keygen ssh-add ssh-agent"),
        CommandClass::Unknown,
        Kind::Opaque(CHANGES),
    ),
    // ---- code of the project ----
    row(
        &[
            "make", "gmake", "cmake", "ninja", "meson", "just", "task", "rake", "cargo", "rustc",
            "rustup", "gcc", "g++", "cc", "c++",
        ],
        ProjectCode,
        Kind::Opaque(PROJECT),
    ),
    row(
        &[
            "clang", "clang++", "javac", "kotlinc", "swiftc", "go", "npm", "npx", "pnpm", "pnpx",
            "yarn", "corepack", "tsc", "eslint", "jest", "vitest", "mocha",
        ],
        ProjectCode,
        Kind::Opaque(PROJECT),
    ),
    row(
        &[
            "prettier", "pytest", "py.test", "tox", "nox", "mypy", "pyright", "pylint", "flake8",
            "ruff", "black", "isort", "pip", "pip3", "pipx",
        ],
        ProjectCode,
        Kind::Opaque(PROJECT),
    ),
    row(
        &[
            "uv", "uvx", "poetry", "pdm", "hatch", "conda", "mamba", "gem", "bundle", "bundler",
            "rspec", "composer", "phpunit", "mvn", "gradle", "sbt",
        ],
        ProjectCode,
        Kind::Opaque(PROJECT),
    ),
    row(
        words!(
            "dotnet mix cabal stack zig swift bazel bazelisk buck pre-commit ldd ctest rustfmt gofmt"
        ),
        ProjectCode,
        Kind::Opaque(PROJECT),
    ),
    row(
        &[
            "mise", "vale", "luac", "luac5.1", "luac5.2", "luac5.3", "luac5.4",
        ],
        ProjectCode,
        Kind::Opaque(PROJECT),
    ),
    row(&["shellcheck"], Reader, Kind::Opaque(CHANGES)),
    // ---- network ----
    row(&["tshark"], Network, Kind::Opaque(ELSEWHERE)),
    row(
        words!("ping ping6 dig nslookup host whois traceroute tracepath mtr"),
        Network,
        Kind::Options(&HOSTS),
    ),
    row(
        &[
            "nc", "ncat", "netcat", "socat", "telnet", "ftp", "sftp", "aria2c", "nmap", "tcpdump",
        ],
        Network,
        Kind::Opaque(ELSEWHERE),
    ),
    row(&["scp"], Network, Kind::Special(Special::Scp)),
    row(
        words!("aws gcloud az terraform tofu helm kubectl"),
        Network,
        Kind::Opaque(ELSEWHERE),
    ),
    row(&["gh"], Network, Kind::Special(Special::Gh)),
    row(
        words!("ssh mosh docker podman docker-compose nerdctl vagrant wsl"),
        Network,
        Kind::Opaque(ELSEWHERE),
    ),
    row(
        words!(
            "systemd-run at batch start-stop-daemon run-parts ld.so ld-linux.so.2
             ld-linux-x86-64.so.2"
        ),
        System,
        Kind::Opaque(ELSEWHERE),
    ),
    row(&["tmux", "screen"], System, Kind::Opaque(ELSEWHERE)),
    // ---- system ----
    row(
        words!(
            "apt apt-get apt-cache aptitude dpkg dnf yum rpm pacman brew snap flatpak apk zypper"
        ),
        System,
        Kind::Opaque(CHANGES),
    ),
    row(
        words!(
            "wipefs sgdisk sfdisk cfdisk blkdiscard cryptsetup lvremove vgremove pvremove tune2fs
             resize2fs mkfs mkswap umount swapon swapoff losetup fdisk parted shutdown reboot halt
             poweroff init"
        ),
        System,
        Kind::Opaque(CHANGES),
    ),
    row(
        words!("mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat"),
        System,
        Kind::Opaque(CHANGES),
    ),
    row(
        words!(
            "iptables ip6tables nft ufw useradd userdel usermod groupadd passwd chpasswd visudo vipw"
        ),
        System,
        Kind::Opaque(CHANGES),
    ),
    row(
        words!(
            "insmod rmmod modprobe service update-alternatives ldconfig chsh logger wall renice"
        ),
        System,
        Kind::Opaque(CHANGES),
    ),
    row(
        &["pkill", "killall", "skill", "fuser"],
        System,
        Kind::Opaque("may end programs of others"),
    ),
    row(&["kill"], System, Kind::Special(Special::Kill)),
];

/// Programs whose first word may be `help` or `version`, which have no other effect.
///
/// `npm help` starts a viewer or a browser that its configuration names, `bundle help` starts `man`.
pub(crate) const WITH_SUBCOMMANDS: &[&str] = words!(
    "cargo go pnpm yarn docker podman kubectl gh helm terraform uv poetry conda gem pip pip3 dotnet
     rustup git ruff openssl"
);

/// Program-specific words that, alone, only ask a program for information about itself.
pub(crate) const ASKS: &[(&[&str], &[&str])] = &[
    (
        &[
            "node", "nodejs", "npm", "npx", "pnpm", "yarn", "bun", "deno", "tsc", "ruby", "lua",
            "luajit", "perl", "php", "mvn", "make", "gradle", "docker", "podman", "gem",
            "composer", "bundle",
        ],
        &["-v"],
    ),
    (&["npm"], &["version"]),
    (
        &["gcc", "g++", "cc", "c++", "clang", "clang++"],
        &["-v", "-dumpversion", "-dumpmachine", "-dumpfullversion"],
    ),
    (
        &["java", "javac", "scala", "kotlinc", "terraform"],
        &["-version", "-fullversion"],
    ),
    (&["dotnet"], &["--info", "--list-sdks", "--list-runtimes"]),
    (&["php"], &["-m", "-i"]),
    (&["cargo"], &["--list", "-vV", "-Vv"]),
    (&["rustc"], &["-vV", "-Vv"]),
];

/// Programs that load code of the project, or start another program, even to print their help.
pub(crate) const LOADS_FOR_HELP: &[&str] = &[
    "pytest", "py.test", "rake", "just", "task", "tox", "nox", "gradle", "mix", "bazel", "bundle",
    "bundler",
];

/// Builtins with special handling; a function may not have their name.
pub(crate) const BUILTINS: &[&str] = words!(
    "cd pushd popd dirs exit return break continue shift wait umask ulimit read local declare
     typeset export readonly unset set shopt let mapfile readarray getopts type hash jobs fg bg
     disown suspend times caller eval trap source . exec command builtin alias unalias enable bind
     complete compgen compopt history fc help logout"
);
