//! What commands do: those that carry text on, and those that a rule is about.

use std::ops::Range;

use super::parse::Language;
use super::paths::{credential, endpoint, local, untrusted, written as place_of};
use super::rules::{
    CONFIG_SETTINGS, CONFIG_SKILLS, CREDENTIAL_READ, ESCAPE_PATH, EXFIL_ENDPOINT, EXFIL_SECRET,
    HARVEST_ENVIRONMENT, OVERRIDE_SAFEGUARDS, PERSIST_HOOK, PERSIST_SCHEDULE, PERSIST_SERVICE,
    PRIVILEGE_CONTAINER, PRIVILEGE_DEFENCES, PRIVILEGE_RIGHTS, PRIVILEGE_SUDO, PRIVILEGE_SUDOERS, REMOTE_RUN,
    REMOTE_SHELL, UNPINNED_PACKAGE, UNPINNED_SOURCE,
};
use super::shell::{Command, Shell};
use super::value::{Taint, Value, base64, hex, rot13, unescape};

/// The last part of a path, without `.exe`.
fn base(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    name.strip_suffix(".exe").unwrap_or(name)
}

/// What a file holds that is read: its taint, and its text where the script wrote it.
pub(crate) fn content(shell: &Shell<'_, '_>, path: &Value) -> Value {
    let name = path.str();
    let mut value = shell.hidden.get(base(name)).cloned().unwrap_or_default();
    value.taint = value.taint.with(path.taint);
    if credential(name).is_some() {
        value.taint = value.taint.with(Taint::CREDENTIAL);
    }
    value
}

/// Carries a command out as far as that is safe to do in the head. The result is what it would write.
pub(crate) fn run(shell: &mut Shell<'_, '_>, command: &Command) -> Value {
    let span = &command.span;
    let words = bare(shell, command);
    let Some(first) = words.first() else {
        written(shell, command, &command.input);
        return command.input.clone();
    };
    shell.scan.used.insert("Bash");
    let name = base(first.str()).to_owned();
    let arguments = &words[1..];
    let texts: Vec<&str> = arguments.iter().map(Value::str).collect();
    if first.taint.has(Taint::NETWORK.with(Taint::DECODED))
        && first.text.as_deref().is_none_or(|text| words.len() == 1 || !text.is_empty())
    {
        let whole = joined(words);
        shell.execute(&whole, span, Some(Language::Shell));
    }
    let started = first.str().starts_with(['.', '/', '~']) || first.str().contains('/');
    if started && shell.downloaded.contains(&name) {
        shell.report(&REMOTE_RUN, span, format!("`{name}` is downloaded and executed"));
    }
    let out = outcome(shell, &name, words, &texts, command);
    judge(shell, &name, words, &texts, command);
    written(shell, command, &out);
    out
}

/// The words without what only starts another command: `sudo`, `env X=1`, `nohup`, `timeout 5`, `xargs`.
fn bare<'c>(shell: &mut Shell<'_, '_>, command: &'c Command) -> &'c [Value] {
    let mut words = &command.words[..];
    while let Some(first) = words.first() {
        let name = base(first.str());
        match name {
            "sudo" | "doas" | "pkexec" | "su" => {
                if words.len() > 1 {
                    shell.report(
                        &PRIVILEGE_SUDO,
                        &command.span,
                        format!("`{name}`: a command runs as the administrator"),
                    );
                }
                if name == "su" {
                    return words;
                }
            }
            "env" if words.len() > 1 => {}
            "command" | "exec" | "nohup" | "time" | "builtin" | "busybox" | "nice" | "ionice" | "setsid"
            | "timeout" | "stdbuf" | "xargs" | "then" | "do" | "if" | "!" | "&&" => {}
            _ => return words,
        }
        words = &words[1..];
        while words.first().is_some_and(|word| {
            let text = word.str();
            text.starts_with('-')
                || text.contains('=') && !text.contains('/')
                || (name == "timeout" && text.starts_with(|c: char| c.is_ascii_digit()))
        }) {
            words = &words[1..];
        }
    }
    words
}

