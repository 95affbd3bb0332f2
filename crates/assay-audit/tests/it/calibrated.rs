//! The calibrated auditor on the traces of the release.

use std::sync::OnceLock;

use assay_audit::calibrated::{CorpusAudit, corpus};
use assay_audit::corpus::Corpus;

use crate::shared::shared;

/// The nine tasks, audited once for all tests.
fn audited() -> Option<&'static CorpusAudit> {
    static AUDIT: OnceLock<Option<CorpusAudit>> = OnceLock::new();
    AUDIT
        .get_or_init(|| {
            let root = shared("cta")?;
            let found = Corpus::find(&root).unwrap();
            Some(corpus(&root, &found, true, |notice| panic!("{notice:?}")))
        })
        .as_ref()
}

#[test]
fn look() {
    let Some(audit) = audited() else { return };
    println!("{:#?}", audit.check);
    for arm in &audit.arms {
        println!("{arm:#?}");
    }
}
