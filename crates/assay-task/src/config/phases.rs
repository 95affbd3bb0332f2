//! What a task and each of its steps has: phases, environments, a health check.

use std::path::{Path, PathBuf};

use assay_fs::tree;
use assay_skill::Severity;

use super::environment::{DEFAULT_SECONDS, EnvironmentConfig, Healthcheck, NetworkWish, VerifierMode};
use super::grading::{self, Collect};
use super::mcp;
use super::section::{MOST_MEBIBYTES, Section, Source};
use crate::TaskError;

const MIB: u64 = 1 << 20;

#[derive(Default)]
pub(super) struct Phase {
    pub(super) timeout: Option<f64>,
    pub(super) user: Option<String>,
    pub(super) network: Option<NetworkWish>,
}

pub(super) fn phase(source: &mut Source<'_>, root: &mut Section<'_>, key: &str) -> Result<Phase, TaskError> {
    let Some(mut section) = root.section(source, key)? else { return Ok(Phase::default()) };
    let timeout = section.seconds_or_none(source, "timeout_sec")?;
    let user = section.text(source, "user")?;
    let network = network(source, &mut section)?;
    section.finish(source);
    Ok(Phase { timeout, user, network })
}

#[derive(Default)]
pub(super) struct Verifier {
    pub(super) phase: Phase,
    pub(super) env: std::collections::BTreeMap<String, String>,
    /// If it is stated, or implied by an environment.
    pub(super) mode: Option<VerifierMode>,
    pub(super) collect: Vec<Collect>,
    pub(super) environment: Option<EnvironmentConfig>,
}

pub(super) fn verifier(source: &mut Source<'_>, root: &mut Section<'_>) -> Result<Verifier, TaskError> {
    let Some(mut section) = root.section(source, "verifier")? else { return Ok(Verifier::default()) };
    let timeout = section.seconds(source, "timeout_sec", false)?;
    let user = section.text(source, "user")?;
    let env = section.string_map(source, "env")?;
    let environment = match section.section(source, "environment")? {
        Some(own) => Some(environment_of(source, own, None)?),
        None => None,
    };
    let given = section.take_value("environment_mode");
    let mode = match given.as_ref().map(|value| value.get_ref().as_str()) {
        Some(Some("shared")) => Some(VerifierMode::Shared),
        Some(Some("separate")) => Some(VerifierMode::Separate),
        Some(_) => {
            let span = given.map(|value| value.span()).unwrap_or_default();
            let message = "`verifier.environment_mode` is neither `shared` nor `separate`";
            return Err(source.error(&span, message, "write \"shared\" or \"separate\""));
        }
        None if environment.is_some() => Some(VerifierMode::Separate),
        None => None,
    };
    let collect = grading::collect(source, &mut section)?;
    let network = network(source, &mut section)?;
    section.finish(source);
    Ok(Verifier { phase: Phase { timeout, user, network }, env, mode, collect, environment })
}

pub(super) fn environment(
    source: &mut Source<'_>,
    root: &mut Section<'_>,
    pids: Option<u64>,
) -> Result<EnvironmentConfig, TaskError> {
    match root.section(source, "environment")? {
        Some(section) => environment_of(source, section, pids),
        None => Ok(EnvironmentConfig { pids, ..EnvironmentConfig::default() }),
    }
}

fn environment_of(
    source: &mut Source<'_>,
    mut section: Section<'_>,
    pids: Option<u64>,
) -> Result<EnvironmentConfig, TaskError> {
    let mut config = EnvironmentConfig { pids, ..EnvironmentConfig::default() };
    config.docker_image = section.string(source, "docker_image")?.filter(|image| !image.trim().is_empty());
    config.cpus = section.processors(source, "cpus")?;
    config.memory_bytes = size(source, &mut section, "memory_mb", "memory")?;
    config.storage_bytes = size(source, &mut section, "storage_mb", "storage")?;
    config.env = section.string_map(source, "env")?;
    config.workdir = absolute(source, &mut section, "workdir")?;
    config.skills_dir = absolute(source, &mut section, "skills_dir")?;
    config.build_timeout = section.seconds(source, "build_timeout_sec", false)?.unwrap_or(DEFAULT_SECONDS);
    let kinds = section.strings(source, "gpu_types")?.len();
    let tpu = section.section(source, "tpu")?.is_some();
    let least = u64::from(kinds > 0 || tpu);
    config.gpus = section.count(source, "gpus")?.unwrap_or(least);
    config.mcp_servers = mcp::servers(source, &mut section)?;
    config.windows = section.string(source, "os")?.is_some_and(|os| os.eq_ignore_ascii_case("windows"));
    config.healthcheck = healthcheck(source, &mut section)?;
    let internet = section.boolean(source, "allow_internet")?;
    let wish = network(source, &mut section)?;
    config.network = match (wish, internet) {
        (Some(wish), _) => wish,
        (None, Some((true, _)) | None) => NetworkWish::Public,
        (None, Some((false, span))) => {
            let message = "`allow_internet` is the old name of `network_mode`";
            source.note(
                Severity::Info,
                "legacy-key",
                &span,
                message,
                "write `network_mode = \"no-network\"`",
            );
            NetworkWish::None
        }
    };
    section.finish(source);
    Ok(config)
}

