//! Effects of commands: installed packages, sent data, read credentials, persistence, permissions.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::arguments::{base, flag, interpreter, operand};
use super::paths::{credential, dotenv, endpoint, home, local, regex, written as place_of};
use super::rule::declare_rules;
use super::rules::{
    CONFIG_SETTINGS, CONFIG_SKILLS, CREDENTIAL_READ, DESTROY_FILES, DESTROY_FOLDER, EXFIL_ENDPOINT,
    EXFIL_FILE, EXFIL_REQUEST, EXFIL_SECRET, HARVEST_ENVIRONMENT, MINER, OVERRIDE_SAFEGUARDS, PERSIST_HOOK,
    PERSIST_SCHEDULE, PERSIST_SERVICE, PRIVILEGE_DEFENCES, PRIVILEGE_RIGHTS, PRIVILEGE_SUDOERS, REMOTE_SHELL,
    UNPINNED_INDEX,
};
use super::shell_state::{Command, Shell};
use super::value::{Taint, Value};

declare_rules! {
    UNPINNED_SOURCE = "unpinned-source", Unpinned, Info, "Code is installed from a repository or an address without a revision or checksum.",
        Code ["git+http", "pip install", "pip3 install", "go install", "cargo install"];
    UNPINNED_PACKAGE = "unpinned-package", Unpinned, Info, "A package is run or installed without a version.",
        Code ["pip install", "pip3 install", "npx", "uvx", "npm install", "npm i ", "gem install", "bunx", "pnpx", "dlx"];
    EXFIL_PUSH = "exfil-push", Exfiltration, Warning, "A script pushes the repository to its own URL.",
        Code ["remote add", "git push"];
    PRIVILEGE_CONTAINER = "privilege-container", Privilege, Warning, "A container gets access to the host: privileged mode, the root folder, or the Docker socket.",
        Code ["--privileged", "docker.sock", "-v /:", "docker run"];
}

pub(crate) fn packages(shell: &mut Shell<'_, '_>, name: &str, texts: &[&str], span: &Range<usize>) {
    let operands: Vec<&str> = texts.iter().copied().filter(|text| !text.starts_with('-')).collect();
    let Some(first) = operands.first().copied() else { return };
    if let Some(index) = operand(
        texts,
        &[
            "--index-url",
            "-i",
            "--extra-index-url",
            "--registry",
            "--default-index",
            "--index",
            "--find-links",
        ],
    )
    .filter(|_| {
        matches!(name, "pip" | "pip3" | "pipx" | "uv" | "uvx" | "npm" | "npx" | "pnpm" | "yarn" | "gem")
    }) && foreign_index(index)
    {
        let message = format!("installs packages from `{}`", super::unicode::excerpt(index));
        shell.report(&UNPINNED_INDEX, span, message);
    }
    let remote =
        |text: &str| text.starts_with("git+") || text.contains("github.com") || text.starts_with("http");
    let (candidates, verb): (&[&str], _) = match (name, first) {
        ("npx" | "uvx" | "bunx" | "pnpx", _) => (&operands[..1], "run"),
        (
            "pip" | "pip3" | "pipx" | "npm" | "pnpm" | "yarn" | "go" | "cargo" | "gem",
            "install" | "add" | "i" | "dlx",
        ) => (&operands[1..], "installed"),
        ("uv", "pip") if operands.get(1) == Some(&"install") => (&operands[2..], "installed"),
        ("docker" | "podman", "run" | "pull") => {
            // The image is the first operand that is not an option's.
            let image = operands[1..]
                .iter()
                .find(|text| text.contains('/') && !text.contains(':') || text.ends_with(":latest"));
            if let Some(image) = image.filter(|image| !image.starts_with(['.', '/', '~', '$'])) {
                shell.report(&UNPINNED_PACKAGE, span, format!("the image `{image}` has no version"));
            }
            return;
        }
        _ => return,
    };
    for package in candidates {
        if remote(package) {
            let revision = package.rsplit(['@', '#', '=']).next().unwrap_or_default();
            let pinned = revision.len() >= 40 && revision.bytes().all(|b| b.is_ascii_hexdigit());
            if !pinned {
                let message = format!("`{}` has no revision", super::unicode::excerpt(package));
                shell.report(&UNPINNED_SOURCE, span, message);
            }
        } else {
            let named = package.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '@')
                && !package.contains(['\u{fffd}', '=', '<', '>', '~']);
            let version = package
                .trim_start_matches('@')
                .split_once('@')
                .is_some_and(|(_, version)| version != "latest");
            let ending = package.rsplit('.').next();
            let local = matches!(ending, Some("txt" | "whl" | "tgz"));
            if named && !version && !local {
                shell.report(&UNPINNED_PACKAGE, span, format!("`{package}` is {verb} without a version"));
                return;
            }
        }
    }
}

