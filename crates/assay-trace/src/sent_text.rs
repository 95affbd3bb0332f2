//! Detects whether one text was among what a model was sent.

/// Of ten lines of the text, so many have to be found: clients escape some characters.
const ENOUGH: usize = 9;

/// Follows one text through the texts that a model is sent. White space is not compared: clients fold it.
#[derive(Debug, Clone)]
pub struct SentText {
    /// The lines that were not found yet.
    missing: Vec<String>,
    /// All lines that are not blank.
    lines: usize,
    /// Texts that were read.
    read: usize,
}

impl SentText {
    /// Before the first text.
    pub fn new(text: &str) -> Self {
        let missing: Vec<String> = text.lines().map(without_folds).filter(|line| !line.is_empty()).collect();
        Self { lines: missing.len(), missing, read: 0 }
    }

    /// Reads a text that was sent to the model.
    pub fn read(&mut self, text: &str) {
        self.read += 1;
        if !self.missing.is_empty() {
            let text = without_folds(text);
            self.missing.retain(|line| !text.contains(line.as_str()));
        }
    }

    /// Whether the text was sent, but for a tenth of its lines; `None` if it has none, or nothing was read.
    pub fn is_sent(&self) -> Option<bool> {
        let found = self.lines - self.missing.len();
        (self.read > 0 && self.lines > 0).then_some(10 * found >= ENOUGH * self.lines)
    }
}

fn without_folds(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_sent_if_its_lines_were() {
        let lines =
            |from: usize, to: usize| (from..to).map(|n| format!("Line {n} of it.\n")).collect::<String>();
        let check = |wanted: &str, texts: &[&str], expected: Option<bool>| {
            let mut watch = SentText::new(wanted);
            for text in texts {
                watch.read(text);
            }
            assert_eq!(watch.is_sent(), expected, "{wanted:?} in {texts:?}");
        };
        let all = lines(0, 20);
        check(&all, &[], None);
        check("", &["Do it."], None);
        check(" \n\n", &["Do it."], None);
        check(&all, &["Do it."], Some(false));
        check(&all, &[&format!("{all}\nDo it.")], Some(true));
        check("One line.", &["Before.\n\n  One\n line. After."], Some(true));
        // In parts, also over several texts; a tenth may be missing.
        check(&all, &[&lines(0, 9), &lines(9, 20)], Some(true));
        check(&all, &[&lines(2, 20)], Some(true));
        check(&all, &[&lines(3, 20)], Some(false));
    }
}
