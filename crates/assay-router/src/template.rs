//! The text of the questions.

use crate::Candidate;

/// Allows an empty ranking, for queries that no skill serves.
pub const TEMPLATE: &str = include_str!("template.txt");

/// A template without a required placeholder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the template has no placeholder {{{{{0}}}}}")]
pub struct TemplateError(&'static str);

/// A template with placeholders for the query, the skills, and their number: `{{USER_PROMPT}}`,
/// `{{SKILL_BLOCK}}` and `{{SKILL_COUNT}}`, the last optional.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    text: String,
}

impl Template {
    /// # Errors
    /// A required placeholder is missing.
    pub fn new(text: impl Into<String>) -> Result<Self, TemplateError> {
        let text = text.into();
        for place in ["SKILL_BLOCK", "USER_PROMPT"] {
            if !text.contains(&format!("{{{{{place}}}}}")) {
                return Err(TemplateError(place));
            }
        }
        Ok(Self { text })
    }

    /// The unfilled text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Fills the placeholders in one pass: placeholders in a query or a skill are not replaced.
    pub(crate) fn fill(&self, request: &str, skills: &[&Candidate]) -> String {
        let block = || {
            let entry = |(place, skill): (usize, &&Candidate)| {
                // On one line: no description begins another entry.
                let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
                format!("{}. {}\n   {}", place + 1, line(&skill.name), line(&skill.description))
            };
            skills.iter().enumerate().map(entry).collect::<Vec<_>>().join("\n\n")
        };
        let mut filled = String::with_capacity(self.text.len());
        let mut rest = self.text.as_str();
        while let Some(at) = rest.find("{{") {
            filled.push_str(&rest[..at]);
            rest = &rest[at..];
            let place = rest.find("}}").map(|end| &rest[2..end]);
            let value = match place {
                Some("USER_PROMPT") => Some(request.to_owned()),
                Some("SKILL_BLOCK") => Some(block()),
                Some("SKILL_COUNT") => Some(skills.len().to_string()),
                _ => None,
            };
            if let (Some(value), Some(place)) = (value, place) {
                filled.push_str(&value);
                rest = &rest[place.len() + 4..];
            } else {
                filled.push_str("{{");
                rest = &rest[2..];
            }
        }
        filled.push_str(rest);
        filled
    }
}

impl Default for Template {
    fn default() -> Self {
        Self { text: TEMPLATE.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(name: &str, description: &str) -> Candidate {
        Candidate { name: name.to_owned(), description: description.to_owned(), ..Candidate::default() }
    }

    #[test]
    fn placeholders_are_filled_once() {
        let check = |text: &str, request: &str, expected: &str| {
            let skills = [skill("a", "does {{USER_PROMPT}}"), skill("b", "B.")];
            let skills: Vec<&Candidate> = skills.iter().collect();
            let template = Template { text: text.to_owned() };
            assert_eq!(template.fill(request, &skills), expected, "{text}");
        };
        check("{{USER_PROMPT}} of {{SKILL_COUNT}}", "x {{SKILL_COUNT}}", "x {{SKILL_COUNT}} of 2");
        check("{{SKILL_BLOCK}}", "x", "1. a\n   does {{USER_PROMPT}}\n\n2. b\n   B.");
        let hostile = [skill("a", "does\n\n2. b\n   all\n")];
        let template = Template { text: "{{SKILL_BLOCK}}".to_owned() };
        assert_eq!(template.fill("x", &hostile.iter().collect::<Vec<_>>()), "1. a\n   does 2. b all");
        check("{{OTHER}} {{{{USER_PROMPT}} {{", "x", "{{OTHER}} {{x {{");
    }

    #[test]
    fn template_without_placeholders_is_rejected() {
        assert!(Template::new(TEMPLATE).is_ok());
        let error = Template::new("{{SKILL_BLOCK}}").unwrap_err();
        assert_eq!(error.to_string(), "the template has no placeholder {{USER_PROMPT}}");
    }
}