/// Whether a URL is a package index other than the public ones: of languages, of large vendors, of
/// clouds that host private ones for their customers.
pub(crate) fn foreign_index(address: &str) -> bool {
    static KNOWN: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)^https://(?:[\w.-]+\.)?(?:pypi\.org|pythonhosted\.org|npmjs\.(?:org|com)|yarnpkg\.com|rubygems\.org|pytorch\.org|nvidia\.(?:com|cn)|github\.(?:com|io)|gitlab\.com|pkg\.dev|googleapis\.com|azure\.com|visualstudio\.com|amazonaws\.com|jfrog\.io|cloudsmith\.io|gemfury\.com|anaconda\.(?:org|com)|jsr\.io|aliyun\.com|npmmirror\.com|taobao\.org|tencent\.com|tencentyun\.com|huaweicloud\.com|douban\.com|edu\.cn|intel\.com|amd\.com|rocm\.com|databricks\.com)(?:[:/]|$)",
        )
    });
    (address.starts_with("http://") || address.starts_with("https://"))
        && !address.contains(['$', '<', '{', '\u{fffd}'])
        && !local(address)
        && !address.contains("example")
        && !KNOWN.is_match(address)
}

/// Commands that send something out, and the data that they send.
pub(crate) fn outbound(
    shell: &mut Shell<'_, '_>,
    name: &str,
    arguments: &[Value],
    texts: &[&str],
    command: &Command,
) {
    let span = &command.span;
    let input = &command.input;
    let all = arguments.iter().fold(Taint::default(), |taint, word| taint.with(word.taint));
    let names_credential = texts.iter().find_map(|text| {
        let file = text.rsplit(['@', '=']).next().unwrap_or(text);
        credential(file).filter(|_| !file.contains("169.254"))
    });
    let to_here = texts.iter().any(|text| local(text));
    // Files that are named for upload: `-F file=@x`, `-T x`, `--data-binary @x`.
    let carried = texts.iter().enumerate().fold(Taint::default(), |taint, (at, text)| {
        let file =
            text.split_once('@').filter(|_| !text.contains("://")).map(|(_, file)| file).or_else(|| {
                let option = at.checked_sub(1).and_then(|at| texts.get(at))?;
                (*option == "--upload-file" || short(option, 'T')).then_some(*text)
            });
        let Some(file) = file.map(|file| file.split(';').next().unwrap_or(file)) else { return taint };
        let held = shell.hidden.get(base(file)).map_or(Taint::default(), |value| value.taint);
        let held = held.with(if dotenv(file) { Taint::DOTENV } else { Taint::default() });
        taint.with(held.without(Taint::NETWORK.with(Taint::DECODED)))
    });
    let sends = match name {
        "curl" => {
            let data = texts.iter().any(|text| {
                text.starts_with("-d")
                    || text.starts_with("--data")
                    || text.starts_with("-F")
                    || text.starts_with("--form")
                    || text.starts_with("-T")
                    || text.starts_with("--upload-file")
                    || text.starts_with("--json")
                    || short(text, 'd')
                    || short(text, 'F')
                    || short(text, 'T')
            }) || matches!(operand(texts, &["-X", "--request"]), Some("POST" | "PUT" | "PATCH"));
            data || all.has(Taint::SECRET)
        }
        "wget" => {
            texts.iter().any(|text| text.starts_with("--post") || text.starts_with("--body"))
                || all.has(Taint::SECRET)
        }
        "scp" | "rsync" | "sftp" => texts.iter().any(|text| text.contains('@') && text.contains(':')),
        "nc" | "ncat" | "netcat" | "socat" | "telnet" | "http" | "https" | "mail" | "sendmail" | "mutt"
        | "dig" | "nslookup" | "host" | "ping" => true,
        "aws" => flag(texts, &["cp", "sync"]) && texts.iter().any(|text| text.starts_with("s3://")),
        _ => false,
    };
    if sends && !to_here {
        let secret =
            all.has(Taint::SECRET) || input.taint.has(Taint::SECRET) && !matches!(name, "dig" | "ping");
        let file = carried
            .with(if matches!(name, "dig" | "ping") { Taint::default() } else { input.taint })
            .with(all);
        if secret || names_credential.is_some() || carried.has(Taint::SECRET) {
            let what = names_credential.map_or("credentials or the environment", |file| file);
            shell.report(&EXFIL_SECRET, span, format!("`{name}` sends {what}"));
        } else if file.has(Taint::DOTENV) {
            shell.report(
                &EXFIL_SECRET,
                span,
                format!("`{name}` sends a whole file with the project's secrets"),
            );
        } else if file.has(Taint::PRIVATE) {
            shell.report(
                &EXFIL_FILE,
                span,
                format!("`{name}` sends the clipboard, the screen or the home folder"),
            );
        } else if matches!(name, "curl" | "wget" | "nc" | "ncat" | "netcat")
            && (file.has(Taint::MACHINE) || body_names_machine(texts))
        {
            shell.report(
                &EXFIL_REQUEST,
                span,
                format!("`{name}` sends the identity of the machine and the user"),
            );
        }
        let data = matches!(name, "curl" | "wget" | "http" | "https");
        if data && let Some(service) = texts.iter().find_map(|text| endpoint(text)) {
            shell.report(&EXFIL_ENDPOINT, span, format!("sends data to {service}"));
        }
    }
    let shells = |text: &str| matches!(base(text), "sh" | "bash" | "zsh" | "cmd" | "cmd.exe" | "powershell");
    let handed = match name {
        "nc" | "ncat" | "netcat" => operand(texts, &["-e", "-c", "--exec", "--sh-exec"])
            .is_some_and(|text| shells(text.split(' ').next().unwrap_or_default())),
        "socat" => texts.iter().any(|text| text.to_ascii_lowercase().starts_with("exec:")),
        _ => false,
    };
    if handed {
        shell.report(&REMOTE_SHELL, span, format!("`{name}` gives another machine a shell"));
    }
}

