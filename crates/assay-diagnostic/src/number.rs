//! Numbers in messages.

use std::fmt::Display;

/// A whole number with a comma between groups of three digits: `1,732`.
pub fn group_digits(number: impl Display) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with its noun: `1 task`, `1,732 tasks`.
pub fn counted(number: impl Display, one: &str, several: &str) -> String {
    let number = group_digits(number);
    let noun = if number == "1" { one } else { several };
    format!("{number} {noun}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_by_three() {
        for (number, expected) in [(0, "0"), (999, "999"), (1_732, "1,732"), (1_234_567, "1,234,567")] {
            assert_eq!(group_digits(number), expected);
        }
    }

    #[test]
    fn a_noun_follows_its_number() {
        for (number, expected) in [(0, "0 tasks"), (1, "1 task"), (2, "2 tasks"), (1_732, "1,732 tasks")] {
            assert_eq!(counted(number, "task", "tasks"), expected);
        }
    }
}
