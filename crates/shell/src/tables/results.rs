//! Options that name the output file of a program with unknown effects.

/// Programs with their options for a file: `-o f`, `-of`, `-out f`, `--output=f`.
pub(crate) const RESULTS: &[(&[&str], &[&str])] = &[
    (
        &["gcc", "g++", "cc", "c++", "clang", "clang++", "ld", "as"],
        &["-o", "--output"],
    ),
    (&["rustc"], &["-o"]),
    (&["go"], &["-o"]),
    (&["openssl"], &["-out", "-keyout", "-CAserial"]),
    (&["gpg", "gpg2"], &["-o", "--output"]),
    (
        &["pandoc", "dot", "ghc", "kotlinc", "swiftc"],
        &["-o", "--output"],
    ),
    (&["esbuild"], &["--outfile"]),
    (&["protoc"], &["-o", "--descriptor_set_out"]),
    (&["ruff"], &["-o", "--output-file"]),
];
