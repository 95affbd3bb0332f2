//! What the commands for labels of people take.

use std::path::PathBuf;

/// Add a sheet of items for people to label
///
/// A sheet is a JSON Lines file (also .zst) with a row for each item: `criterion` (what is true of the material
/// or not) and `material`, a text, or `materials`, texts by name; optionally `item` (a unique id),
/// `instruction`, `task` and `context` (texts that are shown), `cluster`, and any other column. Only the
/// criterion and these texts are shown to people, at /review/ in `assay view`. The output of
/// `assay judge items` is such a file. A sheet cannot be changed once it is in the store.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay judge sheet items.jsonl
  assay judge sheet devai.jsonl.zst --name devai")]
pub(crate) struct SheetArgs {
    /// File with a row for each item
    pub(crate) file: PathBuf,
    /// Name of the sheet [default: the file's]
    #[arg(long)]
    pub(crate) name: Option<String>,
}

/// Make labels of people's marks
///
/// Prints how far the annotators of a sheet agree, and writes a table for `assay judge calibrate`: the columns of
/// the sheet and `label`. The label of an item is the final one that was set in adjudication, else the mark that
/// more than half of its annotators gave, else null.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay judge labels devai --out labels.jsonl
  assay judge labels devai --feedback workspace/feedback.json --annotator ann")]
pub(crate) struct LabelsArgs {
    /// Name of the sheet
    pub(crate) sheet: String,
    /// Write the table to this file (.jsonl)
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Add marks from skill-creator's feedback.json first
    ///
    /// Its run ids are items of the sheet. An empty text counts as met. Another text counts as cannot tell, and
    /// becomes the note of the mark, because praise and complaints look alike to a program.
    #[arg(long, value_name = "FILE")]
    pub(crate) feedback: Option<PathBuf>,
    /// Whose marks the feedback has
    #[arg(long, value_name = "NAME", default_value = "feedback", requires = "feedback")]
    pub(crate) annotator: String,
}
