use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use assay_agent::Disclosure;
use assay_agent::cli_agents::HARNESSES;
use assay_model::Price;
use assay_store::SandboxKind;
use assay_task::TaskConfig;

use super::*;
use crate::MachineContext;
use crate::plan::limits::agent_seconds;
use crate::run::open_agent::{AgentContext, open_agent};
use crate::run::route::CliAgentContext;
use crate::testing::on_machine;

const PRICE: Price = Price {
    input: 1.0,
    output: 2.0,
    cache_read: 0.0,
    cache_write: 0.0,
    cache_write_1h: None,
    above_200k: None,
};

/// A table with one more key. Every key of [`keys_set`] has a value here.
fn set(key: &str, spec: &AgentSpec) -> AgentSpec {
    let mut spec = spec.clone();
    match key {
        "model" => spec.model = Some("openai:other".to_owned()),
        "placement" => {
            let has_one = AgentKind::of(&spec.name).is_some_and(AgentKind::has_one_placement);
            spec.placement = Some(if has_one { Placement::Native } else { Placement::System });
        }
        "max_turns" => spec.max_turns = Some(7),
        "max_tokens" => spec.max_tokens = Some(7_000),
        "max_usd" => spec.max_usd = Some(0.5),
        "timeout" => spec.timeout = Some(7.0),
        "command_timeout" => spec.command_timeout = Some(7.0),
        "context_tokens" => spec.context_tokens = Some(7_000),
        "max_output_tokens" => spec.max_output_tokens = Some(70),
        "temperature" => spec.temperature = Some(0.5),
        "base_url" => spec.base_url = Some("http://127.0.0.1:7/v1".to_owned()),
        "server" => spec.server = Some("lab".to_owned()),
        "api_key_env" => spec.api_key_env = Some("OTHER_KEY".to_owned()),
        "price" => spec.price = Some(Price { input: 7.0, ..PRICE }),
        other => panic!("no value for the key `{other}` in this table"),
    }
    spec
}

/// All keys, by a table that sets them all.
fn all_keys() -> Vec<&'static str> {
    let mut spec = AgentSpec::named("loop");
    let mut keys = Vec::new();
    // Found one by one: what `set` gives no value makes this fail.
    for key in [
        "model",
        "placement",
        "max_turns",
        "max_tokens",
        "max_usd",
        "timeout",
        "command_timeout",
        "context_tokens",
        "max_output_tokens",
        "temperature",
        "base_url",
        "server",
        "api_key_env",
        "price",
    ] {
        spec = set(key, &spec);
        keys.push(key);
    }
    assert_eq!(keys_set(&spec), keys);
    // Keys that this table does not have are in the file's form of the agent.
    let mut form: Vec<String> =
        serde_json::to_value(&spec).unwrap().as_object().unwrap().keys().cloned().collect();
    form.retain(|key| key != "name");
    let mut expected: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
    form.sort();
    expected.sort();
    assert_eq!(form, expected);
    keys
}

/// What can be seen of an agent: its identity, its route to the model, its limits, its server, and the variables
/// that were looked up for it.
fn observe(spec: &AgentSpec, cache: &Path) -> String {
    let asked = Mutex::new(Vec::new());
    let env = |name: &str| {
        asked.lock().unwrap_or_else(PoisonError::into_inner).push(name.to_owned());
        name.ends_with("_KEY").then(|| "key".to_owned())
    };
    on_machine(|machine| {
        let cli_agents = CliAgentContext {
            cache: cache.to_owned(),
            forwarder: "/bin/true".into(),
            forwarder_args: Vec::new(),
            double_args: Vec::new(),
            replay: None,
        };
        let machine = MachineContext { env: &env, cli_agents: Some(cli_agents), ..*machine };
        let context = AgentContext {
            scripts: cache,
            sandbox: SandboxKind::Bubblewrap,
            disclosure: Disclosure::Offered,
        };
        let opened =
            open_agent(spec, context, &machine).unwrap_or_else(|error| panic!("{}: {error}", spec.name));
        let route = opened
            .route
            .as_ref()
            .map(|route| format!("{:?} {:?} {:?}", route.caps, route.max_output_tokens, route.temperature));
        let asked = asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
        format!(
            "{} {route:?} {:?} {:?} {:?} {:?} {asked:?}",
            opened.agent.identity(),
            opened.placement,
            opened.server,
            agent_seconds(spec, &TaskConfig::default()).value,
            spec.price,
        )
    })
}

/// Every key takes effect for every agent, or is refused with the agent's name.
#[test]
fn every_key_takes_effect_for_every_agent_or_is_refused() {
    let cache = tempfile::tempdir().unwrap();
    for harness in HARNESSES {
        let folder = cache.path().join("agents").join(harness.name()).join(harness.package().version);
        let program = folder.join(harness.program());
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::write(program, "").unwrap();
    }
    let mut cells = 0;
    for name in assay_agent::names() {
        let kind =
            AgentKind::of(name).unwrap_or_else(|| panic!("the agent `{name}` has no row in this table"));
        let mut base = AgentSpec::named(name);
        if kind != AgentKind::NoModel {
            let provider = assay_agent::cli_agents::find(name)
                .map_or("openai", |harness| harness.providers().first().copied().unwrap_or("openai"));
            base.model = Some(format!("{provider}:m"));
            // What a cap in USD needs.
            base.price = Some(PRICE);
        }
        assert!(check_keys(&base).is_empty(), "{name}");
        for key in all_keys() {
            let mut spec = set(key, &base);
            if key == "model" && kind != AgentKind::NoModel {
                spec.model = base.model.as_ref().map(|model| format!("{model}2"));
            }
            cells += 1;
            match check_keys(&spec).first() {
                Some(error) => {
                    let error = error.to_string();
                    assert!(error.contains(&format!("`{key}`")) && error.contains(name), "{error}");
                    assert!(kind.refuse(key).is_some(), "{name}: {key}");
                }
                None => assert_ne!(
                    observe(&spec, cache.path()),
                    observe(&base, cache.path()),
                    "`{key}` does nothing for the agent `{name}`, and is not refused"
                ),
            }
        }
    }
    assert_eq!(cells, assay_agent::names().count() * all_keys().len());
}