/// Whether several short options end in one that takes what follows: `-sT`.
fn short(text: &str, last: char) -> bool {
    text.len() <= 6
        && text.ends_with(last)
        && text.strip_prefix('-').is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_alphabetic()))
}

/// Whether a body that is sent names the user or the machine.
fn body_names_machine(texts: &[&str]) -> bool {
    texts.windows(2).any(|pair| {
        matches!(pair[0], "-d" | "--data" | "--data-raw" | "--data-binary" | "-F" | "--form" | "--json")
            && ["$USER", "$HOSTNAME", "$LOGNAME", "${USER}", "${HOSTNAME}"]
                .iter()
                .any(|name| pair[1].contains(name))
    })
}

/// Commands that delete, wipe, encrypt or mine.
pub(crate) fn destruction(shell: &mut Shell<'_, '_>, name: &str, texts: &[&str], span: &Range<usize>) {
    static MINERS: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)^(?:xmr[a-z_-]*|minerd|cpuminer[\w-]*|ccminer|nbminer|ethminer|phoenixminer|teamredminer|lolminer|srbminer[\w-]*|bfgminer|cgminer)$",
        )
    });
    let operands = || texts.iter().copied().filter(|text| !text.starts_with('-'));
    let short = |letter: char| {
        texts.iter().any(|text| text.starts_with('-') && !text.starts_with("--") && text.contains(letter))
    };
    let severe = if shell.site.script { &DESTROY_FILES } else { &DESTROY_FOLDER };
    match name {
        "cd" | "pushd" if !texts.is_empty() => shell.moved = true,
        "rm" if short('r') || short('R') || flag(texts, &["--recursive"]) => {
            if let Some(target) = operands().find(|target| vital(target)) {
                shell.report(
                    severe,
                    span,
                    format!("`rm` deletes `{}` recursively", super::unicode::excerpt(target)),
                );
            } else if let Some(target) =
                operands().find(|target| matches!(*target, "*" | "./*" | "." | "./" | ".*" | "./.*"))
            {
                let message = format!("`rm` deletes `{target}`: everything in the working folder");
                // After a change of folder, it is that folder which is emptied.
                if shell.moved {
                    shell.scan.note(shell.site, &DESTROY_FOLDER, span.clone(), message);
                } else {
                    shell.report(&DESTROY_FOLDER, span, message);
                }
            }
        }
        "find"
            if flag(texts, &["-delete"])
                || texts.contains(&"-exec")
                    && texts.iter().any(|text| matches!(base(text), "rm" | "shred")) =>
        {
            let bounded = flag(
                texts,
                &["-name", "-iname", "-path", "-mtime", "-maxdepth", "-empty", "-size", "-regex"],
            );
            if !bounded && let Some(target) = operands().next().filter(|target| vital(target)) {
                shell.report(severe, span, format!("`find` deletes everything in `{target}`"));
            }
        }
        "shred" | "srm" | "wipe" if operands().any(vital) => {
            shell.report(severe, span, format!("`{name}` destroys the user's files"));
        }
        "dd" if texts.iter().any(|text| {
            text.strip_prefix("of=/dev/").is_some_and(|device| !matches!(device, "null" | "stdout" | "zero"))
        }) =>
        {
            shell.report(&DESTROY_FOLDER, span, "`dd` overwrites a disk");
        }
        _ if (name.starts_with("mkfs") || name == "wipefs")
            && operands().any(|text| text.starts_with("/dev/")) =>
        {
            shell.report(&DESTROY_FOLDER, span, format!("`{name}` erases a disk"));
        }
        "diskutil" if texts.iter().any(|text| text.to_ascii_lowercase().starts_with("erase")) => {
            shell.report(&DESTROY_FOLDER, span, "`diskutil` erases a disk");
        }
        "git" => pushed(shell, texts, span),
        _ => {}
    }
    let pool = texts.iter().any(|text| text.starts_with("stratum+") || text.contains("=stratum+"));
    if pool
        || MINERS.is_match(name)
            && operand(texts, &["-o", "--url", "-u", "--user", "-a", "--algo", "-c", "--pool"]).is_some()
    {
        shell.report(&MINER, span, format!("`{name}` mines a cryptocurrency"));
    }
}

