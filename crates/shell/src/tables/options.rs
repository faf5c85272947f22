//! Options of programs, harmless and not.
//!
//! `short` letters take no value, `valued` ones do; an option that is in no list makes the command opaque.

use crate::options::Effect::{Opaque, Read, Recursive, System, Target, Write, WriteOperands};
use crate::options::{Act, Operands, SPEC, Spec};
use crate::words::words;

const fn act(
    short: &'static str,
    long: &'static [&'static str],
    effect: crate::options::Effect,
) -> Act {
    Act {
        short,
        long,
        effect,
    }
}

const RUNS: crate::options::Effect = Opaque("an option that runs another program");
const FILE_OF_OPTIONS: crate::options::Effect = Opaque("options from a file");

pub(crate) const DIFF3: Spec = Spec {
    short: "AeExX3miaTt",
    valued: "L",
    long: words!("show-all ed show-overlap merge text initial-tab label= strip-trailing-cr"),
    acts: &[act("", &["diff-program="], RUNS)],
    ..SPEC
};

pub(crate) const CLOC: Spec = Spec {
    long: words!(
        "json yaml csv xml md quiet by-file by-file-by-lang by-percent= sum-one hide-rate
         exclude-dir= exclude-ext= include-ext= include-lang= exclude-lang= skip-uniqueness"
    ),
    acts: &[
        act(
            "",
            words!("out= report-file= write-lang-def= ignored= counted= found="),
            Write,
        ),
        act(
            "",
            words!("extract-with= vcs= config= force-lang-def= read-lang-def="),
            RUNS,
        ),
    ],
    ..SPEC
};

pub(crate) const SORT: Spec = Spec {
    short: "bdfghiMnRrVcCmsuz",
    valued: "koStT",
    long: words!(
        "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting
         month-sort human-numeric-sort numeric-sort random-sort reverse sort= version-sort
         batch-size= check? debug key= merge stable buffer-size= field-separator=
         temporary-directory= parallel= unique zero-terminated"
    ),
    acts: &[
        act("o", &["output="], Write),
        act("", &["compress-program="], RUNS),
        act("", &["files0-from=", "random-source="], Read),
    ],
    ..SPEC
};

pub(crate) const SHUF: Spec = Spec {
    short: "erz",
    valued: "ino",
    long: words!("echo input-range= head-count= repeat zero-terminated"),
    acts: &[
        act("o", &["output="], Write),
        act("", &["random-source="], Read),
    ],
    ..SPEC
};

pub(crate) const ICONV: Spec = Spec {
    short: "lcs",
    valued: "fto",
    long: &["from-code=", "to-code=", "list", "silent", "verbose"],
    acts: &[act("o", &["output="], Write)],
    ..SPEC
};

pub(crate) const TREE: Spec = Spec {
    short: "adfilxACDFghJNnpqQrstuUvXS",
    valued: "LPIoHT",
    long: words!(
        "noreport dirsfirst filesfirst filelimit= gitignore prune du si charset= inodes device
         matchdirs ignore-case timefmt= sort= info metafirst fromfile fromtabfile nolinks houtro=
         hintro= hyperlink compress="
    ),
    acts: &[act("o", &["output="], Write)],
    ..SPEC
};

pub(crate) const BASE64: Spec = Spec {
    short: "dD",
    valued: "wbo",
    attached: "i",
    long: &["decode", "ignore-garbage", "wrap=", "break="],
    acts: &[act("o", &["output="], Write)],
    ..SPEC
};

pub(crate) const UNIQ: Spec = Spec {
    short: "cdDuiz",
    valued: "fsw",
    long: words!(
        "count repeated all-repeated? skip-fields= group? ignore-case skip-chars= unique
         zero-terminated check-chars="
    ),
    operands: Operands::ReadThenWrite,
    is_tame: true,
    ..SPEC
};

pub(crate) const XXD: Spec = Spec {
    exact: words!(
        "-a -autoskip -b -bits -e -E -EBCDIC -i -include -p -ps -postscript -plain -r -revert -u
         -uppercase -d -C -c= -cols= -g= -groupsize= -l= -len= -n= -name= -o= -s= -seek= -c# -g# -l#
         -o# -s#"
    ),
    operands: Operands::ReadThenWrite,
    ..SPEC
};

