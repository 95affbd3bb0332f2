//! A parsed Dockerfile.

use std::path::PathBuf;

/// A Dockerfile, read as far as it can be followed without building an image.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dockerfile {
    /// The reference after `FROM`, as written; empty if there is none.
    pub from: String,
    /// The last `WORKDIR`, absolute; default `/`.
    pub workdir: PathBuf,
    /// Every `WORKDIR`, absolute, in order: the builder makes these folders.
    pub workdirs: Vec<PathBuf>,
    /// `ENV`, in order of first appearance, the last value of each.
    pub env: Vec<(String, String)>,
    /// `COPY`, in order.
    pub copies: Vec<Copy>,
    /// The last `USER`.
    pub user: Option<String>,
    /// What cannot be followed.
    pub unsupported: Vec<Unsupported>,
}

/// One `COPY`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    /// The line it begins at, from 1.
    pub line: usize,
    /// Paths or patterns relative to the build context.
    pub sources: Vec<String>,
    /// Where to, absolute.
    pub target: PathBuf,
    /// Whether the target is a folder that a file is copied into: it ends in `/`, there are several
    /// sources, or it is a folder known to exist.
    pub is_directory_target: bool,
    /// `--chmod`, when it is an octal number.
    pub mode: Option<u32>,
}

/// An instruction that a sandbox without an image builder cannot follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    /// Its first line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// Its name for messages: `RUN`, `COPY --from`, …
    pub instruction: String,
}

/// A skill that a Dockerfile would bake into the image, and that is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillCopy {
    /// The line of the `COPY`, from 1.
    pub line: usize,
    /// The file or folder that is left out, relative to the build context.
    pub source: PathBuf,
    /// Its target in the image, absolute.
    pub target: PathBuf,
}
