//! Forms of commands that only read, although other forms of the same program do more.
//!
//! A form is complete: with any option or operand that its row does not have, the program's own row applies. A row names the
//! manual that it is based on.

use crate::options::{Operands, SPEC, Spec};
use crate::words::words;

/// What a form accesses besides files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Nothing.
    Files,
    /// A server, which is named.
    Server(&'static str),
    /// A daemon of this machine.
    Daemon,
    /// A server that the person's configuration names.
    Remote,
    /// Nothing, but it shows the contents of variables.
    Environment,
    /// Nothing, but it starts what the project's configuration names, so the kernel must confine it.
    Configured,
}

/// Words after the form's own that need a separate check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// None.
    Nothing,
    /// Formats of `tmux` that run no job.
    TmuxFormats,
    /// A path of GitHub's API and headers that select no method.
    GithubApi,
    /// Text for `sqlite3` that only queries.
    Sqlite,
}

/// A form of some programs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    pub(crate) programs: &'static [&'static str],
    /// Words after the name.
    pub(crate) words: &'static [&'static str],
    pub(crate) spec: Spec,
    /// Required options.
    pub(crate) needs: &'static [&'static str],
    /// Maximum number of operands.
    pub(crate) operands_max: usize,
    /// First operands that are other subcommands.
    pub(crate) others: &'static [&'static str],
    pub(crate) reach: Reach,
    pub(crate) check: Check,
}

pub(crate) const FORM: Form = Form {
    programs: &[],
    words: &[],
    spec: SPEC,
    needs: &[],
    operands_max: usize::MAX,
    others: &[],
    reach: Reach::Files,
    check: Check::Nothing,
};

/// Operands that are not files.
pub(crate) const NAMES: Spec = Spec {
    operands: Operands::Nothing,
    ..SPEC
};

/// `go help list`: `-toolexec`, `-exec`, `-mod`, `-modfile`, `-overlay`, `-export`, `-compiled`,
/// `-u` and `-versions` build, run, write or ask servers.
const GO_LIST: Spec = Spec {
    exact: words!(
        "-C= -deps -e -f= -f=* -find -json -json=* -m -test -tags= -tags=* -mod=readonly -mod=vendor
         -buildvcs=false"
    ),
    ..NAMES
};

/// `gofmt -h`: `-w` writes, `-cpuprofile` too.
const GOFMT: Spec = Spec {
    exact: &["-l", "-d", "-s", "-e", "-r=", "-r=*"],
    ..SPEC
};

/// openssl-x509(1): `-out`, `-CAcreateserial`, `-signkey`, `-engine`, `-provider` and `-writerand` write, sign or load code.
const OPENSSL_X509: Spec = Spec {
    exact: words!(
        "-noout -text -subject -issuer -dates -startdate -enddate -serial -fingerprint -sha1 -sha256
         -sha512 -hash -subject_hash -issuer_hash -pubkey -modulus -purpose -email -ocsp_uri -alias
         -inform= -nameopt= -certopt= -ext= -checkend="
    ),
    acts: &[crate::options::Act {
        short: "",
        long: &["-in="],
        effect: crate::options::Effect::Read,
    }],
    ..NAMES
};

/// tshark(1): `-w` `-W` `-X` `--export-*` `-o` `-K` write, run or configure; `-i` `-D` capture.
const TSHARK: Spec = Spec {
    short: "2qlnPQSVx",
    valued: "rRYTeEcdtjJz",
    long: &["color", "no-duplicate-keys"],
    acts: &[crate::options::Act {
        short: "r",
        long: &[],
        effect: crate::options::Effect::Read,
    }],
    ..NAMES
};

/// tmux(1): formats may contain `#(command)`, which is why they are checked.
const TMUX_LIST: Spec = Spec {
    short: "as",
    valued: "Fft",
    ..NAMES
};

const TMUX_CAPTURE: Spec = Spec {
    short: "aepPqCJNT",
    valued: "ESt",
    ..NAMES
};

const NPM_JSON: Spec = Spec {
    short: "lag",
    long: words!("json long parseable all depth= global link omit= include="),
    ..NAMES
};

const CARGO: Spec = Spec {
    short: "vqpie",
    valued: "piF",
    long: words!(
        "package= offline locked frozen invert= edges= depth= duplicates no-dedupe prefix= charset=
         format= format-version= no-deps workspace all-features no-default-features features=
         filter-platform= target= color= quiet verbose"
    ),
    ..NAMES
};

const PIP: Spec = Spec {
    short: "vqflo",
    long: words!(
        "verbose quiet files format= user local not-required exclude-editable editable
         disable-pip-version-check all exclude="
    ),
    ..NAMES
};

/// gh-api(1): `-X` `-f` `-F` `--input` send, `--hostname` selects another server, `--cache` writes.
const GH_API: Spec = Spec {
    short: "i",
    valued: "HqtpX",
    long: words!("header= jq= template= preview= include paginate slurp silent verbose method="),
    ..NAMES
};

