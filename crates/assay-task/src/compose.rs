//! `environment/docker-compose.yaml`, as far as plain containers on one internal network can
//! replace it.
//!
//! A task's compose file is untrusted. Its services are turned into plain containers, by the keys
//! that are known here. Access to the host (privileges, host mounts, host namespaces, devices, the
//! engine's socket) is refused; what merely needs more than such containers is left out with the
//! reason.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use assay_diagnostic::{MOST_SECONDS, group_digits};
use serde_json::{Map, Value};

use crate::config::Healthcheck;

mod combine;
#[cfg(test)]
mod tests;
mod values;

/// Most bytes that are read.
const CAP: usize = 256 << 10;

/// A parsed compose file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Compose {
    /// The known part of the service `main`.
    pub main: Service,
    /// The other services, in an order in which each follows those that it depends on.
    pub others: Vec<Service>,
    /// What would reach the host: the task is refused.
    pub hostile: Vec<String>,
    /// Mounts of the host that only serve an agent's own login. They are never made: the task is
    /// refused, unless the caller drops them.
    pub logins: Vec<LoginMount>,
    /// What plain containers cannot replace: the task is excluded.
    pub unsupported: Vec<String>,
}

/// A mount of credentials on the host, such as those of a cloud's command-line client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginMount {
    /// The service.
    pub service: String,
    /// The path on the host, as written.
    pub source: String,
    /// Its path inside.
    pub target: String,
}

impl std::fmt::Display for LoginMount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the service `{}` mounts {} of the host, which contains credentials",
            self.service, self.source
        )
    }
}

/// A service. The agent works in the one called `main`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Service {
    /// Its name, by which the others reach it.
    pub name: String,
    /// `image`, where nothing is built.
    pub image: Option<String>,
    /// `build.context`, relative to `environment/`; empty for all of it.
    pub context: Option<PathBuf>,
    /// `build.dockerfile`, relative to the context; default `Dockerfile`.
    pub dockerfile: Option<PathBuf>,
    /// `environment`, with `${VAR}` as written.
    pub env: BTreeMap<String, String>,
    /// `working_dir`, absolute.
    pub workdir: Option<PathBuf>,
    /// `user`.
    pub user: Option<String>,
    /// `healthcheck`.
    pub healthcheck: Option<Healthcheck>,
    /// `network_mode: none`.
    pub no_network: bool,
    /// `network_mode` or `networks`, if it has one of its own: Harbor restricts such a network never. Of `main` only.
    pub own_network: Option<&'static str>,
    /// Limits of `main`.
    pub limits: Limits,
    /// `entrypoint`, in words; `None`: the image's. Always `None` for `main`.
    pub entrypoint: Option<Vec<String>>,
    /// `command`, in words; `None`: the image's. Always `None` for `main`.
    pub command: Option<Vec<String>>,
    /// `container_name` and `hostname`, by which the others reach it as well.
    pub aliases: Vec<String>,
    /// `depends_on`: services that start before it, and whether they have to be healthy first.
    pub after: BTreeMap<String, bool>,
}

/// Limits of the service `main`, as far as the file has values of its own for them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Limits {
    /// `cpus`.
    pub cpus: Option<f64>,
    /// `mem_limit`, in bytes.
    pub memory_bytes: Option<u64>,
    /// `deploy.resources.limits.cpus`.
    pub deploy_cpus: Option<f64>,
    /// `deploy.resources.limits.memory`, in bytes.
    pub deploy_memory_bytes: Option<u64>,
    /// The lines of what `main` states, by key.
    lines: BTreeMap<&'static str, usize>,
}

/// Keys of a service that have no effect on assay's container.
const IGNORED: [&str; 24] = [
    "attach",
    "container_name",
    "cpu_count",
    "cpu_shares",
    "cpus",
    "deploy",
    "expose",
    "hostname",
    "init",
    "labels",
    "logging",
    "mem_limit",
    "mem_reservation",
    "memswap_limit",
    "pids_limit",
    "platform",
    "ports",
    "pull_policy",
    "restart",
    "shm_size",
    "stdin_open",
    "stop_grace_period",
    "stop_signal",
    "tty",
];

