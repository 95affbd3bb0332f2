//! A sliding window over a conversation that has grown too long.

use std::collections::BTreeSet;

use assay_model::Message;

/// Replaces a tool result that was dropped from the window.
const ELIDED: &str =
    "[this earlier output has been removed to save space; run the command again if it is needed]";

/// A rough token count that errs on the high side for English and code: four bytes per token.
pub(crate) fn estimate(text: &str) -> u64 {
    text.len().div_ceil(4) as u64
}

/// Estimated tokens of a message.
fn weight(message: &Message) -> u64 {
    match message {
        Message::User { text } | Message::Tool { text, .. } => estimate(text),
        Message::Assistant { text, tool_calls, .. } => {
            estimate(text) + tool_calls.iter().map(|call| estimate(&call.arguments.to_string())).sum::<u64>()
        }
    }
}

/// Drops the oldest tool results until the conversation fits into `window` tokens. Calls stay, so
/// that every call keeps its answer. The last two results stay, and so do those at the positions in
/// `protected` (skills that were read: clients protect them from compaction, too). Returns how many
/// results were dropped.
pub(crate) fn drop_old_results(messages: &mut [Message], window: u64, protected: &BTreeSet<usize>) -> usize {
    let mut total: u64 = messages.iter().map(weight).sum();
    let last: Vec<usize> = (0..messages.len())
        .rev()
        .filter(|&at| matches!(messages[at], Message::Tool { .. }))
        .take(2)
        .collect();
    let mut taken = 0;
    for (at, message) in messages.iter_mut().enumerate() {
        if total <= window {
            break;
        }
        if let Message::Tool { text, .. } = message
            && !last.contains(&at)
            && text.len() > ELIDED.len()
            && !protected.contains(&at)
        {
            total = total - estimate(text) + estimate(ELIDED);
            ELIDED.clone_into(text);
            taken += 1;
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation(results: &[usize]) -> Vec<Message> {
        let mut messages = vec![Message::User { text: "go".into() }];
        for (i, length) in results.iter().enumerate() {
            messages.push(Message::Tool {
                call_id: i.to_string(),
                text: "x".repeat(*length),
                is_error: false,
            });
        }
        messages
    }

    fn lengths(messages: &[Message]) -> Vec<usize> {
        messages
            .iter()
            .filter_map(|message| match message {
                Message::Tool { text, .. } => Some(if text == ELIDED { 0 } else { text.len() }),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn oldest_results_are_dropped_first() {
        let check = |results: &[usize], window: u64, protected: &[usize], expected: &[usize]| {
            let mut messages = conversation(results);
            drop_old_results(&mut messages, window, &protected.iter().copied().collect());
            assert_eq!(lengths(&messages), expected, "{results:?} in {window}");
        };
        check(&[400, 400, 400, 400], 1000, &[], &[400, 400, 400, 400]);
        check(&[400, 400, 400, 400], 350, &[], &[0, 400, 400, 400]);
        check(&[400, 400, 400, 400], 1, &[], &[0, 0, 400, 400]);
        check(&[400, 400, 400, 400], 1, &[1], &[400, 0, 400, 400]);
        check(&[400], 1, &[], &[400]);
        // A result shorter than its replacement stays.
        check(&[40, 400, 400, 400], 250, &[], &[40, 0, 400, 400]);
    }
}
