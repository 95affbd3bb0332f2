//! What a format is recognized by, as data: what a record, a document or the tables of a database
//! must have and must lack.

use std::fmt;

use serde_json::Value;

/// One condition of a [`Mark`]. Places are JSON pointers (RFC 6901) into the record; an empty one is
/// the record itself.
#[derive(Debug, Clone, Copy)]
pub enum Need {
    /// There is such a member, whatever its value.
    Has(&'static str),
    /// There is no such member.
    Lacks(&'static str),
    /// The member is a text.
    Text(&'static str),
    /// The member is a text, and not one that begins so.
    NotBegin(&'static str, &'static str),
    /// The member is a text that begins so.
    Begins(&'static str, &'static str),
    /// The member is one of these words.
    Word(&'static str, &'static [&'static str]),
    /// The member is a number.
    Number(&'static str),
    /// The member is an object.
    Object(&'static str),
    /// The member is a list.
    List(&'static str),
    /// The member is a list, and its first item meets these.
    First(&'static str, &'static [Need]),
    /// The member is a list with items, and each of them meets these.
    Each(&'static str, &'static [Need]),
    /// At least one of these is met.
    Any(&'static [Need]),
    /// The database has such a table.
    Table(&'static str),
    /// The database has these tables and no others.
    OnlyTables(&'static [&'static str]),
}

/// Conditions that together identify a format.
pub type Mark = &'static [Need];

/// Whether any of the marks is met in full.
pub(super) fn is_marked(marks: &[Mark], value: &Value) -> bool {
    marks.iter().any(|mark| is_met(mark, value))
}

/// Whether the tables of a database meet any of the marks in full.
pub(super) fn is_table_marked(marks: &[Mark], tables: &[String]) -> bool {
    let has = |name: &str| tables.iter().any(|table| table == name);
    marks.iter().any(|mark| {
        mark.iter().all(|need| match need {
            Need::Table(name) => has(name),
            Need::OnlyTables(names) => tables.len() == names.len() && names.iter().all(|name| has(name)),
            _ => false,
        })
    })
}

fn is_met(needs: &[Need], value: &Value) -> bool {
    needs.iter().all(|need| need.is_met(value))
}

impl Need {
    fn is_met(&self, value: &Value) -> bool {
        let text = |place: &str| value.pointer(place).and_then(Value::as_str);
        let list = |place: &str| value.pointer(place).and_then(Value::as_array);
        match self {
            Self::Has(place) => value.pointer(place).is_some(),
            Self::Lacks(place) => value.pointer(place).is_none(),
            Self::Text(place) => text(place).is_some(),
            Self::NotBegin(place, start) => text(place).is_none_or(|text| !text.starts_with(start)),
            Self::Begins(place, start) => text(place).is_some_and(|text| text.starts_with(start)),
            Self::Word(place, words) => text(place).is_some_and(|text| words.contains(&text)),
            Self::Number(place) => value.pointer(place).is_some_and(Value::is_number),
            Self::Object(place) => value.pointer(place).is_some_and(Value::is_object),
            Self::List(place) => list(place).is_some(),
            Self::First(place, needs) => {
                list(place).and_then(|list| list.first()).is_some_and(|one| is_met(needs, one))
            }
            Self::Each(place, needs) => {
                list(place).is_some_and(|list| !list.is_empty() && list.iter().all(|one| is_met(needs, one)))
            }
            Self::Any(needs) => needs.iter().any(|need| need.is_met(value)),
            // A record has no tables.
            Self::Table(_) | Self::OnlyTables(_) => false,
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `/message/content` is written as `message.content`.
        let name = |place: &str| format!("`{}`", place.trim_start_matches('/').replace('/', "."));
        let of = |place: &str| if place.is_empty() { String::new() } else { format!(" of {}", name(place)) };
        let all = |needs: &[Self]| needs.iter().map(Self::to_string).collect::<Vec<_>>().join(" and ");
        match self {
            Self::Has(place) => write!(f, "{}", name(place)),
            Self::Lacks(place) => write!(f, "no {}", name(place)),
            Self::Text(place) => write!(f, "text {}", name(place)),
            Self::NotBegin(place, start) => write!(f, "{} does not begin with `{start}`", name(place)),
            Self::Begins(place, start) => write!(f, "{} begins with `{start}`", name(place)),
            Self::Word(place, words) => write!(f, "{} = `{}`", name(place), words.join("`/`")),
            Self::Number(place) => write!(f, "number {}", name(place)),
            Self::Object(place) => write!(f, "object {}", name(place)),
            Self::List(place) => write!(f, "list {}", name(place)),
            Self::First(place, needs) => write!(f, "the first item{} has {}", of(place), all(needs)),
            Self::Each(place, needs) => write!(f, "each item{} has {}", of(place), all(needs)),
            Self::Any(needs) => {
                let needs: Vec<String> = needs.iter().map(Self::to_string).collect();
                write!(f, "({})", needs.join(" or "))
            }
            Self::Table(name) => write!(f, "table `{name}`"),
            Self::OnlyTables(names) => write!(f, "tables `{}` only", names.join("` and `")),
        }
    }
}
