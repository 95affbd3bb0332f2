//! Problems of a manifest.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{Manifest, Unreadable, hooks, local, read_text, real, scan, strings};
use crate::client::Client;
use crate::diagnostic::Severity::{Error, Warning};
use crate::diagnostic::{Severities, Span};
use crate::rule::{Findings, Rule, rule};

const PLUGIN: Severities = Severities::none().with(Error, &[Client::ClaudeCode]);
const MILD: Severities = Severities::none().with(Warning, &[Client::ClaudeCode]);

pub(crate) const RULES: &[Rule] = &[
    rule!(
        "manifest-json",
        PLUGIN,
        [],
        "Claude Code, Codex",
        "plugin.json, marketplace.json or hooks.json is not JSON: the plugin does not load",
        "Correct the JSON at the reported position."
    ),
    rule!(
        "manifest-field",
        PLUGIN,
        [],
        "Claude Code, Codex",
        "a manifest lacks a required field, or the field has the wrong type",
        "Add the field, or correct its type as the message says."
    ),
    rule!(
        "manifest-path",
        MILD,
        [],
        "Claude Code, Codex",
        "a manifest or a hook names a path that does not exist or leaves the plugin",
        "Correct the path, which is relative to the plugin's folder, or add the file."
    ),
    rule!(
        "hook-event",
        MILD,
        [145],
        "Claude Code",
        "a hook of a plugin uses an event that Claude Code does not have",
        "Use an event that Claude Code has, such as `PreToolUse` or `Stop`."
    ),
    rule!(
        "hook-matcher",
        MILD,
        [145],
        "Claude Code",
        "a hook has a matcher for an event that ignores matchers",
        "Remove the matcher, and check in the hook whether to act."
    ),
];

/// Fields of plugin.json that name files or folders of the plugin.
const PATHS: [&str; 8] =
    ["commands", "agents", "skills", "hooks", "mcpServers", "outputStyles", "lspServers", "apps"];

/// Checks all manifests.
pub(crate) fn check(manifests: &[Manifest], findings: &mut Findings) {
    let mut hooked: Vec<PathBuf> = Vec::new();
    for manifest in manifests {
        let mut checker = ManifestCheck { manifest, findings };
        let Some(json) = checker.parse(&manifest.file, &manifest.text) else { continue };
        let Some(fields) = json.as_object() else {
            checker
                .report("manifest-field", None, "the manifest must be an object")
                .hint("write {\"name\": …}");
            continue;
        };
        if manifest.is_marketplace() {
            checker.marketplace(fields);
        } else {
            let files = checker.plugin(fields);
            for file in files {
                let place = manifest.root.join(&file);
                if !hooked.contains(&place) {
                    checker.hooks_file(&file);
                    hooked.push(place);
                }
            }
        }
    }
}

struct ManifestCheck<'a> {
    manifest: &'a Manifest,
    findings: &'a mut Findings,
}

