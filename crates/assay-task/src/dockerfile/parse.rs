//! From the text of a Dockerfile to [`Dockerfile`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_fs::tree;
use assay_syntax::dockerfile::{
    Instruction, Source, Unknown, UnknownVariable, arguments, expand, flags, quoted_words,
};

use super::model::{Copy, Dockerfile, Unsupported};

/// Folders that every base image has, so that a file copied to one of them lands in it.
const COMMON_FOLDERS: [&str; 21] = [
    "/",
    "/bin",
    "/etc",
    "/home",
    "/media",
    "/mnt",
    "/opt",
    "/root",
    "/sbin",
    "/srv",
    "/tmp",
    "/usr",
    "/usr/bin",
    "/usr/lib",
    "/usr/local",
    "/usr/local/bin",
    "/usr/local/lib",
    "/usr/sbin",
    "/usr/share",
    "/usr/src",
    "/var",
];

/// Most `COPY`s that are followed. Real files have a handful.
const COPY_LIMIT: usize = 200;

/// Longest name of an instruction that is repeated to people.
const NAME_LIMIT: usize = 40;

/// Why an instruction is not followed.
#[derive(Debug, thiserror::Error)]
enum NotFollowed {
    #[error("{0}")]
    Instruction(String),
    #[error("a second FROM")]
    SecondFrom,
    #[error("FROM without an image")]
    NoImage,
    #[error("FROM with a platform")]
    Platform,
    #[error("FROM with a variable")]
    VariableImage,
    #[error("WORKDIR without a path")]
    NoPath,
    #[error("ENV without a value")]
    NoValue,
    #[error("ENV without a name")]
    NoName,
    #[error("COPY --chmod other than three octal digits")]
    Mode,
    #[error("COPY {0}")]
    Flag(String),
    #[error("COPY without a source and a target")]
    NoTarget,
    #[error("COPY from outside the build context")]
    Outside,
    #[error("more than {COPY_LIMIT} COPY")]
    TooMany,
    #[error("{instruction} with {variable}, which the Dockerfile does not set")]
    Unknown { instruction: &'static str, variable: UnknownVariable },
}

#[derive(Default)]
struct Reader {
    file: Dockerfile,
    env: BTreeMap<String, String>,
    folders: Vec<PathBuf>,
}

pub(super) fn parse(text: &str) -> Dockerfile {
    let source = Source::read(text);
    let mut reader = Reader {
        file: Dockerfile { workdir: PathBuf::from("/"), ..Dockerfile::default() },
        ..Reader::default()
    };
    if let Some(odd) = source.directives.iter().find(|directive| !directive.is_default()) {
        reader.unsupported(odd.line, "a parser directive");
    }
    for instruction in &source.instructions {
        reader.instruction(instruction);
    }
    if reader.file.from.is_empty() {
        reader.unsupported(0, "no FROM");
    }
    reader.file
}

impl Reader {
    fn unsupported(&mut self, line: usize, what: impl Into<String>) {
        self.file.unsupported.push(Unsupported { line, instruction: what.into() });
    }

    fn instruction(&mut self, instruction: &Instruction) {
        let &Instruction { line, ref name, ref rest, heredoc, is_unclear, .. } = instruction;
        if heredoc || is_unclear {
            return self.unsupported(line, format!("{name} with a here-document"));
        }
        let done = match name.as_str() {
            "FROM" => self.from(rest),
            "WORKDIR" => self.workdir(rest),
            "ENV" => self.environment(rest),
            "COPY" => self.copy(line, rest),
            // Not followed, because it fetches and unpacks; its target for skills is known
            // nevertheless.
            "ADD" => self.copy(line, rest).and(Err(NotFollowed::Instruction("ADD".to_owned()))),
            "USER" => self.expand("USER", rest).map(|user| self.file.user = Some(user)),
            _ => Err(NotFollowed::Instruction(name.chars().take(NAME_LIMIT).collect())),
        };
        if let Err(what) = done {
            self.unsupported(line, what.to_string());
        }
    }

    fn expand(&self, instruction: &'static str, word: &str) -> Result<String, NotFollowed> {
        expand(word, &self.env, Unknown::Refuse)
            .map_err(|variable| NotFollowed::Unknown { instruction, variable })
    }