fn joined(words: &[Value]) -> Value {
    let mut value = Value::known("");
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            value.append(&Value::known(" "));
        }
        value.append(word);
    }
    value
}

fn flag(texts: &[&str], names: &[&str]) -> bool {
    texts.iter().any(|text| names.contains(text))
}

/// The operand of an option: `-o FILE`, `-oFILE`, `--output=FILE`.
fn operand<'t>(texts: &[&'t str], names: &[&str]) -> Option<&'t str> {
    for (index, &text) in texts.iter().enumerate() {
        for name in names {
            if text == *name {
                return texts.get(index + 1).copied();
            }
            if let Some(rest) = text.strip_prefix(name)
                && let Some(rest) = if name.starts_with("--") { rest.strip_prefix('=') } else { Some(rest) }
            {
                return Some(rest);
            }
        }
    }
    None
}

fn outcome(
    shell: &mut Shell<'_, '_>,
    name: &str,
    words: &[Value],
    texts: &[&str],
    command: &Command,
) -> Value {
    let input = &command.input;
    let operands: Vec<&Value> = words[1..].iter().filter(|word| !word.str().starts_with('-')).collect();
    match name {
        "echo" | "printf" | "print" => {
            let from = usize::from(matches!(texts.first(), Some(&("-e" | "-n" | "-ne" | "-en" | "-E"))));
            let escapes = name == "printf"
                || texts.first().is_some_and(|text| text.starts_with('-') && text.contains('e'));
            let said = &words[(1 + from).min(words.len())..];
            let mut value = if name == "printf" && said.len() > 1 && said[0].str().contains("%s") {
                let mut value = Value::known(said[0].str().replacen(
                    "%s",
                    &joined(&said[1..]).text.unwrap_or_default(),
                    1,
                ));
                value.taint = joined(said).taint;
                value
            } else {
                joined(said)
            };
            if escapes && value.str().contains('\\') {
                let plain = unescape(value.str());
                let numbers =
                    value.str().contains("\\x") || value.str().contains("\\1") || value.str().contains("\\0");
                value =
                    if numbers { value.decoded(Some(plain)) } else { Value { text: Some(plain), ..value } };
            }
            value
        }
        "cat" | "tac" | "head" | "tail" | "less" | "more" | "bat" if !operands.is_empty() => {
            let mut value = Value::known("");
            for file in operands {
                value.append(&content(shell, file));
            }
            value
        }
        "base64" | "base32" | "gbase64" if flag(texts, &["-d", "-D", "--decode", "-di", "-id"]) => {
            let source = operands.first().map_or_else(|| input.clone(), |file| content(shell, file));
            source.decoded(source.text.as_deref().and_then(base64))
        }
        "openssl" if flag(texts, &["-d"]) || texts.contains(&"-base64") && texts.contains(&"-d") => {
            input.decoded(input.text.as_deref().and_then(base64))
        }
        "xxd" if texts.iter().any(|text| text.starts_with('-') && text.contains('r')) => {
            input.decoded(input.text.as_deref().and_then(hex))
        }
        "rev" => input.decoded(input.text.as_deref().map(|text| {
            text.lines().map(|line| line.chars().rev().collect::<String>()).collect::<Vec<_>>().join("\n")
        })),
        "tr" if texts.first().is_some_and(|set| set.to_ascii_lowercase().contains("a-z"))
            && texts.get(1).is_some_and(|set| set.to_ascii_lowercase().starts_with("n-z")) =>
        {
            input.decoded(input.text.as_deref().map(rot13))
        }
        "gunzip" | "zcat" | "bunzip2" | "unxz" | "zstdcat" | "bzcat" | "xzcat" => {
            input.decoded(input.text.clone())
        }
        "gzip" | "bzip2" | "xz" | "zstd" if flag(texts, &["-d", "-dc", "-cd", "--decompress"]) => {
            input.decoded(input.text.clone())
        }
        "curl" | "wget" | "http" | "https" | "aria2c" | "fetch" | "iwr" => {
            fetched(shell, name, words, texts, &command.span)
        }
        "nc" | "ncat" | "netcat" => Value::tainted(Taint::NETWORK.with(Taint::UNTRUSTED)),
        "env" | "printenv" | "export" | "declare" | "set"
            if texts.is_empty() || matches!(texts, ["-p" | "-x" | "-0" | "-px"]) =>
        {
            Value::tainted(Taint::ENVIRONMENT)
        }
        "security" if texts.iter().any(|text| text.starts_with("find-") || *text == "dump-keychain") => {
            Value::tainted(Taint::CREDENTIAL)
        }
        "tee" | "tr" | "sort" | "uniq" | "jq" | "gpg" | "tar" | "zip" | "base64" | "xxd" | "hexdump"
        | "od" | "sponge" | "pv" | "gzip" | "openssl" => {
            let mut taint = input.taint;
            for operand in &operands {
                taint = taint.with(content(shell, operand).taint);
            }
            let text = if matches!(name, "tee" | "sponge" | "pv") { input.text.clone() } else { None };
            Value { text, taint, ..Value::default() }
        }
        "sed" | "awk" | "grep" | "cut" | "xclip" | "strings" | "egrep" | "rg" => {
            // A filter picks from what flows through it: a variable out of the environment is no longer all of it.
            let mut taint = if input.taint.has(Taint::ENVIRONMENT) && name != "sed" && name != "awk" {
                let selects_secret = texts.iter().any(|text| {
                    let lower = text.to_ascii_lowercase();
                    ["key", "token", "secret", "pass"].iter().any(|word| lower.contains(word))
                });
                if selects_secret { Taint::ENVIRONMENT } else { Taint::default() }
            } else {
                input.taint
            };
            for operand in &operands {
                taint = taint.with(content(shell, operand).taint);
            }
            Value::tainted(taint)
        }
        _ => Value::default(),
    }
}

