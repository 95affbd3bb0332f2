//! Damaged experiments.

use std::path::Path;

use assay_test::{fuzz, shared_seeds};

use crate::{Experiment, Permissions};

#[test]
fn damaged_experiments_never_panic() {
    let mut seeds = shared_seeds("cases", &["experiment.toml", "theirs.toml"], 60);
    seeds.push(
        b"schema = \"assay.experiment/1\"\nname = \"e\"\nsuite = [\"tasks/*\", \"!tasks/x\"]\nlibrary = [\"skills/*\"]\n\
          conditions = [\"none\", \"curated\", \"documents:docs\"]\nrepetitions = 3\nmargin = 0.1\nnetwork = [\"example.org:443\"]\n\
          [stopping]\nmax_repetitions = 9\n[[agents]]\nnames = [\"loop\", \"codex@0.1.0\"]\nmodels = [\"openai:a\"]\ntimeout = 60\n\
          [prices.\"openai:a\"]\ninput = 1.0\noutput = 2.0\n[condition.none]\nrepetitions = 6\n[metrics.turns]\nguard = 1.1\n\
          [judge]\nmodels = [\"anthropic:b\"]\n[tasks.a]\ncurated = [\"x\"]\n[sandbox]\nkind = \"bubblewrap\"\n"
            .to_vec(),
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("experiment.toml");
    fuzz(&seeds, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        if let Ok(experiment) = Experiment::parse(Path::new(&path), &text) {
            let _ = experiment.check_permissions(Permissions::default());
        }
    });
}