/// Whether deleting a path deletes the home folder, the system, a disk, or a folder above.
fn vital(target: &str) -> bool {
    let plain = target.trim_end_matches('/');
    matches!(plain, "" if target.starts_with('/'))
        || matches!(target, "/" | "/*" | "../*" | ".." | "../" | "../.." | "../../*" | "../.[!.]*")
        || matches!(
            plain,
            "/home"
                | "/Users"
                | "/root"
                | "/etc"
                | "/usr"
                | "/var"
                | "/boot"
                | "/bin"
                | "/home/*"
                | "/Users/*"
        )
        || home(target) && !target.contains("Downloads")
}

/// A repository that is pushed to an address in the script.
fn pushed(shell: &mut Shell<'_, '_>, texts: &[&str], span: &Range<usize>) {
    let words: Vec<&str> = texts.iter().copied().filter(|text| !text.starts_with('-')).collect();
    let address = |text: &str| {
        (text.contains("://") || text.contains('@') && text.contains(':'))
            && !text.contains(['$', '<', '{', '\u{fffd}'])
            && !local(text)
    };
    match words.as_slice() {
        ["remote", "add" | "set-url", name, url, ..] if address(url) && shell.hidden.len() < 256 => {
            shell.hidden.insert(format!("git remote {name}"), Value::known(*url));
        }
        ["push", target, ..] => {
            let brought = shell.hidden.get(&format!("git remote {target}")).map(Value::str);
            let url = if address(target) { Some(*target) } else { brought };
            if let Some(url) = url {
                let message =
                    format!("`git push` sends the repository to `{}`", super::unicode::excerpt(url));
                if shell.site.script {
                    shell.report(&EXFIL_PUSH, span, message);
                } else {
                    shell.scan.note(shell.site, &EXFIL_PUSH, span.clone(), message);
                }
            }
        }
        _ => {}
    }
}

