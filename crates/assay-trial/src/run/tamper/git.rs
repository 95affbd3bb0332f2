//! What of a Git repository in a work folder runs programs: hooks, and settings with commands.

use std::path::Path;

use assay_fs::Manifest;

/// Settings that hold a command, or lead to files with other settings or hooks: section, subsection
/// and key, of `git help config` and of the pages of the commands that read them. `*` is any name.
const COMMANDS: [(&str, &str, &str); 54] = [
    ("alias", "", "*"),
    ("alias", "*", "command"),
    ("browser", "*", "cmd"),
    ("browser", "*", "path"),
    ("core", "", "alternaterefscommand"),
    ("core", "", "askpass"),
    ("core", "", "editor"),
    ("core", "", "fsmonitor"),
    ("core", "", "gitproxy"),
    ("core", "", "hookspath"),
    ("core", "", "pager"),
    ("core", "", "sshcommand"),
    ("credential", "", "helper"),
    ("credential", "*", "helper"),
    ("diff", "", "external"),
    ("diff", "*", "command"),
    ("diff", "*", "textconv"),
    ("difftool", "*", "cmd"),
    ("difftool", "*", "path"),
    ("filter", "*", "clean"),
    ("filter", "*", "process"),
    ("filter", "*", "smudge"),
    ("gc", "", "recentobjectshook"),
    ("gpg", "", "program"),
    ("gpg", "*", "program"),
    ("gpg", "*", "defaultkeycommand"),
    ("guitool", "*", "cmd"),
    ("hook", "*", "command"),
    ("imap", "", "tunnel"),
    ("include", "", "path"),
    ("includeif", "*", "path"),
    ("init", "", "templatedir"),
    ("instaweb", "", "httpd"),
    ("interactive", "", "difffilter"),
    ("man", "*", "cmd"),
    ("man", "*", "path"),
    ("merge", "*", "driver"),
    ("mergetool", "*", "cmd"),
    ("mergetool", "*", "path"),
    ("pager", "", "*"),
    ("protocol", "", "allow"),
    ("protocol", "ext", "allow"),
    ("remote", "*", "receivepack"),
    ("remote", "*", "uploadpack"),
    ("remote", "*", "vcs"),
    ("sendemail", "", "sendmailcmd"),
    ("sendemail", "", "tocmd"),
    ("sendemail", "", "cccmd"),
    ("sequence", "", "editor"),
    ("submodule", "*", "update"),
    ("tar", "*", "command"),
    ("trailer", "*", "cmd"),
    ("trailer", "*", "command"),
    ("uploadpack", "", "packobjectshook"),
];

/// Settings with the path of a file that Git reads or of a folder with programs: even a bare name is
/// a file of the work folder.
const PATHS: [(&str, &str); 4] =
    [("include", "path"), ("includeif", "path"), ("core", "hookspath"), ("init", "templatedir")];

/// A setting.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ConfigEntry {
    section: String,
    subsection: String,
    key: String,
    value: String,
}

/// What a path in a work folder is to Git, given the entries of that folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A hook, which Git runs, or a link in place of the folder of hooks.
    Hook,
    /// Settings of a repository.
    Config,
}

/// The role of a path, if it has one.
pub(super) fn git_role(path: &Path, is_link: bool, after: &Manifest) -> Option<Role> {
    let name = path.file_name()?.to_str().unwrap_or_default();
    let parent = path.parent()?;
    let is_ours = |folder: &Path| is_repository(folder, after);
    if matches!(name, "config" | "config.worktree") && is_ours(parent) {
        return Some(Role::Config);
    }
    let in_hooks = parent.file_name().is_some_and(|folder| folder == "hooks");
    let is_hook = in_hooks && parent.parent().is_some_and(is_ours);
    // Git runs no sample.
    let is_run = Path::new(name).extension().is_none_or(|ending| ending != "sample");
    (is_hook && is_run || is_link && name == "hooks" && is_ours(parent)).then_some(Role::Hook)
}

/// Whether a folder is one of Git's: by its name, or by its content.
fn is_repository(folder: &Path, after: &Manifest) -> bool {
    let has = |name: &str| after.entries.contains_key(&folder.join(name));
    folder.iter().any(|part| part == ".git") || has("HEAD") && (has("objects") || has("commondir"))
}