/// Downloads: what comes out, and which files they leave.
fn fetched(
    shell: &mut Shell<'_, '_>,
    name: &str,
    words: &[Value],
    texts: &[&str],
    span: &Range<usize>,
) -> Value {
    shell.scan.used.insert("WebFetch");
    let addresses: Vec<&str> = texts
        .iter()
        .copied()
        .filter(|text| text.contains("://") || text.contains('.') && text.contains('/'))
        .collect();
    let mut taint = words.iter().fold(Taint::NETWORK, |taint, word| {
        if word.taint.has(Taint::DECODED) { taint.with(Taint::UNTRUSTED) } else { taint }
    });
    if addresses.iter().any(|address| untrusted(address)) {
        taint = taint.with(Taint::UNTRUSTED);
    }
    if !addresses.is_empty() && addresses.iter().all(|address| local(address)) {
        return Value::default();
    }
    let saved = match name {
        "wget" | "aria2c" => match operand(texts, &["-O", "--output-document", "-o"]) {
            Some("-") => None,
            Some(file) if !file.is_empty() => Some(file),
            _ if texts
                .iter()
                .any(|text| text.starts_with('-') && !text.starts_with("--") && text.ends_with("O-")) =>
            {
                None
            }
            _ => addresses.last().copied(),
        },
        _ => operand(texts, &["-o", "--output"]).or_else(|| {
            let remote = texts.iter().any(|text| {
                *text == "--remote-name"
                    || text.starts_with('-') && !text.starts_with("--") && text.contains('O')
            });
            remote.then(|| addresses.last().copied()).flatten()
        }),
    };
    match saved {
        Some("/dev/stdout" | "-") | None => Value::tainted(taint),
        Some(file) => {
            let file = file.split(['?', '#']).next().unwrap_or(file);
            shell.downloaded.insert(base(file).to_owned());
            if let Some(rule) = place_of(file) {
                shell.report(rule, span, format!("a download is written to `{file}`"));
            }
            Value::default()
        }
    }
}

fn interpreter(name: &str) -> Option<Option<Language>> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    Some(match stem {
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "fish" => Some(Language::Shell),
        "python" | "pypy" => Some(Language::Python),
        "node" | "deno" | "bun" => Some(Language::JavaScript),
        "perl" | "ruby" | "php" | "lua" | "pwsh" | "powershell" | "osascript" => None,
        _ => return None,
    })
}