pub(crate) fn credentials(shell: &mut Shell<'_, '_>, name: &str, texts: &[&str], span: &Range<usize>) {
    const READERS: [&str; 33] = [
        "cat", "tac", "less", "more", "head", "tail", "bat", "cp", "mv", "tar", "zip", "base64", "xxd",
        "hexdump", "strings", "grep", "rg", "awk", "sed", "jq", "scp", "rsync", "curl", "wget", "openssl",
        "sqlite3", "tee", "dd", "nc", "find", "sort", "source", "ln",
    ];
    if READERS.contains(&name)
        && let Some(file) = texts.iter().find_map(|text| credential(text))
    {
        shell.report(&CREDENTIAL_READ, span, format!("`{name}` reads {file}"));
    }
    let stores = match name {
        "security" => texts.iter().any(|text| {
            text.starts_with("find-generic-password")
                || text.starts_with("find-internet-password")
                || *text == "dump-keychain"
        }),
        "secret-tool" => flag(texts, &["lookup", "search"]),
        "gpg" => texts.iter().any(|text| text.starts_with("--export-secret")),
        "cmdkey" => flag(texts, &["/list"]),
        _ => false,
    };
    if stores {
        shell.report(&CREDENTIAL_READ, span, format!("`{name}` reads the user's password store"));
    }
}

/// What stays after the work is done, and the agent's own configuration.
pub(crate) fn check_persistence(shell: &mut Shell<'_, '_>, name: &str, texts: &[&str], command: &Command) {
    let span = &command.span;
    match name {
        "crontab"
            if !flag(texts, &["-l", "-r", "-h", "--help"])
                && (!texts.is_empty() && texts != ["-e"] || command.input != Value::default()) =>
        {
            shell.report(&PERSIST_SCHEDULE, span, "`crontab` schedules a job");
        }
        "at" | "batch" if command.input.text.is_some() => {
            shell.report(&PERSIST_SCHEDULE, span, format!("`{name}` schedules a job"));
        }
        "schtasks" if texts.iter().any(|text| text.eq_ignore_ascii_case("/create")) => {
            shell.report(&PERSIST_SCHEDULE, span, "`schtasks` schedules a job");
        }
        "systemctl" if flag(texts, &["enable", "link"]) => {
            shell.report(&PERSIST_SERVICE, span, "`systemctl` enables a service");
        }
        "launchctl" if flag(texts, &["load", "bootstrap", "enable", "submit"]) => {
            shell.report(&PERSIST_SERVICE, span, "`launchctl` starts a login item");
        }
        "update-rc.d" | "chkconfig" => {
            shell.report(&PERSIST_SERVICE, span, format!("`{name}` enables a service"));
        }
        "git"
            if texts.first() == Some(&"config")
                && texts.iter().any(|text| text.eq_ignore_ascii_case("core.hooksPath")) =>
        {
            // Hooks in the repository are how its contributors share them.
            let folder = texts.last().copied().unwrap_or_default();
            let own = !flag(texts, &["--global", "--system"])
                && !folder.starts_with(['/', '~', '$'])
                && !folder.contains("..");
            if own {
                shell.scan.note(
                    shell.site,
                    &PERSIST_HOOK,
                    span.clone(),
                    "`git config` changes the hooks folder",
                );
            } else {
                shell.report(&PERSIST_HOOK, span, "`git config` changes the hooks folder");
            }
        }
        "git"
            if texts.first() == Some(&"config")
                && texts.iter().any(|text| text.eq_ignore_ascii_case("http.sslVerify"))
                && texts.last() == Some(&"false") =>
        {
            shell.report(&PRIVILEGE_DEFENCES, span, "turns off certificate checks");
        }
        "claude" | "codex" | "gemini" | "cursor" => {
            if texts.iter().any(|text| text.starts_with("--dangerously") || *text == "--yolo")
                || texts.windows(2).any(|pair| pair == ["--permission-mode", "bypassPermissions"])
            {
                shell.report(
                    &OVERRIDE_SAFEGUARDS,
                    span,
                    format!("starts `{name}` without permission prompts"),
                );
            }
            if texts.len() > 1 && texts[0] == "mcp" && texts[1].starts_with("add") {
                shell.scan.note(
                    shell.site,
                    &CONFIG_SETTINGS,
                    span.clone(),
                    format!("adds an MCP server to `{name}`"),
                );
            }
        }
        "cp" | "mv" | "ln" | "install" | "tee" | "rsync" | "touch" | "dd" => {
            let target = if name == "tee" {
                texts.iter().copied().find(|text| !text.starts_with('-'))
            } else {
                texts.iter().rev().copied().find(|text| !text.starts_with('-'))
            };
            let target = target.map(|text| text.strip_prefix("of=").unwrap_or(text));
            if let Some(target) = target {
                place(shell, target, &command.input, span);
            }
        }
        "sed" if texts.iter().any(|text| text.starts_with("-i") || *text == "--in-place") => {
            if let Some(target) = texts.last() {
                place(shell, target, &Value::default(), span);
            }
        }
        _ => {}
    }
}

