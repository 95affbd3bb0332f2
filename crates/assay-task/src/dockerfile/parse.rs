//! From the text of a Dockerfile to [`Dockerfile`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_fs::tree;

use super::lex::{Instruction, UnknownValue, expand, instructions, quoted_words};
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

#[derive(Default)]
struct Reader {
    file: Dockerfile,
    env: BTreeMap<String, String>,
    folders: Vec<PathBuf>,
}

pub(super) fn parse(text: &str) -> Dockerfile {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (instructions, directive) = instructions(text);
    let mut reader = Reader {
        file: Dockerfile { workdir: PathBuf::from("/"), ..Dockerfile::default() },
        ..Reader::default()
    };
    if let Some(line) = directive {
        reader.unsupported(line, "a parser directive");
    }
    for instruction in &instructions {
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
        let &Instruction { line, ref name, ref rest, heredoc, .. } = instruction;
        if heredoc {
            return self.unsupported(line, format!("{name} with a here-document"));
        }
        let done = match name.as_str() {
            "FROM" => self.from(rest),
            "WORKDIR" => self.workdir(rest),
            "ENV" => self.environment(rest),
            "COPY" => self.copy(line, rest),
            // Not followed, for it fetches and unpacks; where it would bring skills is known all the same.
            "ADD" => self.copy(line, rest).and(Err("ADD".to_owned())),
            "USER" => expand(rest, &self.env)
                .map_err(|unknown| with(name, &unknown))
                .map(|user| self.file.user = Some(user)),
            _ => Err(name.chars().take(NAME_LIMIT).collect()),
        };
        if let Err(what) = done {
            self.unsupported(line, what);
        }
    }

    fn from(&mut self, rest: &str) -> Result<(), String> {
        if !self.file.from.is_empty() {
            return Err("a second FROM".to_owned());
        }
        let words: Vec<&str> = rest.split_whitespace().collect();
        let Some(reference) = words.iter().find(|word| !word.starts_with("--")) else {
            return Err("FROM without an image".to_owned());
        };
        (*reference).clone_into(&mut self.file.from);
        if words[0].starts_with("--") {
            return Err("FROM with a platform".to_owned());
        }
        if reference.contains('$') { Err("FROM with a variable".to_owned()) } else { Ok(()) }
    }

    fn workdir(&mut self, rest: &str) -> Result<(), String> {
        let path = expand(rest, &self.env).map_err(|unknown| with("WORKDIR", &unknown))?;
        if path.is_empty() {
            return Err("WORKDIR without a path".to_owned());
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

    fn environment(&mut self, rest: &str) -> Result<(), String> {
        let words = quoted_words(rest);
        let mut pairs = Vec::new();
        if words.first().is_some_and(|word| word.contains('=')) {
            for word in &words {
                pairs.push(word.split_once('=').ok_or("ENV without a value")?);
            }
        } else {
            pairs.push(rest.split_once(char::is_whitespace).ok_or("ENV without a value")?);
        }
        // All of one line see the variables of the lines before.
        let mut values = Vec::new();
        for (name, value) in pairs {
            let expanded = |text: &str| expand(text, &self.env).map_err(|unknown| with("ENV", &unknown));
            let name = expanded(name)?;
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err("ENV without a name".to_owned());
            }
            values.push((name, expanded(value.trim())?));
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

    fn copy(&mut self, line: usize, rest: &str) -> Result<(), String> {
        let mut rest = rest;
        let mut mode = None;
        let mut odd = None;
        while rest.starts_with("--") {
            let (flag, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            rest = after.trim_start();
            match flag.split_once('=').unwrap_or((flag, "")) {
                ("--link", _) => {}
                ("--chmod", bits) => {
                    let bits = u32::from_str_radix(bits, 8).ok().filter(|bits| *bits <= 0o777);
                    if bits.is_none() {
                        odd.get_or_insert("COPY --chmod other than three octal digits".to_owned());
                    }
                    mode = bits;
                }
                (name, _) => {
                    let told = format!("COPY {}", name.chars().take(NAME_LIMIT).collect::<String>());
                    // Of another image: nothing of the context.
                    if name == "--from" {
                        return Err(told);
                    }
                    odd.get_or_insert(told);
                }
            }
        }
        let list: Option<Vec<String>> =
            if rest.starts_with('[') { serde_json::from_str(rest).ok() } else { None };
        let words = list.unwrap_or_else(|| rest.split_whitespace().map(str::to_owned).collect());
        let words: Result<Vec<String>, _> = words.iter().map(|word| expand(word, &self.env)).collect();
        let mut sources = words.map_err(|unknown| with("COPY", &unknown))?;
        let target = sources.pop().filter(|target| !target.is_empty() && !sources.is_empty());
        let target = target.ok_or("COPY without a source and a target")?;
        for source in &sources {
            if source.contains('\0') || tree::normalize(Path::new(source.trim_start_matches('/'))).is_none() {
                return Err("COPY from outside the build context".to_owned());
            }
        }
        if self.file.copies.len() >= COPY_LIMIT {
            return Err(format!("more than {COPY_LIMIT} COPY"));
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

fn with(name: &str, unknown: &UnknownValue) -> String {
    format!("{name} with {}, which the Dockerfile does not set", unknown.0)
}
