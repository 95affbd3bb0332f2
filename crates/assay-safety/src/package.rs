//! Rules on a complete package, and extraction of commands from files.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::bundle::Bundle;
use super::markdown::lines;
use super::paths::{credential, regex};
use super::rule::declare_rules;
use super::rules::{CONFIG_SETTINGS, UNPINNED_INDEX};
use super::site::{Scan, Site};
use super::{prose, shell};

declare_rules! {
    REMOTE_BUILD = "remote-build", RemoteCode, Warning, "Building or installing the package runs code from a URL.",
        Code ["://", "git+http", "subprocess", "child_process", "os.system", "os.popen"];
    PACKAGE_HOOK = "package-hook", RemoteCode, Warning, "A package manager runs a program of the package at installation.";
    EXFIL_HOOK = "exfil-hook", Exfiltration, Error, "A hook, or a command that runs when the skill loads, sends data.",
        Code ["://", "curl", "wget"];
    /// It has no trigger words, because any command is a use of the shell. It reads `Scan::used`,
    /// which the scan of the files fills: a command or a call is recorded there if its text has a
    /// trigger word of kind `Code` of another rule.
    CAPABILITY_UNDECLARED = "capability-undeclared", Capability, Info, "The skill uses a tool that its `allowed-tools` does not list.";
    CAPABILITY_LOAD = "capability-load", Capability, Info, "A command runs when the skill loads, before the model sees it.";
    ESCAPE_LINK = "escape-link", Escape, Warning, "A symbolic link leaves the package.";
    ESCAPE_LINK_SECRET = "escape-link-secret", Escape, Error, "A symbolic link points to credentials.";
}

/// Checks links, the description, and declared tools.
pub(crate) fn scan(scan: &mut Scan, bundle: &Bundle) {
    for link in &bundle.links {
        if credential(&link.target).is_some() {
            scan.whole(&link.path, &ESCAPE_LINK_SECRET, format!("a link to `{}`", link.target));
        } else if link.escapes {
            scan.whole(
                &link.path,
                &ESCAPE_LINK,
                format!("a link to `{}`, outside of the package", link.target),
            );
        }
    }
    let Some(path) = &bundle.document else { return };
    let Some(file) = bundle.files.iter().find(|file| file.path == *path) else { return };
    let text = String::from_utf8_lossy(&file.bytes);
    let site = Site::of(path);
    let at = text.find("description:").map_or(0..0, |at| at..at + "description".len());
    for (rule, message) in prose::triggers(&bundle.description) {
        scan.report(&site, rule, at.clone(), message);
    }
    load(scan, &site, &text);
    if let Some(tools) = &bundle.tools {
        let at = text.find("allowed-tools").map_or(0..0, |at| at..at + "allowed-tools".len());
        let declared = |tool: &str| {
            tools.iter().any(|there| there == "*" || there.to_ascii_lowercase().starts_with(tool))
        };
        if scan.used.contains("Bash")
            && !declared("bash")
            && !declared("shell")
            && !declared("run")
            && !declared("execute")
        {
            scan.report(
                &site,
                &CAPABILITY_UNDECLARED,
                at,
                "the skill runs commands, but `allowed-tools` has no `Bash`",
            );
        }
    }
}

/// Commands that run when the skill is loaded: an exclamation mark before code, as Claude Code has
/// it.
fn load(scan: &mut Scan, site: &Site<'_>, text: &str) {
    static PATTERN: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)(?:^|[\s(])!`([^`\n]+)`"));
    if !text.contains("!`") {
        return;
    }
    for found in PATTERN.captures_iter(text).take(100) {
        if let Some(command) = found.get(1) {
            scan.report(
                site,
                &CAPABILITY_LOAD,
                command.range(),
                format!("`{}` runs when the skill loads", super::unicode::excerpt(command.as_str())),
            );
            let text = command.as_str();
            if sends(text) && carries(text) {
                scan.report(
                    site,
                    &EXFIL_HOOK,
                    command.range(),
                    "a command that runs when the skill loads sends data",
                );
            }
            let inner = site.inner(command.range(), Some("running it at load"));
            shell::scan(scan, &inner, command.as_str());
        }
    }
}