pub(crate) const TEE: Spec = Spec {
    short: "aip",
    long: &["append", "ignore-interrupts", "output-error?"],
    operands: Operands::Write,
    is_tame: true,
    ..SPEC
};

pub(crate) const LESS: Spec = Spec {
    // Options with a number may continue after it in the same word.
    short: "aAcdeEfFgGiIJmMnNqQrRsSuUVwWX~?bhyz0123456789",
    valued: "jpxoOkPtTD",
    long: words!(
        "quit-if-one-screen raw-control-chars RAW-CONTROL-CHARS chop-long-lines line-numbers
         LINE-NUMBERS no-init ignore-case IGNORE-CASE quit-at-eof QUIT-AT-EOF quit-on-intr
         squeeze-blank-lines silent quiet SILENT QUIET pattern= tabs= window= shift= use-color"
    ),
    acts: &[
        act("oO", &["log-file=", "LOG-FILE="], Write),
        act(
            "k",
            &["lesskey-file=", "lesskey-src=", "lesskey-content="],
            RUNS,
        ),
        act("PtTD", &["prompt=", "tag=", "tag-file="], RUNS),
    ],
    operands: Operands::ReadButPlus,
    ..SPEC
};

pub(crate) const MORE: Spec = Spec {
    short: "dfpcsu0123456789",
    valued: "n",
    long: words!("silent logical print-over clean-print squeeze plain lines="),
    operands: Operands::ReadButPlus,
    ..SPEC
};

pub(crate) const MAN: Spec = Spec {
    short: "afkwWu",
    valued: "sSPHCl",
    long: words!("all whatis apropos where path location sections= no-subpages"),
    acts: &[act(
        "PHCl",
        &["pager=", "html?", "config-file=", "local-file"],
        RUNS,
    )],
    operands: Operands::Nothing,
    ..SPEC
};

pub(crate) const BAT: Spec = Spec {
    short: "ApnPuSfds",
    valued: "lHrm",
    long: words!(
        "show-all plain number language= line-range= style= color= paging= theme= decorations= wrap=
         tabs= file-name= highlight-line= terminal-width= italic-text= list-languages list-themes
         diff diff-context= map-syntax= ignored-suffix= squeeze-blank squeeze-limit= binary=
         nonprintable-notation= no-config unbuffered chop-long-lines"
    ),
    acts: &[
        act("", &["pager="], RUNS),
        act("", &["cache", "cache-dir=", "config-dir="], RUNS),
    ],
    ..SPEC
};

pub(crate) const DELTA: Spec = Spec {
    short: "sn",
    valued: "w",
    long: words!("side-by-side line-numbers dark light navigate width= paging="),
    acts: &[act("", &["pager=", "config="], RUNS)],
    ..SPEC
};

pub(crate) const RG: Spec = Spec {
    short: "acFHhIiLlnNoPpqSsUuvVwxz0.b",
    valued: "ABCEefgjMmrtTd",
    long: words!(
        "after-context= before-context= context= encoding= regexp= glob= iglob= threads=
         max-columns= max-count= replace= type= type-not= max-depth= text count count-matches
         fixed-strings with-filename no-filename ignore-case follow files-with-matches
         files-without-match line-number no-line-number only-matching pcre2 pretty quiet smart-case
         case-sensitive multiline multiline-dotall unrestricted invert-match word-regexp line-regexp
         search-zip null hidden byte-offset files type-list json sort= sortr= stats trim vimgrep
         heading no-heading color= colors= column no-column no-ignore no-ignore-vcs no-ignore-parent
         no-ignore-dot no-messages passthru crlf binary no-config no-pre one-file-system
         max-filesize= max-columns-preview engine= debug glob-case-insensitive
         field-match-separator= field-context-separator= context-separator= path-separator=
         hyperlink-format= include-zero pre-glob= type-add= no-unicode unicode mmap line-buffered
         block-buffered null-data stop-on-nonmatch dfa-size-limit= regex-size-limit= require-git
         ignore messages maxdepth= sort-files type-clear= pcre2-version auto-hybrid-regex trace
         no-ignore-files no-ignore-global no-ignore-exclude ignore-file-case-insensitive"
    ),
    negates: true,
    acts: &[
        act("", &["pre=", "hostname-bin="], RUNS),
        act("f", &["file=", "ignore-file="], Read),
    ],
    operands: Operands::FirstThenRead,
    ..SPEC
};

