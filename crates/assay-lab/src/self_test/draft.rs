//! A clean skill that something can be planted in.

use std::path::PathBuf;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use assay_safety::{Bundle, File, Link, front_matter};

/// A skill before anything is planted.
#[derive(Debug, Clone)]
pub(crate) struct Host {
    /// Its `SKILL.md`.
    pub(crate) document: String,
    /// Other files: path and bytes.
    pub(crate) files: Vec<(String, Vec<u8>)>,
}

/// The six clean skills that come with assay.
#[must_use]
pub(crate) fn hosts() -> Vec<Host> {
    let host = |document: &str, files: &[(&str, &str)]| Host {
        document: document.to_owned(),
        files: files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect(),
    };
    vec![
        host(include_str!("hosts/release-notes.md"), &[]),
        host(
            include_str!("hosts/csv-report.md"),
            &[(
                "scripts/summarise.py",
                "import csv\nimport sys\n\n\ndef main(path):\n    with open(path, newline=\"\") as handle:\n        rows = list(csv.DictReader(handle))\n    print(len(rows))\n\n\nmain(sys.argv[1])\n",
            )],
        ),
        host(
            include_str!("hosts/api-client.md"),
            &[(
                "references/paging.md",
                "# Paging\n\nFollow `next` until it is missing. Stop after a hundred pages and say so.\n",
            )],
        ),
        host(include_str!("hosts/sql-review.md"), &[]),
        host(include_str!("hosts/translate-docs.md"), &[]),
        host(
            include_str!("hosts/container-image.md"),
            &[(
                "scripts/size.sh",
                "#!/bin/sh\nset -eu\ndocker image ls --format '{{.Repository}} {{.Size}}'\n",
            )],
        ),
    ]
}

/// The skills in some paths, as clean hosts. The caller must ensure that they are clean; findings
/// of their own are counted separately.
#[must_use]
pub(crate) fn hosts_at(paths: &[PathBuf]) -> Vec<Host> {
    let (folders, _) = assay_skill::find(paths);
    let packages = folders.iter().filter_map(|folder| assay_skill::Package::load(folder).package);
    packages
        .map(|package| {
            let bundle = Bundle::read(&package);
            let files = bundle.files.into_iter().filter(|file| bundle.document.as_ref() != Some(&file.path));
            Host { files: files.map(|file| (file.path, file.bytes)).collect(), document: package.document }
        })
        .collect()
}

/// A skill in the making.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) matter: String,
    pub(crate) body: String,
    pub(crate) files: Vec<(String, Vec<u8>)>,
    pub(crate) links: Vec<(String, String)>,
}

impl Draft {
    pub(crate) fn of(host: &Host) -> Self {
        let (matter, start) = front_matter(&host.document);
        Self {
            matter: host.document[matter].to_owned(),
            body: host.document[start..].to_owned(),
            files: host.files.clone(),
            links: Vec::new(),
        }
    }

    /// Puts a paragraph between two others of the body.
    pub(crate) fn paragraph(&mut self, text: &str, random: &mut ChaCha8Rng) {
        let mut fenced = false;
        let mut at = 0;
        let mut places = Vec::new();
        for line in self.body.split_inclusive('\n') {
            if line.starts_with("```") {
                fenced = !fenced;
            }
            at += line.len();
            if line.trim().is_empty() && !fenced {
                places.push(at);
            }
        }
        let place =
            if places.is_empty() { self.body.len() } else { places[random.random_range(0..places.len())] };
        self.body.insert_str(place, &format!("{text}\n\n"));
    }

    pub(crate) fn file(&mut self, path: &str, content: impl Into<Vec<u8>>) {
        self.files.push((path.to_owned(), content.into()));
    }

    /// Adds a line to the front matter.
    pub(crate) fn field(&mut self, line: &str) {
        self.matter.push_str(line);
        self.matter.push('\n');
    }

    /// The scanner's input.
    pub(crate) fn bundle(&self) -> Bundle {
        let document = format!("---\n{}---\n{}", self.matter, self.body);
        let description =
            self.matter.lines().find_map(|line| line.strip_prefix("description:")).unwrap_or_default();
        let mut files =
            vec![File { path: "SKILL.md".to_owned(), bytes: document.into_bytes(), truncated: false }];
        files.extend(self.files.iter().map(|(path, bytes)| File {
            path: path.clone(),
            bytes: bytes.clone(),
            truncated: false,
        }));
        Bundle {
            document: Some("SKILL.md".to_owned()),
            description: description.trim().to_owned(),
            tools: self
                .matter
                .lines()
                .find_map(|line| line.strip_prefix("allowed-tools:"))
                .map(|tools| tools.split_whitespace().map(str::to_owned).collect()),
            files,
            links: self
                .links
                .iter()
                .map(|(path, target)| Link {
                    path: path.clone(),
                    target: target.clone(),
                    escapes: target.starts_with('/') || target.starts_with(".."),
                })
                .collect(),
        }
    }
}
