//! More forms that only read: small programs of the system, package managers, databases.

use super::reading::{Check, FORM, Form, NAMES, Reach};
use crate::options::{Act, Effect, SPEC, Spec};
use crate::words::words;

/// findmnt(8): it has no option that mounts.
const FINDMNT: Spec = Spec {
    short: "AabcCDefHIiJklmnPpRrsuUvVxyh",
    valued: "dFMNoOQSTtw",
    long: words!(
        "all ascii bytes canonicalize nocanonicalize df dfi direction= evaluate tab-file= first-only
         fstab list-columns invert json kernel list mountpoint= mtab task= noheadings options=
         output= output-all pairs poll? pseudo filter= submounts raw real source= target= types=
         tree shadowed deleted uniq notruncate nofsroot timeout= verify verbose vfs-all shell help
         version"
    ),
    ..NAMES
};

/// sqlite3(1): `-init` `-A` `-interactive` `-deserialize` and the like run, write or ask.
const SQLITE: Spec = Spec {
    exact: words!(
        "-readonly --readonly -header --header -noheader --noheader -csv --csv -json --json -line
         --line -list --list -column --column -table --table -box --box -markdown --markdown -html
         --html -quote --quote -tabs --tabs -ascii --ascii -separator= -nullvalue= -newline= -cmd=
         --cmd= -bail --bail -batch --batch -safe --safe -nofollow -stats -echo"
    ),
    ..NAMES
};

/// npm-ls(1): it reads `node_modules` and starts nothing; apart from its log and cache it writes nothing.
const NPM_LS: Spec = Spec {
    short: "lagp",
    long: words!(
        "json long parseable all depth= global link omit= include= package-lock-only unicode
         workspace= workspaces"
    ),
    valued: "w",
    ..NAMES
};

/// pip-list(1): `--outdated`, `--uptodate` and the options of an index query a server.
const PIP_LIST: Spec = Spec {
    short: "vqle",
    long: words!(
        "verbose quiet format= user local not-required exclude-editable include-editable editable
         disable-pip-version-check exclude= path= files"
    ),
    ..NAMES
};

const NPM: Form = Form {
    programs: &["npm"],
    spec: NPM_LS,
    ..FORM
};
const PIP: Form = Form {
    programs: &["pip", "pip3"],
    spec: PIP_LIST,
    ..FORM
};

/// All forms; the first match counts.
pub(crate) const LOCAL: &[Form] = &[
    Form {
        programs: &["namei"],
        spec: Spec {
            short: "xmolnvhVZ",
            long: words!("mountpoints modes owners long nosymlinks vertical context help version"),
            ..SPEC
        },
        ..FORM
    },
    Form {
        programs: &["findmnt"],
        spec: FINDMNT,
        ..FORM
    },
    Form {
        programs: &["hostid"],
        spec: Spec {
            long: &["help", "version"],
            ..NAMES
        },
        operands_max: 0,
        ..FORM
    },
    // infocmp(1M): it prints; `tic` is what writes.
    Form {
        programs: &["infocmp"],
        spec: Spec {
            short: "01CDdEeFfGgIiKLlnpqrTtUuVWx",
            valued: "ABRsvwQ",
            ..NAMES
        },
        ..FORM
    },
    // envsubst(1): it prints the contents of the environment.
    Form {
        programs: &["envsubst"],
        spec: Spec {
            short: "vhV",
            long: &["variables", "help", "version"],
            ..NAMES
        },
        operands_max: 1,
        reach: Reach::Environment,
        ..FORM
    },
    Form {
        programs: &["basenc"],
        spec: Spec {
            short: "diD",
            valued: "w",
            long: words!(
                "base64 base64url base58 base32 base32hex base16 base2msbf base2lsbf z85 decode
                 ignore-garbage wrap= help version"
            ),
            ..SPEC
        },
        operands_max: 1,
        ..FORM
    },
    // Without `-readonly` a database is written, and without a text its commands come from the input.
    Form {
        programs: &["sqlite3"],
        spec: SQLITE,
        check: Check::Sqlite,
        ..FORM
    },
    Form {
        words: &["ls"],
        ..NPM
    },
    Form {
        words: &["list"],
        ..NPM
    },
    Form {
        words: &["explain"],
        ..NPM
    },
    Form {
        words: &["why"],
        ..NPM
    },
    Form {
        words: &["root"],
        operands_max: 0,
        ..NPM
    },
    Form {
        words: &["prefix"],
        operands_max: 0,
        ..NPM
    },
    Form {
        words: &["list"],
        operands_max: 0,
        ..PIP
    },
    Form {
        words: &["show"],
        spec: Spec {
            short: "vqf",
            ..PIP_LIST
        },
        ..PIP
    },
];

/// Options of `git merge-file`; without `-p` it writes its first operand.
pub(crate) const MERGE_FILE: Spec = Spec {
    short: "pq",
    valued: "L",
    long: words!("stdout quiet ours theirs union diff3 zdiff3 marker-size= diff-algorithm="),
    acts: &[Act {
        short: "",
        long: &["object-id"],
        effect: Effect::Opaque("objects of the repository"),
    }],
    ..SPEC
};

/// Commands of `sqlite3` that print.
pub(crate) const SQLITE_PRINTS: &[&str] = words!(
    ".schema .tables .table .indexes .indices .fullschema .databases .dbinfo .dump .headers .header
     .help .mode .nullvalue .separator .show .width .timeout .print .bail .timer .eqp .stats
     .version"
);

/// Words that a text for `sqlite3` may not contain, in any case: they write, load or run.
pub(crate) const SQLITE_ACTS: &[&str] =
    words!("writefile edit load_extension vacuum attach fts3_tokenizer zipfile |");