/// The names of settings with a command that `now` has and `before` has not.
pub(super) fn new_commands(before: &str, now: &str) -> Vec<String> {
    let before = settings(before);
    let added = settings(now).into_iter().filter(|setting| !before.contains(setting));
    let mut names: Vec<String> = added.filter(ConfigEntry::runs_code).map(|setting| setting.name()).collect();
    names.dedup();
    names
}

impl ConfigEntry {
    fn name(&self) -> String {
        let parts = [&self.section, &self.subsection, &self.key];
        let parts = parts.into_iter().filter(|part| !part.is_empty()).cloned();
        parts.collect::<Vec<_>>().join(".")
    }

    fn runs_code(&self) -> bool {
        let value = self.value.trim();
        // A transport that runs a program.
        if matches!((&*self.section, &*self.key), ("remote", "url" | "pushurl")) {
            return value.contains("ext::");
        }
        if self.section == "url" {
            return self.subsection.contains("ext::");
        }
        let is_command = COMMANDS.iter().any(|(section, subsection, key)| {
            *section == self.section
                && (*key == "*" || *key == self.key)
                && match *subsection {
                    "*" => !self.subsection.is_empty(),
                    name => name.eq_ignore_ascii_case(&self.subsection),
                }
        });
        is_command && !self.is_harmless(value)
    }

    /// Whether the value names no file of the work folder: nothing, a truth value, or a program that
    /// is looked up in `PATH`; and what `git lfs install` writes.
    fn is_harmless(&self, value: &str) -> bool {
        let is_path = PATHS.contains(&(&*self.section, &*self.key));
        let is_word = value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        let is_lfs = self.section == "filter" && self.subsection == "lfs" && value.starts_with("git-lfs ");
        let allows_programs = self.section == "protocol";
        match value {
            "" | "/dev/null" => true,
            _ if allows_programs => value == "never",
            _ => is_lfs || is_word && !is_path,
        }
    }
}

/// Reads settings as Git does (`git help config`, "Syntax"): section and key in any case of letters,
/// several in a line, values over several lines and in quotes.
fn settings(text: &str) -> Vec<ConfigEntry> {
    let mut found = Vec::new();
    let (mut section, mut subsection) = (String::new(), String::new());
    let joined = text.replace("\\\r\n", "").replace("\\\n", "");
    for line in joined.lines() {
        let mut rest = line.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        while let Some(inside) = rest.strip_prefix('[') {
            let Some((head, after)) = split_head(inside) else { break };
            let (first, quoted) = head.split_once('"').unwrap_or((head, ""));
            let quoted = quoted.trim_end().strip_suffix('"').unwrap_or(quoted);
            let first = first.trim();
            let (plain, dotted) = first.split_once('.').unwrap_or((first, ""));
            section = plain.to_ascii_lowercase();
            subsection = if quoted.is_empty() { dotted.to_owned() } else { unescaped(quoted) };
            rest = after.trim_start();
        }
        let is_key = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let key: String = rest.chars().take_while(|&c| is_key(c)).collect();
        if key.is_empty() {
            continue;
        }
        let after = rest.get(key.len()..).unwrap_or_default().trim_start();
        let value = after.strip_prefix('=').map_or_else(String::new, value);
        found.push(ConfigEntry {
            section: section.clone(),
            subsection: subsection.clone(),
            key: key.to_ascii_lowercase(),
            value,
        });
    }
    found
}

/// Splits at the bracket that ends a head, which is not one in quotes.
fn split_head(text: &str) -> Option<(&str, &str)> {
    let (mut in_quotes, mut is_escaped) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => in_quotes = !in_quotes,
            ']' if !in_quotes => return Some((text.get(..at)?, text.get(at + 1..)?)),
            _ => {}
        }
    }
    None
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\\' { out.extend(chars.next()) } else { out.push(c) }
    }
    out
}

