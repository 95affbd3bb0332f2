//! Standard output carries the result, standard error everything else.

use std::error::Error;
use std::io::{self, IsTerminal, Write};

use assay_report::{Style, clean};

use crate::args::Color;
use crate::config::Settings;
use crate::failure::{Failure, Status};

/// Where words go.
pub(crate) struct Ui {
    quiet: bool,
    verbose: bool,
    json: bool,
    color: Color,
}

impl Ui {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self { quiet: settings.quiet, verbose: settings.verbose, json: settings.json, color: settings.color }
    }

    /// For failures before the settings are known.
    pub(crate) fn plain() -> Self {
        Self { quiet: false, verbose: false, json: false, color: Color::Never }
    }

    /// Whether the result is to be JSON.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// The result.
    #[expect(clippy::unused_self, reason = "standard output is the interface's, like standard error")]
    pub(crate) fn out(&self, text: &str) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::BrokenPipe),
            Err(error) => Err(Failure::infrastructure(format!("cannot write the result: {error}"))),
            Ok(()) => Ok(()),
        }
    }

    /// A JSON document as the result.
    pub(crate) fn document<T: serde::Serialize>(&self, document: &T) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(document)
            .map_err(|error| Failure::infrastructure(format!("cannot write JSON: {error}")))?;
        self.out(&(text + "\n"))
    }

    /// Something beside the result.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            self.err(&format!("{}\n", clean(text)));
        }
    }

    /// Something beside the result, for those who want to know more.
    pub(crate) fn detail(&self, text: &str) {
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

    /// How wide the terminal is that the result goes to; `None` where it goes elsewhere.
    #[expect(clippy::unused_self, reason = "standard output is the interface's, like standard error")]
    pub(crate) fn columns(&self) -> Option<usize> {
        if !io::stdout().is_terminal() {
            return None;
        }
        terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
    }

    pub(crate) fn style(&self) -> Style {
        let color = match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                io::stdout().is_terminal()
                    && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            }
        };
        Style { color }
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
        self.err(&text);
        failure.status()
    }

    #[expect(clippy::unused_self, reason = "standard error is the interface's, like standard output")]
    fn err(&self, text: &str) {
        // Nothing can be told where nobody can hear it.
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }
}