/// A program that talks to the network, and an address that is not this machine's.
fn sends(command: &str) -> bool {
    static NETWORK: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)\b(?:curl|wget|nc|ncat|netcat|socat|iwr|irm|invoke-webrequest|invoke-restmethod|http|xh|scp|rsync|telnet)\b|requests\.(?:post|put|get)|urlopen|fetch\(",
        )
    });
    NETWORK.is_match(command) && !super::paths::local(command)
}

/// A command whose URL or body contains data of the machine.
fn carries(command: &str) -> bool {
    static DATA: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"\$\(|\$\{?[A-Z_a-z]|\s(?:-d|-F|-T|-X\s*(?:POST|PUT)|--data\S*|--form|--json|--upload-file|--post-\w+|--body\S*|-Body|-Method)\b|@-|\|\s*(?:curl|nc|ncat|wget)\b|\.post\(|\bnc\b",
        )
    });
    DATA.is_match(command)
}

/// Hooks that the front matter of a page installs: they run at each use of a tool, with the call on
/// their input.
pub(crate) fn hooks(scan: &mut Scan, site: &Site<'_>, text: &str, matter: Range<usize>) {
    let source = &text[matter.clone()];
    let Some(start) = lines(source).find(|(_, line)| line.starts_with("hooks:")).map(|(at, _)| at) else {
        return;
    };
    let end = lines(source)
        .find(|(at, line)| *at > start && !line.is_empty() && !line.starts_with([' ', '\t', '-', '#', '}']))
        .map_or(source.len(), |(at, _)| at);
    hooked(scan, site, &source[start..end], matter.start + start);
}

