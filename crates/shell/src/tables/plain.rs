//! Options of plain readers: with any other option their effect is unknown.
//!
//! From the manuals of GNU, BSD and macOS. Deliberate omissions are noted at their rows.

use crate::options::{Operands, SPEC, Spec};
use crate::words::words;

/// Returns the known options of a plain reader.
pub(crate) fn options(name: &str) -> Option<&'static Spec> {
    OPTIONS
        .iter()
        .find(|(names, _)| names.contains(&name))
        .map(|(_, spec)| spec)
}

/// Options that nearly every program has.
const ABOUT: Spec = Spec {
    long: &["help", "version"],
    ..SPEC
};

/// Creates a table from letters without and with a value, those whose value is in the same word, and long names.
const fn known(
    short: &'static str,
    valued: &'static str,
    attached: &'static str,
    long: &'static [&'static str],
) -> Spec {
    Spec {
        short,
        valued,
        attached,
        long,
        shares: &[&ABOUT],
        operands: Operands::Nothing,
        ..SPEC
    }
}

/// Creates the same where options end at the first operand.
const fn known_first(
    short: &'static str,
    valued: &'static str,
    long: &'static [&'static str],
) -> Spec {
    Spec {
        stops: true,
        ..known(short, valued, "", long)
    }
}

const CHECKSUMS: &[&str] = words!(
    "algorithm= base64 binary check debug ignore-missing length= quiet raw status strict tag text
     untagged warn zero 01 UNIVERSAL"
);

