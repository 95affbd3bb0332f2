//! Paths that case-insensitive file systems take for one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use unicode_normalization::UnicodeNormalization;

use crate::repository::Listing;

/// Pairs of such paths: they differ in case, or in how their characters are composed.
pub(super) fn find_twins(listing: &Listing) -> Vec<(PathBuf, PathBuf)> {
    let mut known: BTreeMap<String, &Path> = BTreeMap::new();
    let mut found = Vec::new();
    for file in listing.keys() {
        for path in file.ancestors().filter(|path| !path.as_os_str().is_empty()) {
            let Some(text) = path.to_str() else { continue };
            let folded: String = text.nfd().flat_map(char::to_lowercase).collect();
            match known.get(&folded) {
                Some(other) if *other != path => found.push(((*other).to_owned(), path.to_owned())),
                // So are the folders above.
                Some(_) => break,
                None => {
                    known.insert(folded, path);
                }
            }
        }
    }
    found.sort();
    found.dedup();
    found
}
