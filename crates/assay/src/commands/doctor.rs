//! `assay doctor`: checks the environment and suggests fixes.

use assay_sandbox::Mechanism;
use assay_sandbox::docker::Docker;
use assay_store::Store;
use serde_json::json;

use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

/// One thing that was looked at.
struct Finding {
    what: &'static str,
    works: bool,
    text: String,
    advice: Option<String>,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let mut findings = sandbox();
    findings.extend(docker());
    findings.extend(keys());
    findings.push(store(settings));
    let usable =
        findings.iter().any(|finding| matches!(finding.what, "bubblewrap" | "docker") && finding.works);
    if ui.json() {
        let rows: Vec<_> = findings
            .iter()
            .map(|finding| {
                json!({ "what": finding.what, "works": finding.works, "found": finding.text, "advice": finding.advice })
            })
            .collect();
        ui.document(&json!({ "schema": "assay.doctor/1", "can_run": usable, "findings": rows }))?;
    } else {
        for finding in &findings {
            let mark = if finding.works { "ok  " } else { "--  " };
            ui.out(&format!("{mark}{:20}{}\n", finding.what, finding.text))?;
            if let Some(advice) = &finding.advice {
                ui.out(&format!("    {:20}→ {advice}\n", ""))?;
            }
        }
    }
    Ok(if usable { Status::Done } else { Status::Infrastructure })
}

fn sandbox() -> Vec<Finding> {
    match machine::probe() {
        Ok(probe) => {
            let mut findings = vec![Finding {
                what: "bubblewrap",
                works: true,
                text: format!("{} {}", probe.program.display(), probe.version),
                advice: None,
            }];
            let limits = [
                ("limit: CPUs", probe.enforcement.cpus),
                ("limit: memory", probe.enforcement.memory),
                ("limit: processes", probe.enforcement.pids),
                ("limit: disk", probe.enforcement.storage),
            ];
            findings.extend(limits.map(|(what, mechanism)| limit(what, mechanism)));
            findings.extend(probe.warnings.into_iter().map(|warning| Finding {
                what: "sandbox",
                works: false,
                text: warning,
                advice: None,
            }));
            findings
        }
        Err(error) => vec![Finding {
            what: "bubblewrap",
            works: false,
            text: error.to_string(),
            advice: Some("Debian and Ubuntu: apt-get install bubblewrap".to_owned()),
        }],
    }
}

fn limit(what: &'static str, mechanism: Mechanism) -> Finding {
    let (works, text) = match mechanism {
        Mechanism::CgroupV2 => (true, "control groups, version 2"),
        Mechanism::CgroupV1 => (true, "control groups, version 1"),
        Mechanism::Rlimit => (true, "per-process resource limits"),
        Mechanism::Watchdog => (true, "polling by assay, several times a second"),
        Mechanism::Nothing => (false, "cannot be enforced on this machine"),
    };
    let advice = (!works).then(|| {
        "run assay under `systemd-run --user --scope -p Delegate=yes`, or as a user with write access to control groups".to_owned()
    });
    Finding { what, works, text: text.to_owned(), advice }
}

fn docker() -> Vec<Finding> {
    let found = machine::docker_options("doctor", "doctor")
        .map_err(|error| error.to_string())
        .and_then(|options| Docker::connect(options).map_err(|error| error.to_string()));
    match found {
        Ok(docker) => {
            let probe = docker.probe();
            let version = if probe.cgroup == "none" {
                "no control groups".to_owned()
            } else {
                format!("control groups, version {}", probe.cgroup)
            };
            let text = format!("{} (API {}), {version}, {}", probe.version, probe.api, probe.storage);
            let mut findings = vec![Finding { what: "docker", works: true, text, advice: None }];
            let limits = [
                ("docker: CPUs", probe.enforcement.cpus),
                ("docker: memory", probe.enforcement.memory),
                ("docker: processes", probe.enforcement.pids),
            ];
            findings.extend(limits.map(|(what, mechanism)| limit(what, mechanism)).map(|finding| Finding {
                advice: finding.advice.map(|_| "the Docker host has no control group for it".to_owned()),
                ..finding
            }));
            findings.push(buildx());
            findings
        }
        Err(text) => vec![Finding {
            what: "docker",
            works: false,
            text,
            advice: Some(
                "Debian and Ubuntu: apt-get install docker.io; without Docker, tasks that need it are excluded"
                    .to_owned(),
            ),
        }],
    }
}

/// Dockerfiles with here-documents or mounts are built by BuildKit, which the `docker` program reaches through a plugin.
fn buildx() -> Finding {
    let asked = std::process::Command::new("docker")
        .args(["buildx", "version"])
        .stdin(std::process::Stdio::null())
        .output()
        .map(|output| (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned()));
    buildx_finding(asked)
}

/// The finding about buildx, from the success and the output of `docker buildx version`.
fn buildx_finding(asked: std::io::Result<(bool, String)>) -> Finding {
    let (works, text) = match asked {
        Ok((true, said)) => (true, said.lines().next().unwrap_or_default().trim().to_owned()),
        Ok((false, _)) => (false, "the docker CLI has no buildx plugin".to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            (false, "no docker CLI found".to_owned())
        }
        Err(error) => (false, format!("cannot start the docker CLI: {error}")),
    };
    let advice = (!works).then(|| {
        "Debian and Ubuntu: apt-get install docker-cli docker-buildx; without it, tasks whose Dockerfile has here-documents or `RUN --mount` cannot be built".to_owned()
    });
    Finding { what: "docker: buildx", works, text, advice }
}

fn keys() -> Vec<Finding> {
    [
        ("key: openai", "OPENAI_API_KEY"),
        ("key: anthropic", "ANTHROPIC_API_KEY"),
        ("key: gemini", "GEMINI_API_KEY"),
    ]
    .into_iter()
    .map(|(what, name)| {
        let works = machine::env(name).is_some();
        let text = if works { format!("{name} is set") } else { format!("{name} is not set") };
        let advice = (!works).then(|| "only needed for that provider's models".to_owned());
        Finding { what, works, text, advice }
    })
    .collect()
}

fn store(settings: &Settings) -> Finding {
    if !settings.store.exists() {
        let text = format!("{}: does not exist yet; the first run creates it", settings.store.display());
        return Finding { what: "store", works: true, text, advice: None };
    }
    match Store::open(&settings.store) {
        Ok(store) => {
            let counts: Vec<String> = store
                .outcomes()
                .into_iter()
                .map(|(word, n)| format!("{} {n}", word.replace('_', " ")))
                .collect();
            let counts = if counts.is_empty() { "empty".to_owned() } else { counts.join(", ") };
            Finding {
                what: "store",
                works: true,
                text: format!("{}: {counts}", settings.store.display()),
                advice: None,
            }
        }
        Err(error) => Finding {
            what: "store",
            works: false,
            text: error.to_string(),
            advice: Some("choose another with --store DIR".to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use super::*;

    #[test]
    fn buildx_is_there_or_named() {
        let check = |asked, works: bool, part: &str| {
            let found = buildx_finding(asked);
            assert_eq!((found.works, found.advice.is_none()), (works, works), "{}", found.text);
            assert!(found.text.contains(part), "{}", found.text);
        };
        check(Ok((true, "buildx v0.13.1 788433953\nmore\n".to_owned())), true, "buildx v0.13.1 788433953");
        check(Ok((false, String::new())), false, "has no buildx plugin");
        check(Err(Error::from(ErrorKind::NotFound)), false, "no docker CLI");
        check(Err(Error::from(ErrorKind::PermissionDenied)), false, "cannot start");
    }
}