impl ManifestCheck<'_> {
    /// The client that reads the manifest.
    fn severities(&self, base: Severities) -> Severities {
        let severity = base.of(Client::ClaudeCode).unwrap_or(Warning);
        let client = if self.manifest.is_codex() { Client::Codex } else { Client::ClaudeCode };
        Severities::none().with(severity, &[client])
    }

    /// A finding in the manifest, at the first place of a text in it.
    fn report(
        &mut self,
        code: &'static str,
        at: Option<&str>,
        message: impl Into<String>,
    ) -> crate::rule::LastFinding<'_> {
        let text = self.manifest.text.as_deref().unwrap_or_default();
        self.report_in(code, &self.manifest.file.clone(), text, at, message)
    }

    fn report_in(
        &mut self,
        code: &'static str,
        file: &Path,
        text: &str,
        at: Option<&str>,
        message: impl Into<String>,
    ) -> crate::rule::LastFinding<'_> {
        let span = at.and_then(|at| text.find(at).map(|start| Span::of(text, &(start..start + at.len()))));
        let base = RULES.iter().find(|rule| rule.code == code).map_or(MILD, |rule| rule.severities);
        let severities = self.severities(base);
        self.findings.add_at(code, file, span.or(Some(Span::at(1, 1))), message).severities(severities)
    }

    /// The JSON of a file. A byte-order mark is not JSON either.
    fn parse(&mut self, file: &Path, text: &Result<String, Unreadable>) -> Option<Value> {
        let base = self.severities(PLUGIN);
        let text = match text {
            Ok(text) => text,
            Err(why) => {
                self.findings
                    .add_at("manifest-json", file, None, format!("cannot be read: {why}"))
                    .severities(base)
                    .hint("use a UTF-8 file in the plugin of at most 1 MiB");
                return None;
            }
        };
        match serde_json::from_str(text) {
            Ok(value) => Some(value),
            Err(error) => {
                let place = Span::at(error.line().max(1), error.column().max(1));
                let message = error.to_string();
                let what = message.split(" at line ").next().unwrap_or_default();
                self.findings
                    .add_at("manifest-json", file, Some(place), format!("not JSON: {what}"))
                    .severities(base)
                    .hint("correct the syntax: the plugin does not load until then");
                None
            }
        }
    }

    /// A required text.
    fn text(&mut self, fields: &Map<String, Value>, key: &str, whose: &str) {
        match fields.get(key) {
            Some(Value::String(text)) if !text.trim().is_empty() => {}
            Some(_) => {
                self.report(
                    "manifest-field",
                    Some(&format!("\"{key}\"")),
                    format!("`{key}` of {whose} must be a string"),
                )
                .hint("write a non-empty string");
            }
            None => {
                self.report("manifest-field", None, format!("{whose} has no `{key}`"))
                    .hint(format!("add `{key}`"));
            }
        }
    }

    /// A plugin's manifest. Returns its files of hooks, relative to the plugin.
    fn plugin(&mut self, fields: &Map<String, Value>) -> Vec<PathBuf> {
        self.text(fields, "name", "the plugin");
        if let Some(name) = fields.get("name").and_then(Value::as_str)
            && name.contains(char::is_whitespace)
        {
            self.report(
                "manifest-field",
                Some(&format!("\"{name}\"")),
                format!("`name` contains a space: `{name}`"),
            )
            .hint("separate words with hyphens: skills are invoked as `plugin:skill`");
        }
        let root = self.manifest.root.clone();
        let mut files = vec![PathBuf::from("hooks/hooks.json")];
        for key in PATHS {
            for path in strings(fields.get(key)) {
                let inside = self.path(&root, key, path);
                if inside
                    && key == "hooks"
                    && Path::new(path).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
                {
                    files.push(PathBuf::from(path.trim_start_matches("./")));
                }
            }
        }
        if let Some(events) = fields.get("hooks").and_then(Value::as_object) {
            let events = events.get("hooks").and_then(Value::as_object).unwrap_or(events);
            let (file, text) =
                (self.manifest.file.clone(), self.manifest.text.as_deref().unwrap_or_default().to_owned());
            self.events(&file, &text, events);
        }
        if self.manifest.is_codex() {
            return Vec::new();
        }
        files.retain(|file| root.join(file).is_file());
        files
    }

    /// Checks a path that a manifest names. Returns whether it is a path in the plugin's folder.
    fn path(&mut self, root: &Path, key: &str, path: &str) -> bool {
        if path.contains("://") || path.contains('*') || path.contains("${") {
            return false;
        }
        let quoted = format!("\"{path}\"");
        let target = real(&root.join(path));
        if path.starts_with('/') || !target.starts_with(real(root)) {
            self.report(
                "manifest-path",
                Some(&quoted),
                format!("`{key}`: `{path}` leaves the plugin's folder"),
            )
            .hint("only the plugin's own folder is installed: use a path in it, for example `./skills`");
            return false;
        }
        if !target.exists() {
            self.report("manifest-path", Some(&quoted), format!("`{key}`: `{path}` does not exist"))
                .hint("correct the path, or remove it");
        }
        true
    }

    fn marketplace(&mut self, fields: &Map<String, Value>) {
        self.text(fields, "name", "the marketplace");
        match fields.get("owner").map(|owner| owner.get("name").and_then(Value::as_str)) {
            Some(Some(name)) if !name.trim().is_empty() => {}
            Some(_) => {
                self.report("manifest-field", Some("\"owner\""), "`owner` has no `name`")
                    .hint("write {\"name\": …}");
            }
            None => {
                self.report("manifest-field", None, "the marketplace has no `owner`")
                    .hint("add {\"name\": …}");
            }
        }
        let Some(plugins) = fields.get("plugins").and_then(Value::as_array) else {
            self.report("manifest-field", None, "the marketplace has no `plugins` list")
                .hint("list its plugins, each with `name` and `source`");
            return;
        };
        let base = fields.get("metadata").and_then(|of| of.get("pluginRoot")).and_then(Value::as_str);
        let root = real(&self.manifest.root);
        let mut seen: Vec<&str> = Vec::new();
        for (at, entry) in plugins.iter().enumerate() {
            let Some(entry) = entry.as_object() else {
                self.report(
                    "manifest-field",
                    None,
                    format!("entry {} of `plugins` must be an object", at + 1),
                )
                .hint("write {\"name\": …, \"source\": …}");
                continue;
            };
            let whose = match entry.get("name").and_then(Value::as_str) {
                Some(name) => format!("the entry `{name}`"),
                None => format!("entry {} of `plugins`", at + 1),
            };
            self.text(entry, "name", &whose);
            if let Some(name) = entry.get("name").and_then(Value::as_str) {
                if seen.contains(&name) {
                    self.report(
                        "manifest-field",
                        Some(&format!("\"{name}\"")),
                        format!("two entries are named `{name}`"),
                    )
                    .hint("give each plugin a unique name");
                }
                seen.push(name);
            }
            match entry.get("source") {
                Some(Value::String(source)) => {
                    let quoted = format!("\"{source}\"");
                    match local(&root, base.unwrap_or_default(), source) {
                        Some(own) if !own.starts_with(&root) => {
                            self.report(
                                "manifest-path",
                                Some(&quoted),
                                format!("`source` of {whose} leaves the marketplace"),
                            )
                            .hint("use a path in it, for example `./plugins/name`");
                        }
                        Some(own) if !own.is_dir() => {
                            self.report(
                                "manifest-path",
                                Some(&quoted),
                                format!("`source` of {whose} is not a folder: `{source}`"),
                            )
                            .hint("correct the path, or remove the entry");
                        }
                        Some(own) => {
                            for path in strings(entry.get("skills")) {
                                self.path(&own, "skills", path);
                            }
                        }
                        None => {}
                    }
                }
                Some(Value::Object(_)) => {}
                Some(_) => {
                    self.report(
                        "manifest-field",
                        None,
                        format!("`source` of {whose} is neither a path nor an object"),
                    )
                    .hint("write a path such as `./plugins/name`, or {\"source\": \"github\", \"repo\": …}");
                }
                None => {
                    self.report("manifest-field", None, format!("{whose} has no `source`")).hint(
                        "write a path such as `./plugins/name`, or {\"source\": \"github\", \"repo\": …}",
                    );
                }
            }
        }
    }

    /// A file of hooks.
    fn hooks_file(&mut self, path: &Path) {
        let file = &self.manifest.root.join(path);
        let text = read_text(&self.manifest.root, path);
        let Some(json) = self.parse(file, &text) else { return };
        let text = text.unwrap_or_default();
        match json.get("hooks").and_then(Value::as_object) {
            Some(events) => self.events(file, &text, events),
            None => {
                self.report_in("manifest-field", file, &text, None, "missing object `hooks`")
                    .hint("write {\"hooks\": {\"PreToolUse\": [{\"matcher\": …, \"hooks\": […]}]}}");
            }
        }
    }

    fn events(&mut self, file: &Path, text: &str, events: &Map<String, Value>) {
        for (event, groups) in events {
            let quoted = format!("\"{event}\"");
            if !hooks::is_event(event) {
                let hint = match hooks::nearest(event) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "write an event such as `PreToolUse`".to_owned(),
                };
                self.report_in("hook-event", file, text, Some(&quoted), format!("unknown event `{event}`"))
                    .hint(hint);
            }
            let Some(groups) = groups.as_array() else {
                self.report_in(
                    "manifest-field",
                    file,
                    text,
                    Some(&quoted),
                    format!("the value of `{event}` is not a list"),
                )
                .hint("write a list of {\"matcher\": …, \"hooks\": […]}");
                continue;
            };
            for group in groups {
                let matcher = group.get("matcher").and_then(Value::as_str).unwrap_or_default();
                if hooks::ignores_matchers(event) && !matches!(matcher, "" | "*") {
                    self.report_in(
                        "hook-matcher",
                        file,
                        text,
                        Some(&quoted),
                        format!("`{event}` ignores its matcher `{matcher}`: the hook runs every time"),
                    )
                    .hint("remove the matcher, and check in the hook whether to act");
                }
                let Some(list) = group.get("hooks").and_then(Value::as_array) else {
                    self.report_in(
                        "manifest-field",
                        file,
                        text,
                        Some(&quoted),
                        format!("an item of `{event}` has no `hooks` list"),
                    )
                    .hint("write {\"matcher\": …, \"hooks\": [{\"type\": \"command\", \"command\": …}]}");
                    continue;
                };
                for hook in list {
                    self.hook(file, text, event, hook);
                }
            }
        }
    }

    fn hook(&mut self, file: &Path, text: &str, event: &str, hook: &Value) {
        let quoted = format!("\"{event}\"");
        let kind = hook.get("type").and_then(Value::as_str).unwrap_or_default();
        let needs: &[&str] = match kind {
            "command" => &["command"],
            "prompt" | "agent" => &["prompt"],
            "http" => &["url"],
            "mcp_tool" => &["server", "tool"],
            _ => {
                let what = format!("a hook of `{event}` has no `type` that Claude Code recognizes");
                self.report_in("manifest-field", file, text, Some(&quoted), what)
                    .hint("write `command`, `prompt`, `agent`, `http` or `mcp_tool`");
                return;
            }
        };
        for key in needs {
            if hook.get(key).and_then(Value::as_str).is_none_or(|text| text.trim().is_empty()) {
                self.report_in(
                    "manifest-field",
                    file,
                    text,
                    Some(&quoted),
                    format!("a hook of `{event}` has the type `{kind}` but no `{key}`"),
                )
                .hint(format!("add `{key}`"));
            }
        }
        let command = hook.get("command").and_then(Value::as_str).unwrap_or_default();
        for path in scan::paths(command) {
            // A folder may be made by the hook; a name with an ending is a file of the plugin.
            let names_file = path.rsplit('/').next().is_some_and(|name| name.contains('.'));
            if names_file && !self.manifest.root.join(path).exists() {
                self.report_in(
                    "manifest-path",
                    file,
                    text,
                    Some(path),
                    format!("a hook of `{event}` runs `{path}`, which does not exist"),
                )
                .hint("correct the path: it is relative to the plugin's folder");
            }
        }
    }
}
