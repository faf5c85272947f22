//! Archives and compression.

use interlock_core::facts::CommandClass;

use crate::options::{self, Effect, Sorted};
use crate::tables::own::{COMPRESS, TAR, UNZIP, ZIP};
use crate::value::Arg;
use crate::walk::Walker;
use crate::words::words;

impl Walker<'_> {
    pub(super) fn tar(&mut self, index: usize, args: &[Arg]) {
        let words = modern(args);
        let sorted = options::sort(&words, &TAR);
        self.check_sorted(index, &sorted);
        self.apply(index, "tar", &sorted);
        let directory = self.directory();
        let directory = directory.as_deref();
        let archive = sorted.value("f").or_else(|| sorted.value("file")).cloned();
        let archives = sorted
            .seen
            .iter()
            .filter(|(name, _)| matches!(name.as_str(), "f" | "file"))
            .filter_map(|(_, value)| value.as_ref());
        let is_remote = |archive: &Arg| {
            let is_local = archive.start().starts_with(['/', '.']);
            !is_local && (archive.literal().is_none() || archive.start().contains(':'))
        };
        if archives.clone().any(is_remote) {
            self.facts
                .opaque(index, "an archive that may be on another machine");
        }
        let has = |names: &[&str]| names.iter().any(|name| sorted.has(name));
        let lists = has(&["t", "list", "d", "diff", "compare"])
            && !has(words!(
                "x c r u A extract get create append update delete concatenate catenate"
            ));
        let extracts = has(&["x", "extract", "get"]);
        let is_stream = archive
            .as_ref()
            .is_some_and(|archive| archive.is("-") || archive.is("/dev/null"));
        let prints =
            lists || extracts && sorted.does(Effect::Prints) || has(&["c", "create"]) && is_stream;
        if prints {
            self.reclass(index, CommandClass::Reader);
            if let Some(archive) = archive.filter(|_| !has(&["c", "create"])) {
                self.facts.read(&archive, directory, "tar", false);
            }
            return;
        }
        if extracts {
            if let Some(archive) = &archive {
                self.facts.read(archive, directory, "tar", false);
            }
            let place = sorted
                .value("C")
                .or_else(|| sorted.value("directory"))
                .cloned();
            self.write_below(&place.unwrap_or_else(|| Arg::text(".")), "tar");
        } else if let Some(archive) = &archive {
            self.facts.write(archive, directory, "tar");
        } else {
            self.write_below(&Arg::text("."), "tar");
        }
    }

    pub(super) fn unzip(&mut self, index: usize, args: &[Arg]) {
        let sorted = options::sort(args, &UNZIP);
        self.check_sorted(index, &sorted);
        self.read_first(&sorted, "unzip");
        if sorted.does(Effect::Prints) {
            self.reclass(index, CommandClass::Reader);
            return;
        }
        let place = sorted.value("d").cloned().unwrap_or_else(|| Arg::text("."));
        self.write_below(&place, "unzip");
    }

    fn read_first(&mut self, sorted: &Sorted, name: &str) {
        let directory = self.directory();
        if let Some(path) = sorted.operands.first() {
            self.facts.read(path, directory.as_deref(), name, false);
        }
    }

    pub(super) fn zip(&mut self, index: usize, args: &[Arg]) {
        let sorted = options::sort(args, &ZIP);
        self.check_sorted(index, &sorted);
        self.apply(index, "zip", &sorted);
        let directory = self.directory();
        let mut operands = sorted.operands.iter();
        match operands.next() {
            Some(archive) if archive.is("-") => self.reclass(index, CommandClass::Reader),
            Some(archive) => {
                self.facts.write(archive, directory.as_deref(), "zip");
                if let Some(path) = archive.literal().filter(|path| !path.contains('.')) {
                    self.facts.write(
                        &Arg::Literal(format!("{path}.zip")),
                        directory.as_deref(),
                        "zip",
                    );
                }
            }
            None => {}
        }
        for path in operands {
            self.facts.read(path, directory.as_deref(), "zip", true);
            if sorted.does(Effect::RemoveOperands) {
                self.facts.remove(path, directory.as_deref(), "zip", true);
            }
        }
    }

    pub(super) fn compress(&mut self, index: usize, name: &str, args: &[Arg]) {
        let sorted = options::sort(args, &COMPRESS);
        self.check_sorted(index, &sorted);
        self.apply(index, name, &sorted);
        let directory = self.directory();
        let directory = directory.as_deref();
        let has = |names: &[&str]| names.iter().any(|name| sorted.has(name));
        // In some versions the last of two modes counts: `-lz` packs, `-td` unpacks.
        let works = has(&["z", "d", "compress", "decompress", "uncompress"]);
        let prints = has(&["c", "stdout", "to-stdout"])
            || !works && sorted.does(Effect::Prints)
            || sorted.operands.iter().all(|path| path.is("-"));
        for path in &sorted.operands {
            self.facts.read(path, directory, name, false);
            if !prints {
                self.facts.write(path, directory, name);
                self.facts.remove(path, directory, name, false);
            }
        }
        if prints && !sorted.does(Effect::Write) {
            self.reclass(index, CommandClass::Reader);
        }
    }

    /// Handles `7z`, `ar` and `cpio`, of which only listing and printing are known to read.
    pub(super) fn other_archive(&mut self, index: usize, name: &str, args: &[Arg]) {
        let first = args.first().and_then(Arg::literal).unwrap_or_default();
        let all_known = args
            .iter()
            .all(|arg| !arg.may_be_option() || arg.literal().is_some());
        let lists = match name {
            "ar" => matches!(first.trim_start_matches('-'), "t" | "tv" | "p" | "vt"),
            "cpio" => {
                args.iter().all(|arg| {
                    matches!(
                        arg.literal(),
                        Some("-t" | "-it" | "-itv" | "-tv" | "-i" | "-v" | "--list" | "--quiet")
                    )
                }) && args.iter().any(|arg| arg.start().contains('t'))
            }
            _ => {
                let is_plain = |arg: &Arg| {
                    let text = arg.start();
                    !text.starts_with(['-', '@'])
                        || matches!(text, "-slt" | "-ba" | "-bd" | "-r" | "-so" | "-y")
                };
                let prints = args.iter().any(|arg| arg.is("-so"));
                (matches!(first, "l" | "t") || matches!(first, "x" | "e") && prints)
                    && args.iter().skip(1).all(is_plain)
            }
        };
        if lists && all_known {
            self.reclass(index, CommandClass::Reader);
            self.plain_reads(name, args.get(1..).unwrap_or_default());
            return;
        }
        if args.iter().any(|arg| {
            ["--plugin", "--rsh", "-F", "-O", "-E"]
                .iter()
                .any(|start| arg.start().starts_with(start))
        }) {
            self.facts.opaque(
                index,
                "an option that runs another program or writes elsewhere",
            );
        }
        self.facts.opaque(index, "what it writes is in the archive");
        self.write_below(&Arg::text("."), name);
    }
}

/// Converts the old form `tar xf a.tar` to dashes.
fn modern(args: &[Arg]) -> Vec<Arg> {
    let Some((Arg::Literal(first), rest)) = args.split_first() else {
        return args.to_vec();
    };
    let is_old = !first.is_empty()
        && !first.starts_with('-')
        && first.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !is_old {
        return args.to_vec();
    }
    let mut words = Vec::new();
    let mut rest = rest.iter();
    for letter in first.chars() {
        words.push(Arg::Literal(format!("-{letter}")));
        if TAR.valued.contains(letter) {
            words.extend(rest.next().cloned());
        }
    }
    words.extend(rest.cloned());
    words
}