/// Variables that the format's own runner sets for compose files, and their values here.
const KNOWN: [(&str, &str); 11] = [
    ("CONTEXT_DIR", "."),
    ("MAIN_IMAGE_NAME", ""),
    ("PREBUILT_IMAGE_NAME", ""),
    ("CPUS", "1"),
    ("MEMORY", "1G"),
    ("HOST_AGENT_LOGS_PATH", LOGS),
    ("HOST_VERIFIER_LOGS_PATH", LOGS),
    ("HOST_ARTIFACTS_PATH", LOGS),
    ("ENV_AGENT_LOGS_PATH", "/logs/agent"),
    ("ENV_VERIFIER_LOGS_PATH", "/logs/verifier"),
    ("ENV_ARTIFACTS_PATH", "/logs/artifacts"),
];

/// Replaces the runner's own folders of logs, which are provided anyway.
const LOGS: &str = "\u{1}logs";

impl Compose {
    /// Reads a compose file. Never fails: what cannot be read is in [`Compose::unsupported`].
    pub fn parse(text: &str) -> Self {
        let mut found = Self::default();
        match read(text) {
            Ok(file) => {
                found.file(&file);
                found.main.limits.lines = values::lines_of_main(text);
            }
            Err(reason) => found.unsupported.push(reason.to_string()),
        }
        found
    }

    fn file(&mut self, file: &Map<String, Value>) {
        for key in file.keys().filter(|key| !key.starts_with("x-")) {
            match key.as_str() {
                "services" | "version" | "name" | "networks" | "volumes" => {}
                other => self.unsupported.push(format!("top-level `{other}`")),
            }
        }
        let Some(services) = file.get("services").and_then(Value::as_object) else {
            self.unsupported.push("it has no services".to_owned());
            return;
        };
        for (name, service) in services {
            let Some(service) = service.as_object() else {
                self.unsupported.push(format!("the service `{name}` is not a mapping"));
                continue;
            };
            self.check_harm(name, service);
            let mut reader = ServiceReader::new(name, services.len() > 1);
            reader.read(service);
            self.unsupported.append(&mut reader.unsupported);
            if name == "main" {
                self.main = reader.found;
            } else {
                self.others.push(reader.found);
            }
        }
        if !services.contains_key("main") {
            self.unsupported.push("no service called `main`".to_owned());
        }
        if !self.others.is_empty() {
            for key in ["networks", "volumes"] {
                let named = file.get(key).and_then(Value::as_object).into_iter().flat_map(Map::keys);
                for name in named.filter(|name| *name != "default") {
                    self.unsupported.push(format!("a named entry under `{key}`: {name}"));
                }
            }
        }
        self.order_services();
    }

    /// Puts the services into an order in which they can be started.
    fn order_services(&mut self) {
        let names: Vec<&str> = self.others.iter().map(|service| service.name.as_str()).collect();
        for service in self.others.iter().chain([&self.main]) {
            for (other, healthy) in &service.after {
                let found = self.others.iter().find(|service| service.name == *other);
                let reason = match found {
                    None if other == "main" => "`main`, which is started last".to_owned(),
                    None => format!("`{other}`, which is none of {}", names.join(", ")),
                    Some(found) if *healthy && found.healthcheck.is_none() => {
                        format!("the health of `{other}`, which has no `healthcheck` in the compose file")
                    }
                    Some(_) => continue,
                };
                self.unsupported.push(format!("`{}` depends on {reason}", service.name));
            }
        }
        let mut waiting = std::mem::take(&mut self.others);
        while !waiting.is_empty() {
            let names: Vec<String> = waiting.iter().map(|service| service.name.clone()).collect();
            let is_ready = |service: &Service| service.after.keys().all(|other| !names.contains(other));
            let (ready, blocked): (Vec<_>, Vec<_>) = waiting.into_iter().partition(is_ready);
            if ready.is_empty() {
                self.unsupported.push(format!("services that depend on each other: {}", names.join(", ")));
                self.others.extend(blocked);
                return;
            }
            self.others.extend(ready);
            waiting = blocked;
        }
    }

