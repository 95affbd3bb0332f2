use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use assay_skill::placebo::{MadeFile, Original, placebo};
use assay_skill::{Digest, FileKind, Package};
use assay_store::ConditionRole;

use super::error::{ConditionError, PlaceboPackageError};
use super::provision::{Condition, ConditionContext, Provision, curated};

/// The curated skills' shape without their content: what merely having a skill does.
pub(super) struct Placebo;

impl Condition for Placebo {
    fn role(&self) -> ConditionRole {
        ConditionRole::Placebo
    }

    fn provide(&self, context: &ConditionContext<'_>) -> Result<Provision, ConditionError> {
        let skills = curated(context)?
            .iter()
            .map(|skill| {
                make_placebo(skill, context.seed, context.made)
                    .map_err(|error| ConditionError::Placebo { skill: skill.name.clone(), error })
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Provision { skills, ..Provision::default() })
    }
}

/// Makes the placebo of a skill, or reads the one made before: it depends on digest and seed alone.
fn make_placebo(original: &Package, seed: u64, made: &Path) -> Result<Package, PlaceboPackageError> {
    let folder = made_folder(made, "placebo", original, seed);
    if !folder.is_dir() {
        let files = read(original).map_err(PlaceboPackageError::Read)?;
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
            seed,
        )?;
        write(&made, &folder)
            .map_err(|error| PlaceboPackageError::Write { folder: folder.clone(), error })?;
    }
    Package::load(&folder).package.ok_or(PlaceboPackageError::NotASkill { folder })
}

/// The placebo with a digest, generated from one of these skills. It has its original's folder
/// name.
pub(crate) fn placebo_of(
    originals: &[Package],
    (directory, digest): (&str, Digest),
    seed: u64,
    made: &Path,
) -> Option<Package> {
    let same = originals.iter().filter(|original| original.directory == directory);
    same.filter_map(|original| make_placebo(original, seed, made).ok())
        .find(|package| package.digest == digest)
}

/// The folder in `made` that belongs to one made package.
fn made_folder(made: &Path, kind: &str, original: &Package, seed: u64) -> PathBuf {
    made.join(kind).join(format!("{}-{seed}", original.digest.short())).join(&original.directory)
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

/// Writes to a temporary folder first, so that a partial placebo is never mistaken for a complete
/// one.
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
