//! Which modules of Python's standard library a file of the work folder can shadow, and when that
//! matters.
//!
//! The lists are from the interpreters: `sys.stdlib_module_names` of Python 3.10 to 3.13, the
//! modules in the library of 3.9, which has no such list, and CPython's
//! `Python/stdlib_module_names.h` for 3.14 and later. Which of them are imported often was
//! determined by importing some hundred modules that tests use, pytest with its plugins, and pip,
//! with Python 3.9 to 3.13, and listing `sys.modules`; and once more after pytest had run tests.

use std::collections::BTreeSet;
use std::path::Path;

use assay_task::Task;

use super::texts::texts;

/// Imported, sooner or later, by what tests import; and the test runner itself.
const COMMON: [&str; 267] = [
    "__future__",
    "_abc",
    "_aix_support",
    "_android_support",
    "_apple_support",
    "_ast",
    "_ast_unparse",
    "_asyncio",
    "_bisect",
    "_blake2",
    "_bootlocale",
    "_bootsubprocess",
    "_bz2",
    "_codecs",
    "_codecs_cn",
    "_codecs_hk",
    "_codecs_iso2022",
    "_codecs_jp",
    "_codecs_kr",
    "_codecs_tw",
    "_collections",
    "_collections_abc",
    "_colorize",
    "_compat_pickle",
    "_compression",
    "_contextvars",
    "_crypt",
    "_csv",
    "_ctypes",
    "_curses",
    "_curses_panel",
    "_datetime",
    "_dbm",
    "_decimal",
    "_elementtree",
    "_frozen_importlib",
    "_frozen_importlib_external",
    "_functools",
    "_gdbm",
    "_hashlib",
    "_heapq",
    "_hmac",
    "_imp",
    "_interpchannels",
    "_interpqueues",
    "_interpreters",
    "_io",
    "_ios_support",
    "_json",
    "_locale",
    "_lsprof",
    "_lzma",
    "_markupbase",
    "_math_integer",
    "_md5",
    "_msi",
    "_multibytecodec",
    "_multiprocessing",
    "_opcode",
    "_opcode_metadata",
    "_operator",
    "_osx_support",
    "_overlapped",
    "_peg_parser",
    "_pickle",
    "_posixshmem",
    "_posixsubprocess",
    "_py_abc",
    "_py_warnings",
    "_pydatetime",
    "_pydecimal",
    "_pyio",
    "_pylong",
    "_pyrepl",
    "_pytest",
    "_queue",
    "_random",
    "_remote_debugging",
    "_scproxy",
    "_sha1",
    "_sha2",
    "_sha256",
    "_sha3",
    "_sha512",
    "_signal",
    "_sitebuiltins",
    "_socket",
    "_sqlite3",
    "_sre",
    "_ssl",
    "_stat",
    "_statistics",
    "_string",
    "_strptime",
    "_struct",
    "_suggestions",
    "_symtable",
    "_sysconfig",
    "_thread",
    "_threading_local",
    "_tkinter",
    "_tokenize",
    "_tracemalloc",
    "_types",
    "_typing",
    "_uuid",
    "_warnings",
    "_weakref",
    "_weakrefset",
    "_winapi",
    "_wmi",
    "_xxsubinterpreters",
    "_zoneinfo",
    "_zstd",
    "abc",
    "annotationlib",
    "argparse",
    "array",
    "ast",
    "asyncio",
    "atexit",
    "base64",
    "bdb",
    "binascii",
    "bisect",
    "builtins",
    "bz2",
    "calendar",
    "cmath",
    "codecs",
    "collections",
    "colorsys",
    "compileall",
    "compression",
    "concurrent",
    "configparser",
    "contextlib",
    "contextvars",
    "copy",
    "copyreg",
    "csv",
    "ctypes",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "dis",
    "distutils",
    "email",
    "encodings",
    "ensurepip",
    "enum",
    "errno",
    "faulthandler",
    "fcntl",
    "filecmp",
    "fnmatch",
    "fractions",
    "functools",
    "gc",
    "genericpath",
    "getopt",
    "getpass",
    "gettext",
    "glob",
    "grp",
    "gzip",
    "hashlib",
    "heapq",
    "hmac",
    "html",
    "http",
    "imp",
    "importlib",
    "inspect",
    "io",
    "ipaddress",
    "itertools",
    "json",
    "keyword",
    "linecache",
    "locale",
    "logging",
    "lzma",
    "marshal",
    "math",
    "mimetypes",
    "mmap",
    "multiprocessing",
    "netrc",
    "ntpath",
    "numbers",
    "opcode",
    "operator",
    "optparse",
    "os",
    "pathlib",
    "pickle",
    "pkgutil",
    "platform",
    "plistlib",
    "pluggy",
    "posix",
    "posixpath",
    "pprint",
    "pty",
    "pwd",
    "py_compile",
    "pyexpat",
    "pytest",
    "queue",
    "quopri",
    "random",
    "re",
    "reprlib",
    "resource",
    "runpy",
    "secrets",
    "select",
    "selectors",
    "shlex",
    "shutil",
    "signal",
    "site",
    "socket",
    "socketserver",
    "sqlite3",
    "sre_compile",
    "sre_constants",
    "sre_parse",
    "ssl",
    "stat",
    "statistics",
    "string",
    "stringprep",
    "struct",
    "subprocess",
    "sys",
    "sysconfig",
    "tarfile",
    "tempfile",
    "termios",
    "textwrap",
    "threading",
    "time",
    "timeit",
    "token",
    "tokenize",
    "tomllib",
    "traceback",
    "tty",
    "types",
    "typing",
    "unicodedata",
    "unittest",
    "urllib",
    "uu",
    "uuid",
    "venv",
    "warnings",
    "weakref",
    "xml",
    "xmlrpc",
    "zipfile",
    "zipimport",
    "zlib",
    "zoneinfo",
];