    /// What of a service would reach the host.
    fn check_harm(&mut self, name: &str, service: &Map<String, Value>) {
        let mut harm = |what: String| self.hostile.push(format!("the service `{name}` {what}"));
        let given = |key: &str| service.get(key).filter(|value| !is_empty(value));
        if given("privileged").is_some_and(|value| !matches!(text(value).as_str(), "false" | "no")) {
            harm("is privileged".to_owned());
        }
        for key in ["network_mode", "pid", "ipc", "uts", "userns_mode", "cgroup"] {
            if let Some(value) = given(key).map(text)
                && (value == "host" || value.starts_with("container:"))
            {
                harm(format!("sets `{key}: {value}`"));
            }
        }
        for key in [
            "cap_add",
            "devices",
            "device_cgroup_rules",
            "volumes_from",
            "cgroup_parent",
            "credential_spec",
            "gpus",
        ] {
            if given(key).is_some() {
                harm(format!("sets `{key}`"));
            }
        }
        let options = service.get("security_opt").and_then(Value::as_array).into_iter().flatten().map(text);
        for option in options.filter(|option| !option.starts_with("no-new-privileges")) {
            harm(format!("sets `security_opt: {option}`"));
        }
        let mut logins = Vec::new();
        for volume in service.get("volumes").and_then(Value::as_array).into_iter().flatten() {
            let Some(source) = host_path(volume) else { continue };
            let target = target_of(volume, &source);
            if is_login(&source, &target) {
                logins.push(LoginMount { service: name.to_owned(), source, target });
            } else {
                harm(format!("mounts {source} of the host"));
            }
        }
        if let Some(build) = service.get("build").and_then(Value::as_object) {
            for key in ["entitlements", "secrets", "ssh", "privileged"] {
                if build.contains_key(key) {
                    harm(format!("sets `build.{key}`"));
                }
            }
            if build.get("network").is_some_and(|network| text(network) == "host") {
                harm("sets `build.network: host`".to_owned());
            }
        }
        self.logins.extend(logins);
        let context = match service.get("build") {
            Some(Value::String(context)) => Some(context.clone()),
            Some(Value::Object(build)) => build.get("context").map(text),
            _ => None,
        };
        if let Some(context) = context.and_then(|context| expand(&context)) {
            let climbs = Path::new(&context).components().any(|part| part == Component::ParentDir);
            if climbs || Path::new(&context).is_absolute() {
                harm(format!("builds from {context}, outside the task's environment"));
            }
        }
        for key in ["env_file", "extends"] {
            if given(key).is_some() {
                self.unsupported.push(format!("`{key}` of the service `{name}`"));
            }
        }
    }
}

/// Reads one service.
struct ServiceReader {
    found: Service,
    /// Whether there are other services.
    has_others: bool,
    unsupported: Vec<String>,
}

impl ServiceReader {
    fn new(name: &str, has_others: bool) -> Self {
        let found = Service { name: name.to_owned(), ..Service::default() };
        Self { found, has_others, unsupported: Vec::new() }
    }

    fn is_main(&self) -> bool {
        self.found.name == "main"
    }

    /// Notes what plain containers cannot replace.
    fn refuse(&mut self, what: &str) {
        self.unsupported.push(format!("{what} of `{}`", self.found.name));
    }

