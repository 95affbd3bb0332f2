use std::fs;
use std::io;
use std::path::Path;

use assay_skill::placebo::{MadeFile, Original, placebo};
use assay_skill::{FileKind, Package};

use super::{Condition, Provision, Setting, curated, made_folder};

/// The curated skills' shape without their content: what merely having a skill does.
pub(super) struct Placebo;

impl Condition for Placebo {
    fn name(&self) -> &'static str {
        "placebo"
    }

    fn provide(&self, setting: &Setting<'_>) -> Result<Provision, String> {
        let skills = curated(setting)?
            .iter()
            .map(|skill| {
                make(skill, setting)
                    .map_err(|error| format!("no placebo of the skill `{}`: {error}", skill.name))
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Provision { skills, ..Provision::default() })
    }
}

/// Makes the placebo of a skill, or reads the one made before: it depends on digest and seed alone.
fn make(original: &Package, setting: &Setting<'_>) -> Result<Package, String> {
    let folder = made_folder(setting.made, "placebo", original, setting.seed);
    if !folder.is_dir() {
        let files = read(original).map_err(|error| format!("cannot read it: {error}"))?;
        let made = placebo(
            &Original {
                name: &original.name,
                directory: &original.directory,
                description: &original.description,
                front_matter: &original.front_matter,
                body: &original.body,
                files: &files,
                digest_hex: &original.digest.hex(),
            },
            setting.seed,
        )
        .map_err(|error| error.to_string())?;
        write(&made, &folder).map_err(|error| format!("cannot write {}: {error}", folder.display()))?;
    }
    Package::load(&folder).package.ok_or_else(|| format!("{} holds no skill; delete it", folder.display()))
}

fn read(original: &Package) -> io::Result<Vec<MadeFile>> {
    original
        .files
        .iter()
        .filter(|file| file.kind == FileKind::File)
        .map(|file| {
            let bytes = fs::read(original.root.join(&file.path))?;
            Ok(MadeFile { path: file.path.clone(), bytes, executable: file.executable })
        })
        .collect()
}

/// Writes beside the folder first, so that a half-made placebo is never taken for a whole one.
fn write(files: &[MadeFile], folder: &Path) -> io::Result<()> {
    let parent = folder.parent().unwrap_or(folder);
    fs::create_dir_all(parent)?;
    let draft = tempfile::tempdir_in(parent)?;
    for file in files {
        let path = draft.path().join(&file.path);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(&path, &file.bytes)?;
        set_mode(&path, if file.executable { 0o755 } else { 0o644 })?;
    }
    set_mode(draft.path(), 0o755)?;
    match fs::rename(draft.path(), folder) {
        // Another process made the same one meanwhile.
        Err(_) if folder.is_dir() => Ok(()),
        other => other,
    }
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}