pub(crate) const AG: Spec = Spec {
    short: "acDfFHilLnoQrRsStuUvVwz0",
    valued: "ABCgGm",
    long: words!(
        "after? before? context? count files-with-matches files-without-matches ignore-case literal
         hidden ignore= nocolor color nogroup group nobreak noheading numbers smart-case
         case-sensitive word-regexp invert-match depth= max-count= all-types all-text unrestricted
         vimgrep"
    ),
    acts: &[
        act("", &["pager="], RUNS),
        act("p", &["path-to-ignore="], Read),
    ],
    operands: Operands::FirstThenRead,
    ..SPEC
};

pub(crate) const ACK: Spec = Spec {
    short: "acfhHiIlLnoQrRsvwx1",
    valued: "ABCgmt",
    long: words!(
        "count ignore-case literal files-with-matches nocolor color nogroup type= ignore-dir=
         ignore-file= max-count= after-context= before-context= context= noenv"
    ),
    acts: &[act("", &["pager=", "ackrc=", "output="], RUNS)],
    operands: Operands::FirstThenRead,
    ..SPEC
};

pub(crate) const ZCAT: Spec = Spec {
    short: "cdfkqvlt",
    long: words!("stdout to-stdout decompress force quiet verbose"),
    is_tame: true,
    ..SPEC
};

pub(crate) const DATE: Spec = Spec {
    short: "uR",
    valued: "drsf",
    attached: "I",
    long: words!("date= utc universal rfc-email rfc-2822 rfc-3339= iso-8601? debug resolution"),
    acts: &[
        act("s", &["set="], System),
        act("fr", &["file=", "reference="], Read),
    ],
    operands: Operands::SystemButPlus,
    ..SPEC
};

pub(crate) const HOSTNAME: Spec = Spec {
    short: "adfiIsAy",
    long: words!("alias domain fqdn long ip-address all-ip-addresses short all-fqdns"),
    valued: "F",
    acts: &[act("F", &["file="], System), act("b", &["boot"], System)],
    operands: Operands::System,
    ..SPEC
};

pub(crate) const MOUNT: Spec = Spec {
    short: "lv",
    valued: "t",
    long: &["show-labels", "types=", "verbose"],
    operands: Operands::System,
    ..SPEC
};

pub(crate) const IFCONFIG: Spec = Spec {
    short: "asne",
    operands: Operands::System,
    ..SPEC
};

pub(crate) const SYSCTL: Spec = Spec {
    short: "aAXnNbeq",
    valued: "r",
    long: &["all", "names", "values", "ignore", "quiet", "pattern="],
    acts: &[act("wp", &["write", "load?", "system"], System)],
    operands: Operands::SystemIfSet,
    ..SPEC
};

/// Options of `systemctl` and the like before their verb.
pub(crate) const SYSTEMCTL: Spec = Spec {
    short: "alqr",
    valued: "tpPnoHM",
    long: words!(
        "all full failed user system type= state= property= value lines= output= no-pager no-legend
         plain quiet recursive reverse after before with-dependencies show-types legend? timestamp="
    ),
    acts: &[act(
        "HM",
        &["host=", "machine=", "root=", "image="],
        Opaque("an option that acts on another machine"),
    )],
    operands: Operands::Nothing,
    ..SPEC
};

pub(crate) const TPUT: Spec = Spec {
    valued: "T",
    operands: Operands::Nothing,
    ..SPEC
};

/// `top`, which only prints with `-b`, or `-l` on macOS; otherwise its keys end programs and write its configuration.
pub(crate) const TOP: Spec = Spec {
    short: "bcHiS10a",
    valued: "ndpuUoEewlsOF",
    long: words!(
        "batch-mode iterations= delay= pid= filter-any-user= filter-only-euser= sort-override=
         width= cmdline-toggle threads-show idle-toggle"
    ),
    exact: &["-stats=", "-pid=", "-user="],
    operands: Operands::Nothing,
    ..SPEC
};

