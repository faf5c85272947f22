//! Who may do what in a tenant: a policy that an administrator loads, from roles, groups and rules of approval.
//!
//! Pure, but for `rows`, which keeps the revisions: what a policy says of a person, and which rules a set of answers does
//! not yet meet. Without a policy, every person of the tenant starts and approves, as the tokens alone say.

use std::collections::{BTreeMap, BTreeSet};

use interlock_core::glob;
use serde::Deserialize;

use crate::tokens::{Member, is_subject};

mod rows;

pub use rows::LoadedPeople;
pub(crate) use rows::NEWEST;

/// Maximum size of a policy in bytes.
const BYTES_MAX: usize = 256 * 1024;
/// Maximum number of people that a rule asks for.
const COUNT_MAX: u64 = 20;
/// The entry that stands for everybody with a token.
const EVERYBODY: &str = "*";

/// A policy, as a revision of it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct People {
    /// The number of the revision, from 1.
    pub(crate) revision: u64,
    policy: Policy,
}

/// Why a text is not a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadPeople(String);

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Policy {
    #[serde(default)]
    groups: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    roles: Roles,
    #[serde(default, rename = "approval")]
    rules: Vec<Rule>,
}

/// Who has each role: names of people, groups as `@NAME`, or `*` for everybody.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Roles {
    start: Vec<String>,
    approve: Vec<String>,
    administer: Vec<String>,
}

/// What an approval needs: `count` different people of `from`, where `paths` and `workflows` apply.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    from: Vec<String>,
    #[serde(default = "one")]
    count: u64,
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    workflows: Vec<String>,
}

const fn one() -> u64 {
    1
}

/// What a person may do by the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Right {
    /// Starts runs, and asks for transitions.
    Start,
    /// Answers requests.
    Approve,
    /// Loads another policy.
    Administer,
}

/// The paths that an approval is about, relative to the project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Paths {
    pub(crate) known: BTreeSet<String>,
    /// Whether others may have been written that nobody saw.
    pub(crate) others: bool,
}

/// A rule that is not met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Missing {
    /// The people and groups who count.
    pub(crate) from: Vec<String>,
    /// How many of them have approved.
    pub(crate) have: u64,
    /// How many have to.
    pub(crate) count: u64,
    /// A path to which the rule applies; `None`: it applies to every path.
    pub(crate) path: Option<String>,
}

impl Missing {
    /// Describes it for people.
    pub(crate) fn sentence(&self) -> String {
        let Self {
            from,
            have,
            count,
            path,
        } = self;
        // Replies of the server double each `@`.
        let named = from.iter().map(|entry| match entry.strip_prefix('@') {
            Some(group) => format!("group {group}"),
            None if entry == EVERYBODY => "anybody".to_owned(),
            None => entry.clone(),
        });
        let of = named.collect::<Vec<_>>().join(", ");
        let path = path
            .as_ref()
            .map_or_else(String::new, |path| format!(" for `{path}`"));
        format!("{have} of {count} from {of}{path}")
    }
}

impl People {
    /// Parses a policy.
    ///
    /// # Errors
    /// The text is not TOML, has an unknown key, or names a group that it does not define.
    pub fn parse(text: &str, revision: u64) -> Result<Self, BadPeople> {
        if text.len() > BYTES_MAX {
            return Err(BadPeople("it is longer than 256 KiB".to_owned()));
        }
        let policy: Policy = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or_else(String::new, |span| {
                let before = text.get(..span.start).unwrap_or_default();
                format!("line {}: ", before.matches('\n').count() + 1)
            });
            BadPeople(format!("{at}{}", error.message()))
        })?;
        policy.check()?;
        Ok(Self { revision, policy })
    }

    /// Returns whether `member` has a right.
    pub(crate) fn has(&self, right: Right, member: &Member) -> bool {
        let roles = &self.policy.roles;
        let list = match right {
            Right::Start => &roles.start,
            Right::Approve => &roles.approve,
            Right::Administer => &roles.administer,
        };
        self.lists(list, member)
    }

    fn lists(&self, list: &[String], member: &Member) -> bool {
        list.iter().any(|entry| match entry.strip_prefix('@') {
            // A group that the policy does not define has no members, whatever an issuer says.
            Some(group) => self.policy.groups.get(group).is_some_and(|members| {
                members.contains(&member.subject) || member.groups.iter().any(|one| one == group)
            }),
            None => entry == EVERYBODY || *entry == member.subject,
        })
    }

    /// Returns the rules that the answers of `voters` do not meet.
    pub(crate) fn missing(
        &self,
        workflow: &str,
        paths: &Paths,
        voters: &BTreeSet<Member>,
    ) -> Vec<Missing> {
        let rules = self.rules(workflow, paths);
        let missing = rules.filter_map(|(rule, path)| {
            let counted = voters.iter().filter(|one| self.lists(&rule.from, one));
            // One person is one, also with tokens of several groups.
            let names: BTreeSet<&str> = counted.map(|one| one.subject.as_str()).collect();
            let have = u64::try_from(names.len()).unwrap_or(u64::MAX);
            (have < rule.count).then(|| Missing {
                from: rule.from.clone(),
                have,
                count: rule.count,
                path,
            })
        });
        missing.collect()
    }

    /// Returns the rules that apply, each with a path that it applies to.
    fn rules<'a>(
        &'a self,
        workflow: &'a str,
        paths: &'a Paths,
    ) -> impl Iterator<Item = (&'a Rule, Option<String>)> {
        self.policy.rules.iter().filter_map(move |rule| {
            let of_workflow =
                rule.workflows.is_empty() || rule.workflows.iter().any(|one| one == workflow);
            if !of_workflow {
                return None;
            }
            if rule.paths.is_empty() {
                return Some((rule, None));
            }
            let matched = rule.paths.iter().find_map(|pattern| {
                let path = paths.known.iter().find(|path| touches(pattern, path));
                path.cloned()
            });
            let unseen = || paths.others.then(|| "files that nobody saw".to_owned());
            matched.or_else(unseen).map(|path| (rule, Some(path)))
        })
    }
}

