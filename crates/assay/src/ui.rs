//! Standard output carries the result, standard error everything else.

use std::borrow::Cow;
use std::error::Error;
use std::io::{self, IsTerminal, Write};

use assay_report::{Style, clean, shell_word, with_store, wrap_lines};

use crate::args::Color;
use crate::config::Settings;
use crate::failure::{Failure, Status};

/// Where words go.
#[derive(Clone)]
pub struct Ui {
    quiet: bool,
    verbose: bool,
    json: bool,
    color: Color,
    /// The store that the command line names, which commands in messages need too.
    named_store: Option<String>,
}

impl Ui {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            quiet: settings.quiet,
            verbose: settings.verbose,
            json: settings.json,
            color: settings.color,
            named_store: settings.named_store.as_ref().map(|store| shell_word(&store.to_string_lossy())),
        }
    }

    /// For failures before the settings are known.
    pub(crate) fn plain() -> Self {
        Self { quiet: false, verbose: false, json: false, color: Color::Never, named_store: None }
    }

    /// Whether the result is to be JSON.
    pub fn json(&self) -> bool {
        self.json
    }

    /// The result as text for people: at a terminal, lines that are too long are broken between words.
    pub fn out(&self, text: &str) -> Result<(), Failure> {
        let text = self.with_store(text);
        match self.columns() {
            Some(columns) => self.raw(&wrap_lines(&text, columns)),
            None => self.raw(&text),
        }
    }

    /// The result as it is: for documents that programs read.
    pub fn raw(&self, text: &str) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::BrokenPipe),
            Err(error) => Err(Failure::infrastructure(format!("cannot write the result: {error}"))),
            Ok(()) => Ok(()),
        }
    }

    /// A JSON document as the result.
    pub fn document<T: serde::Serialize>(&self, document: &T) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(document)
            .map_err(|error| Failure::infrastructure(format!("cannot write JSON: {error}")))?;
        self.raw(&(text + "\n"))
    }

    /// A JSON document on one line, for a result of several.
    pub(crate) fn json_line<T: serde::Serialize>(&self, document: &T) -> Result<(), Failure> {
        let text = serde_json::to_string(document)
            .map_err(|error| Failure::infrastructure(format!("cannot write JSON: {error}")))?;
        self.raw(&(text + "\n"))
    }

    /// Something beside the result.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            self.err(&format!("{}\n", self.with_store(&clean(text))));
        }
    }

    /// A message whose commands, in backticks, use the store that this command uses.
    fn with_store<'a>(&self, text: &'a str) -> Cow<'a, str> {
        with_store(text, self.named_store.as_deref())
    }

    /// Something beside the result, for those who want to know more.
    pub fn detail(&self, text: &str) {
        if self.verbose {
            self.err(&format!("{}\n", clean(text)));
        }
    }

    /// Whether a progress bar can be drawn.
    pub(crate) fn draws(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    /// Whether anything beside the result is wanted.
    pub(crate) fn speaks(&self) -> bool {
        !self.quiet
    }

    /// The width of the result: that of the terminal, otherwise `COLUMNS`; `None` without either. The help goes by the
    /// same two.
    #[expect(clippy::unused_self, reason = "standard output is the interface's, like standard error")]
    pub(crate) fn columns(&self) -> Option<usize> {
        columns_of(io::stdout())
    }

    /// How a result is laid out at a terminal.
    pub fn style(&self) -> Style<'_> {
        let color = match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                io::stdout().is_terminal()
                    && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            }
        };
        Style { color, width: self.columns(), store: self.named_store.as_deref(), ..Style::default() }
    }

    /// A failure with its causes and what to do.
    pub(crate) fn fail(&self, failure: &Failure) -> Status {
        let mut text = format!("error: {}\n", clean(&failure.to_string()));
        if let Failure::BadInput { details, .. } = failure {
            for detail in details {
                text.push_str(&format!("  {}\n", clean(detail)));
            }
        }
        let mut cause = failure.source();
        while let Some(error) = cause {
            text.push_str(&format!("  cause: {}\n", clean(&error.to_string())));
            cause = error.source();
        }
        if let Failure::BadInput { hint: Some(hint), .. } | Failure::Infrastructure { hint: Some(hint), .. } =
            failure
        {
            text.push_str(&format!("  hint: {}\n", clean(hint)));
        }
        let text = self.with_store(&text).into_owned();
        match columns_of(io::stderr()) {
            Some(columns) => self.err(&wrap_lines(&text, columns)),
            None => self.err(&text),
        }
        failure.status()
    }

    #[expect(clippy::unused_self, reason = "standard error is the interface's, like standard output")]
    fn err(&self, text: &str) {
        // Nothing can be told where nobody can hear it.
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }
}

/// The width of a stream: that of the terminal, otherwise `COLUMNS`.
fn columns_of(stream: impl IsTerminal + std::os::fd::AsFd) -> Option<usize> {
    if stream.is_terminal() {
        return terminal_size::terminal_size_of(stream).map(|(width, _)| usize::from(width.0));
    }
    std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_name_the_store() {
        let ui = Ui { named_store: Some("kept".to_owned()), ..Ui::plain() };
        let check = |text: &str, expected: &str| assert_eq!(ui.with_store(text), expected);
        check("no command", "no command");
        check("`assay show` lists the runs", "`assay --store kept show` lists the runs");
        check("`assay\n  report lab`", "`assay --store kept\n  report lab`");
        check("`assay --store other show`, `assay`", "`assay --store other show`, `assay`");
        assert_eq!(Ui::plain().with_store("`assay show`"), "`assay show`");
    }
}
