//! Reads a skill's package as text.

use std::io;
use std::path::Path;

use assay_fs::{FileKind, read_within, tree};
use assay_skill::{Document, decode};

use super::{SkillFile, SkillPackage};

/// Longest file of a package that is read, in bytes; longer ones are read up to here.
pub const FILE_CAP: u64 = 1 << 20;

/// Most files of a package that are read beside the document.
const FILES: usize = 500;

/// Bytes that are searched for a NUL, which no text has.
const HEAD: usize = 8 << 10;

impl SkillPackage {
    /// Reads the package in a folder: `SKILL.md`, else `skill.md`, and the other text files by path.
    /// Hidden files are left out, and so are files that cannot be read. No link is followed out of
    /// the folder.
    ///
    /// # Errors
    ///
    /// If the document cannot be read.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let read = |path: &Path| read_within(folder, path, FILE_CAP).map(|content| content.bytes);
        let (document, bytes) = match read(Path::new("SKILL.md")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                ("skill.md", read(Path::new("skill.md"))?)
            }
            result => ("SKILL.md", result?),
        };
        let mut package = Self::from_document(&bytes);
        let nodes = tree::walk(folder).nodes;
        let hidden = |path: &Path| path.components().any(|part| tree::bytes(part.as_ref()).starts_with(b"."));
        let others = nodes
            .iter()
            .filter(|node| node.kind == FileKind::File && node.path != Path::new(document))
            .filter(|node| !hidden(&node.path));
        for node in others.take(FILES) {
            let Ok(bytes) = read(&node.path) else { continue };
            if bytes[..bytes.len().min(HEAD)].contains(&0) {
                continue;
            }
            let path = node.path.to_string_lossy().replace('\\', "/");
            package.files.push(SkillFile { path, text: decode(&bytes).text });
        }
        Ok(package)
    }

    /// A package of a `SKILL.md` alone, read leniently.
    pub fn from_document(bytes: &[u8]) -> Self {
        let (document, _) = Document::parse(bytes, Path::new("SKILL.md"));
        Self {
            name: document.name.clone().unwrap_or_default(),
            description: document.description.clone().unwrap_or_default(),
            files: vec![SkillFile { path: "SKILL.md".to_owned(), text: document.text }],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_package_is_its_document_and_its_text_files() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, bytes: &[u8]| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        };
        write("SKILL.md", b"\xef\xbb\xbf---\nname: kiln\ndescription: Fires pots.\n---\nBody\n");
        write("scripts/fire.py", b"print(1)\n");
        write("a.md", b"# A\n");
        write("icon.png", b"\x89PNG\0\0");
        write(".git/config", b"[core]\n");
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link.md")).unwrap();
        let package = SkillPackage::read(folder.path()).unwrap();
        assert_eq!((package.name.as_str(), package.description.as_str()), ("kiln", "Fires pots."));
        let paths: Vec<&str> = package.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["SKILL.md", "a.md", "scripts/fire.py"]);
        assert!(package.files[0].text.starts_with("---\n"));
        assert!(SkillPackage::read(&folder.path().join("scripts")).is_err());
    }
}