/// The commands and addresses of hooks, in YAML or JSON.
fn hooked(scan: &mut Scan, site: &Site<'_>, source: &str, offset: usize) {
    static COMMAND: LazyLock<Regex> = LazyLock::new(|| {
        regex(r#"["']?\b(command|url)["']?\s*:\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\n]*))"#)
    });
    static REMOTE: LazyLock<Regex> = LazyLock::new(|| regex(r"^\s*[\x22']?https?://"));
    for found in COMMAND.captures_iter(source).take(50) {
        let Some(value) = found.get(2).or_else(|| found.get(3)).or_else(|| found.get(4)) else { continue };
        let range = offset + value.start()..offset + value.end();
        // In double quotes, JSON and YAML have escapes, for example for line breaks or code points.
        let escaped = found.get(2).map(|inner| format!("\"{}\"", inner.as_str()));
        let command = escaped
            .and_then(|text| serde_json::from_str::<String>(&text).ok())
            .unwrap_or_else(|| value.as_str().replace("\\\"", "\""));
        let is_url = found.get(1).is_some_and(|key| key.as_str() == "url");
        if is_url && REMOTE.is_match(&command) && !super::paths::local(&command) {
            scan.report(site, &EXFIL_HOOK, range.clone(), "a hook sends each event to a URL");
        } else if !is_url && sends(&command) && (carries(&command) || command.contains("://")) {
            scan.report(
                site,
                &EXFIL_HOOK,
                range.clone(),
                "a hook that receives every tool call contacts a URL",
            );
        } else if !is_url && !command.trim().is_empty() {
            scan.note(
                site,
                &CAPABILITY_LOAD,
                range.clone(),
                format!("`{}` runs as a hook", super::unicode::excerpt(&command)),
            );
        }
        if !is_url {
            let inner = site.inner(range, Some("running it as a hook"));
            shell::scan(scan, &inner, &command);
        }
    }
}

/// Whether a file is one that [`manifest`] reads.
pub(crate) fn is_manifest(path: &str) -> bool {
    let name = path.rsplit(['/', '!']).next().unwrap_or(path);
    matches!(
        name,
        "package.json"
            | "hooks.json"
            | "settings.json"
            | "settings.local.json"
            | ".mcp.json"
            | "mcp.json"
            | "pyproject.toml"
            | "requirements.txt"
            | "pip.conf"
            | ".npmrc"
    )
}

/// Manifests that run code at installation, and MCP servers that get secrets.
pub(crate) fn manifest(scan: &mut Scan, site: &Site<'_>, name: &str, text: &str) {
    match name {
        "package.json" => npm(scan, site, text),
        "hooks.json" | "settings.json" | "settings.local.json" if text.contains("ooks") => {
            hooked(scan, site, text, 0);
        }
        ".mcp.json" | "mcp.json" | "claude_desktop_config.json" => servers(scan, site, text),
        "pyproject.toml" | "setup.cfg" => build(scan, site, text),
        "requirements.txt" | "pip.conf" | ".npmrc" | ".yarnrc" | "constraints.txt" | "uv.toml" => {
            index(scan, site, text);
        }
        _ => {}
    }
}

fn npm(scan: &mut Scan, site: &Site<'_>, text: &str) {
    static STARTS: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?:^|[;&|]\s*)(?:node|sh|bash|zsh|python3?|ruby|perl|deno|bun|powershell|pwsh|osascript|curl|wget|\./\S+)\s",
        )
    });
    let Ok(value) = serde_json::from_str::<serde_json::Value>(text) else { return };
    let Some(scripts) = value.get("scripts").and_then(serde_json::Value::as_object) else { return };
    for (key, command) in scripts.iter().take(200) {
        let Some(command) = command.as_str() else { continue };
        let written = serde_json::to_string(command).unwrap_or_default();
        let range = text.find(&written).map_or(0..0, |at| at..at + written.len());
        let inner = site.inner(range.clone(), None);
        shell::scan(scan, &inner, command);
        let unasked = matches!(key.as_str(), "preinstall" | "install" | "postinstall");
        if unasked && STARTS.is_match(&format!("{command} ")) {
            let message = format!("`{}` runs at `{key}`", super::unicode::excerpt(command));
            scan.report(site, &PACKAGE_HOOK, range, message);
        }
    }
}

/// A build backend or build dependency from a URL.
fn build(scan: &mut Scan, site: &Site<'_>, text: &str) {
    static REQUIRES: LazyLock<Regex> =
        LazyLock::new(|| regex(r"(?s)\b(?:requires|setup_requires)\s*=\s*(\[[^\]]{0,2000}\]|[^\n]*)"));
    static ADDRESS: LazyLock<Regex> =
        LazyLock::new(|| regex(r"@\s*(?:git\+)?(?:https?|ssh|file)://|(?:git\+)https?://"));
    for found in REQUIRES.captures_iter(text).take(10) {
        if let Some(list) = found.get(1)
            && let Some(address) = ADDRESS.find(list.as_str())
        {
            let range = list.start() + address.start()..list.start() + address.end();
            scan.report(site, &REMOTE_BUILD, range, "the build code of the package comes from a URL");
        }
    }
    index(scan, site, text);
}

/// Settings that name an index of packages.
fn index(scan: &mut Scan, site: &Site<'_>, text: &str) {
    static INDEX: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r#"(?m)^\s*(?:--)?(?:extra-)?(?:index-url|registry|find-links|url|npmRegistryServer|default-index)["']?\s*[=: ]\s*["']?(https?://[^\s"']+)"#,
        )
    });
    for found in INDEX.captures_iter(text).take(20) {
        if let Some(address) = found.get(1)
            && super::effects::foreign_index(address.as_str())
        {
            let message = format!("installs packages from `{}`", super::unicode::excerpt(address.as_str()));
            scan.report(site, &UNPINNED_INDEX, address.range(), message);
        }
    }
}