/// Something is written to a path.
fn place(shell: &mut Shell<'_, '_>, target: &str, what: &Value, span: &Range<usize>) {
    let Some(rule) = place_of(target) else { return };
    let message = format!("`{}` is written", super::unicode::excerpt(target));
    // A path or a completion in a profile is how tools are installed; a skill in its folder is what
    // an installer is for.
    if innocent(what.str()) || std::ptr::eq(rule, &raw const CONFIG_SKILLS) || remembered(target) {
        shell.scan.note(shell.site, rule, span.clone(), message);
    } else {
        shell.report(rule, span, message);
    }
}

/// Whether a path is the file of notes that an agent keeps in its working folder: skills that
/// manage its memory write it.
pub(crate) fn remembered(target: &str) -> bool {
    let plain = target.strip_prefix("./").unwrap_or(target);
    let name = plain.rsplit('/').next().unwrap_or(plain);
    name.eq_ignore_ascii_case("memory.md") && !plain.starts_with(['~', '/'])
}

/// Whether lines for a profile only set a path or a variable, or start a tool's completion.
fn innocent(text: &str) -> bool {
    let mut lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).peekable();
    lines.peek().is_some()
        && lines.all(|line| {
            let sets = line.strip_prefix("export ").or_else(|| line.strip_prefix("set -gx ")).unwrap_or(line);
            let plain = !sets.contains(['`', ';', '|', '&'])
                && !sets.contains("$(")
                && !sets.contains("LD_PRELOAD")
                && !sets.contains("PROMPT_COMMAND");
            let assigns = sets.split_once(['=', ' ']).is_some_and(|(name, _)| {
                !name.is_empty()
                    && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_' || b.is_ascii_digit())
            });
            plain && assigns
                || line.starts_with("eval \"$(")
                    && line.ends_with(")\"")
                    && !line.contains("curl")
                    && !line.contains("wget")
                    && !line.contains("base64")
        })
}

/// What redirections write: where, and with what.
pub(crate) fn written(shell: &mut Shell<'_, '_>, command: &Command, out: &Value) {
    for redirect in &command.outputs {
        let target = redirect.target.str();
        if target.starts_with("/dev/tcp/") || target.starts_with("/dev/udp/") {
            let shelled = command
                .words
                .first()
                .is_some_and(|word| interpreter(base(word.str())).is_some() || word.str() == "exec");
            if shelled {
                shell.report(&REMOTE_SHELL, &command.span, "gives another machine a shell");
            } else if out.taint.has(Taint::SECRET) {
                shell.report(&EXFIL_SECRET, &command.span, "sends credentials or the environment");
            }
            continue;
        }
        if matches!(target, "/dev/null" | "/dev/stderr" | "/dev/stdout") || target.is_empty() {
            continue;
        }
        place(shell, target, out, &redirect.span);
        if out.taint.has(Taint::NETWORK) {
            shell.downloaded.insert(base(target).to_owned());
        }
        if out.taint.has(Taint::ENVIRONMENT) {
            shell.report(
                &HARVEST_ENVIRONMENT,
                &command.span,
                format!("stores the whole environment in `{}`", super::unicode::excerpt(target)),
            );
        }
        if shell.hidden.len() < 256 {
            shell.hidden.insert(base(target).to_owned(), out.clone());
        }
    }
}