const GH_SEARCH: Spec = Spec {
    valued: "LRqtuB",
    long: words!(
        "app= archived? assignee= author= author-date= author-email= base= checks= closed=
         commenter= comments= committer= committer-date= created= draft? extension= filename=
         followers= forks= good-first-issues= hash= head= help-wanted-issues= include-forks=
         include-prs interactions= involves= jq= json= label= language= license= limit= locked?
         match= mentions= merge? merged? merged-at= milestone= no-assignee? no-label? no-milestone?
         no-project? number-topics= order= owner= parent= project= reactions= repo= review=
         review-requested= reviewed-by= size= sort= stars= state= team-mentions= template= topic=
         tree= updated= visibility= filename="
    ),
    ..NAMES
};

const PYTHONS: &[&str] = &["python", "python2", "python3", "pypy", "pypy3"];
const TMUX: Form = Form {
    programs: &["tmux"],
    spec: TMUX_LIST,
    operands_max: 0,
    reach: Reach::Daemon,
    check: Check::TmuxFormats,
    ..FORM
};
const GO: Form = Form {
    programs: &["go"],
    spec: NAMES,
    ..FORM
};
const CONFIGURED: Form = Form {
    spec: NAMES,
    reach: Reach::Configured,
    ..FORM
};
const NPM: Form = Form {
    programs: &["npm"],
    ..CONFIGURED
};
pub(crate) const GITHUB: Reach = Reach::Server("github.com");
const NPM_SERVER: Reach = Reach::Server("registry.npmjs.org");

