//! The Dockerfile as far as a sandbox without an image builder can follow it.

mod baked;
mod context;
mod materialize;
mod model;
mod parse;
mod rebuild;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use assay_fs::tree;

use crate::TaskError;

pub(crate) use baked::{is_left_out, is_verifiers, left_out, skill_copies};
pub(crate) use materialize::{copy_folder, copy_skills, copy_to};
pub use model::{Copy, Dockerfile, SkillCopy, Unsupported};
pub(crate) use rebuild::{Moved, base_images, placeholders, without};

impl Dockerfile {
    /// Reads a Dockerfile. Never fails: what cannot be followed is in [`Dockerfile::unsupported`].
    pub fn parse(text: &str) -> Self {
        parse::parse(text)
    }

    /// Whether it contains only `FROM`, `WORKDIR`, `ENV`, `COPY` and `USER`, so that
    /// [`Dockerfile::materialize`] has the same result as the builder.
    pub fn plain(&self) -> bool {
        self.unsupported.is_empty()
    }

    /// The skills that its `COPY`s would copy from a build context.
    pub fn skill_copies(&self, context: &Path) -> Result<Vec<SkillCopy>, TaskError> {
        let nodes = context::Context::read(context)?.nodes;
        let followed = self.followed(context);
        let out = left_out(&nodes, Some(&followed));
        Ok(skill_copies(&nodes, &followed, &out))
    }

    /// Carries out the `WORKDIR`s and `COPY`s in a folder that serves as `/`, without skills (see
    /// [`Dockerfile::skill_copies`]). Returns the absolute target roots written.
    ///
    /// Permission bits are kept, owners are not. `.dockerignore` applies. Links are copied as
    /// links, never written through, and a source that is a link is followed only within the
    /// context. No other process may write to `into`.
    pub fn materialize(&self, context: &Path, into: &Path) -> Result<Vec<PathBuf>, TaskError> {
        materialize::materialize(&self.followed(context), context, into)
    }

    /// The same with every source that is, or is behind, a link within the context replaced by the
    /// link's target, as the builder does. A link that leaves the context is not followed.
    pub(crate) fn followed(&self, context: &Path) -> Self {
        let mut file = self.clone();
        let Ok(base) = std::fs::canonicalize(context) else { return file };
        for source in file.copies.iter_mut().flat_map(|copy| &mut copy.sources) {
            let Some(path) = tree::normalize(Path::new(source.trim_start_matches('/'))) else { continue };
            let Ok(real) = std::fs::canonicalize(base.join(&path)) else { continue };
            if let Some(inside) =
                real.strip_prefix(&base).ok().filter(|inside| *inside != path).and_then(Path::to_str)
            {
                *source = if inside.is_empty() { ".".to_owned() } else { inside.to_owned() };
            }
        }
        file
    }
}