/// `arch`, which on macOS runs the program in its operands.
pub(crate) const ARCH: Spec = Spec {
    long: &["help", "version"],
    operands: Operands::System,
    ..SPEC
};

/// `ptx`, which with `-G` writes its second operand.
pub(crate) const PTX: Spec = Spec {
    short: "ACfRrt",
    valued: "FgMSWwbio",
    attached: "OT",
    long: words!(
        "auto-reference copyright flag-truncation= macro-name= format= right-side-refs
         sentence-regexp= word-regexp= break-file= ignore-case gap-size= ignore-file= only-file=
         references typeset-mode width= help version"
    ),
    acts: &[act("G", &["traditional"], WriteOperands)],
    ..SPEC
};

/// Interlock's own options, which do nothing that its verbs do not.
pub(crate) const INTERLOCK: Spec = Spec {
    long: words!("json state= workflow= run= verify format= limit= all"),
    operands: Operands::Nothing,
    ..SPEC
};

pub(crate) const DMESG: Spec = Spec {
    short: "HLPTtWwxdekru",
    valued: "flFsn",
    long: words!(
        "human kernel color? decode ctime reltime show-delta facility= level= follow follow-new
         nopager notime raw userspace since= until= time-format= json"
    ),
    acts: &[
        act(
            "CcDEn",
            words!("clear read-clear console-off console-on console-level="),
            System,
        ),
        act("F", &["file="], Read),
    ],
    operands: Operands::Nothing,
    ..SPEC
};

pub(crate) const SS: Spec = Spec {
    short: "nralBoemptuwxdlis46HOTSZzEMbWN0",
    valued: "fADF",
    long: words!(
        "numeric resolve all listening options extended memory processes info summary tcp udp raw
         unix ipv4 ipv6 no-header family= query= oneline"
    ),
    acts: &[
        act("K", &["kill"], System),
        act("D", &["diag="], Write),
        act("F", &["filter="], Read),
    ],
    operands: Operands::Nothing,
    ..SPEC
};

pub(crate) const STTY: Spec = Spec {
    short: "ag",
    valued: "F",
    long: &["all", "save", "file="],
    operands: Operands::Nothing,
    ..SPEC
};

pub(crate) const JOURNALCTL: Spec = Spec {
    short: "aefklmqrxN",
    valued: "bcgnopStuUDF",
    long: words!(
        "all boot? catalog dmesg follow lines= no-pager output= priority= since= until= unit=
         user-unit= reverse grep= identifier= list-boots disk-usage utc user system pager-end
         no-hostname no-tail merge quiet header fields field= case-sensitive? verify output-fields=
         directory= file="
    ),
    acts: &[act(
        "",
        words!(
            "rotate flush sync relinquish-var smart-relinquish-var vacuum-size= vacuum-time=
             vacuum-files= setup-keys update-catalog cursor-file="
        ),
        System,
    )],
    operands: Operands::Nothing,
    ..SPEC
};

pub(crate) const CRONTAB: Spec = Spec {
    short: "l",
    valued: "u",
    acts: &[act("eri", &[], System)],
    operands: Operands::System,
    ..SPEC
};

pub(crate) const FILE: Spec = Spec {
    short: "bcdEhiklLNnrsvzZ0",
    valued: "eFPmf",
    long: words!(
        "brief checking-printout exclude= exclude-quiet= separator= mime mime-type mime-encoding
         keep-going dereference no-dereference no-buffer no-pad raw special-files print0 uncompress
         uncompress-noreport extension apple list debug parameter="
    ),
    acts: &[
        act("C", &["compile"], Write),
        // It resets the times of what it has read.
        act("p", &["preserve-date"], WriteOperands),
        act("mf", &["magic-file=", "files-from="], Read),
    ],
    ..SPEC
};

pub(crate) const NM: Spec = Spec {
    short: "aABCDeglnopPrsSuvVWx",
    valued: "fTt",
    long: words!(
        "debug-syms demangle? dynamic extern-only line-numbers numeric-sort no-sort portability
         print-size print-armap reverse-sort size-sort undefined-only defined-only format= radix=
         quiet"
    ),
    acts: &[act("", &["plugin="], RUNS)],
    operands: Operands::ReadButPlus,
    ..SPEC
};