    fn read(&mut self, service: &Map<String, Value>) {
        for (key, value) in service.iter().filter(|(key, _)| !key.starts_with("x-")) {
            match key.as_str() {
                "image" => self.found.image = self.known(key, value).filter(|image| !image.is_empty()),
                "build" => self.build(value),
                "environment" => self.environment(value),
                "working_dir" => match self.known(key, value).map(PathBuf::from) {
                    Some(path) if path.is_absolute() => self.found.workdir = Some(path),
                    _ => self.refuse("a relative `working_dir`"),
                },
                "user" => self.found.user = self.known(key, value).filter(|user| !user.is_empty()),
                "command" | "entrypoint" if !self.is_main() => self.program(key, value),
                "command" | "entrypoint" if is_empty(value) || keeps_container_alive(value) => {}
                "command" | "entrypoint" => {
                    self.unsupported
                        .push(format!("`main` has a `{key}` that does more than keep the container running"));
                }
                "cpus" if self.is_main() => self.found.limits.cpus = self.processors(key, value),
                "mem_limit" if self.is_main() => self.found.limits.memory_bytes = self.bytes(key, value),
                "deploy" if self.is_main() => {
                    let limit = |key: &str| value.pointer(&format!("/resources/limits/{key}"));
                    self.found.limits.deploy_cpus = limit("cpus").and_then(|own| self.processors(key, own));
                    self.found.limits.deploy_memory_bytes =
                        limit("memory").and_then(|own| self.bytes(key, own));
                }
                "ports" if !self.is_main() && !is_empty(value) => self.refuse("published `ports`"),
                "deploy" if !self.is_main() => {
                    let keys = value.as_object().into_iter().flat_map(Map::keys);
                    for key in keys.filter(|key| *key != "resources") {
                        self.refuse(&format!("`deploy.{key}`"));
                    }
                }
                "container_name" | "hostname" if !self.is_main() => {
                    let name = self.known(key, value).filter(|name| !name.is_empty());
                    self.found.aliases.extend(name);
                }
                "depends_on" => self.dependencies(value),
                "networks" | "links" if self.has_others && !is_default_network(value) => {
                    self.refuse(&format!("`{key}`"));
                }
                "networks" if self.is_main() && !is_empty(value) => self.found.own_network = Some("networks"),
                "healthcheck" => self.healthcheck(value),
                "network_mode" => match self.known(key, value).as_deref() {
                    Some("none") if !self.has_others => self.found.no_network = true,
                    Some("bridge" | "default") if !self.has_others => {
                        self.found.own_network = Some("network_mode");
                    }
                    Some("" | "host") | None => {}
                    Some(other) => self.refuse(&format!("`network_mode: {other}`")),
                },
                // The first are checked for harm elsewhere; a container here has fewer capabilities
                // anyway; the last name nothing but the one network.
                "privileged"
                | "pid"
                | "ipc"
                | "uts"
                | "userns_mode"
                | "cgroup"
                | "cap_add"
                | "devices"
                | "device_cgroup_rules"
                | "volumes_from"
                | "cgroup_parent"
                | "credential_spec"
                | "gpus"
                | "security_opt"
                | "env_file"
                | "extends"
                | "cap_drop"
                | "networks"
                | "links" => {}
                "volumes" => {
                    for volume in value.as_array().into_iter().flatten() {
                        if host_path(volume).is_none() && !is_logs(volume) {
                            self.refuse("a volume");
                        }
                    }
                }
                known if IGNORED.contains(&known) => {}
                _ if is_empty(value) => {}
                other => self.refuse(&format!("`{other}`")),
            }
        }
        if !self.is_main() && self.found.image.is_none() && self.found.context.is_none() {
            self.refuse("no `image` and no `build`");
        }
        if self.found.image.is_none() && self.found.context.is_none() {
            self.found.context = Some(PathBuf::new());
        }
    }

    /// A number of processors. The variable that Harbor sets is the number of task.toml.
    fn processors(&mut self, key: &str, value: &Value) -> Option<f64> {
        let given = self.own_limit(key, value)?;
        let number = given.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
        if number.is_none() && given.trim() != "0" {
            self.refuse(&format!("`{key}` with {given:?} processors"));
        }
        number
    }

    /// A number of bytes, with a unit or without one. The variable that Harbor sets is the number of task.toml.
    fn bytes(&mut self, key: &str, value: &Value) -> Option<u64> {
        let given = self.own_limit(key, value)?;
        let bytes = values::bytes(&given);
        if bytes.is_none() {
            self.refuse(&format!("`{key}` with {given:?} of memory"));
        }
        bytes.filter(|bytes| *bytes > 0)
    }

    /// A limit that is no variable of Harbor's.
    fn own_limit(&mut self, key: &str, value: &Value) -> Option<String> {
        let raw = text(value);
        let is_harbors = ["CPUS", "MEMORY"]
            .iter()
            .any(|name| raw.contains(&format!("${name}")) || raw.contains(&format!("${{{name}")));
        if is_harbors || is_empty(value) { None } else { self.known(key, value) }
    }

