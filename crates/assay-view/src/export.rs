//! The pages of a store as files, which open from a disk without a server.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::pages::reply;
use crate::reply::Content;
use crate::site::Site;

/// Largest file of an attempt that is written.
const LARGEST: usize = 20 << 20;

/// Attributes that contain addresses. Texts from outside have their quotes escaped, so that none of them
/// looks like one.
const ATTRIBUTES: [&str; 2] = [" href=\"/", " src=\"/"];

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Exported {
    /// Pages.
    pub pages: usize,
    /// Other files.
    pub files: usize,
}

/// Why the pages were not written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The folder contains something else.
    #[error("{} is not empty", .0.display())]
    NotEmpty(PathBuf),
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A page cannot be shown.
    #[error("cannot render {0}")]
    Page(String),
}

/// Writes all pages of a store that can be reached from the page of all runs, or from `run`'s page, to a new or
/// empty folder. `progress` is called with the number of pages written so far.
///
/// # Errors
/// The folder is not empty or cannot be written to; a page cannot be rendered.
pub fn export(
    site: Site,
    run: Option<&str>,
    folder: &Path,
    mut progress: impl FnMut(usize),
) -> Result<Exported, ExportError> {
    let write_error = |path: &Path| {
        let path = path.to_owned();
        move |source| ExportError::Write { path, source }
    };
    match fs::read_dir(folder) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                return Err(ExportError::NotEmpty(folder.to_owned()));
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(write_error(folder)(error)),
    }
    // All of it or nothing: the pages are written beside the folder, which they replace when they are complete.
    let target = folder;
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(write_error(parent))?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".assay-view-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
    let fresh = builder.tempdir_in(parent).map_err(write_error(parent))?;
    let folder = fresh.path();
    let site = Arc::new(site.for_export(run));
    let mut writer = Writer { site, folder, files: BTreeMap::new(), found: Exported::default() };
    let mut waiting: VecDeque<String> = VecDeque::from(["/".to_owned()]);
    if writer.site.draft().is_some() {
        waiting.push_back("/draft/".to_owned());
    }
    let mut known: BTreeSet<String> = waiting.iter().cloned().collect();
    while let Some(path) = waiting.pop_front() {
        for target in writer.page(&path)? {
            if known.insert(target.clone()) {
                waiting.push_back(target);
            }
        }
        progress(writer.found.pages);
    }
    let found = writer.found;
    // An empty folder is replaced.
    fs::rename(fresh.path(), target).map_err(write_error(target))?;
    let _ = fresh.keep();
    Ok(found)
}

struct Writer<'a> {
    site: Arc<Site>,
    folder: &'a Path,
    /// Files that are no pages, by address.
    files: BTreeMap<String, String>,
    found: Exported,
}

impl Writer<'_> {
    /// Writes a page, and returns the addresses of the pages that it links to.
    fn page(&mut self, path: &str) -> Result<Vec<String>, ExportError> {
        let Content::Html(html) = reply(&self.site, path, "").content else {
            return Err(ExportError::Page(path.to_owned()));
        };
        let depth = path.matches('/').count() - 1;
        let mut targets = Vec::new();
        let mut written = String::with_capacity(html.len());
        let mut rest = html.as_str();
        while let Some((at, attribute)) =
            ATTRIBUTES.iter().filter_map(|name| rest.find(name).map(|at| (at, *name))).min()
        {
            let from = at + attribute.len() - 1;
            let end = rest[from..].find('"').map_or(rest.len(), |length| from + length);
            written.push_str(&rest[..from]);
            let address = rest[from..end].replace("&amp;", "&").replace("&#38;", "&");
            let (target, anchor) =
                address.split_once('#').map_or((address.as_str(), None), |(a, b)| (a, Some(b)));
            let target = target.split('?').next().unwrap_or_default();
            let file = if target.ends_with('/') {
                targets.push(target.to_owned());
                page_file(target)
            } else {
                self.file(target)?
            };
            written.push_str(&"../".repeat(depth));
            written.push_str(&file);
            if let Some(anchor) = anchor {
                written.push('#');
                written.push_str(anchor);
            }
            rest = &rest[end..];
        }
        written.push_str(rest);
        self.write(&page_file(path), written.as_bytes())?;
        self.found.pages += 1;
        Ok(targets)
    }

    /// Writes a file that is no page, once, and returns its path.
    fn file(&mut self, address: &str) -> Result<String, ExportError> {
        if let Some(known) = self.files.get(address) {
            return Ok(known.clone());
        }
        let base = plain(address.trim_start_matches('/'));
        let (file, bytes) = match reply(&self.site, address, "").content {
            Content::Static(_, text) => (base, text.into_bytes()),
            Content::Image(kind, bytes) => {
                (format!("{base}.{}", kind.rsplit('/').next().unwrap_or("bin")), bytes)
            }
            Content::Attachment(name, bytes) if bytes.len() > LARGEST => {
                let text = format!("{name} has {} bytes: it is in the store only.\n", bytes.len());
                (format!("{base}-{name}.txt"), text.into_bytes())
            }
            // No extension that a browser would run something for.
            Content::Attachment(name, bytes) => {
                let kind = if std::str::from_utf8(&bytes).is_ok() { "txt" } else { "bin" };
                (format!("{base}-{name}.{kind}"), bytes)
            }
            Content::Html(_) | Content::Redirect(_) => {
                let text = format!("{address} cannot be read.\n");
                (format!("{base}.txt"), text.into_bytes())
            }
        };
        self.write(&file, &bytes)?;
        self.found.files += 1;
        self.files.insert(address.to_owned(), file.clone());
        Ok(file)
    }

    fn write(&self, file: &str, bytes: &[u8]) -> Result<(), ExportError> {
        let path = self.folder.join(file);
        let folder = path.parent().unwrap_or(self.folder);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, bytes));
        written.map_err(|source| ExportError::Write { path, source })
    }
}

/// The file of a page.
fn page_file(path: &str) -> String {
    format!("{}index.html", plain(path.trim_start_matches('/')))
}

/// A path that is a file name on every system, and that is the same in a link.
fn plain(path: &str) -> String {
    path.replace('%', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_files() {
        let check = |path: &str, expected: &str| assert_eq!(page_file(path), expected);
        check("/", "index.html");
        check("/runs/a/", "runs/a/index.html");
        check("/runs/a/skills/blake3%3Aab/", "runs/a/skills/blake3_3Aab/index.html");
    }
}
