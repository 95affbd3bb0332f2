//! The Counterfactual Trace Auditor as released in 2026 (WillChow66/CTA, commit bafb67b), stage by stage.
