//! How the first process starts inside, whatever the root filesystem.
//!
//! With the host's own root it starts like any program. A foreign root may lack its libraries, or
//! have others; then it is started by its own loader, with its own libraries, all of them bound
//! next to it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::SandboxError;
use crate::spec::OWN;

/// The files bound beneath [`OWN`], and the command line that starts the first process.
#[derive(Debug, Clone)]
pub(crate) struct Runtime {
    /// File on the host, path inside.
    pub(crate) binds: Vec<(PathBuf, PathBuf)>,
    /// Started inside.
    pub(crate) command: Vec<OsString>,
}

impl Runtime {
    /// For the host's root (`foreign` false) or any other.
    pub(crate) fn find(init: &Path, arguments: &[String], foreign: bool) -> Result<Self, SandboxError> {
        let fail = |source| SandboxError::Io { action: "read the program", path: init.to_owned(), source };
        let own = Path::new(OWN);
        let inside = own.join("init");
        let mut binds = vec![(init.to_owned(), inside.clone())];
        let mut command = Vec::new();
        let loader = interpreter(&mut File::open(init).map_err(fail)?).map_err(fail)?;
        let system = ["/lib", "/lib32", "/lib64", "/usr"];
        match loader {
            Some(loader) if foreign || !system.iter().any(|dir| loader.starts_with(dir)) => {
                let lib = own.join("lib");
                let entry = lib.join(loader.file_name().unwrap_or_default());
                for library in libraries(&loader, init).map_err(fail)? {
                    if let Some(name) = library.file_name() {
                        binds.push((library.clone(), lib.join(name)));
                    }
                }
                binds.push((loader, entry.clone()));
                binds.sort_by(|a, b| a.1.cmp(&b.1));
                binds.dedup_by(|a, b| a.1 == b.1);
                command.extend([entry.into(), "--library-path".into(), lib.into()]);
            }
            _ => {}
        }
        command.push(inside.into());
        command.extend(arguments.iter().map(OsString::from));
        Ok(Self { binds, command })
    }
}

/// The loader that an ELF file requires; `None` for a program that needs none.
///
/// Layout: System V ABI, "Object files"; 64-bit little-endian only, which is what Linux runs on
/// today's machines.
fn interpreter(file: &mut (impl Read + Seek)) -> io::Result<Option<PathBuf>> {
    const PT_INTERP: u32 = 3;
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "not a 64-bit little-endian ELF program");
    let mut header = [0; 64];
    file.read_exact(&mut header).map_err(|_| wrong())?;
    if header[..6] != *b"\x7fELF\x02\x01" {
        return Err(wrong());
    }
    let word = |bytes: &[u8], at: usize| bytes[at..at + 8].try_into().map_or(0, u64::from_le_bytes);
    let half = |bytes: &[u8], at: usize| u64::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let (table, size, count) = (word(&header, 32), half(&header, 54), half(&header, 56));
    for n in 0..count {
        let mut entry = [0; 56];
        file.seek(SeekFrom::Start(table.saturating_add(n * size)))?;
        file.read_exact(&mut entry)?;
        if entry[..4] == PT_INTERP.to_le_bytes() {
            file.seek(SeekFrom::Start(word(&entry, 8)))?;
            let mut name = Vec::new();
            file.take(word(&entry, 32).min(4096)).read_to_end(&mut name)?;
            let name = String::from_utf8(name).map_err(|_| wrong())?;
            return Ok(Some(PathBuf::from(name.trim_end_matches('\0'))));
        }
    }
    Ok(None)
}

/// The libraries of a program, as its loader finds them.
fn libraries(loader: &Path, program: &Path) -> io::Result<Vec<PathBuf>> {
    let output = Command::new(loader).arg("--list").arg(program).stdin(Stdio::null()).output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(listed(&String::from_utf8_lossy(&output.stdout)))
}

/// Reads lines such as `libc.so.6 => /lib/libc.so.6 (0x7f…)`.
fn listed(text: &str) -> Vec<PathBuf> {
    let paths = text.lines().filter_map(|line| line.split_once("=> ")?.1.split(" (").next());
    paths.map(str::trim).filter(|path| path.starts_with('/')).map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn reads_what_the_loader_lists() {
        let text = "\tlinux-vdso.so.1 (0x7ffd)\n\tlibc.so.6 => /lib/x/libc.so.6 (0x7f)\n\t/lib64/ld.so (0x7f)\n\
                    \tlibx.so => not found\n";
        assert_eq!(listed(text), [PathBuf::from("/lib/x/libc.so.6")]);
    }

    #[test]
    fn reads_the_loader_of_a_program_and_rejects_other_files() {
        let own = std::fs::read("/proc/self/exe").unwrap();
        let found = interpreter(&mut Cursor::new(&own)).unwrap();
        assert!(found.is_none_or(|loader| loader.is_absolute() && loader.exists()));
        let mut wild = own[..4096].to_vec();
        wild[32..40].fill(0xff);
        for bad in [&b""[..], b"#!/bin/sh\n", &own[..50], &own[..70], &wild] {
            assert!(interpreter(&mut Cursor::new(bad)).is_err());
        }
    }
}
