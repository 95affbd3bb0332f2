//! What a compose file and `task.toml` both state, combined as Harbor 0.26 combines them: it writes its limits into a
//! compose file before the task's, and variables and mounts into one after it (`_docker_compose_paths` of
//! `environments/docker/docker.py`).

use std::collections::BTreeMap;

use super::Compose;
use crate::config::{EnvironmentConfig, NetworkWish, TaskConfig};

impl Compose {
    /// Combines the limits of `main` with those of `task.toml`, whose text is `toml`. What Docker Compose would refuse, or what
    /// Harbor would not restrict although `task.toml` asks for it, is added to what is not supported.
    pub(crate) fn combine_limits(&mut self, config: &mut TaskConfig, toml: &str) {
        let EnvironmentConfig { cpus, memory_bytes, .. } = &mut config.environment;
        let limits = &self.main.limits;
        let faults = [
            combine(toml, &limits.lines, "cpus", cpus, limits.cpus, limits.deploy_cpus),
            combine(
                toml,
                &limits.lines,
                "memory",
                memory_bytes,
                limits.memory_bytes,
                limits.deploy_memory_bytes,
            ),
            self.unrestricted(config, toml),
        ];
        self.unsupported.extend(faults.into_iter().flatten());
    }

    /// A network of its own, which Harbor leaves as it is, where `task.toml` restricts the network.
    fn unrestricted(&self, config: &TaskConfig, toml: &str) -> Option<String> {
        let key = self.main.own_network?;
        let wishes = [
            Some(&config.environment.network),
            config.agent_network.as_ref(),
            config.verifier_network.as_ref(),
        ];
        let is_restricted = wishes.into_iter().flatten().any(|wish| *wish != NetworkWish::Public);
        let here = at("docker-compose.yaml", self.main.limits.lines.get(key).copied());
        let there = ["network_mode", "allow_internet"].into_iter().find_map(|key| line_of(toml, key));
        is_restricted.then(|| {
            format!(
                "{here} gives `main` a network of its own (`{key}`), which {} restricts: remove `{key}`",
                at("task.toml", there)
            )
        })
    }
}

/// Sets a limit, and returns why Docker Compose would refuse it: `cpus` and `mem_limit` of the task's compose file replace
/// Harbor's, and `deploy` may not differ from either.
fn combine<T: Copy + PartialEq + std::fmt::Display>(
    toml: &str,
    lines: &BTreeMap<&'static str, usize>,
    what: &str,
    configured: &mut Option<T>,
    own: Option<T>,
    deployed: Option<T>,
) -> Option<String> {
    let (toml_keys, own_key, deploy_key): (&[&str], _, _) = match what {
        "cpus" => (&["cpus"], "cpus", "deploy.cpus"),
        _ => (&["memory_mb", "memory"], "mem_limit", "deploy.memory"),
    };
    let stated = match own {
        Some(_) => at("docker-compose.yaml", lines.get(own_key).copied()),
        None => at("task.toml", toml_keys.iter().find_map(|key| line_of(toml, key))),
    };
    let base = own.or(*configured);
    *configured = base.or(deployed);
    let (base, deployed) = base.zip(deployed)?;
    (base != deployed).then(|| {
        let unit = if what == "cpus" { "processors" } else { "bytes of memory" };
        format!(
            "{} limits `main` to {deployed} {unit} in `deploy`, and {stated} to {base}: Docker Compose takes one value only",
            at("docker-compose.yaml", lines.get(deploy_key).copied())
        )
    })
}

fn at(file: &str, line: Option<usize>) -> String {
    line.map_or_else(|| file.to_owned(), |line| format!("{file} line {line}"))
}

/// The line of a key in a `task.toml`, from 1.
fn line_of(toml: &str, key: &str) -> Option<usize> {
    let is_key = |line: &str| {
        line.split(['{', ',']).any(|part| {
            part.split_once('=').is_some_and(|(before, _)| before.trim().rsplit('.').next() == Some(key))
        })
    };
    toml.lines().position(is_key).map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const GIB: u64 = 1 << 30;

    fn combined(toml: &str, main: &str) -> (TaskConfig, Compose) {
        let mut config = crate::config::parse(toml, Path::new("task.toml")).unwrap().config;
        let mut compose = Compose::parse(&format!("services:\n  main:\n{main}"));
        compose.combine_limits(&mut config, toml);
        (config, compose)
    }

    #[test]
    fn limits_are_those_of_harbor() {
        let check = |toml: &str, main: &str, cpus: Option<f64>, memory: Option<u64>| {
            let (config, compose) = combined(toml, main);
            let environment = &config.environment;
            assert_eq!((environment.cpus, environment.memory_bytes), (cpus, memory), "{toml}\n{main}");
            assert!(compose.unsupported.is_empty(), "{main}: {compose:?}");
        };
        let toml = "[environment]\ncpus = 4\nmemory_mb = 2048\n";
        check(toml, "    build: .\n", Some(4.0), Some(2 * GIB));
        check(toml, "    cpus: 2\n    mem_limit: 1g\n", Some(2.0), Some(GIB));
        check("", "    cpus: '1.5'\n    mem_limit: 512M\n", Some(1.5), Some(GIB / 2));
        check("", "    deploy: { resources: { limits: { cpus: 3, memory: 1GB } } }\n", Some(3.0), Some(GIB));
        let same =
            "    deploy:\n      resources:\n        limits:\n          cpus: '4'\n          memory: 2G\n";
        check(toml, same, Some(4.0), Some(2 * GIB));
        let harbors = "    deploy:\n      resources:\n        limits:\n          cpus: ${CPUS}\n          memory: ${MEMORY:-4G}\n";
        check(toml, harbors, Some(4.0), Some(2 * GIB));
        check("", harbors, None, None);
        check(toml, "    cpus: 0\n", Some(4.0), Some(2 * GIB));
    }

    #[test]
    fn contradictions_name_both_lines() {
        let check = |toml: &str, main: &str, expected: &str| {
            let (_, compose) = combined(toml, main);
            assert_eq!(compose.unsupported, [expected], "{toml}\n{main}");
        };
        let deploy = "    image: x\n    deploy:\n      resources:\n        limits:\n          cpus: '2'\n";
        check(
            "[environment]\ncpus = 4\n",
            deploy,
            "docker-compose.yaml line 7 limits `main` to 2 processors in `deploy`, and task.toml line 2 to 4: Docker Compose takes one value only",
        );
        check(
            "[environment]\nmemory = \"2G\"\n",
            "    deploy: { resources: { limits: { memory: 1g } } }\n",
            "docker-compose.yaml line 3 limits `main` to 1073741824 bytes of memory in `deploy`, and task.toml line 2 to 2147483648: Docker Compose takes one value only",
        );
        check(
            "",
            &format!("    cpus: 1\n{deploy}"),
            "docker-compose.yaml line 8 limits `main` to 2 processors in `deploy`, and docker-compose.yaml line 3 to 1: Docker Compose takes one value only",
        );
        check(
            "[environment]\nnetwork_mode = \"no-network\"\n",
            "    image: x\n    network_mode: bridge\n",
            "docker-compose.yaml line 4 gives `main` a network of its own (`network_mode`), which task.toml line 2 restricts: remove `network_mode`",
        );
        let (_, compose) = combined("", "    cpus: many\n    mem_limit: 3 parrots\n");
        assert_eq!(compose.unsupported.len(), 2, "{compose:?}");
        let (_, compose) =
            combined("[environment]\nnetwork_mode = \"no-network\"\n", "    network_mode: none\n");
        assert!(compose.unsupported.is_empty() && compose.main.no_network);
    }
}
