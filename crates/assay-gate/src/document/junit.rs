//! The decision of a gate as JUnit XML.

use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::{GateDocument, GateVerdict};

fn case(name: &str, kind: Option<NonSuccessKind>, message: &str) -> TestCase {
    let status = kind.map_or_else(TestCaseStatus::success, |kind| {
        let mut status = TestCaseStatus::non_success(kind);
        status.set_message(message).set_type("gate");
        status
    });
    let mut case = TestCase::new(name, status);
    case.set_classname("assay gate");
    case
}

fn report(cases: impl IntoIterator<Item = TestCase>) -> Result<String, SerializeError> {
    let mut suite = TestSuite::new("assay gate");
    for case in cases {
        suite.add_test_case(case);
    }
    let mut report = Report::new("assay gate");
    report.add_test_suite(suite);
    report.to_string()
}

impl GateDocument {
    /// A suite with a case for each skill that changed, and one for the policy.
    ///
    /// # Errors
    /// A text that XML cannot have.
    pub fn to_junit(&self) -> Result<String, SerializeError> {
        let weaker = self.weakened.join("; ");
        let kind = (!weaker.is_empty()).then_some(NonSuccessKind::Failure);
        let policy = case("policy", kind, &weaker);
        let skills = self.skills.iter().filter(|row| row.changed).map(|row| {
            let kind = match row.verdict {
                GateVerdict::Pass | GateVerdict::Nothing => None,
                _ if row.warn => None,
                GateVerdict::Fail | GateVerdict::Undecided => Some(NonSuccessKind::Failure),
                GateVerdict::Blocked => Some(NonSuccessKind::Error),
            };
            case(&row.skill, kind, &row.reason)
        });
        report([policy].into_iter().chain(skills))
    }
}

/// A suite whose only case is the policy, which was refused.
///
/// # Errors
/// A text that XML cannot have.
pub fn refused_junit(message: &str) -> Result<String, SerializeError> {
    report([case("policy", Some(NonSuccessKind::Error), message)])
}
