//! The effects of commands: those that pass text on, and those that rules check.

use std::ops::Range;

use super::arguments::{Interpreter, base, flag, interpreter, operand};
use super::effects::{check_persistence, credentials, destruction, outbound, packages, rights, written};
use super::paths::{credential, dotenv, home, local, untrusted, written as place_of};
use super::rule::declare_rules;
use super::rules::{ESCAPE_PATH, REMOTE_RUN};
use super::shell_state::{Command, Shell};
use super::value::{Taint, Value, base64, hex, rot13, unescape};
use assay_syntax::code::Language;
use assay_syntax::shell::prefix;

declare_rules! {
    PRIVILEGE_SUDO = "privilege-sudo", Privilege, Info, "A command runs as administrator.",
        Code ["sudo"];
}

/// The content of a file that is read: its taint, and its text if the script wrote it.
pub(crate) fn content(shell: &Shell<'_, '_>, path: &Value) -> Value {
    let name = path.str();
    let mut value = shell.hidden.get(base(name)).cloned().unwrap_or_default();
    value.taint = value.taint.with(path.taint);
    if credential(name).is_some() {
        value.taint = value.taint.with(Taint::CREDENTIAL);
    }
    if dotenv(name) {
        value.taint = value.taint.with(Taint::DOTENV);
    }
    value
}

/// Simulates a command as far as that is safe. Returns its output.
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
    check_command(shell, &name, words, &texts, command);
    written(shell, command, &out);
    out
}

/// The words without what only starts another command: `sudo`, `env X=1`, `nohup`, `timeout 5`,
/// `xargs`.
fn bare<'c>(shell: &mut Shell<'_, '_>, command: &'c Command) -> &'c [Value] {
    let mut words = &command.words[..];
    loop {
        let name = words.first().map_or("", |first| base(first.str()));
        if matches!(name, "sudo" | "doas" | "pkexec" | "su") && words.len() > 1 {
            let message = format!("`{name}` runs a command as administrator");
            shell.report(&PRIVILEGE_SUDO, &command.span, message);
        }
        let Some((_, rest)) = prefix(words) else { return words };
        words = rest;
    }
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
        | "od" | "sponge" | "pv" | "gzip" | "openssl" => carried(shell, name, &operands, input),
        "xclip" | "xsel" if flag(texts, &["-o", "-out", "--output"]) => Value::tainted(Taint::PRIVATE),
        "sed" | "awk" | "grep" | "cut" | "xclip" | "strings" | "egrep" | "rg" => {
            // A filter selects from its input: a variable out of the environment is no longer all
            // of it.
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
            // A value selected from `.env` is a setting for use.
            Value::tainted(taint.without(Taint::DOTENV))
        }
        _ => observed(shell, name, &operands),
    }
}

/// Commands that output their input, packed or transformed.
fn carried(shell: &mut Shell<'_, '_>, name: &str, operands: &[&Value], input: &Value) -> Value {
    let mut taint = input.taint;
    for operand in operands {
        taint = taint.with(content(shell, operand).taint);
        if matches!(name, "tar" | "zip") && home(operand.str()) {
            taint = taint.with(Taint::PRIVATE);
        }
    }
    // The archive that is written carries what goes into it.
    if matches!(name, "tar" | "zip" | "openssl" | "gpg")
        && taint != Taint::default()
        && let Some(file) = operands.iter().map(|file| base(file.str())).find(|file| {
            [".tar", ".tgz", ".gz", ".zip", ".bz2", ".xz", ".enc", ".gpg"]
                .iter()
                .any(|end| file.ends_with(end))
        })
    {
        shell.hidden.insert(file.to_owned(), Value::tainted(taint));
    }
    let text = if matches!(name, "tee" | "sponge" | "pv") { input.text.clone() } else { None };
    Value { text, taint, ..Value::default() }
}

/// Commands that print details of the machine, the clipboard or the screen.
fn observed(shell: &mut Shell<'_, '_>, name: &str, operands: &[&Value]) -> Value {
    match name {
        "uname" | "hostname" | "whoami" | "id" | "ifconfig" | "lsb_release" | "sw_vers" | "systeminfo"
        | "lscpu" | "system_profiler" | "hostnamectl" | "ps" | "who" | "last" | "lsblk" | "dmidecode" => {
            Value::tainted(Taint::MACHINE)
        }
        "pbpaste" | "wl-paste" | "termux-clipboard-get" | "Get-Clipboard" => Value::tainted(Taint::PRIVATE),
        "screencapture" | "scrot" | "gnome-screenshot" | "spectacle" | "maim" | "grim" | "flameshot" => {
            if let Some(file) = operands.last().filter(|file| !file.str().is_empty()) {
                let name = base(file.str()).to_owned();
                shell.hidden.insert(name, Value::tainted(Taint::PRIVATE));
            }
            Value::tainted(Taint::PRIVATE)
        }
        _ => Value::default(),
    }
}

/// The operand of `-o` at the end of several short options: `-sLo FILE`.
fn clustered<'t>(texts: &[&'t str]) -> Option<&'t str> {
    let at = texts
        .iter()
        .position(|text| text.starts_with('-') && !text.starts_with("--") && text.ends_with('o'))?;
    texts.get(at + 1).copied()
}

/// Downloads: their output and the files they write.
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
        _ => operand(texts, &["-o", "--output"]).or_else(|| clustered(texts)).or_else(|| {
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
                shell.report(rule, span, format!("writes a download to `{file}`"));
            }
            Value::default()
        }
    }
}

/// The rules over one command.
fn check_command(shell: &mut Shell<'_, '_>, name: &str, words: &[Value], texts: &[&str], command: &Command) {
    let span = &command.span;
    let arguments = &words[1..];
    if let Some(Interpreter(language)) = interpreter(name) {
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
        "mshta" | "certutil" | "bitsadmin" | "regsvr32" | "msiexec" | "iex" | "Invoke-Expression" | "irm"
        | "iwr" => {
            let line = format!("{name} {}", texts.join(" "));
            let site = shell.site.inner(span.clone(), None);
            super::foreign::line(shell.scan, &site, &line);
        }
        "npx" | "uvx" | "bunx" | "pnpx" | "pip" | "pip3" | "pipx" | "npm" | "pnpm" | "yarn" | "go"
        | "cargo" | "gem" | "uv" | "docker" | "podman" => {
            packages(shell, name, texts, span);
        }
        _ => {}
    }
    outbound(shell, name, arguments, texts, command);
    credentials(shell, name, texts, span);
    check_persistence(shell, name, texts, command);
    rights(shell, name, texts, span);
    destruction(shell, name, texts, span);
    if shell.site.script && !shell.site.mentioned {
        for word in arguments {
            // A script of the package is at least one folder below its root.
            let steps = word.str().matches("../").count();
            let deep = shell.site.path.matches('/').count();
            if steps > deep + 1 && word.str().starts_with("../") {
                let message = format!("`{}` is outside of the package", super::unicode::excerpt(word.str()));
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
    if language.is_none() && !texts.is_empty() {
        let line = format!("{} {}", command.words.first().map_or("", Value::str), texts.join(" "));
        let site = shell.site.inner(span.clone(), None);
        super::foreign::line(shell.scan, &site, &line);
    }
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
            // A process substitution has the taint of its output, and a file that of its content.
            if file.taint.has(Taint::NETWORK.with(Taint::DECODED)) {
                value.text.clone_from(&file.text);
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