/// A value without quotes and comments.
fn value(text: &str) -> String {
    let mut out = String::new();
    let (mut in_quotes, mut chars) = (false, text.chars());
    while let Some(c) = chars.next() {
        match c {
            '"' => in_quotes = !in_quotes,
            '\\' => out.extend(chars.next()),
            '#' | ';' if !in_quotes => break,
            c => out.push(c),
        }
    }
    out.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use assay_fs::{Entry, FileKind};

    use super::*;

    /// Every line of the table is found, in each way of writing it.
    #[test]
    fn each_setting_with_a_command_is_found() {
        for (section, subsection, key) in COMMANDS {
            let key = if key == "*" { "Name" } else { key };
            let subsection = if subsection == "*" { "a.b" } else { subsection };
            let head = if subsection.is_empty() {
                section.to_owned()
            } else {
                format!("{section} \"{subsection}\"")
            };
            for text in [
                format!("[{head}]\n\t{key} = sh ./evil.sh\n"),
                format!(
                    "[{}]{}=\"sh ./evil.sh\"\n",
                    head.replacen(section, &section.to_uppercase(), 1),
                    key.to_uppercase()
                ),
                format!("[user]\nname = x\n[{head}] ; comment\n{key} = sh \\\n./evil.sh # comment\n"),
                format!("[user]\nname = x [{head}]\n[{head}]\n{key}=./evil\n"),
            ] {
                let found = new_commands("", &text);
                assert_eq!(found.len(), 1, "{text}");
                assert!(found[0].to_lowercase().starts_with(section), "{found:?}");
                // It was there before.
                assert_eq!(new_commands(&text, &text), Vec::<String>::new(), "{text}");
                assert_eq!(new_commands(&text.replace("evil", "good"), &text).len(), 1, "{text}");
            }
        }
    }

    #[test]
    fn ordinary_settings_run_nothing() {
        for text in [
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n",
            "[remote \"origin\"]\n\turl = https://example.org/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n[user]\nname = a\nemail = a@b\n",
            "[core]\n\tpager = cat\n\teditor = true\n\tfsmonitor = true\n\thooksPath = /dev/null\n",
            "[pager]\n\tbranch = false\n[alias]\n\tst = status\n[init]\n\tdefaultBranch = main\n",
            "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tprocess = git-lfs filter-process\n",
            "[submodule \"a\"]\n\tupdate = rebase\n[protocol \"ext\"]\n\tallow = never\n",
            "# [core]\n; fsmonitor = ./evil\n",
            "",
        ] {
            assert_eq!(new_commands("", text), Vec::<String>::new(), "{text}");
        }
        for text in [
            "[core]\nhooksPath = hooks\n",
            "[include]\npath = more\n",
            "[url \"ext::sh -c evil\"]\ninsteadOf = https://a\n",
            "[remote \"a\"]\nurl = ext::sh -c evil\n",
            "[core.x]\n[core] fsmonitor = ./evil\n",
            "[CORE]FSMONITOR=./evil",
            "\u{feff}[core]\nfsmonitor = ./evil",
        ] {
            assert_eq!(new_commands("", text).len(), 1, "{text}");
        }
    }

    #[test]
    fn hooks_and_settings_are_found_in_any_repository() {
        let mut after = Manifest::default();
        for path in ["bare/HEAD", "bare/objects", "deep/linked/HEAD", "deep/linked/commondir", "not/HEAD"] {
            let entry = Entry { kind: FileKind::File, size: 0, mode: 0o644, digest: None, target: None };
            after.entries.insert(path.into(), entry);
        }
        for (path, is_link, expected) in [
            (".git/hooks/post-index-change", false, Some(Role::Hook)),
            ("sub/.git/hooks/pre-commit", false, Some(Role::Hook)),
            (".git/modules/a/hooks/post-checkout", false, Some(Role::Hook)),
            ("bare/hooks/update", false, Some(Role::Hook)),
            (".git/hooks", true, Some(Role::Hook)),
            (".git/hooks", false, None),
            (".git/hooks/pre-commit.sample", false, None),
            (".git/config", false, Some(Role::Config)),
            (".git/config.worktree", false, Some(Role::Config)),
            (".git/worktrees/a/config.worktree", false, Some(Role::Config)),
            ("deep/linked/config.worktree", false, Some(Role::Config)),
            ("bare/config", false, Some(Role::Config)),
            ("not/config", false, None),
            ("src/hooks/use-state.js", false, None),
            ("config", false, None),
            (".git/HEAD", false, None),
        ] {
            assert_eq!(git_role(Path::new(path), is_link, &after), expected, "{path}");
        }
    }
}