pub(super) fn healthcheck(
    source: &mut Source<'_>,
    section: &mut Section<'_>,
) -> Result<Option<Healthcheck>, TaskError> {
    let Some(mut check) = section.section(source, "healthcheck")? else { return Ok(None) };
    let span = check.span().clone();
    let Some(command) = check.string(source, "command")? else {
        return Err(source.error(
            &span,
            "`healthcheck` has no `command`",
            "add the command, or remove the table",
        ));
    };
    // The format's keys end in `_sec`; the same without it are accepted.
    let mut seconds = |key: &str, from_zero: bool| -> Result<Option<f64>, TaskError> {
        let plain = check.seconds(source, key, from_zero)?;
        Ok(check.seconds(source, &format!("{key}_sec"), from_zero)?.or(plain))
    };
    let interval = seconds("interval", false)?.unwrap_or(5.0);
    let timeout = seconds("timeout", false)?.unwrap_or(30.0);
    let start_period = seconds("start_period", true)?.unwrap_or(0.0);
    let start_interval = seconds("start_interval", false)?.unwrap_or(5.0);
    let retries = check.count(source, "retries")?.unwrap_or(3);
    check.finish(source);
    Ok(Some(Healthcheck { command, interval, timeout, start_period, start_interval, retries }))
}

fn absolute(
    source: &mut Source<'_>,
    section: &mut Section<'_>,
    key: &str,
) -> Result<Option<PathBuf>, TaskError> {
    let Some(value) = section.take_value(key) else { return Ok(None) };
    let name = section.dotted(key);
    match value.get_ref().as_str().map(Path::new) {
        Some(path) if path.is_absolute() => Ok(tree::normalize(path)),
        _ => {
            let message = format!("`{name}` is not an absolute path");
            Err(source.error(&value.span(), message, "use a path that starts with `/`"))
        }
    }
}

/// A size in bytes: `…_mb` as a number of MiB, or the old key as a text with a unit.
fn size(
    source: &mut Source<'_>,
    section: &mut Section<'_>,
    key: &str,
    legacy: &str,
) -> Result<Option<u64>, TaskError> {
    let old = section.take_value(legacy);
    if let Some(megabytes) = section.mebibytes(source, key)? {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a positive number that is bounded"
        )]
        return Ok(Some((megabytes * MIB as f64).ceil() as u64));
    }
    let Some(old) = old else { return Ok(None) };
    let name = section.dotted(legacy);
    let Some(bytes) = old.get_ref().as_str().and_then(size_of) else {
        let message = format!("`{name}` is not a size such as \"2G\", at most 1024T");
        return Err(source.error(&old.span(), message, format!("write `{key}` with a number")));
    };
    let message = format!("`{name}` is the old name of `{key}`");
    source.note(
        Severity::Info,
        "legacy-key",
        &old.span(),
        message,
        "use the new name, with the number of MiB",
    );
    Ok(Some(bytes))
}

/// A number with a unit: K, M, G or T, powers of 1024, an `i` and a `B` allowed after it.
fn size_of(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number: f64 = text[..digits].parse().ok().filter(|number| *number > 0.0)?;
    let unit = text[digits..].trim().to_ascii_uppercase();
    let factor: u64 = match unit.strip_suffix('B').map_or(unit.as_str(), |u| u.strip_suffix('I').unwrap_or(u))
    {
        "K" => 1 << 10,
        "M" => MIB,
        "G" => 1 << 30,
        "T" => 1 << 40,
        _ => return None,
    };
    let bytes = Some(number * factor as f64).filter(|bytes| *bytes <= MOST_MEBIBYTES * MIB as f64)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive number that is bounded"
    )]
    Some(bytes.ceil() as u64)
}

/// `network_mode` and `allowed_hosts` of a table.
fn network(source: &mut Source<'_>, section: &mut Section<'_>) -> Result<Option<NetworkWish>, TaskError> {
    let hosts = section.strings(source, "allowed_hosts")?;
    let Some(value) = section.take_value("network_mode") else {
        if let Some((_, span)) = hosts.first() {
            let message =
                format!("`{}` without `network_mode` has no effect", section.dotted("allowed_hosts"));
            source.note(
                Severity::Warning,
                "allowed-hosts",
                span,
                message,
                "add `network_mode = \"allowlist\"`",
            );
        }
        return Ok(None);
    };
    match value.get_ref().as_str() {
        Some("public") => Ok(Some(NetworkWish::Public)),
        Some("no-network") => Ok(Some(NetworkWish::None)),
        Some("allowlist") => {
            Ok(Some(NetworkWish::Allowlist(hosts.into_iter().map(|(host, _)| host).collect())))
        }
        _ => {
            let message = format!("`{}` is not a network mode", section.dotted("network_mode"));
            Err(source.error(&value.span(), message, "write \"public\", \"no-network\" or \"allowlist\""))
        }
    }
}