/// The rules over one command.
fn judge(shell: &mut Shell<'_, '_>, name: &str, words: &[Value], texts: &[&str], command: &Command) {
    let span = &command.span;
    let arguments = &words[1..];
    if let Some(language) = interpreter(name) {
        interpreted(shell, language, arguments, texts, command);
    }
    match name {
        "eval" => shell.execute(&joined(arguments), span, Some(Language::Shell)),
        "source" | "." => {
            if let Some(file) = arguments.first() {
                let mut value = content(shell, file);
                value.taint = value.taint.with(file.taint);
                shell.execute(&value, span, Some(Language::Shell));
                if shell.downloaded.contains(base(file.str())) {
                    shell.report(
                        &REMOTE_RUN,
                        span,
                        format!("`{}` is downloaded and executed", base(file.str())),
                    );
                }
            }
        }
        "npx" | "uvx" | "bunx" | "pnpx" | "pip" | "pip3" | "pipx" | "npm" | "pnpm" | "yarn" | "go"
        | "cargo" | "gem" | "uv" | "docker" | "podman" => {
            packages(shell, name, texts, span);
        }
        _ => {}
    }
    outbound(shell, name, arguments, texts, command);
    credentials(shell, name, texts, span);
    lasting(shell, name, texts, command);
    rights(shell, name, texts, span);
    if shell.site.script && !shell.site.mentioned {
        for word in arguments {
            // A script of the package lies at least one folder below its root.
            let steps = word.str().matches("../").count();
            let deep = shell.site.path.matches('/').count();
            if steps > deep + 1 && word.str().starts_with("../") {
                let message = format!("`{}` lies above the package", super::unicode::excerpt(word.str()));
                shell.report(&ESCAPE_PATH, span, message);
            }
        }
    }
}

fn interpreted(
    shell: &mut Shell<'_, '_>,
    language: Option<Language>,
    arguments: &[Value],
    texts: &[&str],
    command: &Command,
) {
    let span = &command.span;
    let code = texts.iter().position(|text| {
        matches!(*text, "-c" | "-e" | "--eval" | "-Command" | "-ec" | "-r")
            || text.starts_with('-')
                && !text.starts_with("--")
                && text.len() <= 5
                && text.ends_with('c')
                && language == Some(Language::Shell)
    });
    if let Some(at) = code {
        if let Some(value) = arguments.get(at + 1) {
            shell.execute(value, span, language);
        }
        return;
    }
    let file =
        arguments.iter().find(|word| !word.str().starts_with('-') || !word.taint.eq(&Taint::default()));
    match file {
        Some(file)
            if !matches!(file.str(), "/dev/stdin")
                && !texts.contains(&"-s")
                && !texts.contains(&"-")
                && !texts.contains(&"-m") =>
        {
            let mut value = content(shell, file);
            value.taint = value.taint.with(file.taint);
            // A substitution of a process gives what it writes, and a file its content.
            if file.taint.has(Taint::NETWORK.with(Taint::DECODED)) {
                value.text = file.text.clone();
            }
            shell.execute(&value, span, language);
            if shell.downloaded.contains(base(file.str())) {
                shell.report(&REMOTE_RUN, span, format!("`{}` is downloaded and executed", base(file.str())));
            }
        }
        _ if texts.contains(&"-m") => {}
        _ => shell.execute(&command.input.clone(), span, language),
    }
}

fn packages(shell: &mut Shell<'_, '_>, name: &str, texts: &[&str], span: &Range<usize>) {
    let operands: Vec<&str> = texts.iter().copied().filter(|text| !text.starts_with('-')).collect();
    let Some(first) = operands.first().copied() else { return };
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
                let message = format!("`{}` names no revision", super::unicode::excerpt(package));
                shell.report(&UNPINNED_SOURCE, span, message);
            }
        } else {
            let named = package.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '@')
                && !package.contains(['\u{fffd}', '=', '<', '>', '~']);
            let version = package
                .trim_start_matches('@')
                .split_once('@')
                .is_some_and(|(_, version)| version != "latest");
            let local = package.ends_with(".txt") || package.ends_with(".whl") || package.ends_with(".tgz");
            if named && !version && !local {
                shell.report(&UNPINNED_PACKAGE, span, format!("`{package}` is {verb} without a version"));
                return;
            }
        }
    }
}

