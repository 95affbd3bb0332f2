//! `scripts/cycles`: which files of a crate import each other.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs the script on a crate `sample` with these files, and returns what it prints and whether it passes.
fn cycles(files: &[(&str, &str)], options: &[&str]) -> (String, bool) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join("sample/src").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/cycles");
    let output = Command::new(script).arg("--crates").arg(folder.path()).args(options).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (String::from_utf8(output.stdout).unwrap(), output.status.success())
}

/// The groups that are found, each as its files.
fn groups(files: &[(&str, &str)]) -> Vec<String> {
    let (printed, _) = cycles(files, &[]);
    let lines = printed.lines().filter_map(|line| line.strip_prefix("sample: "));
    lines.map(|line| line.split_once(" files: ").unwrap().1.to_owned()).collect()
}

#[test]
fn files_that_import_each_other_are_a_group() {
    let lib = "mod a; mod b; mod c; pub use a::A;";
    let check = |a: &str, b: &str, c: &str, expected: &[&str]| {
        let found = groups(&[("lib.rs", lib), ("a.rs", a), ("b.rs", b), ("c.rs", c)]);
        assert_eq!(found, expected, "{a} | {b} | {c}");
    };
    let (a, b) = ("pub struct A;", "pub struct B;");
    check(a, b, "use crate::A; use crate::b::B;", &[]);
    check(&format!("use crate::b::B; {a}"), &format!("use crate::a::A; {b}"), "", &["a.rs, b.rs"]);
    // Through a re-export, a path in the code, braces, a glob, and another name.
    check(&format!("use crate::b::B; {a}"), &format!("use crate::A; {b}"), "", &["a.rs, b.rs"]);
    check(
        &format!("fn f(_: crate::b::B) {{}} {a}"),
        &format!("fn f() -> super::A {{}} {b}"),
        "",
        &["a.rs, b.rs"],
    );
    check(
        &format!("use crate::{{b::{{B as Other}}}}; {a}"),
        &format!("use super::a::*; fn f(_: A) {{}} {b}"),
        "",
        &["a.rs, b.rs"],
    );
    check(
        &format!("use crate::b::B; {a}"),
        &format!("use crate::c::C; {b}"),
        "use crate::A; pub struct C;",
        &["a.rs, b.rs, c.rs"],
    );
    // Comments, strings and tests import nothing.
    check(&format!("use crate::b::B; {a}"), &format!("// use crate::A;\n{b}"), "", &[]);
    check(&format!("use crate::b::B; {a}"), &format!("const S: &str = \"use crate::A;\"; {b}"), "", &[]);
    check(
        &format!("use crate::b::B; {a}"),
        &format!("#[cfg(test)] mod tests {{ use crate::A; }} {b}"),
        "",
        &[],
    );
}

#[test]
fn a_registry_and_what_it_lists_are_a_group_where_the_trait_lies_in_it() {
    let kind = "pub struct One; impl super::Rule for One {}";
    let lying_in_it = "mod one; pub trait Rule {} pub fn all() { one::One; }";
    assert_eq!(
        groups(&[("lib.rs", "mod rules;"), ("rules/mod.rs", lying_in_it), ("rules/one.rs", kind)]),
        ["rules/mod.rs, rules/one.rs"]
    );
    let below = "mod one; mod rule; pub use rule::Rule; pub fn all() { one::One; }";
    let files = [
        ("lib.rs", "mod rules;"),
        ("rules/mod.rs", below),
        ("rules/one.rs", kind),
        ("rules/rule.rs", "pub trait Rule {}"),
    ];
    assert_eq!(groups(&files), Vec::<String>::new());
}

#[test]
fn a_group_above_the_bound_fails() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use crate::b::B; pub struct A;"),
        ("b.rs", "use crate::c::C; pub struct B;"),
        ("c.rs", "use crate::a::A; pub struct C;"),
    ];
    let (printed, passed) = cycles(&files, &[]);
    assert!(passed && printed.ends_with("largest group: 3 files, of at most 3\n"), "{printed}");
    let (printed, passed) = cycles(&files, &["--most", "2", "--why"]);
    assert!(!passed && printed.contains("    a.rs -> b.rs: crate::b::B\n"), "{printed}");
}
