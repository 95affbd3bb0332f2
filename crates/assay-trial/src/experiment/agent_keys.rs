//! Which keys of `[[agents]]` take effect for which agent. A key without effect is refused: an experiment would
//! state a setting that its trials did not have.

use assay_agent::Placement;
use assay_store::AgentSpec;

use super::mistake::Mistake;

/// How an agent works, as far as its keys depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentKind {
    /// The built-in loop.
    Loop,
    /// A CLI agent behind the gateway.
    Cli,
    /// A CLI agent without a skills folder: its skills can only be listed in its system prompt.
    CliWithoutFolder,
    /// An agent without a model.
    NoModel,
}

impl AgentKind {
    /// The kind of an agent. `None` for an unknown name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        match name {
            "loop" => Some(Self::Loop),
            "oracle" | "nop" => Some(Self::NoModel),
            _ => assay_agent::cli_agents::find(name).map(|harness| {
                if harness.skills_dir().is_some() { Self::Cli } else { Self::CliWithoutFolder }
            }),
        }
    }

    /// Whether its skills are always listed in its system prompt. This one placement may be named.
    pub(crate) fn has_one_placement(self) -> bool {
        matches!(self, Self::Loop | Self::CliWithoutFolder)
    }

    /// Why a key has no effect for such an agent, and what to do. `None` if it has one, or is not known here.
    pub(crate) fn refuse(self, key: &str) -> Option<&'static str> {
        match (self, key) {
            (Self::NoModel, "timeout") => None,
            (Self::NoModel, _) => Some("it uses no model: remove the key"),
            (Self::Cli | Self::CliWithoutFolder, "command_timeout") => {
                Some("it limits its commands by itself: remove the key, or use the agent `loop`")
            }
            (Self::Cli | Self::CliWithoutFolder, "context_tokens") => {
                Some("it manages its context by itself: remove the key, or use the agent `loop`")
            }
            (Self::CliWithoutFolder, "placement") => {
                Some("it has no skills folder of its own: remove the key, or use `placement = \"system\"`")
            }
            (Self::Loop, "placement") => Some(
                "it always lists skills in its system prompt: remove the key, or set it for CLI agents only",
            ),
            _ => None,
        }
    }
}

/// The keys that an agent's table sets. A key that is added to it has to be added here.
pub(crate) fn keys_set(spec: &AgentSpec) -> Vec<&'static str> {
    let AgentSpec {
        // Who it is, and what the experiment is spread over.
        name: _,
        version: _,
        names: _,
        models: _,
        model,
        placement,
        max_turns,
        max_tokens,
        max_usd,
        timeout,
        command_timeout,
        context_tokens,
        max_output_tokens,
        temperature,
        base_url,
        server,
        api_key_env,
        price,
        // Of a table of prices, not of the experiment.
        list_price: _,
    } = spec;
    let keys = [
        ("model", model.is_some()),
        ("placement", placement.is_some()),
        ("max_turns", max_turns.is_some()),
        ("max_tokens", max_tokens.is_some()),
        ("max_usd", max_usd.is_some()),
        ("timeout", timeout.is_some()),
        ("command_timeout", command_timeout.is_some()),
        ("context_tokens", context_tokens.is_some()),
        ("max_output_tokens", max_output_tokens.is_some()),
        ("temperature", temperature.is_some()),
        ("base_url", base_url.is_some()),
        ("server", server.is_some()),
        ("api_key_env", api_key_env.is_some()),
        ("price", price.is_some()),
    ];
    keys.into_iter().filter(|(_, is_set)| *is_set).map(|(key, _)| key).collect()
}

/// The keys of an agent's table without an effect, and a server's name that is none.
pub(super) fn check_keys(spec: &AgentSpec) -> Vec<Mistake> {
    let Some(kind) = AgentKind::of(&spec.name) else { return Vec::new() };
    let is_own = |key: &str| {
        kind.has_one_placement() && key == "placement" && spec.placement == Some(Placement::System)
    };
    let mistake = |key, why| Mistake::KeyWithoutEffect { agent: spec.name.clone(), key, why };
    let keys = keys_set(spec).into_iter().filter(|key| !is_own(key));
    let mut mistakes: Vec<Mistake> = keys.filter_map(|key| Some(mistake(key, kind.refuse(key)?))).collect();
    if !mistakes.is_empty() {
        return mistakes;
    }
    // A script is read from a file: there is no server.
    let is_script = spec.model.as_ref().is_some_and(|model| model.starts_with("scripted:"));
    let of_server = [("base_url", spec.base_url.is_some()), ("server", spec.server.is_some())];
    let without_server = of_server.into_iter().filter(|(_, is_set)| is_script && *is_set);
    let why = "its model is a script, which has no server: remove the key";
    mistakes.extend(without_server.map(|(key, _)| mistake(key, why)));
    let no_name = spec.server.as_ref().filter(|name| !assay_model::is_server_name(name));
    mistakes.extend(no_name.cloned().map(Mistake::ServerName));
    mistakes
}

#[cfg(test)]
mod tests;