    /// `command` or `entrypoint` of a service that runs a program.
    fn program(&mut self, key: &str, value: &Value) {
        let words = match value {
            Value::Null => return,
            Value::Array(words) => Some(words.iter().map(text).collect::<Vec<_>>()),
            other => split_words(&text(other)),
        };
        let words: Option<Vec<String>> =
            words.and_then(|words| words.iter().map(|word| expand(word)).collect());
        match words {
            None => self.refuse(&format!("a `{key}` with an open quote or an unset variable")),
            Some(words) if key == "command" => self.found.command = Some(words),
            Some(words) => self.found.entrypoint = Some(words),
        }
    }

    fn dependencies(&mut self, value: &Value) {
        match value {
            Value::Array(names) => {
                self.found.after.extend(names.iter().map(|name| (text(name), false)));
            }
            Value::Object(names) => {
                for (name, how) in names {
                    let condition = how.get("condition").map(text).unwrap_or_default();
                    match condition.as_str() {
                        "" | "service_started" => self.found.after.insert(name.clone(), false),
                        "service_healthy" => self.found.after.insert(name.clone(), true),
                        other => {
                            self.refuse(&format!("`condition: {other}`"));
                            None
                        }
                    };
                }
            }
            _ => {}
        }
    }

    fn build(&mut self, value: &Value) {
        let build = match value {
            Value::String(_) => Map::from_iter([("context".to_owned(), value.clone())]),
            Value::Object(build) => build.clone(),
            _ => return,
        };
        self.found.context = Some(PathBuf::new());
        for (key, value) in &build {
            match key.as_str() {
                "context" => {
                    let context = self.known(key, value).unwrap_or_default();
                    self.found.context = assay_fs::tree::normalize(Path::new(&context));
                }
                "dockerfile" => {
                    let file =
                        self.known(key, value).and_then(|file| assay_fs::tree::normalize(Path::new(&file)));
                    match file.filter(|file| file.is_relative()) {
                        Some(file) => self.found.dockerfile = Some(file),
                        None => self.refuse("a `build.dockerfile` outside the context"),
                    }
                }
                "network" | "entitlements" | "secrets" | "ssh" | "privileged" | "labels" | "tags"
                | "cache_from" | "cache_to" | "no_cache" | "pull" | "platforms" => {}
                _ if is_empty(value) => {}
                other => self.refuse(&format!("`build.{other}`")),
            }
        }
    }

    fn environment(&mut self, value: &Value) {
        let pairs: Vec<(String, Option<String>)> = match value {
            Value::Object(map) => map
                .iter()
                .map(|(name, value)| (name.clone(), (!value.is_null()).then(|| text(value))))
                .collect(),
            Value::Array(list) => list
                .iter()
                .map(text)
                .map(|pair| match pair.split_once('=') {
                    Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                    None => (pair, None),
                })
                .collect(),
            _ => Vec::new(),
        };
        for (name, value) in pairs {
            // A name alone passes the host's own value on: only if the experiment allows it.
            let value = value.unwrap_or_else(|| format!("${{{name}}}"));
            let value = expand(&value).unwrap_or(value).replace(LOGS, "/logs");
            self.found.env.insert(name, value);
        }
    }

    fn healthcheck(&mut self, value: &Value) {
        let Some(check) = value.as_object() else { return };
        let given = |key: &str| check.get(key);
        if given("disable").is_some_and(|value| text(value) == "true") {
            return;
        }
        let command = match given("test") {
            Some(Value::String(command)) => Some(command.clone()),
            Some(Value::Array(words)) => {
                let words: Vec<String> = words.iter().map(text).collect();
                match words.split_first() {
                    Some((first, _)) if first == "NONE" => return,
                    Some((first, rest)) if first == "CMD-SHELL" => Some(rest.join(" ")),
                    Some((first, rest)) if first == "CMD" => Some(quoted(rest)),
                    _ => None,
                }
            }
            _ => None,
        };
        let Some(command) = command else {
            self.refuse("a `healthcheck` without a test");
            return;
        };
        let retries = given("retries").and_then(Value::as_u64).unwrap_or(3);
        self.found.healthcheck = Some(Healthcheck {
            command,
            interval: self.seconds(check, "interval", 5.0),
            timeout: self.seconds(check, "timeout", 30.0),
            start_period: self.seconds(check, "start_period", 0.0),
            start_interval: self.seconds(check, "start_interval", 5.0),
            retries,
        });
    }

