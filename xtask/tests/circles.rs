//! Checks that the modules of a crate depend on each other in one direction: a circle is allowed only among modules in
//! one folder and the module with the folder's name.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The path of a module from the root of its crate.
type Module = Vec<String>;

/// The modules of one crate, derived from their texts.
struct Tree {
    texts: BTreeMap<Module, String>,
    /// The paths in each module's text, and whether the module re-exports them.
    paths: BTreeMap<Module, Vec<(Vec<String>, bool)>>,
}

#[test]
fn no_circle_is_larger_than_a_folder() {
    for (name, tree) in crates() {
        for circle in tree.circles() {
            let shown: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            assert!(
                is_in_one_folder(&circle),
                "in {name} these modules use each other: {}",
                shown.join(", ")
            );
        }
    }
}

#[test]
fn every_file_is_part_of_its_crate() {
    for (name, tree) in crates() {
        for module in tree.texts.keys() {
            let Some((own, above)) = module.split_last() else {
                continue;
            };
            // Programs in `bin` are not modules of the library.
            if above.first().is_some_and(|folder| folder == "bin") {
                continue;
            }
            let text = tree.texts.get(above).map_or("", String::as_str);
            let is_part = [format!("mod {own};"), format!("\"{own}.rs\"")];
            assert!(
                is_part.iter().any(|part| text.contains(part.as_str())),
                "in {name} nobody has `{}` for a module",
                module.join("::")
            );
        }
    }
}

#[test]
fn a_circle_is_seen_through_groups_other_names_and_paths_in_code() {
    for (first, second, is_circle) in [
        ("use crate::b::Thing;", "use crate::a;", true),
        (
            "use crate::{b::{One, Two}, c};",
            "fn f() { super::a::g() }",
            true,
        ),
        ("use crate::Thing;", "use crate::a::Other;", true),
        ("use crate::b::Thing;", "// use crate::a::Other;", false),
        (
            "use crate::b::Thing;",
            "#[cfg(test)]\nmod tests { use crate::a; }",
            false,
        ),
        ("use crate::b::Thing;", "use crate::c;", false),
    ] {
        let text = |module: &str, text: &str| {
            let module = module.split("::").filter(|name| !name.is_empty());
            (module.map(str::to_owned).collect(), text.to_owned())
        };
        let tree = Tree::of(BTreeMap::from([
            text("", "mod a;\nmod b;\nmod c;\npub use b::Thing;"),
            text("a", first),
            text("b", second),
            text("c", ""),
        ]));
        assert_eq!(!tree.circles().is_empty(), is_circle, "{first} {second}");
    }
}

/// Returns the modules of each crate, with the crate's folder.
fn crates() -> Vec<(String, Tree)> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = fs::read_dir(own.join("../crates")).expect("the crates can be listed");
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a crate can be listed").path())
        .collect();
    assert!(folders.len() > 20, "{folders:?}");
    folders.push(own.to_owned());
    let tree = |folder: &PathBuf| {
        (
            folder.display().to_string(),
            Tree::read(&folder.join("src")),
        )
    };
    folders.iter().map(tree).collect()
}

/// Returns whether all modules are in one folder, or are its module.
fn is_in_one_folder(circle: &[Module]) -> bool {
    let Some(first) = circle.first().and_then(|module| module.first()) else {
        return false;
    };
    circle.iter().all(|module| module.first() == Some(first))
}