/// MCP servers that the package configures, and the secrets they get.
fn servers(scan: &mut Scan, site: &Site<'_>, text: &str) {
    let Ok(value) = serde_json::from_str::<serde_json::Value>(text) else { return };
    let Some(servers) =
        value.get("mcpServers").or_else(|| value.get("servers")).and_then(serde_json::Value::as_object)
    else {
        return;
    };
    for (name, server) in servers.iter().take(50) {
        let given = ["env", "headers"].into_iter().filter_map(|key| server.get(key)?.as_object()).flatten();
        let secret = given.filter_map(|(key, value)| Some((key, value.as_str()?))).find(|(key, value)| {
            let lower = key.to_ascii_lowercase();
            ["key", "token", "secret", "password", "credential", "authorization"]
                .iter()
                .any(|word| lower.contains(word))
                && !value.is_empty()
                && !value.starts_with('<')
                && !value.to_ascii_lowercase().contains("your")
        });
        if let Some((key, _)) = secret {
            let range = text.find(key.as_str()).map_or(0..0, |at| at..at + key.len());
            let message = format!(
                "the package configures the MCP server `{}`, which gets `{}`",
                super::unicode::excerpt(name),
                super::unicode::excerpt(key)
            );
            scan.report(site, &CONFIG_SETTINGS, range, message);
        }
    }
}

/// The range of a page's front matter, and the start of its body.
pub fn front_matter(text: &str) -> (Range<usize>, usize) {
    let Some(rest) = text.strip_prefix("---") else { return (0..0, 0) };
    let Some(start) = rest.find('\n').map(|at| at + 4) else { return (0..0, 0) };
    for (at, line) in lines(&text[start..]) {
        if line.trim_end() == "---" {
            let body = (start + at + line.len() + 1).min(text.len());
            return (start..start + at, super::unicode::floor(text, body));
        }
    }
    (0..0, 0)
}

/// The commands in a file: recipes of a Makefile, `RUN` of a Dockerfile, scripts of a package.json,
/// `run:` and `command:` of YAML and similar, each with its offset.
pub(crate) fn recipes(name: &str, text: &str) -> Vec<(usize, String)> {
    static KEYED: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r#"^\s*(?:-\s+)?"?(?:run|command|script|cmd|exec|entrypoint|pre\w+|post\w+|install|build|test|start|prepare|hook|args|before_script)"?\s*[:=]\s*(.+?)\s*,?$"#,
        )
    });
    let mut found = Vec::new();
    let makefile = name == "makefile" || name.rsplit('.').next() == Some("mk") || name == "make";
    let dockerfile = name.contains("dockerfile");
    let mut block: Option<(usize, usize, String)> = None;
    for (at, line) in lines(text) {
        let indent = line.len() - line.trim_start().len();
        if let Some((from, depth, mut lines)) = block.take() {
            if line.trim().is_empty() || indent > depth {
                lines.push_str(line.trim_start());
                lines.push('\n');
                block = Some((from, depth, lines));
                continue;
            }
            found.push((from, lines));
        }
        if makefile {
            if let Some(recipe) = line.strip_prefix('\t') {
                found.push((at + 1, recipe.trim_start_matches(['@', '-', '+']).to_owned()));
            }
        } else if dockerfile {
            if let Some(rest) = line.strip_prefix("RUN ") {
                found.push((at + 4, rest.trim_end_matches('\\').to_owned()));
            }
        } else if let Some(value) = KEYED.captures(line).and_then(|found| found.get(1)) {
            match value.as_str() {
                "|" | ">" | "|-" | ">-" | "|+" => block = Some((at + value.start(), indent, String::new())),
                text => {
                    let bare = text
                        .strip_prefix('"')
                        .and_then(|text| text.strip_suffix('"'))
                        .map(|text| text.replace("\\\"", "\"").replace("\\\\", "\\"));
                    found.push((
                        at + value.start(),
                        bare.unwrap_or_else(|| text.trim_matches('\'').to_owned()),
                    ));
                }
            }
        }
        if found.len() > 500 {
            break;
        }
    }
    if let Some((from, _, lines)) = block {
        found.push((from, lines));
    }
    found
}
