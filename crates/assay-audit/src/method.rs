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