impl Tree {
    fn read(source: &Path) -> Self {
        let mut texts = BTreeMap::new();
        let mut folders = vec![(source.to_owned(), Module::new())];
        while let Some((folder, module)) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a folder can be listed") {
                let path = entry.expect("a file can be listed").path();
                let name = path.file_stem().map(|name| name.to_string_lossy());
                let name = name.expect("a file has a name").into_owned();
                let own = [module.as_slice(), std::slice::from_ref(&name)].concat();
                if name == "tests" {
                    continue;
                }
                if path.is_dir() {
                    folders.push((path, own));
                } else if path.extension().is_some_and(|ending| ending == "rs") {
                    let text = fs::read_to_string(&path).expect("a file can be read");
                    let is_root = module.is_empty() && (name == "lib" || name == "main");
                    texts.insert(if is_root { Module::new() } else { own }, text);
                }
            }
        }
        Self::of(texts)
    }

    fn of(texts: BTreeMap<Module, String>) -> Self {
        let paths = texts
            .iter()
            .map(|(module, text)| (module.clone(), paths(text)));
        Self {
            paths: paths.collect(),
            texts,
        }
    }

    /// Returns the modules that each one uses.
    fn arrows(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let mut arrows = BTreeMap::new();
        for (module, paths) in &self.paths {
            let mut uses = BTreeSet::new();
            for (path, is_own_name) in paths {
                let Some((target, _)) = self.follow(module, path) else {
                    continue;
                };
                let is_below = target.starts_with(module);
                if target != *module && !(*is_own_name && is_below) {
                    uses.insert(target);
                }
            }
            arrows.insert(module, uses);
        }
        arrows
    }

    /// Returns the module that a path in `from` leads to, following re-exports, and the rest of the path.
    fn follow(&self, from: &Module, path: &[String]) -> Option<(Module, Vec<String>)> {
        let (mut module, mut rest) = self.resolve(from, path)?;
        for _ in 0..5 {
            let Some(name) = rest.first() else { break };
            let given = self.paths[&module]
                .iter()
                .find(|(path, is_own_name)| *is_own_name && path.last() == Some(name));
            let Some((path, _)) = given else { break };
            let Some((next, left)) = self.resolve(&module, path) else {
                break;
            };
            if next == module {
                break;
            }
            (module, rest) = (next, left);
        }
        Some((module, rest))
    }

    fn resolve(&self, from: &Module, path: &[String]) -> Option<(Module, Vec<String>)> {
        let mut rest = path;
        let mut module = match rest.first()?.as_str() {
            "crate" => Module::new(),
            "self" | "super" => from.clone(),
            name => {
                let child = [from.as_slice(), &[name.to_owned()]].concat();
                self.texts.contains_key(&child).then(|| from.clone())?
            }
        };
        if rest[0] == "crate" || rest[0] == "self" {
            rest = &rest[1..];
        }
        while rest.first().is_some_and(|name| name == "super") {
            module.pop()?;
            rest = &rest[1..];
        }
        while let Some(name) = rest.first() {
            let child = [module.as_slice(), std::slice::from_ref(name)].concat();
            if !self.texts.contains_key(&child) {
                break;
            }
            module = child;
            rest = &rest[1..];
        }
        self.texts
            .contains_key(&module)
            .then(|| (module, rest.to_vec()))
    }

    /// Returns each set of modules that all reach each other.
    fn circles(&self) -> Vec<Vec<Module>> {
        let arrows = self.arrows();
        let reached: BTreeMap<&Module, BTreeSet<&Module>> = arrows
            .keys()
            .map(|module| {
                let mut seen = BTreeSet::new();
                let mut open = vec![*module];
                while let Some(at) = open.pop() {
                    for next in &arrows[at] {
                        let (next, _) = arrows.get_key_value(next).expect("it is a module");
                        if seen.insert(*next) {
                            open.push(*next);
                        }
                    }
                }
                (*module, seen)
            })
            .collect();
        let mut circles: Vec<Vec<Module>> = Vec::new();
        for module in arrows
            .keys()
            .filter(|module| reached[*module].contains(*module))
        {
            if circles.iter().any(|circle| circle.contains(module)) {
                continue;
            }
            let with = |other: &&&Module| {
                reached[*module].contains(**other) && reached[**other].contains(*module)
            };
            circles.push(
                arrows
                    .keys()
                    .filter(with)
                    .map(|other| (*other).clone())
                    .collect(),
            );
        }
        circles
    }
}

/// Lists every path in a text that starts with `crate`, `self`, `super` or a child module, except in tests and
/// comments.
fn paths(text: &str) -> Vec<(Vec<String>, bool)> {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let lines = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    let code = lines.collect::<Vec<_>>().join("\n");
    let mut found = Vec::new();
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut rest = String::new();
    for statement in code.split_inclusive(';') {
        let Some((before, tree)) = use_of(statement) else {
            rest.push_str(statement);
            continue;
        };
        rest.push_str(before);
        let is_own_name = before.trim_end().ends_with("pub") || before.trim_end().ends_with(')');
        for path in leaves(tree) {
            if let Some(name) = path.last() {
                names.insert(name.clone(), path.clone());
            }
            found.push((path, is_own_name));
        }
    }
    for path in words(&rest) {
        let known = path.first().and_then(|name| names.get(name));
        match known {
            Some(known) if path.len() > 1 => {
                found.push(([known.as_slice(), &path[1..]].concat(), false));
            }
            _ if path.len() > 1 => found.push((path, false)),
            _ => {}
        }
    }
    found
}

/// Splits a statement that ends in `use …;` into the text before, and the tree.
fn use_of(statement: &str) -> Option<(&str, &str)> {
    let at = statement.rfind("use ")?;
    let (before, tree) = statement.split_at(at);
    let stands_alone = before.chars().next_back().is_none_or(char::is_whitespace);
    let tree = tree.strip_prefix("use ")?.strip_suffix(';')?;
    stands_alone.then_some((before, tree))
}

/// Lists the paths of a `use` tree.
fn leaves(tree: &str) -> Vec<Vec<String>> {
    let tree = tree.trim();
    let Some((head, group)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        return vec![
            path.split("::")
                .map(|name| name.trim().to_owned())
                .collect(),
        ];
    };
    let head: Vec<String> = head
        .split("::")
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .collect();
    let group = group.rsplit_once('}').map_or(group, |(group, _)| group);
    let mut found = Vec::new();
    let (mut depth, mut from) = (0_u32, 0);
    for (at, letter) in group.char_indices().chain([(group.len(), ',')]) {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                let part = group.get(from..at).unwrap_or_default();
                if !part.trim().is_empty() {
                    found.extend(leaves(part).into_iter().map(|leaf| {
                        let leaf = leaf.into_iter().filter(|name| name != "self");
                        head.iter().cloned().chain(leaf).collect::<Vec<_>>()
                    }));
                }
                from = at + 1;
            }
            _ => {}
        }
    }
    found
}

/// Lists the paths in code: names joined by `::`.
fn words(code: &str) -> Vec<Vec<String>> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    code.split(|letter| !is_part(letter))
        .filter(|word| word.contains("::"))
        .map(|word| word.split("::").map(str::to_owned).collect())
        .collect()
}
