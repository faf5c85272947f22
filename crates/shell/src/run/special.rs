//! Programs that a table of options cannot describe.

use interlock_core::facts::{CommandClass, NetworkDirection};

use crate::options::{self, Effect};
use crate::tables::options::{MAN, TOP};
use crate::tables::own::{GREP, JQ, YQ};
use crate::tables::programs::Special;
use crate::value::Arg;
use crate::walk::{CommandPosition, Step, Walker};
use crate::words::words;

impl Walker<'_> {
    pub(super) fn special(
        &mut self,
        special: Special,
        index: usize,
        name: &str,
        operands: &[Arg],
        place: &CommandPosition,
    ) -> Step {
        match special {
            Special::Find => return self.find(index, operands, place),
            Special::Fd => return self.fd(index, operands, place),
            Special::Git => return self.git(index, operands, place),
            Special::Sed => self.sed(index, operands),
            Special::Awk => self.awk(index, operands),
            Special::Tar => self.tar(index, operands),
            Special::Unzip => self.unzip(index, operands),
            Special::Zip => self.zip(index, operands),
            Special::Compress => self.compress(index, name, operands),
            Special::SevenZip | Special::Ar | Special::Cpio => {
                self.other_archive(index, name, operands)
            }
            Special::Dd => self.dd(index, operands),
            Special::Split | Special::Csplit => self.split(index, name, operands),
            Special::Mktemp => self.mktemp(index, operands, place),
            Special::Rsync => self.rsync(index, operands),
            Special::Patch => self.patch(index, operands),
            Special::Editor => self.editor(index, name, operands),
            Special::Curl => self.curl(index, operands),
            Special::Wget => self.wget(index, operands),
            Special::Scp => self.scp(index, operands),
            Special::Gh => self.gh(index, operands),
            Special::Ip => self.ip(index, operands),
            Special::Ps => self.ps(operands),
            Special::Jq => self.jq(index, operands),
            Special::Yq => self.yq(index, operands),
            Special::Kill => self.kill(index, operands),
            Special::Printenv => self.printenv(operands),
            Special::Grep => self.grep(index, operands),
            Special::Top => self.top(index, operands),
            Special::Man => self.man(index, operands),
            Special::Getent => self.getent(index, operands),
        }
        Ok(())
    }

    /// Handles `grep`, none of whose options is dangerous; the table only finds the files.
    fn grep(&mut self, index: usize, operands: &[Arg]) {
        let mut sorted = options::sort(operands, &GREP);
        // No known option does more than read, so another word that may be one changes nothing.
        sorted.uncertain.clear();
        self.check_sorted(index, &sorted);
        let recursive = sorted.does(Effect::Recursive);
        let directory = self.directory();
        let skipped = usize::from(!sorted.does(Effect::First));
        for path in sorted.operands.iter().skip(skipped) {
            self.facts
                .read(path, directory.as_deref(), "grep", recursive);
        }
        if recursive && sorted.operands.len() <= skipped {
            self.facts
                .read(&Arg::text("."), directory.as_deref(), "grep", true);
        }
        for (effect, value) in &sorted.effects {
            if let (Effect::Read, Some(path)) = (effect, value) {
                self.facts.read(path, directory.as_deref(), "grep", false);
            }
        }
    }

    /// Handles `top`, which at a terminal does what its keys say.
    fn top(&mut self, index: usize, operands: &[Arg]) {
        let sorted = self.by_options(index, "top", operands, &TOP);
        if !["b", "batch-mode", "l"]
            .iter()
            .any(|option| sorted.has(option))
        {
            self.facts.opaque(
                index,
                "its keys end programs and write its configuration; use `-b`",
            );
        }
    }

    /// Handles `man`, which treats an operand with a slash as a file, as `-l` does.
    fn man(&mut self, index: usize, operands: &[Arg]) {
        let sorted = self.by_options(index, "man", operands, &MAN);
        if sorted
            .operands
            .iter()
            .any(|word| word.literal().is_none_or(|text| text.contains('/')))
        {
            self.facts.opaque(index, "a page that is a file of its own");
        }
    }

    /// Handles `getent hosts NAME`, which queries name servers, with any data in the name.
    fn getent(&mut self, index: usize, operands: &[Arg]) {
        const ASK_OTHERS: &[&str] = &["hosts", "ahosts", "ahostsv4", "ahostsv6", "networks"];
        let mut words = operands.iter().filter(|word| {
            word.literal()
                .is_none_or(|text| !text.starts_with('-') || text == "-")
        });
        let asks = words
            .next()
            .is_some_and(|word| word.literal().is_none_or(|text| ASK_OTHERS.contains(&text)));
        if let Some(host) = words.next().filter(|host| asks && !host.is("localhost")) {
            self.facts.network(
                NetworkDirection::Send,
                host.literal(),
                "getent",
                Some(index),
            );
        }
    }

    fn printenv(&mut self, operands: &[Arg]) {
        let mut names = 0_usize;
        for arg in operands {
            match arg.literal() {
                Some("-0" | "--null" | "--") => {}
                Some(name) => {
                    self.facts.used(name);
                    names += 1;
                }
                None => self.facts.facts.env.dump = true,
            }
        }
        self.facts.facts.env.dump |= names == 0;
    }

    fn kill(&mut self, index: usize, operands: &[Arg]) {
        let is_question = matches!(
            operands.first().and_then(Arg::literal),
            Some("-l" | "-L" | "-0" | "--list")
        );
        let is_own = |arg: &Arg| match arg {
            Arg::Literal(text) => text.starts_with('%') && text.len() > 1,
            Arg::Dynamic(dynamic) => matches!(
                dynamic.source.as_str(),
                "$!" | "\"$!\"" | "${!}" | "\"${!}\""
            ),
        };
        let mut targets = operands.iter().peekable();
        if let Some(signal) = targets.peek() {
            if signal.is("-s") || signal.is("-n") || signal.is("--signal") {
                targets.next();
                targets.next();
            } else if signal
                .literal()
                .is_some_and(|text| text.starts_with('-') && text.len() > 1)
            {
                targets.next();
            }
        }
        let all_own = targets.filter(|arg| !arg.is("--")).all(is_own);
        let class = if is_question || all_own {
            CommandClass::Nothing
        } else {
            CommandClass::System
        };
        self.reclass(index, class);
    }

    /// Handles `ip`, which accepts prefixes of objects and verbs, and one dash instead of two.
    fn ip(&mut self, index: usize, operands: &[Arg]) {
        const OPTIONS: &[&str] = words!(
            "-br -brief -j -json -d -details -s -stats -statistics -4 -6 -0 -o -oneline -c -color -p
             -pretty -h -human -iec -N -numeric -r -resolve -t -timestamp -ts"
        );
        let is_plain_option = |arg: &&Arg| {
            let text = arg.literal().unwrap_or_default();
            let text = match text.starts_with("--") {
                true => text.get(1..).unwrap_or_default(),
                false => text,
            };
            OPTIONS.contains(&text)
        };
        let mut rest = operands.iter().skip_while(is_plain_option);
        let (object, verb) = (rest.next(), rest.next());
        let shows = match (object.map(Arg::literal), verb.map(Arg::literal)) {
            (None, _) => true,
            (Some(Some(object)), None) => ip_object(object).is_some(),
            (Some(Some(object)), Some(Some(verb))) => {
                ip_object(object).is_some_and(|verbs| verbs.contains(&verb))
            }
            _ => false,
        };
        if !shows {
            self.reclass(index, CommandClass::System);
        }
    }

    fn ps(&mut self, operands: &[Arg]) {
        let mut rest = operands.iter();
        while let Some(arg) = rest.next() {
            let shows = match arg.literal() {
                None => !arg.is_number(),
                Some(text) if text.contains("env") => true,
                Some(text) if text.starts_with("--") => false,
                Some(text) if text.starts_with('-') => {
                    if text.ends_with(['o', 'O', 'p', 'u', 'U', 't', 'C', 'g', 'G', 'q', 's', 'k'])
                    {
                        let value = rest.next();
                        value.is_some_and(|value| {
                            value.literal().is_none_or(|text| text.contains("env"))
                        })
                    } else {
                        false
                    }
                }
                Some(text) => {
                    text.bytes()
                        .next()
                        .is_some_and(|byte| byte.is_ascii_alphabetic())
                        && text.contains('e')
                        && !text.contains(',')
                }
            };
            if shows {
                self.facts.facts.env.dump = true;
                self.facts.facts.env.other_process = true;
            }
        }
    }

    fn jq(&mut self, index: usize, operands: &[Arg]) {
        let sorted = self.by_options(index, "jq", operands, &JQ);
        let shows = |arg: &Arg| arg.literal().is_none_or(jq_shows);
        if sorted.operands.first().is_some_and(shows)
            || sorted
                .operands
                .iter()
                .any(|arg| arg.literal().is_some() && shows(arg))
        {
            self.facts.facts.env.dump = true;
        }
    }

    fn yq(&mut self, index: usize, operands: &[Arg]) {
        let sorted = self.by_options(index, "yq", operands, &YQ);
        if let ([only], true) = (
            sorted.operands.as_slice(),
            sorted.does(Effect::WriteOperands),
        ) {
            // Alone it may be the file and not the program.
            let directory = self.directory();
            self.facts.write(only, directory.as_deref(), "yq");
        }
        if sorted
            .operands
            .iter()
            .any(|arg| arg.literal().is_none_or(|text| text.contains("env")))
        {
            self.facts.facts.env.dump = true;
        }
        if sorted
            .operands
            .iter()
            .any(|arg| arg.literal().is_some_and(|text| text.contains("system(")))
        {
            self.facts.opaque(index, "its program may run another");
        }
    }
}