/// Imported by pytest while it runs, before the tests, and else rarely.
const SESSION: [&str; 6] = ["cmd", "code", "codeop", "pdb", "readline", "rlcompleter"];

/// Imported only on request, or by another one of these.
const RARE: [&str; 67] = [
    "aifc",
    "antigravity",
    "asynchat",
    "asyncore",
    "audioop",
    "binhex",
    "cProfile",
    "cgi",
    "cgitb",
    "chunk",
    "crypt",
    "curses",
    "dbm",
    "doctest",
    "fileinput",
    "formatter",
    "ftplib",
    "graphlib",
    "idlelib",
    "imaplib",
    "imghdr",
    "lib2to3",
    "mailbox",
    "mailcap",
    "modulefinder",
    "msilib",
    "msvcrt",
    "nis",
    "nntplib",
    "nt",
    "nturl2path",
    "ossaudiodev",
    "parser",
    "pickletools",
    "pipes",
    "poplib",
    "profile",
    "profiling",
    "pstats",
    "pyclbr",
    "pydoc",
    "pydoc_data",
    "sched",
    "shelve",
    "smtpd",
    "smtplib",
    "sndhdr",
    "spwd",
    "sunau",
    "symbol",
    "symtable",
    "syslog",
    "tabnanny",
    "telnetlib",
    "this",
    "tkinter",
    "trace",
    "tracemalloc",
    "turtle",
    "turtledemo",
    "wave",
    "webbrowser",
    "winreg",
    "winsound",
    "wsgiref",
    "xdrlib",
    "zipapp",
];

/// How a task's verifier uses Python, as far as its text shows.
#[derive(Debug, Default)]
pub(super) struct Verifier {
    /// The modules that pytest imports from installed packages, if it finds them in its working
    /// folder first.
    pytest: BTreeSet<String>,
    /// Whether it runs Python at all.
    runs_python: bool,
    /// Whether its test runner finds modules in its working folder, or elsewhere by a setting.
    leads_runner: bool,
    /// The first names of the modules that it imports.
    imports: BTreeSet<String>,
    /// The names of its own modules.
    own: BTreeSet<String>,
}

impl Verifier {
    pub(super) fn of(task: &Task, pytest: &dyn Fn() -> BTreeSet<String>) -> Self {
        let mut found = Self::default();
        let mut runs_pytest = false;
        for (path, text) in texts(task, "tests").into_iter().chain(texts(task, "verify.sh")) {
            let is_python = path.extension().is_some_and(|extension| extension == "py");
            found.runs_python |= is_python || text.contains("python") || text.contains("pytest");
            runs_pytest |= text.contains("pytest");
            found.leads_runner |=
                ["-m pytest", "-mpytest", "PYTHONPATH", "sys.path"].iter().any(|way| text.contains(way));
            imports(&text, &mut found.imports);
            found.own.extend(is_python.then(|| stem(&path)).flatten());
        }
        if runs_pytest && found.leads_runner {
            found.pytest = pytest();
        }
        found
    }