/// `size` and the like, whose options only select a format.
pub(crate) const SIZE: Spec = Spec {
    short: "ABGodtxiCnsprfae",
    valued: "ejbF",
    long: words!(
        "format= radix= common totals demangle? functions exe= inlines pretty-print basenames
         addresses no-strip-underscore strip-underscore"
    ),
    operands: Operands::ReadButPlus,
    ..SPEC
};

pub(crate) const OBJDUMP: Spec = Spec {
    short: "aCdDefFgGhHilrRsStTuwxpzVv",
    valued: "bEIjmMP",
    attached: "LW",
    long: words!(
        "archive-headers file-headers private-headers headers section-headers all-headers
         disassemble? disassemble-all source full-contents debugging syms dynamic-syms reloc
         dynamic-reloc section= demangle? line-numbers no-show-raw-insn start-address= stop-address=
         target= architecture= wide disassembler-options= no-addresses info"
    ),
    acts: &[act("", &["plugin="], RUNS)],
    operands: Operands::ReadButPlus,
    ..SPEC
};

pub(crate) const READELF: Spec = Spec {
    short: "aAcCdDehIlLnrsStTuvVWwz",
    valued: "pRx",
    long: words!(
        "all file-header program-headers segments section-headers sections symbols syms dyn-syms
         notes relocs unwind dynamic version-info arch-specific use-dynamic hex-dump= string-dump=
         relocated-dump= debug-dump? histogram wide headers demangle?"
    ),
    acts: &[act("", &["plugin="], RUNS)],
    operands: Operands::ReadButPlus,
    ..SPEC
};

pub(crate) const XMLLINT: Spec = Spec {
    exact: words!(
        "--format --noout --xpath= --html --noblanks --noent --nonet --recover --schema= --dtdvalid=
         --relaxng= --valid --nowarning --quiet --huge --encode= --c14n --timing --stream --xmlout
         --pretty= -"
    ),
    acts: &[
        act("", &["--output=", "-output=", "-o="], Write),
        act("", &["--shell", "-shell"], RUNS),
    ],
    ..SPEC
};

// ---- writers ----

pub(crate) const CP: Spec = Spec {
    short: "abdfiHlLnPpRrsTuvxZ",
    valued: "St",
    long: words!(
        "archive attributes-only backup? force interactive no-clobber no-dereference dereference
         preserve? no-preserve= parents recursive link symbolic-link suffix= no-target-directory
         update? verbose one-file-system reflink? sparse= strip-trailing-slashes remove-destination"
    ),
    acts: &[
        act("t", &["target-directory="], Target),
        act("aRr", &["archive", "recursive"], Recursive),
    ],
    operands: Operands::LastWritten,
    ..SPEC
};

pub(crate) const MV: Spec = Spec {
    short: "bfinTuvZ",
    valued: "St",
    long: words!(
        "backup? force interactive no-clobber suffix= no-target-directory update? verbose
         strip-trailing-slashes exchange"
    ),
    acts: &[act("t", &["target-directory="], Target)],
    operands: Operands::LastWrittenOthersRemoved,
    ..SPEC
};

pub(crate) const LN: Spec = Spec {
    short: "bdFfiLnPrsTv",
    valued: "St",
    long: words!(
        "backup? directory force interactive logical no-dereference physical relative symbolic
         suffix= no-target-directory verbose"
    ),
    acts: &[act("t", &["target-directory="], Target)],
    operands: Operands::LastWritten,
    ..SPEC
};

pub(crate) const INSTALL: Spec = Spec {
    short: "bcCDpsTvZ",
    valued: "gmoSt",
    long: words!(
        "backup? compare group= mode= owner= preserve-timestamps suffix= no-target-directory verbose
         strip"
    ),
    acts: &[
        act("t", &["target-directory="], Target),
        act("d", &["directory"], crate::options::Effect::WriteOperands),
        act("", &["strip-program="], RUNS),
    ],
    operands: Operands::LastWritten,
    ..SPEC
};

