use std::os::unix::fs::symlink;

use super::*;

/// An experiment in `outer/project`, with files beside it.
struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for inside in [
            "outer/project/tasks/t1",
            "outer/project/skills/a",
            "outer/project/docs",
            "outer/tasks/t2",
            "outer/docs",
        ] {
            fs::create_dir_all(folder.path().join(inside)).unwrap();
        }
        for (target, link) in [("../../tasks/t2", "tasks/linked"), ("../docs", "linked-docs"), (".", "here")]
        {
            symlink(target, folder.path().join("outer/project").join(link)).unwrap();
        }
        Self { folder }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn check(&self, lines: &str, permissions: Permissions) -> Result<(), NotPermitted> {
        let defaults = [
            ("suite", "suite = [\"tasks/t1\"]\n"),
            ("conditions", "conditions = [\"none\"]\n"),
            ("[[agents]]", "[[agents]]\nname = \"nop\"\n"),
        ];
        let missing = defaults.into_iter().filter(|(key, _)| !lines.contains(key));
        let (mut top, mut tables) = (String::new(), String::new());
        for (key, line) in missing {
            if key.starts_with('[') { &mut tables } else { &mut top }.push_str(line);
        }
        let source = format!("schema = \"assay.experiment/1\"\nname = \"e\"\n{top}{lines}\n{tables}");
        let path = self.path("outer/project/experiment.toml");
        Experiment::parse(&path, &source).unwrap().check_permissions(permissions)
    }

    /// Whether lines of an experiment need `--allow-outside`.
    fn needs_outside(&self, lines: &str) -> bool {
        let unsandboxed = Permissions { unsandboxed: true, ..Permissions::default() };
        self.check(lines, Permissions { outside: true, ..unsandboxed }).unwrap();
        match self.check(lines, unsandboxed) {
            Ok(()) => false,
            Err(error) => {
                assert!(error.to_string().contains("--allow-outside"), "{error}");
                true
            }
        }
    }
}

/// Each kind of path that an experiment can name, inside and outside of its folder.
const PATHS: &[(&str, bool)] = &[
    ("suite = [\"tasks/t1\"]", false),
    ("suite = [\"tasks/../tasks/t1\"]", false),
    ("suite = [\"here/tasks/t1\"]", false),
    ("suite = [\"tasks/*\"]", true),
    ("suite = [\"tasks/linked\"]", true),
    ("suite = [\"tasks/t1\", \"../tasks/t2\"]", true),
    ("suite = [\"tasks/t1\", \"!../tasks/t2\"]", false),
    ("suite = [\"/tmp/**\"]", true),
    ("library = [\"skills/*\"]", false),
    ("library = [\"../skills/*\"]", true),
    ("library = [\"../project/skills/*\"]", false),
    ("library = [\"../*/skills\"]", true),
    ("conditions = [\"none\", \"documents\"]", false),
    ("conditions = [\"none\", \"documents:linked-docs\"]", true),
    ("conditions = [\"none\", \"documents:../docs\"]", true),
    ("conditions = [\"none\", \"version:v1.2\"]", false),
    ("conditions = [\"none\", \"version:../skills\"]", true),
    ("conditions = [\"none\", \"generated-from-docs:/srv/x\"]", true),
    ("conditions = [\"none\", \"d\"]\n[condition.d]\nis = \"documents:../docs\"", true),
    ("[tasks.t1]\ndocuments = \"docs\"", false),
    ("[tasks.t1]\ndocuments = \"../docs\"", true),
    ("tasks = { t1 = { documents = \"/etc\" } }", true),
    ("[[agents]]\nname = \"loop\"\nmodel = \"scripted:turns.jsonl\"", false),
    ("[[agents]]\nname = \"loop\"\nmodel = \"scripted:../turns.jsonl\"", true),
    ("[[agents]]\nname = \"loop\"\nmodels = [\"openai:m\", \"scripted:/x/turns.jsonl\"]", true),
    ("[judge]\nmodels = [\"scripted:../judge.jsonl\"]", true),
    ("[judge]\nmodels = [\"openai:m\"]\ncalibration = \"../labels.csv\"", true),
    ("[sandbox]\nkind = \"bubblewrap\"\nroots = { \"debian:12\" = \"host\" }", false),
    ("[sandbox]\nroots = { \"debian:12\" = \"/home\" }", true),
    ("[sandbox.roots]\n\"debian:12\" = \"..\"", true),
];

