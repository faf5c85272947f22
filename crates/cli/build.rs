//! How the program is linked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let of = |name: &str| std::env::var(name).unwrap_or_default();
    // A client starts it at every tool call. At an address of its own choosing 43,000 places in its
    // tables would be written anew each time, which takes longer than a call is judged.
    if of("CARGO_CFG_TARGET_OS") == "linux" && of("CARGO_CFG_TARGET_ENV") == "gnu" {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