/// Commands that send something out, and what they send.
fn outbound(shell: &mut Shell<'_, '_>, name: &str, arguments: &[Value], texts: &[&str], command: &Command) {
    let span = &command.span;
    let input = &command.input;
    let all = arguments.iter().fold(Taint::default(), |taint, word| taint.with(word.taint));
    let names_credential = texts.iter().find_map(|text| {
        let file = text.rsplit(['@', '=']).next().unwrap_or(text);
        credential(file).filter(|_| !file.contains("169.254"))
    });
    let to_here = texts.iter().any(|text| local(text));
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
            }) || matches!(operand(texts, &["-X", "--request"]), Some("POST" | "PUT" | "PATCH"));
            data || all.has(Taint::SECRET)
        }
        "wget" => {
            texts.iter().any(|text| text.starts_with("--post") || text.starts_with("--body"))
                || all.has(Taint::SECRET)
        }
        "nc" | "ncat" | "netcat" | "socat" | "telnet" | "http" | "https" => true,
        "scp" | "rsync" | "sftp" => texts.iter().any(|text| text.contains('@') && text.contains(':')),
        "mail" | "sendmail" | "mutt" | "dig" | "nslookup" | "host" | "ping" => true,
        "aws" => flag(texts, &["cp", "sync"]) && texts.iter().any(|text| text.starts_with("s3://")),
        _ => false,
    };
    if sends && !to_here {
        let secret =
            all.has(Taint::SECRET) || input.taint.has(Taint::SECRET) && !matches!(name, "dig" | "ping");
        if secret || names_credential.is_some() {
            let what = names_credential.map_or("credentials or the environment", |file| file);
            shell.report(&EXFIL_SECRET, span, format!("`{name}` sends out {what}"));
        }
        let data = matches!(name, "curl" | "wget" | "http" | "https");
        if data && let Some(service) = texts.iter().find_map(|text| endpoint(text)) {
            shell.report(&EXFIL_ENDPOINT, span, format!("data goes to {service}"));
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
        shell.report(&REMOTE_SHELL, span, format!("`{name}` hands a shell to another machine"));
    }
}

fn credentials(shell: &mut Shell<'_, '_>, name: &str, texts: &[&str], span: &Range<usize>) {
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
        shell.report(&CREDENTIAL_READ, span, format!("`{name}` reads the user's store of passwords"));
    }
}