    fn from(&mut self, rest: &str) -> Result<(), NotFollowed> {
        if !self.file.from.is_empty() {
            return Err(NotFollowed::SecondFrom);
        }
        let words: Vec<&str> = rest.split_whitespace().collect();
        let Some(reference) = words.iter().find(|word| !word.starts_with("--")) else {
            return Err(NotFollowed::NoImage);
        };
        (*reference).clone_into(&mut self.file.from);
        if words[0].starts_with("--") {
            return Err(NotFollowed::Platform);
        }
        if reference.contains('$') { Err(NotFollowed::VariableImage) } else { Ok(()) }
    }

    fn workdir(&mut self, rest: &str) -> Result<(), NotFollowed> {
        let path = self.expand("WORKDIR", rest)?;
        if path.is_empty() {
            return Err(NotFollowed::NoPath);
        }
        self.file.workdir = self.absolute(&path);
        self.file.workdirs.push(self.file.workdir.clone());
        self.folders.push(self.file.workdir.clone());
        Ok(())
    }

    fn absolute(&self, path: &str) -> PathBuf {
        let joined = self.file.workdir.join(path);
        tree::normalize(&joined).unwrap_or(joined)
    }

    fn environment(&mut self, rest: &str) -> Result<(), NotFollowed> {
        let words = quoted_words(rest);
        let mut pairs = Vec::new();
        if words.first().is_some_and(|word| word.contains('=')) {
            for word in &words {
                pairs.push(word.split_once('=').ok_or(NotFollowed::NoValue)?);
            }
        } else {
            pairs.push(rest.split_once(char::is_whitespace).ok_or(NotFollowed::NoValue)?);
        }
        // All of one line see the variables of the lines before.
        let mut values = Vec::new();
        for (name, value) in pairs {
            let name = self.expand("ENV", name)?;
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(NotFollowed::NoName);
            }
            values.push((name, self.expand("ENV", value.trim())?));
        }
        for (name, value) in values {
            match self.file.env.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => known.clone_from(&value),
                None => self.file.env.push((name.clone(), value.clone())),
            }
            self.env.insert(name, value);
        }
        Ok(())
    }

    fn copy(&mut self, line: usize, rest: &str) -> Result<(), NotFollowed> {
        let (flags, rest) = flags(rest);
        let mut mode = None;
        let mut odd = None;
        for flag in flags {
            match flag.split_once('=').unwrap_or((flag, "")) {
                ("--link", _) => {}
                ("--chmod", bits) => {
                    mode = u32::from_str_radix(bits, 8).ok().filter(|bits| *bits <= 0o777);
                    if mode.is_none() {
                        odd.get_or_insert(NotFollowed::Mode);
                    }
                }
                (name, _) => {
                    let flag = NotFollowed::Flag(name.chars().take(NAME_LIMIT).collect());
                    // From another image: nothing of the context.
                    if name == "--from" {
                        return Err(flag);
                    }
                    odd.get_or_insert(flag);
                }
            }
        }
        let words: Result<Vec<String>, _> =
            arguments(rest).0.iter().map(|word| self.expand("COPY", word)).collect();
        let mut sources = words?;
        let target = sources.pop().filter(|target| !target.is_empty() && !sources.is_empty());
        let target = target.ok_or(NotFollowed::NoTarget)?;
        for source in &sources {
            if source.contains('\0') || tree::normalize(Path::new(source.trim_start_matches('/'))).is_none() {
                return Err(NotFollowed::Outside);
            }
        }
        if self.file.copies.len() >= COPY_LIMIT {
            return Err(NotFollowed::TooMany);
        }
        let absolute = self.absolute(&target);
        let known = |folders: &[PathBuf]| folders.iter().any(|folder| folder.starts_with(&absolute));
        let is_directory_target = sources.len() > 1
            || target.ends_with('/')
            || matches!(target.rsplit('/').next(), Some("." | ".."))
            || COMMON_FOLDERS.iter().any(|folder| absolute == Path::new(folder))
            || known(&self.folders);
        if is_directory_target {
            self.folders.push(absolute.clone());
        }
        self.file.copies.push(Copy { line, sources, target: absolute, is_directory_target, mode });
        odd.map_or(Ok(()), Err)
    }
}