/// Returns whether a program of `jq` may print the environment: `env`, but not a field `.env`.
pub(super) fn jq_shows(text: &str) -> bool {
    let is_name = |c: char| c == '_' || c.is_ascii_alphanumeric();
    text.contains("$ENV")
        || text.match_indices("env").any(|(at, found)| {
            let before = text.get(..at).and_then(|text| text.chars().next_back());
            let after = text
                .get(at + found.len()..)
                .and_then(|text| text.chars().next());
            !before.is_some_and(|c| is_name(c) || matches!(c, '.' | '$' | '-'))
                && !after.is_some_and(is_name)
        })
}

/// Returns the verbs that show an object of `ip`.
///
/// ip-link(8): there `s` is `set`.
fn ip_object(object: &str) -> Option<&'static [&'static str]> {
    const SHOWN: &[&str] = &[
        "show", "sho", "sh", "s", "list", "lis", "li", "l", "ls", "lst",
    ];
    const LINKS: &[&str] = &["show", "sho", "sh", "list", "lis", "li", "l", "ls", "lst"];
    const ASKED: &[&str] = &[
        "show", "sho", "sh", "s", "list", "lis", "li", "l", "ls", "lst", "get", "ge", "g",
    ];
    match object {
        "l" | "li" | "lin" | "link" => Some(LINKS),
        "r" | "ro" | "rou" | "route" | "n" | "ne" | "neigh" | "neighbor" | "neighbour" => {
            Some(ASKED)
        }
        "a" | "ad" | "add" | "addr" | "address" | "rule" | "ru" | "maddr" | "maddress"
        | "tunnel" | "netns" | "mroute" | "netconf" | "addrlabel" | "nexthop" | "token" => {
            Some(SHOWN)
        }
        _ => None,
    }
}
