//! The environment of a trial's commands: the task's variables, with those from the host that the
//! experiment allows.

use std::collections::BTreeMap;
use std::path::Path;

use assay_task::{LoginMount, Task};

/// The variables of a trial, by phase.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskEnv {
    /// For the agent's commands.
    pub agent: Vec<(String, String)>,
    /// In addition for the verifier.
    pub verifier: Vec<(String, String)>,
    /// For the services beside `main`, by their names.
    pub services: BTreeMap<String, Vec<(String, String)>>,
    /// For the solution, which the oracle runs.
    pub solution: Vec<(String, String)>,
}

/// Why a variable has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnvError {
    /// `${` without its end.
    #[error("missing closing brace in `{0}`")]
    Bracket(String),
    /// Not allowed, or not set.
    #[error("it needs the environment variable `{0}`: set it and add it to `allow_env` in the experiment")]
    Missing(String),
}

impl TaskEnv {
    /// The variables of a task, of which those in `allowed` may come from the host.
    pub(crate) fn of(
        task: &Task,
        allowed: &[String],
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, EnvError> {
        let config = &task.config;
        let compose = task.environment.compose.as_ref();
        let mut own = compose.map(|compose| compose.main.env.clone()).unwrap_or_default();
        let logins = compose.map(|compose| compose.logins.as_slice());
        let others = compose.map_or(&[][..], |compose| &compose.others);
        let mut services: BTreeMap<&str, BTreeMap<String, String>> =
            others.iter().map(|service| (service.name.as_str(), service.env.clone())).collect();
        if let Some(logins) = logins.filter(|logins| !logins.is_empty()) {
            for values in services.values_mut().chain([&mut own]) {
                values.retain(|_, value| !serves_login(value, logins, allowed));
            }
        }
        own.extend(config.environment.env.clone());
        let expanded = |values: &BTreeMap<String, String>| {
            values
                .iter()
                .map(|(name, value)| Ok((name.clone(), expand(value, allowed, env)?)))
                .collect::<Result<Vec<_>, EnvError>>()
        };
        Ok(Self {
            agent: expanded(&own)?,
            services: services
                .iter()
                .map(|(name, values)| Ok(((*name).to_owned(), expanded(values)?)))
                .collect::<Result<_, EnvError>>()?,
            verifier: expanded(&config.verifier_env)?,
            solution: expanded(&config.solution_env)?,
        })
    }
}

/// Whether a variable of a compose file that mounts a login belongs to it: it points into the
/// mount, or passes on a variable of the host that the experiment does not name. Compose itself
/// leaves such variables empty if the host has none.
pub(crate) fn serves_login(value: &str, logins: &[LoginMount], allowed: &[String]) -> bool {
    let points = logins
        .iter()
        .any(|login| !login.target.is_empty() && Path::new(value).starts_with(login.target.as_str()));
    let handed = value.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let handed = handed.filter(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
    points || handed.is_some_and(|name| !allowed.iter().any(|known| known == name))
}

/// Replaces `${VAR}` and `${VAR:-default}` by allowed values.
pub(crate) fn expand(
    value: &str,
    allowed: &[String],
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<String, EnvError> {
    let mut expanded = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        expanded.push_str(before);
        let (inside, after) = after.split_once('}').ok_or_else(|| EnvError::Bracket(value.to_owned()))?;
        let (name, default) =
            inside.split_once(":-").map_or((inside, None), |(name, default)| (name, Some(default)));
        let found = if allowed.iter().any(|allowed| allowed == name) { env(name) } else { None };
        let text = found.or_else(|| default.map(str::to_owned));
        expanded.push_str(&text.ok_or_else(|| EnvError::Missing(name.to_owned()))?);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}
