//! What `assay view` takes.

use std::net::IpAddr;
use std::path::PathBuf;

/// Show runs, trials, pairs and skills in a browser
///
/// Serves pages for the runs of the store until it is interrupted. Each figure of a run links to the
/// trials behind it. Pages work without JavaScript, load nothing from elsewhere, and follow a run that
/// is in progress. Below /review/, people label the items of `assay judge sheet`. The printed address contains a token, which is needed to label items, and to read from other machines.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay view my-suite --open
  assay view --draft draft-xlsx
  assay view --export site")]
pub(crate) struct ViewArgs {
    /// Name of the run whose page is opened or exported; all runs without it
    pub(crate) run: Option<String>,
    /// Folder of a draft, whose stages are shown at /draft/
    #[arg(long, value_name = "DIR")]
    pub(crate) draft: Option<PathBuf>,
    /// Port to listen on; 0 chooses a free one
    #[arg(long, default_value_t = 8322, conflicts_with = "export")]
    pub(crate) port: u16,
    /// Address to listen on; other machines can reach any but a loopback address, and need the token
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", conflicts_with = "export")]
    pub(crate) host: IpAddr,
    /// Open the page in the browser
    #[arg(long, conflicts_with = "export")]
    pub(crate) open: bool,
    /// Write the pages to a new folder, where they open without a server
    #[arg(long, value_name = "DIR")]
    pub(crate) export: Option<PathBuf>,
}