const OPTIONS: &[(&[&str], Spec)] = &[
    // ---- texts ----
    (
        &["cat"],
        known(
            "AbeElnstTuv",
            "",
            "",
            words!(
                "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting"
            ),
        ),
    ),
    (
        &["tac"],
        known("br", "s", "", &["before", "regex", "separator="]),
    ),
    (
        &["head", "tail"],
        known(
            "fFqrvz0123456789",
            "bcns",
            "",
            words!(
                "bytes= debug follow? lines= max-unchanged-stats= pid= quiet silent retry
                 sleep-interval= verbose zero-terminated"
            ),
        ),
    ),
    (
        &["nl"],
        known(
            "p",
            "bdfhilnsvw",
            "",
            words!(
                "body-numbering= section-delimiter= footer-numbering= header-numbering=
                 line-increment= join-blank-lines= number-format= no-renumber number-separator=
                 starting-line-number= number-width="
            ),
        ),
    ),
    (
        &["wc"],
        known(
            "Lclmw",
            "",
            "",
            words!("bytes chars lines files0-from= max-line-length total= words"),
        ),
    ),
    (
        &["cut"],
        known(
            "Mnsw",
            "bcdfO",
            "",
            words!(
                "bytes= characters= delimiter= fields= complement only-delimited output-delimiter=
                 zero-terminated"
            ),
        ),
    ),
    (
        &["paste"],
        known("sz", "d", "", &["delimiters=", "serial", "zero-terminated"]),
    ),
    (
        &["join"],
        known(
            "iz",
            "12aejotv",
            "",
            words!("ignore-case check-order nocheck-order header zero-terminated"),
        ),
    ),
    (
        &["comm"],
        known(
            "123iz",
            "",
            "",
            words!("check-order nocheck-order output-delimiter= total zero-terminated"),
        ),
    ),
    (
        &["cmp"],
        known(
            "bhlsvxz",
            "in",
            "",
            words!("print-bytes ignore-initial= verbose bytes= quiet silent"),
        ),
    ),
    (
        &["diff"],
        known(
            "aBbcdEeHilNnPpqrsTtuvwyZ0123456789",
            "CDFILSUWXx",
            "",
            words!(
                "normal brief report-identical-files context? unified? ed rcs side-by-side width=
                 left-column suppress-common-lines show-c-function show-function-line= label=
                 expand-tabs initial-tab tabsize= suppress-blank-empty paginate recursive
                 no-dereference new-file unidirectional-new-file ignore-file-name-case
                 no-ignore-file-name-case exclude= exclude-from= starting-file= from-file= to-file=
                 ignore-case ignore-tab-expansion ignore-trailing-space ignore-space-change
                 ignore-all-space ignore-blank-lines ignore-matching-lines= text strip-trailing-cr
                 ifdef= old-group-format= new-group-format= unchanged-group-format=
                 changed-group-format= line-format= old-line-format= new-line-format=
                 unchanged-line-format= minimal horizon-lines= speed-large-files color? palette="
            ),
        ),
    ),
    // `-a`, `--auto-pager` starts a pager.
    (
        &["wdiff"],
        known(
            "123CdhiKlnpst",
            "wxyz",
            "",
            words!(
                "no-deleted no-inserted no-common diff-input ignore-case less-mode avoid-wraps
                 printer statistics terminal start-delete= end-delete= start-insert= end-insert=
                 copyright"
            ),
        ),
    ),
    (
        &["fold"],
        known("bs0123456789", "w", "", &["bytes", "spaces", "width="]),
    ),
    (
        &["fmt"],
        known(
            "cmnstu0123456789",
            "dglpw",
            "",
            words!("crown-margin prefix= split-only tagged-paragraph uniform-spacing width= goal="),
        ),
    ),
    (
        &["expand", "unexpand"],
        known(
            "ai0123456789,",
            "t",
            "",
            &["all", "first-only", "initial", "tabs="],
        ),
    ),
    (
        &["column"],
        known(
            "deJLStVhx",
            "CcEHilNnOopRrsTW",
            "",
            words!(
                "table table-name= table-order= table-columns= table-column= table-columns-limit=
                 table-noextreme= table-noheadings table-header-repeat table-hide= table-right=
                 table-truncate= table-wrap= table-empty-lines keep-empty-lines json tree= tree-id=
                 tree-parent= output-width= output-separator= separator= fillrows use-spaces="
            ),
        ),
    ),
    (&["rev"], known("0Vh", "", "", &["zero"])),
    (
        &["od"],
        known(
            "aBbcDdeFfHhIiLlOosvXx",
            "ANjt",
            "Sw",
            words!(
                "address-radix= endian= skip-bytes= read-bytes= strings? format= output-duplicates
                 width? traditional"
            ),
        ),
    ),
    (
        &["hexdump", "hd"],
        known(
            "bCcdhovVxX",
            "efns",
            "L",
            words!(
                "one-byte-octal one-byte-hex one-byte-char canonical two-bytes-decimal
                 two-bytes-octal two-bytes-hex color? format= format-file= length= skip=
                 no-squeezing"
            ),
        ),
    ),
    (
        &["strings"],
        known(
            "adfhovVw0123456789",
            "eNnstTU",
            "",
            words!(
                "all data print-file-name bytes= radix= include-all-whitespace target= encoding=
                 unicode= output-separator="
            ),
        ),
    ),
    (
        &["look"],
        known(
            "adfhV",
            "t",
            "",
            &["alternative", "alphanum", "ignore-case", "terminate="],
        ),
    ),
    (
        &["pr"],
        known(
            "aFJTcdfmprtv0123456789",
            "CDNWhlowL",
            "Seins",
            words!(
                "pages= columns= across show-control-chars double-space date-format= expand-tabs?
                 form-feed header= output-tabs? join-lines length= merge number-lines?
                 first-line-number= indent= no-file-warnings separator? sep-string? omit-header
                 omit-pagination show-nonprinting width= page-width="
            ),
        ),
    ),
    (
        &["tr"],
        known_first(
            "Ccdstu",
            "",
            &["complement", "delete", "squeeze-repeats", "truncate-set1"],
        ),
    ),
    (
        &["seq"],
        known_first(
            "w.0123456789",
            "fst",
            &["format=", "separator=", "equal-width"],
        ),
    ),
    (
        &["numfmt"],
        known(
            "Mz0123456789",
            "d",
            "",
            words!(
                "debug delimiter= field= format= from= from-unit= grouping header? invalid= padding=
                 round= suffix= to= to-unit= zero-terminated"
            ),
        ),
    ),
    (
        &["basename", "dirname"],
        known_first("az", "s", &["multiple", "suffix=", "zero"]),
    ),
    (&["factor"], known("h", "", "", &["exponents"])),
    (&["tsort"], known("dlqw", "", "", &[])),
    (
        &["cal"],
        known(
            "13bCceFfhJjMNopqrsVwYy0123456789",
            "ABdHmnSt",
            "",
            &[
                "one", "three", "months=", "span", "sunday", "monday", "julian", "year", "twelve",
                "week?", "vertical", "color?", "iso", "reform=",
            ],
        ),
    ),
    (
        &["bc"],
        known(
            "CcghiLlPqRrsvVwxz",
            "eEfIOS",
            "",
            words!(
                "interactive mathlib quiet standard warn compile expression= file= scale= ibase=
                 obase= no-prompt no-line-length"
            ),
        ),
    ),
    // ---- sums ----
    (
        words!("cksum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum shasum b2sum sum"),
        known("0UbchqrstvVwz", "alo", "", CHECKSUMS),
    ),
    (
        &["base32"],
        known(
            "dDi",
            "bw",
            "",
            &["decode", "ignore-garbage", "wrap=", "break="],
        ),
    ),
    // ---- files ----
    (
        &["realpath", "readlink"],
        known(
            "efLmnPqsvzE",
            "",
            "",
            words!(
                "canonicalize canonicalize-existing canonicalize-missing logical physical quiet
                 silent relative-to= relative-base= strip no-symlinks no-newline verbose zero"
            ),
        ),
    ),
    (
        &["ls"],
        known(
            "1@%,ABCDFGHLNOPQRSUWXZabcdefghiklmnoqrstuvxyE",
            "ITw",
            "",
            words!(
                "all almost-all author escape block-size= ignore-backups color? directory dired
                 classify? file-type format= full-time group-directories-first no-group
                 human-readable si dereference-command-line dereference-command-line-symlink-to-dir
                 hide= hyperlink? indicator-style= inode ignore= kibibytes dereference
                 numeric-uid-gid literal hide-control-chars show-control-chars quote-name
                 quoting-style= reverse recursive size sort= time= time-style= tabsize= width=
                 context zero"
            ),
        ),
    ),
    (
        &["eza", "exa", "lsd"],
        known(
            "1@AaBbDdFfGgHhilmMNnOoRrSTUuvxXZ",
            "ILstw",
            "",
            words!(
                "absolute? accessed across all almost-all binary blocks= blocksize bytes changed
                 classic classify? color= color-scale? colour= colour-scale? created date= depth=
                 dereference directory-only extended follow-symlinks git git-ignore git-repos
                 git-repos-no-status grid group group-dirs= group-directories-first
                 group-directories-last header human-readable hyperlink? icon= icon-theme= icons?
                 ignore-glob= inode level= links list-dirs long modified mounts no-filesize no-git
                 no-icons no-permissions no-quotes no-symlink no-time no-user numeric
                 octal-permissions oneline only-dirs only-files permission= recurse reverse
                 show-symlinks size= smart-group sort= sizesort extensionsort timesort versionsort
                 time= time-style= total-size tree width="
            ),
        ),
    ),
    (
        &["getfacl", "getfattr", "lsattr"],
        known(
            "acEdhlLnpPRstVv",
            "em",
            "",
            words!(
                "access default dump encoding= match= name= no-dereference only-values omit-header
                 all-effective no-effective skip-base recursive logical physical tabular
                 absolute-names numeric"
            ),
        ),
    ),
    (
        &["stat"],
        known(
            "FlLnqrsx",
            "c",
            "ft",
            words!("dereference file-system cached= format= printf= terse"),
        ),
    ),
    (
        &["du"],
        known(
            "0aAbcDghHklLmnPrSsx",
            "BdIXt",
            "",
            words!(
                "null all apparent-size block-size= bytes total dereference-args max-depth=
                 files0-from= human-readable inodes dereference count-links no-dereference
                 separate-dirs si summarize threshold= time? time-style= exclude-from= exclude=
                 one-file-system"
            ),
        ),
    ),
    // `--sync` makes the system write.
    (
        &["df"],
        known(
            "abcgHhIiklmnPTvY",
            "Btx",
            "",
            words!(
                "all block-size= human-readable si inodes local no-sync output? portability total
                 type= print-type exclude-type="
            ),
        ),
    ),
    (
        &["lsblk"],
        known(
            "AabDdfhiJlMmnNOPprSstVvyzH",
            "EeIowxQ",
            "T",
            words!(
                "noempty discard dedup= include= json merge output-all pairs scsi nvme virtio tree?
                 all bytes nodeps exclude= filter= fs ascii list list-columns perms noheadings
                 output= paths raw inverse topology width= sort= shell zoned"
            ),
        ),
    ),
    // `-D` writes a cache of devices.
    (
        &["lsof"],
        known("abChHlnNOPQRtUvVwEX?", "cdepu", "AfFgiKkLmorsSTxZ", &[]),
    ),
    (&["zipinfo"], known("12ChlMmsTtvxZz", "", "", &[])),
    (
        &["tokei"],
        known(
            "CfhlvV",
            "ceinost",
            "",
            words!(
                "files exclude= input= languages hidden no-ignore no-ignore-parent no-ignore-dot
                 no-ignore-vcs output= streaming= sort= rsort= types= compact num-format= verbose
                 columns="
            ),
        ),
    ),
    // `-C` names another configuration.
    (
        &["apropos", "whatis"],
        known(
            "adelrwvV?",
            "LMms",
            "",
            words!(
                "all and debug exact locale= long manpath= regex sections= systems= usage verbose
                 wildcard"
            ),
        ),
    ),
    (
        &["locate", "plocate"],
        known(
            "0AbceEhHiLmNPpqsSVw",
            "dlnr",
            "",
            words!(
                "all basename count database= existing follow ignore-case ignore-spaces limit=
                 literal nofollow null quiet regex regexp= statistics transliterate wholename
                 wholepath"
            ),
        ),
    ),
    (
        &["which", "whereis"],
        known(
            "abfghilmqsuv",
            "BMS",
            "",
            words!("all read-alias skip-alias skip-dot skip-tilde show-dot show-tilde tty-only"),
        ),
    ),
    // ---- the machine ----
    (
        &["lscpu"],
        known(
            "abBchJrVxy",
            "s",
            "Cep",
            words!(
                "all online bytes caches? offline json extended? hierarchic? parse? raw hex physical
                 output-all"
            ),
        ),
    ),
    (
        &["free"],
        known(
            "bghkLlmtVvw",
            "cs",
            "",
            words!(
                "bytes kilo mega giga tera peta kibi mebi gibi tebi pebi human si line lohi total
                 committed seconds= count= wide"
            ),
        ),
    ),
    (
        &["uptime"],
        known("cphrsV", "", "", &["container", "pretty", "raw", "since"]),
    ),
    (&["nproc"], known("", "", "", &["all", "ignore="])),
    (
        &["uname"],
        known(
            "abiKmnoprsUvX",
            "",
            "",
            words!(
                "all kernel-name nodename kernel-release kernel-version machine processor
                 hardware-platform operating-system"
            ),
        ),
    ),
    (
        &["id", "groups", "whoami", "logname"],
        known(
            "AacFGgMnPprRuZz",
            "",
            "",
            &["context", "group", "groups", "name", "real", "user", "zero"],
        ),
    ),
    (
        &["who", "w", "users"],
        known(
            "abcdfHhilmnopqrsTtuVw",
            "MN",
            "",
            words!(
                "all boot dead heading ips ip-addr login lookup process count runlevel short time
                 mesg users message writable no-header no-current from old-style pids terminal"
            ),
        ),
    ),
    (
        &["last"],
        known(
            "adFhiRTVwxy0123456789",
            "fnpst",
            "",
            words!(
                "hostlast dns file= fulltimes ip limit= nohostname since= until= present= fullnames
                 system tab-separated time-format="
            ),
        ),
    ),
    (
        &["pstree"],
        known(
            "AaGcghlnpSsTtUuVZw",
            "CHNf",
            "",
            words!(
                "arguments ascii compact-not color= show-pgids vt100 highlight-all highlight-pid=
                 long numeric-sort ns-sort= show-pids show-parents ns-changes thread-names
                 hide-threads uid-changes unicode security-context"
            ),
        ),
    ),
    (&["pidof"], known("chnqstwxz", "doS", "", &[])),
    (
        &["pgrep"],
        known(
            "AacfhIijLlnoqSvwxz",
            "dFGgNOPrstUuMT",
            "",
            words!(
                "delimiter= list-name list-full inverse lightweight count full pgroup= group=
                 ignore-case newest oldest older= parent= session= terminal= euid= uid= exact
                 pidfile= logpidfile runstates= ignore-ancestors cgroup= env= ns= nslist= quiet"
            ),
        ),
    ),
    (
        &["vmstat", "iostat"],
        known(
            "aACcdDfHhIikKmNnPstTUVwxyz",
            "gjopS",
            "",
            words!(
                "active forks slabs one-header stats disk disk-sum partition= unit= wide timestamp
                 no-first compact dec= human pretty"
            ),
        ),
    ),
    (&["lsmod"], known("sv", "", "", &["syslog", "verbose"])),
    // `-q` and `-Q` query a server; `-A`, `-H`, `-M` and `-O` access the hardware.
    (&["lspci"], known("bDkmnPtvVx", "dips", "", &[])),
    (&["lsusb"], known("hvtV", "dDs", "", &["verbose", "tree"])),
    (
        &["lsb_release"],
        known(
            "acdhirsv",
            "",
            "",
            &["all", "codename", "description", "id", "release", "short"],
        ),
    ),
    (
        &["sw_vers"],
        Spec {
            exact: &[
                "-productName",
                "-productVersion",
                "-productVersionExtra",
                "-buildVersion",
            ],
            ..known(
                "",
                "",
                "",
                &[
                    "productName",
                    "productVersion",
                    "productVersionExtra",
                    "buildVersion",
                ],
            )
        },
    ),
    (
        &["netstat"],
        known(
            "46aBbCcdeFghilLmMnNopQqrRsStTuUvWwxZ",
            "AfI",
            "",
            words!(
                "all cache context continuous extend fib groups inet inet6 interfaces listening
                 masquerade numeric numeric-hosts numeric-ports numeric-users program programs
                 protocol= raw route sctp statistics symbolic tcp timers udp udplite unix verbose
                 wide"
            ),
        ),
    ),
    (
        &["locale"],
        known(
            "ackmvV?",
            "",
            "",
            words!("all-locales charmaps category-name keyword-name usage verbose"),
        ),
    ),
    (&["getconf"], known("a", "v", "", &[])),
    (&["tty"], known("s", "", "", &["silent", "quiet"])),
];

#[cfg(test)]
mod tests {
    use interlock_core::facts::CommandClass;

    use super::options;
    use crate::tables::programs::{Kind, PROGRAMS};

    #[test]
    fn every_plain_reader_has_its_list_of_options() {
        let plain = PROGRAMS.iter().filter(|row| {
            matches!(row.kind, Kind::Plain)
                || matches!(row.kind, Kind::Nothing) && row.class == CommandClass::Reader
        });
        let without: Vec<&str> = plain
            .flat_map(|row| row.names)
            .filter(|name| **name != "expr" && options(name).is_none())
            .copied()
            .collect();
        assert_eq!(without, [""; 0]);
    }
}