    /// A time of a healthcheck. 0 is the default, as for Compose.
    fn seconds(&mut self, check: &Map<String, Value>, key: &str, default: f64) -> f64 {
        let Some(value) = check.get(key).filter(|value| !value.is_null()) else { return default };
        let Some(given) = self.known(key, value) else { return default };
        match seconds(&given) {
            Some(0.0) => default,
            Some(seconds) if seconds <= MOST_SECONDS => seconds,
            _ => {
                let (name, most) = (&self.found.name, group_digits(MOST_SECONDS));
                let expected = format!("expected a time of at most {most} seconds");
                self.unsupported.push(format!("`healthcheck.{key}: {given}` of `{name}`: {expected}"));
                default
            }
        }
    }

    /// A value whose variables are known.
    fn known(&mut self, key: &str, value: &Value) -> Option<String> {
        let raw = text(value);
        let expanded = expand(&raw);
        if expanded.is_none() {
            self.unsupported.push(format!("an unset variable in `{key}`: {raw}"));
        }
        expanded
    }
}

/// Why a compose file is not read.
#[derive(Debug, thiserror::Error)]
enum Unreadable {
    #[error("it is larger than {CAP} bytes")]
    TooLarge,
    #[error("it is not a mapping")]
    NotAMapping,
    #[error("it cannot be read: {}", .0.without_snippet().to_string().lines().next().unwrap_or_default())]
    Yaml(serde_saphyr::Error),
}

fn read(text: &str) -> Result<Map<String, Value>, Unreadable> {
    if text.len() > CAP {
        return Err(Unreadable::TooLarge);
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 32,
            flow_nesting_limit: 32,
            max_nodes: 20_000,
            max_events: 60_000,
            max_aliases: 256,
            max_anchors: 256,
            max_documents: 1,
            max_total_scalar_bytes: 4 * CAP,
            max_recorded_anchor_bytes: 4 * CAP,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 20_000,
            max_replay_stack_depth: 8,
        },
        emit_comments: false,
        with_snippet: false,
    };
    match serde_saphyr::from_str_with_options::<Value>(text, options) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(Unreadable::NotAMapping),
        Err(error) => Err(Unreadable::Yaml(error)),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether the `networks` of a service are the one that all services have anyway.
fn is_default_network(value: &Value) -> bool {
    match value {
        Value::Array(names) => names.iter().all(|name| text(name) == "default"),
        Value::Object(names) => names.iter().all(|(name, how)| name == "default" && is_empty(how)),
        other => is_empty(other),
    }
}

/// The words of a command that is written as text: separated by white space, quoted as in a shell.
/// `None` if a quote is not closed.
fn split_words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (None | Some('"'), '\\') => {
                let next = letters.next()?;
                // Within quotes a backslash stays, except before what it protects there.
                let word = word.get_or_insert_default();
                if quote.is_some() && !matches!(next, '"' | '\\' | '$' | '`') {
                    word.push('\\');
                }
                word.push(next);
            }
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// Whether a command only keeps its container alive.
fn keeps_container_alive(value: &Value) -> bool {
    let command = match value {
        Value::Array(words) => words.iter().map(text).collect::<Vec<_>>().join(" "),
        other => text(other),
    };
    let words: Vec<&str> = command
        .split(|c: char| c.is_whitespace() || matches!(c, '"' | '\''))
        .filter(|word| {
            !matches!(*word, "" | "sh" | "bash" | "/bin/sh" | "/bin/bash" | "-c" | "-l" | "-lc" | "exec")
        })
        .collect();
    matches!(words[..], ["sleep", "infinity" | "inf"] | ["tail", "-f", "/dev/null"] | [] | ["cat" | "true"])
        || matches!(words[..], ["sleep", number] if number.trim_end_matches(['s', 'm', 'h', 'd']).parse::<u64>().is_ok())
}

/// The host's path that a volume shows inside, unless it is one of the runner's own folders of
/// logs.
fn host_path(volume: &Value) -> Option<String> {
    let source = match volume {
        Value::Object(map) if map.get("type").is_none_or(|kind| text(kind) == "bind") => {
            text(map.get("source")?)
        }
        Value::Object(_) => return None,
        other => {
            let whole = text(other);
            let expanded = expand(&whole).unwrap_or(whole);
            let (source, _) = expanded.split_once(':')?;
            source.to_owned()
        }
    };
    let source = expand(&source).unwrap_or(source);
    let names_a_path = source.starts_with(['/', '.', '~', '$']);
    (names_a_path && source != LOGS).then_some(source)
}

