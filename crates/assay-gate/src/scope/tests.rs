//! Which skills a change concerns, by which rules, and which store and key may decide.

use super::*;
use crate::evaluation::Change;
use crate::testing::{GateRepository, POLICY, git};

/// The skills with what is done to them, and whether a rule covers them.
fn subjects(scope: &Scope) -> Vec<(&str, Change, bool)> {
    scope.subjects.iter().map(|found| (found.skill.as_str(), found.change, found.is_covered)).collect()
}

#[test]
fn a_pull_request_concerns_the_skills_that_it_changes() {
    let lab = GateRepository::scripted(POLICY);
    let find = || Scope::find(&lab.request(), &lab.store()).unwrap();
    assert_eq!(subjects(&find()), [("skills/reports", Change::Unchanged, true)]);
    // What is not committed counts as well, and a new skill is covered by the pattern of the target.
    lab.write_skill("reports", "The word is `wrong`.");
    lab.write_skill("letters", "Write letters.");
    let scope = find();
    let changed = [("skills/letters", Change::Added, true), ("skills/reports", Change::Changed, true)];
    assert_eq!(subjects(&scope), changed);
    assert!(scope.has_policy() && scope.evaluation.as_ref().unwrap().rules_changed.is_empty());
    // Its rules are those of the target.
    let rule = "require = \"helps\"";
    std::fs::write(lab.top().join("gate.toml"), POLICY.replace(rule, "require = \"not-harmful\"")).unwrap();
    let scope = find();
    assert_eq!(scope.terms.skills["skills/reports"].rule.require.word(), "helps");
    assert_eq!(scope.evaluation.as_ref().unwrap().untrusted, ["gate.toml"]);
    assert!(!scope.evaluation.as_ref().unwrap().weakened.is_empty());
    git(&lab.top(), &["rm", "--quiet", "-r", "--force", "skills/reports"]);
    let removed = [("skills/letters", Change::Added, true), ("skills/reports", Change::Removed, true)];
    assert_eq!(subjects(&find()), removed);
}

#[test]
fn a_target_without_a_policy_decides_nothing() {
    let lab = GateRepository::scripted(POLICY);
    git(&lab.top(), &["rm", "--quiet", "gate.toml"]);
    lab.commit("none");
    git(&lab.top(), &["tag", "--force", "base"]);
    std::fs::write(lab.top().join("gate.toml"), POLICY).unwrap();
    let scope = Scope::find(&lab.request(), &lab.store()).unwrap();
    assert!(!scope.has_policy());
    let demand = "would demand of skills/reports: helps on 6 tasks with 3 repetitions, 36 trials";
    assert!(scope.notes.iter().any(|note| note.ends_with(demand)), "{:?}", scope.notes);
}

#[test]
fn what_cannot_be_evaluated_is_an_error_with_a_hint() {
    let lab = GateRepository::scripted(POLICY);
    let check = |request: GateRequest, message: &str, hint: &str| {
        let Err(error) = Scope::find(&request, &lab.store()) else { panic!("no error: {message}") };
        assert!(error.to_string().starts_with(message), "{error}");
        assert!(error.hint().is_some_and(|found| found.contains(hint)), "{error}: {:?}", error.hint());
    };
    let revision = |name: &str| Some(name.to_owned());
    let missing = GateRequest { changed_since: revision("missing"), ..lab.request() };
    check(missing, "`--changed-since missing`: ", "git fetch origin main");
    let trust = GateRequest { trust_changes: Some("0".repeat(40)), ..lab.request() };
    check(trust, "`--trust-changes", "pass its full SHA");
    // The same error with and without a target.
    std::fs::write(lab.top().join("gate.toml"), POLICY.replace("skills/*", "skill/*")).unwrap();
    let own = GateRequest { changed_since: None, ..lab.request() };
    check(
        own,
        &format!("{}: `skills`: \"skill/*\" matches no skill", lab.top().join("gate.toml").display()),
        "correct the pattern",
    );
    std::fs::write(lab.top().join("gate.toml"), "schema").unwrap();
    let own = GateRequest { changed_since: None, ..lab.request() };
    assert!(matches!(Scope::find(&own, &lab.store()), Err(GateError::Policy(_))));
}

#[test]
fn a_store_that_a_pull_request_can_write_does_not_decide() {
    let lab = GateRepository::scripted(POLICY);
    let scope = Scope::find(&lab.request(), &lab.store()).unwrap();
    let (own, hosted) = (lab.host(), lab.host().with_env(&[("CI", "true")]));
    let inside = lab.top().join(".assay");
    assert_eq!(scope.find_store(&lab.store(), &hosted).unwrap(), (lab.store(), None));
    assert_eq!(scope.find_store(&inside, &own).unwrap(), (inside.clone(), None));
    let refused = scope.find_store(&inside, &hosted);
    assert!(matches!(refused, Err(UnusableStore::Inside(path)) if path == inside));
    // A store that is part of the repository is not used on a machine of one's own either.
    std::fs::create_dir_all(&inside).unwrap();
    std::fs::write(inside.join("store.json"), "{}").unwrap();
    lab.commit("store");
    let scope = Scope::find(&lab.request(), &lab.store()).unwrap();
    let (other, note) = scope.find_store(&inside, &own).unwrap();
    assert!(other.starts_with(own.state_folder().unwrap()) && note.is_some(), "{}", other.display());
}

#[test]
fn trials_for_a_decision_need_a_key() {
    let lab = GateRepository::scripted(POLICY);
    let explain = |changed_since: Option<&str>, hosted: bool, has_key: bool| {
        let request = GateRequest { changed_since: changed_since.map(str::to_owned), ..lab.request() };
        let host = if has_key { lab.host() } else { lab.host().without_key() };
        let host = if hosted { host.with_env(&[("CI", "1")]) } else { host };
        Scope::find(&request, &lab.store()).unwrap().explain_missing_key(&host).unwrap()
    };
    assert_eq!(explain(Some("base"), false, true), None);
    assert_eq!(explain(Some("base"), true, true), None);
    assert_eq!(explain(None, false, false), None);
    let unsigned = explain(Some("base"), false, false).unwrap();
    assert_eq!(unsigned, "records cannot be signed: there is no key");
    let hosted = explain(Some("base"), true, false).unwrap();
    assert!(hosted.contains("in CI without ASSAY_RECORD_KEY"), "{hosted}");
}