/// What stays after the work is done, and the agent's own configuration.
fn lasting(shell: &mut Shell<'_, '_>, name: &str, texts: &[&str], command: &Command) {
    let span = &command.span;
    match name {
        "crontab"
            if !flag(texts, &["-l", "-r", "-h", "--help"])
                && (!texts.is_empty() && texts != ["-e"] || command.input != Value::default()) =>
        {
            shell.report(&PERSIST_SCHEDULE, span, "`crontab` schedules a job");
        }
        "at" | "batch" if command.input.text.is_some() => {
            shell.report(&PERSIST_SCHEDULE, span, format!("`{name}` schedules a job"))
        }
        "schtasks" if texts.iter().any(|text| text.eq_ignore_ascii_case("/create")) => {
            shell.report(&PERSIST_SCHEDULE, span, "`schtasks` schedules a job");
        }
        "systemctl" if flag(texts, &["enable", "link"]) => {
            shell.report(&PERSIST_SERVICE, span, "`systemctl` enables a service")
        }
        "launchctl" if flag(texts, &["load", "bootstrap", "enable", "submit"]) => {
            shell.report(&PERSIST_SERVICE, span, "`launchctl` starts a login item");
        }
        "update-rc.d" | "chkconfig" => {
            shell.report(&PERSIST_SERVICE, span, format!("`{name}` enables a service"))
        }
        "git"
            if texts.first() == Some(&"config")
                && texts.iter().any(|text| text.eq_ignore_ascii_case("core.hooksPath")) =>
        {
            shell.report(&PERSIST_HOOK, span, "`git config` moves the hooks");
        }
        "git"
            if texts.first() == Some(&"config")
                && texts.iter().any(|text| text.eq_ignore_ascii_case("http.sslVerify"))
                && texts.last() == Some(&"false") =>
        {
            shell.report(&PRIVILEGE_DEFENCES, span, "certificates are no longer checked");
        }
        "claude" | "codex" | "gemini" | "cursor" => {
            if texts.iter().any(|text| text.starts_with("--dangerously") || *text == "--yolo")
                || texts.windows(2).any(|pair| pair == ["--permission-mode", "bypassPermissions"])
            {
                shell.report(
                    &OVERRIDE_SAFEGUARDS,
                    span,
                    format!("`{name}` is started without permission prompts"),
                );
            }
            if texts.len() > 1 && texts[0] == "mcp" && texts[1].starts_with("add") {
                shell.scan.note(
                    shell.site,
                    &CONFIG_SETTINGS,
                    span.clone(),
                    format!("`{name}` gets another server of tools"),
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
    // A path or a completion in a profile is how tools are installed; a skill in its folder is what an installer is for.
    if innocent(what.str()) || std::ptr::eq(rule, &raw const CONFIG_SKILLS) {
        shell.scan.note(shell.site, rule, span.clone(), message);
    } else {
        shell.report(rule, span, message);
    }
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
                shell.report(&REMOTE_SHELL, &command.span, "a shell is handed to another machine");
            } else if out.taint.has(Taint::SECRET) {
                shell.report(&EXFIL_SECRET, &command.span, "credentials or the environment are sent out");
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
                format!("the whole environment is kept in `{}`", super::unicode::excerpt(target)),
            );
        }
        if shell.hidden.len() < 256 {
            shell.hidden.insert(base(target).to_owned(), out.clone());
        }
    }
}

fn rights(shell: &mut Shell<'_, '_>, name: &str, texts: &[&str], span: &Range<usize>) {
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
                (&PRIVILEGE_RIGHTS, format!("`chmod {mode}` opens rights to everybody or to another user"))
            }),
        "setcap" => {
            Some((&PRIVILEGE_RIGHTS, "`setcap` gives a program rights of the administrator".to_owned()))
        }
        "usermod" | "gpasswd" | "adduser" if flag(texts, &["docker"]) => Some((
            &PRIVILEGE_RIGHTS,
            "membership of `docker` gives the rights of the administrator".to_owned(),
        )),
        "usermod" | "gpasswd" | "adduser" | "useradd" if flag(texts, &["sudo", "wheel", "root", "-o"]) => {
            Some((&PRIVILEGE_SUDOERS, format!("`{name}` makes somebody an administrator")))
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
            host.then(|| (&PRIVILEGE_CONTAINER, "a container gets the host".to_owned()))
        }
        "csrutil" if flag(texts, &["disable"]) => {
            Some((&PRIVILEGE_DEFENCES, "system integrity protection is switched off".to_owned()))
        }
        "spctl" if flag(texts, &["--master-disable", "--global-disable"]) => {
            Some((&PRIVILEGE_DEFENCES, "the check of downloaded programs is switched off".to_owned()))
        }
        "setenforce" if flag(texts, &["0", "Permissive"]) => {
            Some((&PRIVILEGE_DEFENCES, "mandatory access control is switched off".to_owned()))
        }
        "ufw" if flag(texts, &["disable"]) => {
            Some((&PRIVILEGE_DEFENCES, "the firewall is switched off".to_owned()))
        }
        "iptables" if flag(texts, &["-F", "--flush"]) => {
            Some((&PRIVILEGE_DEFENCES, "the firewall's rules are removed".to_owned()))
        }
        "history" if flag(texts, &["-c"]) => {
            Some((&PRIVILEGE_DEFENCES, "the history of commands is wiped".to_owned()))
        }
        "xattr"
            if texts.iter().any(|text| text.contains("quarantine"))
                && texts.iter().any(|text| text.starts_with('-') && text.contains('d')) =>
        {
            Some((&PRIVILEGE_DEFENCES, "a download's quarantine mark is taken off".to_owned()))
        }
        _ => None,
    };
    if let Some((rule, message)) = said {
        shell.report(rule, span, message);
    }
}
