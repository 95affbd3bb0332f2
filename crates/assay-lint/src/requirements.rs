//! The requirements of a skill's bundled scripts: modules that they import, and commands that they
//! call.
//!
//! Read from the scripts' trees, by name, and nothing is executed. Optional requirements are
//! omitted: an import whose failure is handled, and a command that is checked for before it is
//! called, unless the script gives up without it. Requirements that only exist at run time are not
//! found.

use std::collections::{BTreeMap, BTreeSet};

use crate::Skill;
use assay_syntax::code::{Language, Node, children, head, named, text, tree};

/// Folders whose scripts are resources for the agent, not to be run.
const RESOURCE_FOLDERS: [&str; 8] =
    ["assets", "template", "templates", "example", "examples", "test", "tests", "node_modules"];

/// Shell builtins and keywords.
const SHELL_WORDS: &[&str] = &[
    ".",
    ":",
    "[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "cd",
    "command",
    "compgen",
    "complete",
    "continue",
    "declare",
    "dirs",
    "disown",
    "echo",
    "enable",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
];

/// Python functions that start a program.
const STARTS: [&str; 15] = [
    "subprocess.run",
    "subprocess.call",
    "subprocess.check_call",
    "subprocess.check_output",
    "subprocess.Popen",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "sp.run",
    "Popen",
    "check_call",
    "check_output",
    "os.system",
    "os.popen",
    "asyncio.create_subprocess_exec",
    "asyncio.create_subprocess_shell",
];

/// Requirements of a skill's scripts, each with a script that has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requirements {
    /// Programs, by name.
    pub commands: BTreeMap<String, String>,
    /// Modules of Python, by the first part of their names.
    pub python: BTreeMap<String, String>,
    /// Packages of Node.
    pub node: BTreeMap<String, String>,
}

impl Requirements {
    /// Whether there are no requirements.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.python.is_empty() && self.node.is_empty()
    }

    /// The requirements of a skill's scripts.
    pub fn of(skill: &Skill) -> Self {
        let mut found = Self::default();
        let own = own_modules(skill);
        for script in skill.resources() {
            let mut folders: Vec<&str> = script.path.split('/').collect();
            folders.pop();
            if folders.iter().any(|folder| RESOURCE_FOLDERS.contains(&folder.to_ascii_lowercase().as_str())) {
                continue;
            }
            let Some(language) = language(&script.path, &script.text) else { continue };
            let source = head(&script.text);
            let Some(tree) = tree(language, source) else { continue };
            let mut reader = Reader { source, path: &script.path, own: &own, requirements: &mut found };
            match language {
                Language::Python => reader.python(tree.root_node()),
                Language::Shell => reader.shell(tree.root_node()),
                Language::JavaScript => reader.node(tree.root_node()),
            }
        }
        found
    }
}

/// Scripts that something here can run; TypeScript and markup in JavaScript go through other tools
/// first.
fn language(path: &str, text: &str) -> Option<Language> {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let skipped = ["pth", "jsx", "ts", "tsx", "mts", "cts", "bats"];
    if ending.is_some_and(|ending| skipped.contains(&ending.as_str())) {
        return None;
    }
    Language::of(path, text)
}

/// Names of the package's own modules: its scripts, and the folders that contain them.
fn own_modules(skill: &Skill) -> BTreeSet<String> {
    let mut own = BTreeSet::new();
    for module in skill.resources().iter().filter_map(|script| script.path.strip_suffix(".py")) {
        own.extend(module.split('/').map(str::to_owned));
    }
    own
}

struct Reader<'a> {
    source: &'a str,
    path: &'a str,
    own: &'a BTreeSet<String>,
    requirements: &'a mut Requirements,
}