pub(crate) fn rights(shell: &mut Shell<'_, '_>, name: &str, texts: &[&str], span: &Range<usize>) {
    let said = match name {
        "chmod" => texts
            .iter()
            .find(|text| {
                let digits = text.bytes().all(|b| b.is_ascii_digit()) && !text.is_empty();
                digits
                    && (text.ends_with("777")
                        || text.ends_with("666")
                        || text.len() == 4 && text.starts_with(['2', '4', '6']))
                    || matches!(**text, "a+rwx" | "o+w" | "a+w" | "ugo+rwx" | "u+s" | "g+s" | "+s" | "ug+s")
            })
            .map(|mode| {
                (
                    &PRIVILEGE_RIGHTS,
                    format!("`chmod {mode}` grants permissions to all users, or sets the user id"),
                )
            }),
        "setcap" => {
            Some((&PRIVILEGE_RIGHTS, "`setcap` grants a program administrator capabilities".to_owned()))
        }
        "usermod" | "gpasswd" | "adduser" if flag(texts, &["docker"]) => {
            Some((&PRIVILEGE_RIGHTS, "membership in `docker` grants administrator rights".to_owned()))
        }
        "usermod" | "gpasswd" | "adduser" | "useradd" if flag(texts, &["sudo", "wheel", "root", "-o"]) => {
            Some((&PRIVILEGE_SUDOERS, format!("`{name}` makes a user an administrator")))
        }
        "visudo" | "chpasswd" => {
            Some((&PRIVILEGE_SUDOERS, format!("`{name}` changes administrators or passwords")))
        }
        "docker" | "podman" | "nerdctl" if flag(texts, &["run", "create"]) => {
            let host = texts.iter().any(|text| {
                *text == "--privileged"
                    || text.contains("docker.sock")
                    || text.starts_with("/:/")
                    || text.starts_with("-v=/:/")
                    || *text == "--pid=host"
            });
            host.then(|| (&PRIVILEGE_CONTAINER, "gives a container access to the host".to_owned()))
        }
        "csrutil" if flag(texts, &["disable"]) => {
            Some((&PRIVILEGE_DEFENCES, "turns off System Integrity Protection".to_owned()))
        }
        "spctl" if flag(texts, &["--master-disable", "--global-disable"]) => {
            Some((&PRIVILEGE_DEFENCES, "turns off the check of downloaded programs".to_owned()))
        }
        "setenforce" if flag(texts, &["0", "Permissive"]) => {
            Some((&PRIVILEGE_DEFENCES, "turns off mandatory access control".to_owned()))
        }
        "ufw" if flag(texts, &["disable"]) => {
            Some((&PRIVILEGE_DEFENCES, "turns off the firewall".to_owned()))
        }
        "iptables" if flag(texts, &["-F", "--flush"]) => {
            Some((&PRIVILEGE_DEFENCES, "removes the firewall's rules".to_owned()))
        }
        "history" if flag(texts, &["-c"]) => {
            Some((&PRIVILEGE_DEFENCES, "deletes the command history".to_owned()))
        }
        "xattr"
            if texts.iter().any(|text| text.contains("quarantine"))
                && texts.iter().any(|text| text.starts_with('-') && text.contains('d')) =>
        {
            Some((&PRIVILEGE_DEFENCES, "removes the quarantine attribute of a download".to_owned()))
        }
        _ => None,
    };
    if let Some((rule, message)) = said {
        shell.report(rule, span, message);
    }
}
