use serde::Serialize;

/// How traces are audited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Findings that rest on the skill's text, as an excess over what pairs without a difference
    /// show.
    Calibrated,
    /// The Counterfactual Trace Auditor as it was released in 2026.
    Cta2026,
}

impl Method {
    /// The name it has on the command line and in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Calibrated => "calibrated",
            Self::Cta2026 => "cta-2026",
        }
    }
}

/// The schema of the lines of an audit.
pub const SCHEMA: &str = "assay.audit/2";

/// How two runs were put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// With the skill against without.
    Treatment,
    /// Two runs without it; the earlier plays the one with the skill.
    NullMinus,
    /// Two runs with it; the later plays the one with the skill.
    NullPlus,
}

impl Mode {
    /// The name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Treatment => "treatment",
            Self::NullMinus => "null-minus",
            Self::NullPlus => "null-plus",
        }
    }
}
