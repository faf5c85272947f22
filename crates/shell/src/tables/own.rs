//! Options of programs with special handling.

use crate::options::Effect::{
    Dump, First, Opaque, Prints, Read, Recursive, RemoveOperands, Send, Write, WriteBelow,
    WriteOperands,
};
use crate::options::{Act, Effect, Operands, SPEC, Spec};
use crate::words::words;

const fn act(short: &'static str, long: &'static [&'static str], effect: Effect) -> Act {
    Act {
        short,
        long,
        effect,
    }
}

const RUNS: Effect = Opaque("an option that runs another program");

pub(crate) const GREP: Spec = Spec {
    short: "EFGPiyvwxcLloqsbHhnTUZzaIuVJMOpSX0123456789",
    valued: "ABCdDefm",
    long: words!(
        "extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case
         invert-match word-regexp line-regexp count color? colour? files-without-match
         files-with-matches max-count= only-matching quiet silent no-messages byte-offset
         with-filename no-filename label= line-number initial-tab null after-context=
         before-context= context= text binary-files= devices= directories= exclude= exclude-dir=
         include= line-buffered null-data group-separator= no-group-separator binary
         unix-byte-offsets decompress help version"
    ),
    acts: &[
        act("e", &["regexp="], First),
        act("f", &["file="], First),
        act("f", &["file=", "exclude-from="], Read),
        act("rR", &["recursive", "dereference-recursive"], Recursive),
    ],
    operands: Operands::FirstThenRead,
    ..SPEC
};

pub(crate) const SED: Spec = Spec {
    short: "nrEsuz",
    valued: "efl",
    attached: "i",
    long: words!(
        "quiet silent regexp-extended separate unbuffered null-data line-length= posix debug
         follow-symlinks sandbox"
    ),
    acts: &[
        act("e", &["expression="], First),
        act("i", &["in-place?"], WriteOperands),
        act("f", &["file="], Opaque("a script in a file")),
    ],
    operands: Operands::FirstThenRead,
    ..SPEC
};

pub(crate) const AWK: Spec = Spec {
    short: "bcCghMnNOPrsStV",
    valued: "FvfEileW",
    attached: "dDopIkL",
    long: words!(
        "field-separator= assign= traditional posix re-interval characters-as-bytes bignum sandbox
         use-lc-numeric csv lint? optimize"
    ),
    acts: &[
        act(
            "fEil",
            &["file=", "exec=", "include=", "load=", "source="],
            Opaque("a program or extension in a file"),
        ),
        act("eW", &[], Opaque("an option that is not read")),
        act(
            "dDopIkL",
            words!("dump-variables? debug? pretty-print? profile? gen-pot"),
            Opaque("an option that writes a file"),
        ),
    ],
    operands: Operands::FirstThenRead,
    stops: true,
    ..SPEC
};

pub(crate) const JQ: Spec = Spec {
    short: "rRcCMSsenajhV0123456789",
    valued: "fL",
    exact: words!("--arg= --argjson= --slurpfile= --rawfile= --args --jsonargs"),
    long: words!(
        "raw-output raw-input compact-output color-output monochrome-output sort-keys slurp
         exit-status null-input ascii-output join-output tab indent= unbuffered stream stream-errors
         seq raw-output0"
    ),
    acts: &[
        act("f", &["from-file="], Dump),
        act(
            "L",
            &["library-path="],
            Opaque("modules from another place"),
        ),
    ],
    operands: Operands::FirstThenRead,
    ..SPEC
};

pub(crate) const YQ: Spec = Spec {
    short: "rjPnCMNevcS0e",
    valued: "poIl",
    long: words!(
        "unwrapScalar? tojson prettyPrint null-input colors no-colors no-doc exit-status verbose
         input-format= output-format= indent= raw-output"
    ),
    acts: &[
        act("i", &["inplace", "in-place"], WriteOperands),
        act(
            "ys",
            &["yaml-output", "split-exp="],
            Opaque("an option that writes files"),
        ),
        act(
            "",
            &["from-file=", "split-exp-file="],
            Opaque("a program in a file"),
        ),
    ],
    operands: Operands::FirstThenRead,
    ..SPEC
};

pub(crate) const CURL: Spec = Spec {
    short: "sSfLkIivNgGjaq046#",
    valued: "HAebumorKxXdFTcDyYzrCEwtPQU",
    long: words!(
        "silent show-error fail fail-with-body location insecure head include verbose no-buffer
         compressed globoff get header= user-agent= referer= cookie= user= max-time=
         connect-timeout= retry= retry-delay= retry-max-time= retry-all-errors range= write-out=
         http1.1 http2 ipv4 ipv6 tlsv1.2 tlsv1.3 progress-bar no-progress-meter max-redirs= proto=
         proto-default= url= limit-rate= speed-limit= speed-time= time-cond= path-as-is disable
         max-filesize= location-trusted parallel request="
    ),
    acts: &[
        act(
            "oD",
            words!(
                "output= dump-header= cookie-jar= trace= trace-ascii= stderr= libcurl= etag-save=
                 hsts= alt-svc="
            ),
            Write,
        ),
        act("c", &[], Write),
        act("", &["output-dir="], WriteBelow),
        act("O", &["remote-name", "remote-name-all"], WriteOperands),
        act("J", &["remote-header-name"], WriteOperands),
        act(
            "dFTQ",
            words!(
                "data= data-raw= data-binary= data-urlencode= data-ascii= json= form= form-string=
                 upload-file= quote="
            ),
            Send,
        ),
        act(
            "KxPEtU",
            words!(
                "config= proxy= preproxy= socks5= socks5-hostname= cert= engine= unix-socket=
                 abstract-unix-socket= doh-url= interface= resolve= connect-to="
            ),
            Opaque("an option that is not read"),
        ),
    ],
    operands: Operands::Nothing,
    ..SPEC
};

pub(crate) const WGET: Spec = Spec {
    short: "qvSd46rmkpcNxKE",
    valued: "OoatTwUeiPlADRI",
    exact: &["-nv", "-nd", "-nc", "-nH"],
    long: words!(
        "quiet verbose no-verbose server-response spider timeout= tries= user-agent= header=
         no-check-certificate max-redirect= https-only inet4-only inet6-only no-config wait="
    ),
    acts: &[
        act("oa", &["output-file=", "append-output="], Write),
        act("O", &["output-document="], Write),
        act(
            "",
            words!("post-data= post-file= body-data= body-file= method="),
            Send,
        ),
        act("i", &["input-file="], Read),
        act("P", &["directory-prefix="], WriteBelow),
        act(
            "e",
            &["execute=", "use-askpass=", "config="],
            Opaque("an option that runs or sets more"),
        ),
    ],
    operands: Operands::Nothing,
    ..SPEC
};

pub(crate) const TAR: Spec = Spec {
    short: "ABcdrtuxGkUWOpsSnlmJjZzavhPwioR0123456789",
    valued: "fCTXIbKNLVgFH",
    long: words!(
        "list extract get create append update concatenate catenate diff compare delete gzip gunzip
         bzip2 xz zstd lzip lzma auto-compress no-auto-compress verbose exclude= wildcards
         strip-components= directory= numeric-owner same-owner no-same-owner preserve-permissions
         ignore-zeros absolute-names dereference one-file-system full-time occurrence? null
         keep-old-files overwrite touch transform= format= sort= mtime= owner= group= exclude-vcs
         show-transformed-names xform= no-recursion recursion force-local quoting-style=
         block-number anchored no-anchored ignore-case no-wildcards wildcards-match-slash
         exclude-caches exclude-backups exclude-vcs-ignores ignore-failed-read newer= newer-mtime=
         after-date= hole-detection= sparse test-label seek utc totals? checkpoint?"
    ),
    acts: &[
        act("O", &["to-stdout"], Prints),
        act("f", &["file="], First),
        act(
            "IFM",
            words!(
                "use-compress-program= info-script= new-volume-script= to-command= rsh-command=
                 rmt-command="
            ),
            RUNS,
        ),
        act("", &["checkpoint-action="], RUNS),
        act(
            "g",
            &[
                "index-file=",
                "listed-incremental=",
                "volno-file=",
                "remove-files",
            ],
            Opaque("an option that writes or removes more"),
        ),
        act(
            "T",
            &["files-from="],
            Opaque("a list of files that may hold options"),
        ),
        act("X", &["exclude-from="], Read),
    ],
    operands: Operands::Nothing,
    ..SPEC
};

pub(crate) const UNZIP: Spec = Spec {
    short: "lvtpcZnoqjaULCXKMWDbs1h2mTVz",
    valued: "dxP",
    acts: &[act("lvtpcZ", &[], Prints), act("d", &[], WriteBelow)],
    operands: Operands::Nothing,
    ..SPEC
};

pub(crate) const ZIP: Spec = Spec {
    short: "rqvjDyouTmXg0123456789eFf@kl",
    valued: "xinPbt",
    long: words!("recurse-paths quiet junk-paths exclude= include="),
    acts: &[
        act("", &["-TT=", "unzip-command="], RUNS),
        act("m", &["move"], RemoveOperands),
    ],
    operands: Operands::Nothing,
    ..SPEC
};

pub(crate) const COMPRESS: Spec = Spec {
    short: "cdfklLnNqrtvzah0123456789e",
    valued: "SDTMo",
    long: words!(
        "stdout to-stdout decompress uncompress compress robot single-stream no-sparse no-progress
         memlimit= force keep list test quiet verbose fast best recursive no-name name suffix=
         threads= ultra"
    ),
    acts: &[
        act("clt", &["stdout", "to-stdout", "list", "test"], Prints),
        act("o", &["output="], Write),
        act(
            "",
            words!(
                "filelist? files? files0? files-from= output-dir-flat= output-dir-mirror= train"
            ),
            Opaque("an option that writes more"),
        ),
    ],
    operands: Operands::Nothing,
    ..SPEC
};

pub(crate) const RSYNC: Spec = Spec {
    short: "arlptgoDvzhnPuHAXxcEqLWSiRdJOKkIyFm046",
    valued: "efBTMC",
    long: words!(
        "archive recursive links perms times group owner verbose compress human-readable dry-run
         progress update checksum exclude= include= exclude-from= include-from= stats partial
         inplace hard-links one-file-system itemize-changes ignore-existing existing size-only
         copy-links safe-links relative mkpath info= filter= numeric-ids prune-empty-dirs no-owner
         no-group no-perms bwlimit= chmod= chown= sparse whole-file omit-dir-times quiet timeout=
         files-from= delete delete-after delete-before delete-during delete-delay delete-excluded
         force max-delete= list-only no-motd 8-bit-output"
    ),
    acts: &[
        act(
            "eM",
            words!("rsh= rsync-path= remote-option= daemon config= password-file="),
            RUNS,
        ),
        act("", &["remove-source-files"], RemoveOperands),
        act(
            "",
            words!("log-file= write-batch= only-write-batch= backup-dir= partial-dir= temp-dir="),
            Write,
        ),
    ],
    operands: Operands::Nothing,
    ..SPEC
};

pub(crate) const SPLIT: Spec = Spec {
    short: "dexuz",
    valued: "abClnt",
    long: words!(
        "suffix-length= bytes= line-bytes= numeric-suffixes? hex-suffixes? elide-empty-files lines=
         number= separator= unbuffered verbose additional-suffix="
    ),
    acts: &[act("", &["filter="], RUNS)],
    operands: Operands::Nothing,
    ..SPEC
};

pub(crate) const CSPLIT: Spec = Spec {
    short: "kqsz",
    valued: "bfn",
    long: words!(
        "suffix-format= prefix= keep-files suppress-matched digits= quiet silent elide-empty-files"
    ),
    operands: Operands::Nothing,
    ..SPEC
};

pub(crate) const MKTEMP: Spec = Spec {
    short: "dqtu",
    valued: "p",
    long: &["directory", "dry-run", "quiet", "suffix=", "tmpdir?"],
    operands: Operands::Nothing,
    ..SPEC
};

pub(crate) const FD: Spec = Spec {
    short: "HIusigFpLa0lqhV1",
    valued: "tedEScjxX",
    long: words!(
        "hidden no-ignore no-ignore-vcs unrestricted case-sensitive ignore-case glob regex
         fixed-strings absolute-path list-details follow full-path print0 max-depth= min-depth=
         exact-depth= exclude= type= extension= size= changed-within= changed-before= owner= color=
         threads= max-results= base-directory= path-separator= search-path= strip-cwd-prefix
         one-file-system prune show-errors quiet"
    ),
    operands: Operands::FirstThenRead,
    ..SPEC
};

/// Options of `scp`.
pub(crate) const SCP: Spec = Spec {
    short: "346BCpqrTv",
    valued: "cFiJloPSXD",
    acts: &[act("FJoSX", &[], RUNS), act("r", &[], Recursive)],
    operands: Operands::Nothing,
    ..SPEC
};

/// Options of `patch` that name files.
pub(crate) const PATCH: Spec = Spec {
    short: "bcEefFlnNRstTuZ0123456789",
    valued: "BDdFgiopVYzr",
    long: words!(
        "dry-run forward reverse silent quiet strip= directory= fuzz= backup batch force posix"
    ),
    acts: &[
        act("or", &["output=", "reject-file="], Write),
        act("i", &["input="], Read),
    ],
    operands: Operands::Write,
    ..SPEC
};

/// Verbs of `gh` that only read.
pub(crate) const GH_READS: &[&str] = &["view", "list", "status", "diff", "checks"];

/// Groups of `gh` whose reading verbs only read.
pub(crate) const GH_GROUPS: &[&str] = &[
    "pr", "issue", "repo", "run", "workflow", "release", "gist", "label", "cache", "ruleset",
];

/// Tests and settings of `find` without a value.
pub(crate) const FIND_PLAIN: &[&str] = words!(
    "-print -print0 -ls -prune -quit -true -false -o -or -a -and -not -daystart -depth -d -mount
     -xdev -follow -ignore_readdir_race -noignore_readdir_race -noleaf -warn -nowarn -empty
     -executable -readable -writable -nouser -nogroup"
);

/// Tests and settings of `find` with one value.
pub(crate) const FIND_VALUED: &[&str] = words!(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype
     -size -newer -anewer -cnewer -mtime -atime -ctime -mmin -amin -cmin -maxdepth -mindepth -user
     -group -uid -gid -perm -links -inum -samefile -fstype -used -regextype -printf -newermt
     -newerat -newerct -newermm -newerBt -context"
);
