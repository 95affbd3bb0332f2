use std::fs;

use assay_skill::Library;
use assay_task::Task;
use tempfile::TempDir;

use super::*;
use crate::condition::{ConditionRef, Pairing};

/// An experiment's folder with one task, whose skill has a text of 60 tokens.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("task/task.toml", "version = \"1.0\"\n");
        folder.write("task/instruction.md", "Convert the ledger to minor units.\n");
        folder.write("task/environment/Dockerfile", "FROM scratch\n");
        folder.write("task/tests/test.sh", "exit 0\n");
        folder.skill(&"one two three four five six\n".repeat(10));
        folder
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn skill(&self, body: &str) {
        let text = format!("---\nname: ledger\ndescription: Converts ledgers.\n---\n{body}");
        self.write("task/environment/skills/ledger/SKILL.md", &text);
    }

    /// The text in the prompt, or why there is none.
    fn provide(&self, condition: &str, pairing: Option<&Pairing>) -> Result<String, String> {
        let task = Task::load(&self.0.path().join("task")).unwrap();
        let context = ConditionContext {
            argument: None,
            directory: self.0.path(),
            task: &task,
            library: &Library::default(),
            pairing,
            seed: 1,
            made: &self.0.path().join("made"),
        };
        let provided = ConditionRef::parse(condition).unwrap().provide(&context);
        let root = self.0.path().display().to_string();
        provided
            .map(|provision| {
                assert!(provision.skills.is_empty() && !provision.writes_skills);
                provision.preface
            })
            .map_err(|error| error.to_string().replace(&root, "ROOT"))
    }

    fn check(&self, condition: &str, expected: Result<&str, &str>) {
        let found = self.provide(condition, None);
        assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{condition}");
    }
}

#[test]
fn the_best_passages_come_first_and_others_are_left_out() {
    let folder = Folder::new();
    folder.write("docs/a.md", "# Colours\n\nRed, green, blue.\n\n# Units\n\nMinor units are cents.\n");
    folder.write("docs/deep/b.rst", "Ledger\n======\n\nA ledger in minor units has no decimal point.\n");
    folder.write("docs/c.html", "<h1>Pages</h1><script>minor units</script><p>Ledger pages are numbered.");
    folder.write("docs/code.py", "ledger = minor + units\n");
    folder.write("docs/SKILL.md", "Ledger in minor units.\n");
    folder.write("docs/.hidden/x.md", "Ledger in minor units.\n");
    let ledger = "Ledger\n\nA ledger in minor units has no decimal point.";
    let units = "# Units\n\nMinor units are cents.";
    let pages = "# Pages\n\nLedger pages are numbered.";
    folder.check("documents", Ok(&[ledger, units, pages].join("\n\n")));
    folder.check("documents:docs", Ok(&[ledger, units, pages].join("\n\n")));
    folder.check("documents:docs/deep", Ok(ledger));
    let pairing = Pairing { documents: Some("docs/deep".to_owned()), ..Pairing::default() };
    assert_eq!(folder.provide("documents", Some(&pairing)).unwrap(), ledger);
    // The condition's argument is for all tasks.
    let elsewhere = Pairing { documents: Some("elsewhere".to_owned()), ..Pairing::default() };
    assert_eq!(folder.provide("documents:docs/deep", Some(&elsewhere)).unwrap(), ledger);
}

#[test]
fn the_text_is_cut_to_the_length_of_the_skill() {
    let folder = Folder::new();
    let sentence = "The ledger of the company is kept in minor units of its currency. ";
    folder.write("docs/a.md", &sentence.repeat(40));
    for lines in [1, 3, 10, 40] {
        let body = "one two three four five six\n".repeat(lines);
        folder.skill(&body);
        let (found, budget) = (tokens(&folder.provide("documents", None).unwrap()), tokens(body.trim()));
        assert!(found <= budget && found + 2 >= budget, "{found} of {budget}");
    }
    let again = folder.provide("documents", None);
    assert_eq!(folder.provide("documents", None), again);
}

#[test]
fn tasks_without_documentation_are_excluded() {
    let folder = Folder::new();
    folder.check(
        "documents",
        Err(
            "no documentation: ROOT/docs is not a folder (hint: create it, or name another with `documents:DIR` or `[tasks.\"task\"] documents = \"DIR\"`)",
        ),
    );
    folder.check("documents:none", Err("no documentation: ROOT/none is not a folder"));
    folder.write("empty/main.c", "int main;\n");
    folder.write("empty/blank.md", "\n\n# \n");
    folder.check(
        "documents:empty",
        Err("no documentation: ROOT/empty contains no text in .md, .txt, .rst or .html files"),
    );
    folder.write("other/a.md", "Red, green, blue.\n");
    folder.check("documents:other", Err("no passage in ROOT/other shares a word with the instruction"));
    folder.write("docs/a.md", "The ledger.\n");
    folder.skill("");
    folder.check("documents", Err("its curated skills have no text besides their front matter"));
    fs::remove_dir_all(folder.0.path().join("task/environment/skills")).unwrap();
    folder.check(
        "documents",
        Err("no curated skill: pair it in the experiment, `[tasks.\"task\"] curated = [\"…\"]`"),
    );
}

#[test]
fn links_are_not_followed_and_large_files_are_errors() {
    let folder = Folder::new();
    folder.write("secret.md", "The ledger of somebody else.\n");
    folder.write("docs/a.md", "The ledger.\n");
    std::os::unix::fs::symlink("../secret.md", folder.0.path().join("docs/b.md")).unwrap();
    folder.check("documents", Ok("The ledger."));
    let large = fs::File::create(folder.0.path().join("docs/c.md")).unwrap();
    large.set_len(FILE_BYTES + 1).unwrap();
    let error = folder.provide("documents", None).unwrap_err();
    assert!(error.contains("ROOT/docs/c.md"), "{error}");
    drop(large);
    for number in 0..=TOTAL_BYTES / FILE_BYTES {
        let file = fs::File::create(folder.0.path().join(format!("docs/{number}.txt"))).unwrap();
        file.set_len(FILE_BYTES).unwrap();
    }
    fs::remove_file(folder.0.path().join("docs/c.md")).unwrap();
    folder.check(
        "documents",
        Err("ROOT/docs contains more than 32 MiB of documentation: name a smaller folder"),
    );
}