impl<'a> Reader<'a> {
    fn text(&self, node: Node<'_>) -> &'a str {
        text(node, self.source)
    }

    fn command(&mut self, name: &str) {
        if is_plain(name) && !SHELL_WORDS.contains(&name) {
            self.requirements.commands.entry(name.to_owned()).or_insert_with(|| self.path.to_owned());
        }
    }

    fn python(&mut self, root: Node<'_>) {
        self.command("python3");
        let mut lists: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        each(root, &mut |node| {
            if node.kind() == "assignment"
                && let (Some(left), Some(right)) =
                    (node.child_by_field_name("left"), node.child_by_field_name("right"))
                && let Some(first) = self.first_word(right)
            {
                lists.entry(self.text(left)).or_default().insert(first);
            }
        });
        each(root, &mut |node| match node.kind() {
            "import_statement" | "import_from_statement" if !self.can_fail(node) => {
                let names: Vec<Node<'_>> = match node.child_by_field_name("module_name") {
                    Some(module) => vec![module],
                    None => named(node).collect(),
                };
                for name in names {
                    let name = name.child_by_field_name("name").unwrap_or(name);
                    if name.kind() != "dotted_name" {
                        continue;
                    }
                    let first = self.text(name).split('.').next().unwrap_or_default();
                    if is_plain(first) && !self.own.contains(first) {
                        let path = self.path;
                        self.requirements.python.entry(first.to_owned()).or_insert_with(|| path.to_owned());
                    }
                }
            }
            "call" => {
                let called = node.child_by_field_name("function").map(|function| self.text(function));
                let first = node.child_by_field_name("arguments").and_then(|list| named(list).next());
                if let (Some(true), Some(first)) = (called.map(|called| STARTS.contains(&called)), first) {
                    if let Some(word) = self.first_word(first) {
                        self.command(word);
                    } else if first.kind() == "identifier" {
                        for word in
                            lists.get(self.text(first)).into_iter().flatten().copied().collect::<Vec<_>>()
                        {
                            self.command(word);
                        }
                    }
                }
            }
            _ => {}
        });
    }

    /// The program of a command line, given as a list or as a string.
    fn first_word(&self, node: Node<'_>) -> Option<&'a str> {
        let node = if node.kind() == "list" { named(node).next()? } else { node };
        if node.kind() != "string" || named(node).any(|part| part.kind() == "interpolation") {
            return None;
        }
        let content = named(node).find(|part| part.kind() == "string_content")?;
        self.text(content).split_whitespace().next()
    }

    /// Whether a failing import is handled, or the import is only for type checkers.
    fn can_fail(&self, node: Node<'_>) -> bool {
        let mut below = node;
        while let Some(above) = below.parent() {
            match above.kind() {
                "try_statement" if above.child_by_field_name("body") == Some(below) => {
                    let handlers = children(above).filter(|part| part.kind() == "except_clause");
                    return !handlers.map(|part| self.text(part)).any(gives_up);
                }
                "except_clause" => return true,
                "if_statement"
                    if self.text(above).lines().next().is_some_and(|line| line.contains("TYPE_CHECKING")) =>
                {
                    return true;
                }
                _ => {}
            }
            below = above;
        }
        false
    }

    fn shell(&mut self, root: Node<'_>) {
        let mut own = BTreeSet::new();
        let mut asked = BTreeSet::new();
        each(root, &mut |node| match node.kind() {
            "function_definition" => {
                own.extend(node.child_by_field_name("name").map(|name| self.text(name)));
            }
            "command" => {
                let mut words = named(node).map(|word| self.text(word));
                if matches!(words.next(), Some("command" | "which" | "type" | "hash"))
                    && !self.gives_up_without(node)
                {
                    asked.extend(words.filter(|word| !word.starts_with('-')));
                }
            }
            _ => {}
        });
        each(root, &mut |node| {
            if node.kind() == "command"
                && let Some(name) = node.child_by_field_name("name")
                && named(name).all(|part| part.kind() == "word")
            {
                let name = self.text(name);
                if !own.contains(name) && !asked.contains(name) {
                    self.command(name);
                }
            }
        });
    }

    /// Whether the script exits if a command that it checks for is missing.
    fn gives_up_without(&self, node: Node<'_>) -> bool {
        let mut below = node;
        while let Some(above) = below.parent() {
            if matches!(above.kind(), "list" | "if_statement") {
                return gives_up(self.text(above));
            }
            if above.kind() == "program" {
                return false;
            }
            below = above;
        }
        false
    }

    fn node(&mut self, root: Node<'_>) {
        self.command("node");
        each(root, &mut |node| {
            let source = match node.kind() {
                "import_statement" => node.child_by_field_name("source"),
                "call_expression"
                    if node
                        .child_by_field_name("function")
                        .is_some_and(|called| self.text(called) == "require") =>
                {
                    node.child_by_field_name("arguments").and_then(|list| named(list).next())
                }
                _ => None,
            };
            let Some(source) = source.filter(|source| source.kind() == "string") else { return };
            let name = self.text(source).trim_matches(['"', '\'']);
            if name.starts_with(['.', '/']) || name.starts_with("node:") {
                return;
            }
            let parts = if name.starts_with('@') { 2 } else { 1 };
            let package = name.split('/').take(parts).collect::<Vec<_>>().join("/");
            if package.trim_start_matches('@').split('/').all(is_plain) {
                let path = self.path;
                self.requirements.node.entry(package).or_insert_with(|| path.to_owned());
            }
        });
    }
}

/// Whether a piece of code ends the script.
fn gives_up(code: &str) -> bool {
    ["exit", "raise", "return 1"].iter().any(|word| code.contains(word))
}

/// Whether a text is a name rather than a path, variable or option.
fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && name.len() <= 64
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.+".contains(c))
}