pub(crate) const TOUCH: Spec = Spec {
    short: "acfhm",
    valued: "drt",
    long: &["no-create", "date=", "no-dereference", "time="],
    acts: &[act("r", &["reference="], Read)],
    operands: Operands::Write,
    is_tame: true,
    ..SPEC
};

pub(crate) const MKDIR: Spec = Spec {
    short: "pvZ",
    valued: "m",
    long: &["mode=", "parents", "verbose", "context?"],
    operands: Operands::Write,
    is_tame: true,
    ..SPEC
};

pub(crate) const MKFIFO: Spec = Spec {
    short: "Z",
    valued: "m",
    long: &["mode=", "context?"],
    operands: Operands::Write,
    ..SPEC
};

pub(crate) const TRUNCATE: Spec = Spec {
    short: "co",
    valued: "rs",
    long: &["no-create", "io-blocks", "size="],
    acts: &[act("r", &["reference="], Read)],
    operands: Operands::Write,
    is_tame: true,
    ..SPEC
};

pub(crate) const SDIFF: Spec = Spec {
    short: "abBdEHilstWZ",
    valued: "Iow",
    long: words!(
        "ignore-case ignore-tab-expansion ignore-space-change ignore-all-space ignore-blank-lines
         width= left-column suppress-common-lines expand-tabs minimal speed-large-files text
         strip-trailing-cr"
    ),
    acts: &[
        act("o", &["output="], Write),
        act("", &["diff-program="], RUNS),
    ],
    ..SPEC
};

pub(crate) const CHMOD: Spec = Spec {
    short: "cfhHLPRv",
    long: words!(
        "changes quiet silent verbose no-preserve-root preserve-root dereference no-dereference
         from="
    ),
    acts: &[
        act("R", &["recursive"], Recursive),
        act("", &["reference="], crate::options::Effect::First),
        // A mode that removes permissions begins with a dash.
        act("rwxXstugoa", &[], crate::options::Effect::First),
    ],
    operands: Operands::FirstThenWrite,
    is_tame: true,
    ..SPEC
};

pub(crate) const CHATTR: Spec = Spec {
    short: "Vf",
    valued: "vp",
    acts: &[
        act("R", &[], Recursive),
        act("aAcCdDeFijmPsStTux", &[], crate::options::Effect::First),
    ],
    operands: Operands::FirstThenWrite,
    ..SPEC
};

pub(crate) const SETFACL: Spec = Spec {
    short: "bkndLPnh",
    valued: "mxnv",
    long: words!("modify= remove= remove-all remove-default name= value= default mask no-mask"),
    acts: &[
        act("R", &["recursive"], Recursive),
        act("", &["restore="], FILE_OF_OPTIONS),
    ],
    operands: Operands::Write,
    ..SPEC
};

pub(crate) const SPONGE: Spec = Spec {
    short: "akqfo",
    long: &["keepdate", "quiet", "force"],
    operands: Operands::Write,
    is_tame: true,
    ..SPEC
};

// ---- removers ----

pub(crate) const RM: Spec = Spec {
    short: "fiIdv",
    long: words!("force interactive? one-file-system no-preserve-root preserve-root? dir verbose"),
    acts: &[act("rR", &["recursive"], Recursive)],
    operands: Operands::Remove,
    is_tame: true,
    ..SPEC
};

pub(crate) const RMDIR: Spec = Spec {
    short: "pv",
    long: &["parents", "verbose", "ignore-fail-on-non-empty"],
    operands: Operands::Remove,
    is_tame: true,
    ..SPEC
};

pub(crate) const UNLINK: Spec = Spec {
    operands: Operands::Remove,
    is_tame: true,
    ..SPEC
};

pub(crate) const SHRED: Spec = Spec {
    short: "fuvxz",
    valued: "ns",
    long: words!("force iterations= size= deallocate remove? verbose exact zero"),
    acts: &[act("", &["random-source="], Read)],
    operands: Operands::Remove,
    is_tame: true,
    ..SPEC
};

pub(crate) const HOSTS: Spec = Spec {
    short: "46abdDfhklLnNoOqrRSTuUvVx",
    valued: "pcWwiItQsMm",
    operands: Operands::Hosts,
    ..SPEC
};
