//! The files of a work folder that programs of a verifier load by themselves: code, or settings
//! that make them load code.

use std::path::Path;

/// Files that one program loads: each stem with each ending.
struct Loaded {
    /// The program, for readers of this table.
    #[cfg_attr(not(test), expect(dead_code, reason = "names the source of the other fields"))]
    by: &'static str,
    stems: &'static [&'static str],
    /// With their dots; an empty one if the stem is the whole name.
    endings: &'static [&'static str],
}

/// Endings of modules for Node.js.
const SCRIPT: &[&str] = &[".js", ".cjs", ".mjs", ".ts", ".mts", ".cts"];

/// The same, for programs that also take data.
const SCRIPT_OR_JSON: &[&str] = &[".js", ".cjs", ".mjs", ".ts", ".mts", ".cts", ".json"];

const WHOLE: &[&str] = &[""];

/// By the documentation of each program.
const TABLE: [Loaded; 24] = [
    Loaded { by: "Python", stems: &["sitecustomize", "usercustomize"], endings: &[".py", ".pyc"] },
    Loaded { by: "Python", stems: &["pyvenv.cfg"], endings: WHOLE },
    Loaded { by: "pytest", stems: &["conftest"], endings: &[".py", ".pyc"] },
    Loaded {
        by: "pytest",
        stems: &["pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "setup.cfg"],
        endings: WHOLE,
    },
    Loaded { by: "nox, coverage", stems: &["noxfile.py", ".coveragerc"], endings: WHOLE },
    Loaded { by: "uv", stems: &["uv.toml"], endings: WHOLE },
    Loaded { by: "npm", stems: &[".npmrc"], endings: WHOLE },
    Loaded { by: "pnpm", stems: &[".pnpmfile"], endings: &[".cjs", ".mjs", ".js"] },
    Loaded { by: "yarn", stems: &[".yarnrc", ".yarnrc.yml"], endings: WHOLE },
    Loaded { by: "Bun", stems: &["bunfig.toml"], endings: WHOLE },
    Loaded { by: "jest", stems: &["jest.config"], endings: SCRIPT_OR_JSON },
    Loaded { by: "vitest", stems: &["vitest.config", "vitest.workspace"], endings: SCRIPT_OR_JSON },
    Loaded { by: "vitest", stems: &["vite.config"], endings: SCRIPT_OR_JSON },
    Loaded {
        by: "mocha",
        stems: &[".mocharc"],
        endings: &[".js", ".cjs", ".mjs", ".yaml", ".yml", ".json", ".jsonc"],
    },
    Loaded { by: "ava", stems: &["ava.config"], endings: SCRIPT },
    Loaded { by: "Playwright, Cypress", stems: &["playwright.config", "cypress.config"], endings: SCRIPT },
    Loaded { by: "karma", stems: &["karma.conf"], endings: SCRIPT },
    Loaded { by: "Babel, for jest", stems: &["babel.config"], endings: SCRIPT_OR_JSON },
    Loaded { by: "Babel, for jest", stems: &[".babelrc"], endings: &["", ".js", ".cjs", ".mjs", ".json"] },
    Loaded { by: "RSpec", stems: &[".rspec"], endings: WHOLE },
    Loaded { by: "PHPUnit", stems: &["phpunit"], endings: &[".xml", ".xml.dist", ".dist.xml"] },
    Loaded { by: "busted, prove", stems: &[".busted", ".proverc"], endings: WHOLE },
    Loaded { by: "bash", stems: &[".bashrc", ".bash_profile", ".profile"], endings: WHOLE },
    Loaded { by: "gdb, lldb", stems: &[".gdbinit", ".lldbinit"], endings: WHOLE },
];

/// Whether a program loads a file of this name by itself, wherever it is.
pub(super) fn is_loaded(name: &str) -> bool {
    // `.pth` files are run in any folder of Python's packages.
    let is_path_file = Path::new(name).extension().is_some_and(|extension| extension == "pth");
    is_path_file
        || TABLE.iter().any(|loaded| {
            loaded
                .stems
                .iter()
                .any(|stem| name.strip_prefix(stem).is_some_and(|ending| loaded.endings.contains(&ending)))
        })
}

/// The keys of `package.json` with settings of test runners.
pub(super) const PACKAGE_KEYS: [&str; 4] = ["ava", "babel", "jest", "mocha"];

#[cfg(test)]
pub(super) fn all_names() -> Vec<String> {
    let names = TABLE.iter().flat_map(|loaded| {
        assert!(!loaded.by.is_empty());
        let each = |stem: &&'static str| -> Vec<String> {
            loaded.endings.iter().map(|ending| format!("{stem}{ending}")).collect()
        };
        loaded.stems.iter().flat_map(each).collect::<Vec<_>>()
    });
    names.collect()
}
