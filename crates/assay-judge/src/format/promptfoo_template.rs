//! Templates of promptfoo, as far as they are filled in: `{{ name }}` with filters that change a text's
//! case or trim it. Anything else is refused, because its words would become part of a task.

use std::collections::BTreeMap;

use super::FormatError;

/// The variables of a test by name.
pub(super) type Variables = BTreeMap<String, String>;

/// How often a value is filled in that has templates of its own.
const DEPTH: usize = 4;

/// A template with its variables filled in.
///
/// # Errors
/// It has an expression that is not filled in, or a variable without a value.
pub(super) fn fill_template(template: &str, variables: &Variables) -> Result<String, FormatError> {
    let mut text = template.to_owned();
    for _ in 0..DEPTH {
        if text.contains("{#") {
            let message = format!("{template:?} has a template's comment (`{{# … #}}`): remove it");
            return Err(FormatError::unusable(message));
        }
        if !text.contains("{{") && !text.contains("{%") {
            return Ok(text);
        }
        text = fill_once(&text, variables)?;
    }
    if text.contains("{{") {
        return Err(FormatError::unusable(format!("the variables of {template:?} refer to each other")));
    }
    Ok(text)
}

fn fill_once(template: &str, variables: &Variables) -> Result<String, FormatError> {
    if template.contains("{%") {
        return Err(FormatError::unusable(format!(
            "{template:?} has a template tag (`{{% … %}}`), which is not filled in"
        )));
    }
    let (mut filled, mut rest) = (String::with_capacity(template.len()), template);
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((expression, after)) = after.split_once("}}") else {
            return Err(FormatError::unusable(format!("{template:?} has no `}}}}` after `{{{{`")));
        };
        filled.push_str(before);
        filled.push_str(&value_of(expression.trim().trim_matches('-').trim(), variables)?);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

fn value_of(expression: &str, variables: &Variables) -> Result<String, FormatError> {
    let mut parts = expression.split('|').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    if !is_name {
        return Err(FormatError::unusable(format!("`{{{{ {expression} }}}}` is not filled in")));
    }
    let Some(value) = variables.get(name) else {
        return Err(FormatError::unusable(format!("the variable `{name}` has no value")));
    };
    parts.try_fold(value.clone(), |text, filter| match filter {
        "upper" => Ok(text.to_uppercase()),
        "lower" => Ok(text.to_lowercase()),
        "trim" => Ok(text.trim().to_owned()),
        "capitalize" => Ok(capitalized(&text)),
        "safe" | "string" => Ok(text),
        filter => Err(FormatError::unusable(format!(
            "the filter `{filter}` of `{{{{ {expression} }}}}` is not known"
        ))),
    })
}

/// The first letter in upper case and the others in lower case, as Nunjucks has it.
fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    first + &letters.as_str().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_filled_in_or_refused() {
        let variables = [("who", "a Child"), ("what", "{{who}} asks"), ("loop", "{{loop}}")];
        let variables: Variables =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let check = |template: &str, expected: Result<&str, &str>| {
            let found = fill_template(template, &variables);
            match (&found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{template}"),
                (Err(found), Err(part)) => assert!(found.to_string().contains(part), "{template}: {found}"),
                _ => panic!("{template}: {found:?}, not {expected:?}"),
            }
        };
        check("plain", Ok("plain"));
        check("for {{who}} and {{ who }}", Ok("for a Child and a Child"));
        check("{{ who | upper }} {{who|lower}} {{- who | capitalize -}}", Ok("A CHILD a child A child"));
        check("{{what}}", Ok("a Child asks"));
        check("{{ loop }}", Err("refer to each other"));
        check("{{ nobody }}", Err("`nobody` has no value"));
        check("{{ who | shout }}", Err("filter `shout`"));
        check("{{ who[0] }}", Err("not filled in"));
        check("{% if who %}x{% endif %}", Err("template tag"));
        check("{{ who", Err("no `}}`"));
        check("{{ env.KIND }}", Err("not filled in"));
        check("{# why #}for {{who}}", Err("comment"));
    }
}
