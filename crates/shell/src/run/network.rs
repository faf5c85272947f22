//! Programs that download and upload.

use interlock_core::facts::NetworkDirection;

use crate::options::{self, Effect};
use crate::tables::own::{CURL, GH_GROUPS, GH_READS, SCP, WGET};
use crate::value::Arg;
use crate::walk::Walker;

impl Walker<'_> {
    pub(super) fn curl(&mut self, index: usize, args: &[Arg]) {
        let sorted = options::sort(args, &CURL);
        self.check_sorted(index, &sorted);
        self.apply(index, "curl", &sorted);
        if sorted.does(Effect::WriteOperands) {
            self.write_below(&Arg::text("."), "curl");
        }
        for name in [
            "w",
            "write-out",
            "H",
            "header",
            "b",
            "cookie",
            "A",
            "user-agent",
        ] {
            if let Some(value) = sorted.value(name).cloned() {
                self.curl_text(index, name, &value);
            }
        }
        let method = sorted.value("X").or_else(|| sorted.value("request"));
        if method.is_some_and(|method| !matches!(method.literal(), Some("GET" | "HEAD"))) {
            self.facts
                .network(NetworkDirection::Send, None, "curl", Some(index));
        }
        let mut addresses = sorted.operands.clone();
        addresses.extend(
            sorted
                .seen
                .iter()
                .filter(|(name, _)| name == "url")
                .filter_map(|(_, value)| value.clone()),
        );
        self.fetch(index, "curl", &addresses);
    }

    /// Handles texts of curl that may name a file.
    fn curl_text(&mut self, index: usize, name: &str, value: &Arg) {
        let directory = self.directory();
        let text = value.start();
        if text.starts_with('@') && matches!(name, "H" | "header") {
            self.facts
                .network(NetworkDirection::Send, None, "curl", Some(index));
        }
        if let Some(path) = text.strip_prefix('@') {
            self.facts
                .read(&Arg::text(path), directory.as_deref(), "curl", false);
        }
        let writes_out = matches!(name, "w" | "write-out");
        if writes_out
            && (text.contains("%output") || text.starts_with('@') || value.literal().is_none())
        {
            self.facts.opaque(index, "`curl -w` may write files");
        }
    }

    fn fetch(&mut self, index: usize, name: &str, addresses: &[Arg]) {
        let directory = self.directory();
        for address in addresses {
            let text = address.start();
            let lower = text.to_ascii_lowercase();
            if let Some(path) = lower.strip_prefix("file:") {
                let at = text.len() - path.len();
                let path = text.get(at..).unwrap_or_default().trim_start_matches('/');
                self.facts.read(
                    &Arg::Literal(format!("/{path}")),
                    directory.as_deref(),
                    name,
                    false,
                );
                continue;
            }
            let scheme = lower.split_once("://").map(|(scheme, _)| scheme);
            let direction = match scheme {
                None | Some("http" | "https" | "ftp" | "ftps") => NetworkDirection::Get,
                Some(_) => NetworkDirection::Send,
            };
            self.facts
                .network(direction, host(address).as_deref(), name, Some(index));
        }
    }

    pub(super) fn wget(&mut self, index: usize, args: &[Arg]) {
        let sorted = options::sort(args, &WGET);
        self.check_sorted(index, &sorted);
        self.apply(index, "wget", &sorted);
        let has_target = sorted.has("O") || sorted.has("output-document") || sorted.has("spider");
        if !has_target || sorted.has("r") || sorted.has("m") {
            self.write_below(&Arg::text("."), "wget");
        }
        if sorted.has("i") || sorted.has("input-file") {
            self.facts
                .network(NetworkDirection::Get, None, "wget", Some(index));
        }
        self.fetch(index, "wget", &sorted.operands);
    }

    pub(super) fn scp(&mut self, index: usize, args: &[Arg]) {
        let sorted = options::sort(args, &SCP);
        self.check_sorted(index, &sorted);
        self.apply(index, "scp", &sorted);
        self.facts
            .network(NetworkDirection::Send, None, "scp", Some(index));
        let directory = self.directory();
        let is_remote = |arg: &Arg| arg.start().contains(':');
        let Some((target, sources)) = sorted.operands.split_last() else {
            return;
        };
        for source in sources.iter().filter(|source| !is_remote(source)) {
            self.facts.read(source, directory.as_deref(), "scp", false);
        }
        if !is_remote(target) {
            self.facts.write(target, directory.as_deref(), "scp");
        }
    }

    pub(super) fn gh(&mut self, index: usize, args: &[Arg]) {
        let words: Vec<Option<&str>> = args.iter().map(Arg::literal).collect();
        let reads = match words.as_slice() {
            [Some("status"), ..] => true,
            [Some(group), Some(verb), ..] => GH_GROUPS.contains(group) && GH_READS.contains(verb),
            _ => false,
        };
        let opens = args.iter().any(|arg| {
            arg.start().starts_with("--w")
                || arg.start().starts_with("-w")
                || arg.literal().is_none() && arg.may_be_option()
        });
        if reads && !opens {
            self.facts
                .network(NetworkDirection::Get, Some("github.com"), "gh", Some(index));
        } else {
            self.facts.opaque(index, "it acts on another machine");
            self.facts.network(
                NetworkDirection::Send,
                Some("github.com"),
                "gh",
                Some(index),
            );
        }
    }
}

/// Returns the host of an address when it is literal.
fn host(address: &Arg) -> Option<String> {
    let text = address.literal()?;
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let place = rest.split(['/', '?', '#']).next()?;
    let host = place.rsplit_once('@').map_or(place, |(_, host)| host);
    let host = host.split_once(':').map_or(host, |(host, _)| host);
    (!host.is_empty() && !host.contains(['{', '[', '*'])).then(|| host.to_ascii_lowercase())
}