/// All forms; the first match counts.
pub(crate) const FORMS: &[Form] = &[
    // go: https://pkg.go.dev/cmd/go
    Form {
        words: &["env"],
        spec: Spec {
            exact: &["-json", "-changed"],
            ..NAMES
        },
        ..GO
    },
    Form {
        words: &["list"],
        spec: GO_LIST,
        ..GO
    },
    Form {
        words: &["doc"],
        spec: Spec {
            exact: &["-C=", "-all", "-c", "-cmd", "-short", "-src", "-u"],
            ..NAMES
        },
        ..GO
    },
    Form {
        words: &["mod", "why"],
        spec: Spec {
            exact: &["-m", "-vendor"],
            ..NAMES
        },
        ..GO
    },
    Form {
        words: &["mod", "graph"],
        operands_max: 0,
        ..GO
    },
    Form {
        words: &["version"],
        spec: Spec {
            exact: &["-m", "-v", "-json"],
            ..SPEC
        },
        ..GO
    },
    Form {
        words: &["help"],
        ..GO
    },
    Form {
        programs: &["gofmt"],
        spec: GOFMT,
        ..FORM
    },
    // Without `-p` it writes `luac.out`.
    Form {
        programs: &["luac", "luac5.1", "luac5.2", "luac5.3", "luac5.4"],
        spec: Spec {
            exact: &["-p", "-l", "-v"],
            ..SPEC
        },
        needs: &["-p"],
        ..FORM
    },
    Form {
        programs: &["rustup"],
        words: &["toolchain", "list"],
        spec: Spec {
            exact: &["-v", "-q", "--verbose", "--quiet"],
            ..NAMES
        },
        operands_max: 0,
        ..FORM
    },
    Form {
        programs: &["openssl"],
        words: &["x509"],
        spec: OPENSSL_X509,
        needs: &["-noout"],
        operands_max: 0,
        ..FORM
    },
    Form {
        programs: &["openssl"],
        words: &["dgst"],
        spec: Spec {
            exact: &[
                "-sha1", "-sha256", "-sha384", "-sha512", "-md5", "-r", "-hex",
            ],
            ..SPEC
        },
        ..FORM
    },
    Form {
        programs: &["tshark"],
        spec: TSHARK,
        needs: &["r"],
        operands_max: 0,
        ..FORM
    },
    Form {
        programs: &["shellcheck"],
        spec: Spec {
            short: "axV",
            valued: "CeifoPsSW",
            long: words!(
                "check-sourced color? include= exclude= extended-analysis= format= list-optional
                 norc rcfile= enable= source-path= shell= severity= version wiki-link-count=
                 external-sources"
            ),
            ..SPEC
        },
        ..FORM
    },
    // The second operand is written.
    Form {
        programs: PYTHONS,
        words: &["-m", "json.tool"],
        spec: Spec {
            long: words!("sort-keys no-ensure-ascii json-lines indent= tab no-indent compact"),
            ..SPEC
        },
        operands_max: 1,
        ..FORM
    },
    // tmux(1)
    Form {
        words: &["ls"],
        ..TMUX
    },
    Form {
        words: &["list-sessions"],
        ..TMUX
    },
    Form {
        words: &["list-windows"],
        ..TMUX
    },
    Form {
        words: &["lsw"],
        ..TMUX
    },
    Form {
        words: &["list-panes"],
        ..TMUX
    },
    Form {
        words: &["lsp"],
        ..TMUX
    },
    Form {
        words: &["has-session"],
        spec: Spec {
            valued: "t",
            ..NAMES
        },
        ..TMUX
    },
    // Without `-p` it writes a buffer of the server.
    Form {
        words: &["capture-pane"],
        spec: TMUX_CAPTURE,
        needs: &["p"],
        ..TMUX
    },
    Form {
        words: &["capturep"],
        spec: TMUX_CAPTURE,
        needs: &["p"],
        ..TMUX
    },
    // https://bun.sh/docs/cli/pm: the other verbs of `pm` write or trust.
    Form {
        programs: &["bun"],
        words: &["pm", "ls"],
        spec: Spec {
            short: "a",
            long: &["all"],
            ..NAMES
        },
        operands_max: 0,
        ..FORM
    },
    // mise renders templates of its configuration, which may run programs.
    Form {
        programs: &["mise"],
        words: &["tasks"],
        spec: Spec {
            short: "xlgJ",
            long: words!("extended local global hidden json no-header sort= sort-order="),
            ..NAMES
        },
        others: &["add", "edit", "run", "validate", "deps", "info", "r", "new"],
        operands_max: 1,
        ..CONFIGURED
    },
    Form {
        programs: &["mise"],
        words: &["ls"],
        spec: Spec {
            short: "cgimJ",
            long: words!("current global installed missing json no-header"),
            ..NAMES
        },
        ..CONFIGURED
    },
    Form {
        programs: &["mise"],
        words: &["current"],
        ..CONFIGURED
    },
    // npm: apart from its own log and cache, these read; `.npmrc` configures them.
    Form {
        words: &["ls"],
        spec: NPM_JSON,
        ..NPM
    },
    Form {
        words: &["list"],
        spec: NPM_JSON,
        ..NPM
    },
    Form {
        words: &["explain"],
        spec: NPM_JSON,
        ..NPM
    },
    Form {
        words: &["pkg", "get"],
        ..NPM
    },
    Form {
        words: &["config", "get"],
        ..NPM
    },
    Form {
        words: &["root"],
        spec: NPM_JSON,
        operands_max: 0,
        ..NPM
    },
    Form {
        words: &["prefix"],
        spec: NPM_JSON,
        operands_max: 0,
        ..NPM
    },
    // Alone it lists the scripts.
    Form {
        words: &["run"],
        operands_max: 0,
        ..NPM
    },
    Form {
        programs: &["npm"],
        words: &["view"],
        spec: NPM_VIEW,
        reach: NPM_SERVER,
        ..FORM
    },
    Form {
        programs: &["npm"],
        words: &["info"],
        spec: NPM_VIEW,
        reach: NPM_SERVER,
        ..FORM
    },
    Form {
        programs: &["npm"],
        words: &["show"],
        spec: NPM_VIEW,
        reach: NPM_SERVER,
        ..FORM
    },
    // cargo calls the compiler, or what its configuration names as one.
    Form {
        programs: &["cargo"],
        words: &["tree"],
        spec: CARGO,
        ..CONFIGURED
    },
    Form {
        programs: &["cargo"],
        words: &["metadata"],
        spec: CARGO,
        ..CONFIGURED
    },
    Form {
        programs: &["cargo"],
        words: &["pkgid"],
        spec: CARGO,
        ..CONFIGURED
    },
    Form {
        programs: &["pip", "pip3"],
        words: &["list"],
        spec: PIP,
        operands_max: 0,
        ..CONFIGURED
    },
    Form {
        programs: &["pip", "pip3"],
        words: &["show"],
        spec: PIP,
        ..CONFIGURED
    },
    Form {
        programs: &["pip", "pip3"],
        words: &["freeze"],
        spec: PIP,
        operands_max: 0,
        ..CONFIGURED
    },
    // vale starts converters for some kinds of documents.
    Form {
        programs: &["vale"],
        spec: Spec {
            long: words!(
                "config= output= glob= minAlertLevel= ext= filter= no-exit no-wrap no-global
                 ignore-syntax relative"
            ),
            ..SPEC
        },
        others: words!("sync fix install host-install host-uninstall transform compile tag test"),
        ..CONFIGURED
    },
    // gh-api(1), gh-search(1)
    Form {
        programs: &["gh"],
        words: &["api"],
        spec: GH_API,
        operands_max: 1,
        reach: GITHUB,
        check: Check::GithubApi,
        ..FORM
    },
    Form {
        programs: &["gh"],
        words: &["search"],
        spec: GH_SEARCH,
        reach: GITHUB,
        ..FORM
    },
];

/// `npm help view`: other options select a registry, a configuration or a directory.
const NPM_VIEW: Spec = Spec {
    long: &["json"],
    ..NAMES
};