/// The target of a volume with the given source.
fn target_of(volume: &Value, source: &str) -> String {
    match volume {
        Value::Object(map) => map.get("target").map(text).unwrap_or_default(),
        other => {
            let whole = text(other);
            let whole = expand(&whole).unwrap_or(whole);
            let after =
                whole.strip_prefix(source).and_then(|after| after.strip_prefix(':')).unwrap_or_default();
            after.split(':').next().unwrap_or_default().to_owned()
        }
    }
}

/// Files and folders of a home that contain credentials of command-line clients.
const LOGINS: [&str; 18] = [
    ".config",
    ".ssh",
    ".aws",
    ".azure",
    ".gcloud",
    ".kube",
    ".netrc",
    ".git-credentials",
    ".gitconfig",
    ".gnupg",
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
    ".qwen",
    ".huggingface",
    ".docker",
    "google-auth",
];

/// The path below a home, by the ways in which homes are written.
fn below_home(path: &str) -> Option<&str> {
    let home = ["~/", "$HOME/", "${HOME}/", "/root/"].iter().find_map(|home| path.strip_prefix(home));
    home.or_else(|| path.strip_prefix("/home/").and_then(|rest| rest.split_once('/')).map(|(_, rest)| rest))
}

/// Whether a mount only passes on the host's login: from a well-known path of a home to the same
/// path of another, or from a variable with such a name to a path in a home.
fn is_login(source: &str, target: &str) -> bool {
    let Some(inside) = below_home(target) else { return false };
    if source.contains("..") || source.contains(".sock") {
        return false;
    }
    if let Some(below) = below_home(source) {
        return below == inside && below.split('/').next().is_some_and(|first| LOGINS.contains(&first));
    }
    let variable = source.strip_prefix('$').map(|name| name.trim_start_matches('{').trim_end_matches('}'));
    variable.is_some_and(|name| {
        name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && ["AUTH", "CREDENTIAL", "LOGIN"].iter().any(|word| name.to_ascii_uppercase().contains(word))
    })
}

fn is_logs(volume: &Value) -> bool {
    let source = match volume {
        Value::Object(map) => map.get("source").map(text).unwrap_or_default(),
        other => text(other),
    };
    expand(&source).unwrap_or(source).starts_with(LOGS)
}

/// Expands known variables and defaults; `None` if one is neither.
fn expand(value: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = value;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if let Some(escaped) = after.strip_prefix('$') {
            out.push('$');
            rest = escaped;
            continue;
        }
        let (name, default, left) = if let Some(inside) = after.strip_prefix('{') {
            let (inside, left) = inside.split_once('}')?;
            let end = inside.find([':', '-', '?', '+']).unwrap_or(inside.len());
            let (name, operator) = inside.split_at(end);
            let default = operator.strip_prefix(":-").or_else(|| operator.strip_prefix('-'));
            (name, default, left)
        } else {
            let end = after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(after.len());
            (&after[..end], None, &after[end..])
        };
        let known = KNOWN.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        out.push_str(known.or(default)?);
        rest = left;
    }
    out.push_str(rest);
    Some(out)
}

/// Words for a shell.
fn quoted(words: &[String]) -> String {
    let quote = |word: &String| format!("'{}'", word.replace('\'', r"'\''"));
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// `1m30s`, `500ms`, `30`: in seconds. `None` if it is not a time.
fn seconds(text: &str) -> Option<f64> {
    let mut total = 0.0;
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
        let number: f64 = rest[..end].parse().ok()?;
        rest = &rest[end..];
        let unit_end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        total += number
            * match &rest[..unit_end] {
                "" | "s" => 1.0,
                "ms" => 0.001,
                "us" => 0.000_001,
                "m" => 60.0,
                "h" => 3600.0,
                _ => return None,
            };
        rest = &rest[unit_end..];
    }
    (!text.trim().is_empty()).then_some(total)
}