    /// Whether pytest looks for modules in its working folder first.
    pub(super) fn leads_pytest(&self) -> bool {
        !self.pytest.is_empty()
    }

    /// Whether its Python imports a module of this name, so that a file of that name can shadow it.
    pub(super) fn imports(&self, module: &str) -> bool {
        let has = |list: &[&str], name: &str| list.binary_search(&name).is_ok();
        let is_known = |name: &str| has(&COMMON, name) || self.own.contains(name);
        if !self.runs_python {
            return false;
        }
        if has(&COMMON, module) || self.leads_runner && has(&SESSION, module) || self.pytest.contains(module)
        {
            return true;
        }
        // A module that imports a rare one may import others by it; the imports of a package are
        // unknown.
        (has(&RARE, module) || has(&SESSION, module)) && self.imports.iter().any(|name| !is_known(name))
    }
}

/// Whether Python's standard library has a module of this name.
pub(super) fn is_module(name: &str) -> bool {
    [&COMMON[..], &SESSION[..], &RARE[..]].iter().any(|list| list.binary_search(&name).is_ok())
}

fn stem(path: &Path) -> Option<String> {
    Some(path.file_stem()?.to_str()?.to_owned())
}

/// The first names in `import a.b, c` and `from d.e import f`, anywhere: in a script, or in one
/// within a shell script.
fn imports(text: &str, found: &mut BTreeSet<String>) {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    for line in text.lines() {
        for (at, word) in line.match_indices("import") {
            let (before, after) = (&line[..at], &line[at + word.len()..]);
            if before.ends_with(is_name) || !after.starts_with([' ', '\t', '(']) {
                continue;
            }
            let source = before.trim_end().rsplit([' ', '\t']).next().unwrap_or_default();
            let is_from = before
                .trim_end()
                .strip_suffix(source)
                .is_some_and(|rest| rest.trim_end().rsplit(|c| !is_name(c)).next() == Some("from"));
            let listed = if is_from { vec![source] } else { after.split(',').collect() };
            for one in listed {
                let one = one.trim_start();
                let name: String = one.chars().take_while(|&c| is_name(c)).collect();
                if !name.is_empty() {
                    found.insert(name);
                }
                // Any text after the last name ends the list.
                if one.contains([';', '"', '\'', '#', ')']) {
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_can_be_searched_and_do_not_overlap() {
        assert!(COMMON.is_sorted() && SESSION.is_sorted() && RARE.is_sorted());
        let all: BTreeSet<&str> = COMMON.iter().chain(&SESSION).chain(&RARE).copied().collect();
        assert_eq!(all.len(), COMMON.len() + SESSION.len() + RARE.len());
    }

    /// This machine's Python modules are on the lists.
    #[test]
    fn module_lists_match_python() {
        let script = "import sys; print(*getattr(sys, 'stdlib_module_names', ()))";
        let Ok(output) = std::process::Command::new("python3").args(["-I", "-c", script]).output() else {
            assay_test::report_skip("there is no python3");
            return;
        };
        let text = String::from_utf8(output.stdout).unwrap();
        let missing: Vec<&str> = text.split_whitespace().filter(|name| !is_module(name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn imports_are_found() {
        let check = |text: &str, expected: &[&str]| {
            let mut found = BTreeSet::new();
            imports(text, &mut found);
            assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{text}");
        };
        check("import json", &["json"]);
        check("  import os.path as p, re\nimport numpy", &["numpy", "os", "re"]);
        check("from xml.etree import ElementTree, x", &["xml"]);
        check("from . import helper\nfrom .a import b", &[]);
        check("python3 -c 'import json,sys; print(1, import_it)'", &["json", "sys"]);
        check("python3 -c \"from pandas import read_csv, x\"", &["pandas"]);
        check("important = reimport (a)\n# imports", &[]);
        check("", &[]);
    }
}
