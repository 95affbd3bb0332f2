//! Situations in which requests are sent, so that they differ in register.

/// A situation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Its name in files.
    pub name: &'static str,
    /// What the model is told.
    pub text: &'static str,
}

const fn style(name: &'static str, text: &'static str) -> Style {
    Style { name, text }
}

/// All situations. A draw takes one with equal probability.
pub const STYLES: [Style; 16] = [
    style("terse", "An experienced colleague in a chat: one short sentence, lower case, no greeting."),
    style("polite", "A colleague from another department, polite, in complete sentences, with a greeting."),
    style("newcomer", "Somebody in their first week, who knows the goal and not the terms of the trade."),
    style("expert", "A specialist who uses the terms of the trade and expects no explanation."),
    style("deadline", "Somebody under time pressure, who says by when it is needed and for whom."),
    style("symptom", "Somebody who describes what is wrong and what they observed, and not the solution."),
    style("forwarded", "Somebody who passes on what their manager or a customer said, in their own words."),
    style("retry", "Somebody who has tried by hand, says how far they came and what went wrong."),
    style("ticket", "An entry in an issue tracker: a factual description, no greeting, complete sentences."),
    style("dictated", "Dictated on a phone: one long spoken sentence with few commas."),
    style("second_language", "Somebody whose first language is not English: simple words, understandable."),
    style(
        "constraint",
        "Somebody with a strict condition, such as a format, a limit or something not to change.",
    ),
    style("bulk", "Somebody who has many items of the same kind and wants all of them handled."),
    style("recurring", "Somebody who does this every week or month and wants this time's done."),
    style("review", "Somebody who has a result and wants it checked and corrected."),
    style("background", "Somebody who tells two sentences of background before the request."),
];