/// Visits every node of a tree, parents first.
fn each<'t>(root: Node<'t>, visit: &mut dyn FnMut(Node<'t>)) {
    let mut waiting = vec![root];
    while let Some(node) = waiting.pop() {
        visit(node);
        waiting.extend(named(node).rev());
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn of(files: &[(&str, &str)]) -> Requirements {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("SKILL.md", "---\nname: x\ndescription: Does.\n---\nBody.\n");
        for (path, text) in files {
            write(path, text);
        }
        Requirements::of(&Skill::load(folder.path()))
    }

    fn names(found: &BTreeMap<String, String>) -> Vec<&str> {
        found.keys().map(String::as_str).collect()
    }

    #[test]
    fn python_imports_are_found_if_required() {
        let check = |script: &str, expected: &[&str]| {
            let found = of(&[("scripts/a.py", script), ("scripts/helpers/tool.py", "")]);
            assert_eq!(names(&found.python), expected, "{script}");
            assert_eq!(names(&found.commands), ["python3"], "{script}");
        };
        check("import openpyxl, os.path as p\nfrom lxml.etree import parse\n", &["lxml", "openpyxl", "os"]);
        check(
            "from . import tool\nfrom .tool import x\nimport a\nimport helpers.tool\nfrom tool import y\n",
            &[],
        );
        check("def f():\n    import yaml\n", &["yaml"]);
        check("try:\n    import ujson as json\nexcept ImportError:\n    import json\n", &[]);
        check("try:\n    import yaml\nexcept ImportError:\n    sys.exit('pip install pyyaml')\n", &["yaml"]);
        check("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import numpy\n", &["typing"]);
        check("x = 'import nothing'\n# import nothing\n", &[]);
    }

    #[test]
    fn python_commands_are_found_if_literal() {
        let check = |script: &str, expected: &[&str]| {
            let found = of(&[("a.py", script)]);
            let found: Vec<&str> =
                names(&found.commands).into_iter().filter(|name| *name != "python3").collect();
            assert_eq!(found, expected, "{script}");
        };
        check("subprocess.run(['soffice', '--headless', x])\n", &["soffice"]);
        check("cmd = [\n  'pdftoppm',\n  '-r', dpi]\nsubprocess.check_output(cmd)\n", &["pdftoppm"]);
        check("os.system('qpdf --check x')\n", &["qpdf"]);
        check(
            "subprocess.run([sys.executable, 'x'])\nsubprocess.run([f'{x}'])\nsubprocess.run(['./x'])\n",
            &[],
        );
        check("walk(['soffice'])\nprint('soffice')\n", &[]);
    }

    #[test]
    fn shell_commands_are_found_unless_optional() {
        let check = |script: &str, expected: &[&str]| {
            assert_eq!(names(&of(&[("scripts/a.sh", script)]).commands), expected, "{script}");
        };
        check("set -e\ncd /x && jq . a | sort > b\n", &["jq", "sort"]);
        check("say() { echo x; }\nsay\n\"$tool\" x\n./own.sh\nx=$(xmllint --format y)\n", &["xmllint"]);
        check("if command -v fd; then fd x; else find x; fi\n", &["find"]);
        check("command -v jq >/dev/null || { echo no jq; exit 1; }\njq .\n", &["jq"]);
        check("cat <<EOF\nnothing to call\nEOF\n", &["cat"]);
    }

    #[test]
    fn packages_of_node_are_found_and_resource_folders_are_skipped() {
        let found = of(&[
            (
                "scripts/a.mjs",
                "import fs from 'node:fs';\nimport { x } from '@scope/a/b';\nconst y = require('sharp');\nimport './own.mjs';\n",
            ),
            ("assets/b.py", "import numpy\n"),
            ("notes.txt", "import numpy\n"),
            ("run", "#!/usr/bin/env bash\njq .\n"),
        ]);
        assert_eq!(names(&found.node), ["@scope/a", "sharp"]);
        assert_eq!(names(&found.commands), ["jq", "node"]);
        assert!(found.python.is_empty());
        assert_eq!(found.commands["jq"], "run");
        assert!(of(&[]).is_empty());
    }
}