#[test]
fn each_path_outside_of_the_project_needs_a_permission() {
    let folder = Folder::new();
    for &(lines, outside) in PATHS {
        assert_eq!(folder.needs_outside(lines), outside, "{lines}");
    }
    // A Git work tree, or an assay.toml, above the experiment makes a larger project.
    let siblings =
        ["suite = [\"../tasks/t2\"]", "suite = [\"tasks/*\"]", "[tasks.t1]\ndocuments = \"../docs\""];
    for marker in ["outer/assay.toml", "outer/.git"] {
        fs::write(folder.path(marker), "").unwrap();
        for lines in siblings {
            assert!(!folder.needs_outside(lines), "{marker}: {lines}");
        }
        assert!(folder.needs_outside("suite = [\"/tmp/**\"]"), "{marker}");
    }
    // The nearest work tree counts, and comes before an assay.toml.
    fs::create_dir(folder.path("outer/project/.git")).unwrap();
    assert!(siblings.iter().all(|lines| folder.needs_outside(lines)));
}

#[test]
fn no_default_folder_leads_outside() {
    let folder = Folder::new();
    fs::remove_dir(folder.path("outer/project/docs")).unwrap();
    symlink("../docs", folder.path("outer/project/docs")).unwrap();
    assert!(folder.needs_outside("conditions = [\"none\", \"documents\"]"));
    symlink("../docs", folder.path("outer/project/generated")).unwrap();
    assert!(folder.needs_outside("conditions = [\"none\", \"generated-from-docs\"]"));
}

#[test]
fn sandbox_none_needs_a_permission() {
    let folder = Folder::new();
    let outside = Permissions { outside: true, ..Permissions::default() };
    for lines in ["sandbox = \"none\"", "[sandbox]\nkind = \"none\"", "sandbox = { kind = \"none\" }"] {
        let error = folder.check(lines, outside).unwrap_err().to_string();
        assert!(error.contains("experiment.toml:") && error.contains("--allow-unsandboxed"), "{error}");
        folder.check(lines, Permissions { unsandboxed: true, ..outside }).unwrap();
    }
    for lines in ["", "sandbox = \"auto\"", "sandbox = \"docker\"", "network = \"none\""] {
        folder.check(lines, outside).unwrap();
    }
}

#[test]
fn the_error_names_file_line_path_and_option() {
    let folder = Folder::new();
    let error = folder.check("[tasks.t1]\ndocuments = \"../docs\"", Permissions::default()).unwrap_err();
    let root = folder.folder.path().canonicalize().unwrap().display().to_string();
    let text =
        error.to_string().replace(&folder.folder.path().display().to_string(), "ROOT").replace(&root, "ROOT");
    assert_eq!(
        text,
        "ROOT/outer/project/experiment.toml:6:13: `documents` leads outside of the experiment's folder ROOT/outer/project: \
         \"../docs\" is ROOT/outer/docs (hint: read the experiment; if you trust it, pass --allow-outside)"
    );
    assert_eq!(error.excerpt[0], "6 | documents = \"../docs\"");
}

#[test]
fn a_path_of_an_error_steers_no_terminal() {
    let lab = Folder::new();
    let lines = "[sandbox]\nkind = \"bubblewrap\"\nroots = { \"a\" = \"../../x\\u001b[2J\" }";
    let error = lab.check(lines, Permissions::default()).unwrap_err().to_string();
    assert!(error.contains("[2J") && !error.contains('\u{1b}'), "{error:?}");
}