impl Policy {
    fn check(&self) -> Result<(), BadPeople> {
        let bad = |what: String| Err(BadPeople(what));
        for (group, members) in &self.groups {
            if !is_group(group) {
                return bad(format!(
                    "`{group}` cannot name a group: use at most 63 small letters, digits, `-` and `_`"
                ));
            }
            if let Some(member) = members.iter().find(|member| !is_person(member)) {
                return bad(format!(
                    "`{member}` in group `{group}` is no name of a person: groups have no groups"
                ));
            }
        }
        let roles = &self.roles;
        let lists = [&roles.start, &roles.approve, &roles.administer];
        let froms = self.rules.iter().map(|rule| &rule.from);
        for entry in lists.into_iter().chain(froms).flatten() {
            let is_known = match entry.strip_prefix('@') {
                Some(group) => self.groups.contains_key(group),
                None => entry == EVERYBODY || is_person(entry),
            };
            if !is_known {
                return bad(format!(
                    "`{entry}` is neither a person nor a group of this file: write groups as `@NAME`, and define each in `[groups]`, if only as `[]`"
                ));
            }
        }
        self.rules.iter().try_for_each(Rule::check)
    }
}

impl Rule {
    fn check(&self) -> Result<(), BadPeople> {
        if self.from.is_empty() {
            return Err(BadPeople(
                "an `[[approval]]` has nobody in `from`".to_owned(),
            ));
        }
        if !(1..=COUNT_MAX).contains(&self.count) {
            return Err(BadPeople(format!(
                "the `count` of an `[[approval]]` is 1 to {COUNT_MAX}"
            )));
        }
        let only_people = self.from.iter().all(|entry| is_person(entry));
        let people: BTreeSet<&String> = self.from.iter().collect();
        if only_people && u64::try_from(people.len()).is_ok_and(|named| named < self.count) {
            return Err(BadPeople(format!(
                "an `[[approval]]` asks for {} of {} people",
                self.count,
                people.len()
            )));
        }
        for pattern in &self.paths {
            let is_plain = !pattern.is_empty()
                && !pattern.starts_with(['!', '#', '@'])
                && !pattern.contains(['\\', '[', ']', '{', '}'])
                && !pattern.contains("//")
                && !pattern.split('/').any(|part| part == "." || part == "..");
            let compiles = globs(pattern).iter().all(|one| glob::compile(one).is_ok());
            if !is_plain || !compiles {
                return Err(BadPeople(format!(
                    "`{pattern}` is no pattern of paths: write `/src/auth/`, `*.sql` or `/docs/**/*.md`"
                )));
            }
        }
        Ok(())
    }
}

/// Returns whether `text` can name a group.
pub(crate) fn is_group(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    (1..=63).contains(&text.len()) && text.chars().all(is_plain)
}

/// Returns whether `text` can name a person in a policy.
pub(crate) fn is_person(text: &str) -> bool {
    is_subject(text) && !text.starts_with('@')
}

/// Returns the globs of a pattern: as in CODEOWNERS, a name without `/` is one at any depth, and a folder has
/// everything below it.
fn globs(pattern: &str) -> Vec<String> {
    let body = pattern.trim_end_matches('/');
    let anchored = body.trim_start_matches('/');
    let is_anywhere = !body.contains('/');
    let base = if is_anywhere {
        format!("**/{anchored}")
    } else {
        anchored.to_owned()
    };
    if pattern.ends_with('/') {
        return vec![format!("{base}/**"), base];
    }
    vec![base.clone(), format!("{base}/**")]
}

/// Returns whether a write of `path` may touch what `pattern` names.
fn touches(pattern: &str, path: &str) -> bool {
    if globs(pattern)
        .iter()
        .any(|one| glob::path_matches(one, path))
    {
        return true;
    }
    // A folder that is removed or moved as a whole has what the pattern names below it.
    let anchored = pattern.trim_matches('/');
    let is_anywhere = !pattern.trim_end_matches('/').contains('/');
    if is_anywhere {
        return false;
    }
    let folders = path.split('/').filter(|part| !part.is_empty());
    let mut parts = anchored.split('/');
    for folder in folders {
        match parts.next() {
            Some("**") => return true,
            Some(part) if part.contains(['*', '?']) || part == folder => {}
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
#[path = "people/tests.rs"]
mod tests;
