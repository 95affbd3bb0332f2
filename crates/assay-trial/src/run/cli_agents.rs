//! CLI agents: their installation, the route to their model, and the forwarder into the sandbox.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use assay_agent::ending::{self, LastAnswer, ProviderSide};
use assay_agent::{AgentRun, Ended, Endpoint, Estimated, Part, count_model};
use assay_diagnostic::chain;
use assay_gateway::{
    CapKind, CapScope, Capped, Cassette, Exchange, Ledger, Listen, PauseSignal, Proxy, SessionConfig,
    WatchedSkill,
};
use assay_sandbox::{FreezeSignal, Mount, Network};
use assay_store::{Cause, Metered, Store};
use assay_trace::{DatedPrice, Exposure, Price, Prices, SentText, Source, Trajectory};

use crate::run::attempt::Attempt;
use crate::run::broken::{Broken, create_folder};
use crate::run::route::ModelRoute;
use crate::run::sandbox_record;
use crate::run::steps;
use crate::run::trial::ResolvedTrial;

/// The folder in a sandbox with the proxy's socket and the forwarder. Agents see the path, so it
/// does not change.
const INSIDE: &str = "/opt/assay/proxy";

/// Replies of the model to one attempt, for playing it again.
const CASSETTE: &str = "cassette.jsonl";

/// The port at which an agent in a separate network finds its model.
const PORT: u16 = 8790;

/// A proxy that is open for one attempt.
pub(crate) struct ProxyHandle {
    proxy: Proxy,
    port: u16,
    launcher: Vec<String>,
}

impl ProxyHandle {
    /// Opens it in a folder, which [`mounts`] shows to the sandbox.
    pub(crate) fn open(attempt: &Attempt<'_>, route: &ModelRoute) -> Result<Self, Broken> {
        let trial = attempt.trial;
        let folder = attempt.proxy_folder();
        create_folder(&folder)?;
        let mut session = SessionConfig::new(
            trial.id.as_str(),
            route.provider.clone(),
            Listen::Socket(folder.join("socket")),
        );
        session.model.clone_from(&route.model);
        session.caps = route.caps;
        session.budget = attempt.budget.clone();
        session.patience = Some(patience(assay_diagnostic::duration_of_seconds(trial.agent_timeout)));
        session.prices = trial.price.map(prices);
        session.max_output_tokens = route.max_output_tokens;
        session.temperature = route.temperature;
        session.skills = trial
            .provision
            .skills
            .iter()
            .map(|skill| WatchedSkill {
                name: skill.name.clone(),
                description: skill.description.clone(),
                body: skill.body.clone(),
            })
            .collect();
        condition_text(trial).unwrap_or_default().clone_into(&mut session.text);
        session.script_context = trial.script_context();
        session.varying.clone_from(&route.varying);
        session.cassette = match &route.cli_agents.replay {
            Some(store) => Cassette::Replay(cassette(store, trial)?),
            None => Cassette::Record(attempt.folder.join(CASSETTE)),
        };
        let proxy = attempt.cache.gateway.open(session).map_err(|error| Broken::harness_error(&error))?;
        // In the host's network the port must be free; in a separate one every port is.
        let port = match sandbox_record::network(&trial.network) {
            Network::None => PORT,
            Network::Public => TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
                .and_then(|listener| listener.local_addr())
                .map_or(PORT, |address| address.port()),
        };
        let mut launcher = vec![format!("{INSIDE}/assay")];
        launcher.extend(route.cli_agents.forwarder_args.iter().cloned());
        launcher.extend([port.to_string(), format!("{INSIDE}/gateway/socket")]);
        Ok(Self { proxy, port, launcher })
    }

    /// The endpoint for the agent.
    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint { port: self.port, token: self.proxy.token().to_owned(), launcher: self.launcher.clone() }
    }

    /// Freezes the sandbox while the provider is waited for.
    pub(crate) fn pause(&self) -> Arc<dyn FreezeSignal> {
        Arc::new(PauseOnWait(self.proxy.pause_signal()))
    }

    /// Closes it, and returns its ledger.
    pub(crate) fn close(self) -> Ledger {
        self.proxy.close()
    }
}

/// Most time that an agent's requests wait for their provider's limits, all together: twice the
/// agent's own time. At least two minutes, so that a quota by the minute can be waited out.
fn patience(time: Duration) -> Duration {
    time.saturating_mul(2).max(Duration::from_mins(2))
}

/// Freezes a sandbox while its agent's provider is waited for, and ends it when the run's budget is
/// spent.
#[derive(Debug)]
struct PauseOnWait(PauseSignal);

impl FreezeSignal for PauseOnWait {
    fn is_set(&self) -> bool {
        self.0.is_waiting()
    }

    fn set_time(&self) -> Duration {
        self.0.waited()
    }

    fn is_over(&self) -> bool {
        self.0.capped().is_some_and(|capped| capped.scope == CapScope::Run)
    }
}

/// An experiment's price, for any model and any date.
fn prices(price: Price) -> Prices {
    Prices { price: vec![DatedPrice { model: "*".to_owned(), from: jiff::civil::Date::MIN, price }] }
}

/// The cassette of a trial in another store.
fn cassette(store: &Path, trial: &ResolvedTrial) -> Result<PathBuf, Broken> {
    let id = &trial.id;
    let missing = |why: String| {
        let message = format!("no cassette for this trial in {}: {why}", store.display());
        Broken::new(Cause::AgentSetup, message)
    };
    let other = Store::open(store).map_err(|error| missing(chain(&error)))?;
    let record = other.record(id).map_err(|error| missing(chain(&error)))?;
    let record = record.ok_or_else(|| missing("the trial was not executed there".to_owned()))?;
    let attempt = other.trial_folder(id).join("attempts").join(record.attempt.to_string());
    let folder = match &trial.step {
        Some(step) => attempt.join(steps::STEPS).join(step),
        None => attempt,
    };
    let path = folder.join(CASSETTE);
    if path.is_file() {
        Ok(path)
    } else {
        Err(missing("the trial was executed without recording".to_owned()))
    }
}

/// The mounts for an agent with a model route; the folder is the proxy's.
pub(crate) fn mounts(trial: &ResolvedTrial, folder: &Path) -> Vec<Mount> {
    let Some(route) = &trial.route else { return Vec::new() };
    let shown = |source: PathBuf, target: String| Mount { source, target: target.into(), writable: false };
    let mut mounts = trial.agent.mounts();
    mounts.push(shown(route.cli_agents.forwarder.clone(), format!("{INSIDE}/assay")));
    mounts.push(shown(folder.to_path_buf(), format!("{INSIDE}/gateway")));
    mounts
}

/// Overrides the agent's own report with the gateway's: tokens, waits, and why it ended. `time` is
/// the agent's time limit.
pub(crate) fn apply_ledger(run: &mut AgentRun, ledger: &Ledger, time: Duration) {
    let totals = &ledger.totals;
    run.usage = Some(totals.tokens);
    run.estimated = Estimated { requests: totals.estimated, usage: totals.estimated_tokens };
    for model in ledger.exchanges.iter().filter_map(|exchange| exchange.replied_model.as_deref()) {
        count_model(&mut run.replied_models, model);
    }
    run.throttled = assay_diagnostic::duration_of_seconds(ledger.paused_seconds.max(0.0));
    match &ledger.capped {
        Some(Capped { scope: CapScope::Run, reason, .. }) => {
            run.ended = Ended::Broken { part: Part::Budget, message: reason.clone() };
            return;
        }
        Some(capped) => {
            run.ended = match capped.of {
                CapKind::Tokens => Ended::TokenLimit,
                CapKind::Requests => Ended::TurnLimit,
                CapKind::Usd => Ended::CostLimit,
            };
            return;
        }
        None => {}
    }
    if let Some(first) = &ledger.mismatch {
        let mut message = format!(
            "replay mismatch: request {} differs in {}{}",
            first.ordinal + 1,
            first.part,
            first.at.as_deref().unwrap_or_default()
        );
        if first.recorded.is_some() || first.now.is_some() {
            let said = |text: &Option<String>| {
                text.as_ref().map_or("nothing".to_owned(), |text| format!("{text:?}"))
            };
            message.push_str(&format!(": recorded {}, now {}", said(&first.recorded), said(&first.now)));
        }
        run.ended = Ended::Broken { part: Part::AgentSetup, message };
        return;
    }
    run.ended = ending::classify_ending(
        run.ended.clone(),
        &provider_side(ledger, run.ended == Ended::Deadline),
        time,
    );
}

/// The provider's part in the end of a trial, from the requests that went through the proxy.
/// Requests without tools are side requests, and so are token counts. An agent without other
/// requests can have ended this way, but has not run out of time.
fn provider_side(ledger: &Ledger, is_late: bool) -> ProviderSide {
    let asked: Vec<&Exchange> = ledger.exchanges.iter().filter(|one| !one.counts_only()).collect();
    let works: Vec<&Exchange> = asked.iter().copied().filter(|one| one.tools > 0).collect();
    let is_answered = asked.last().is_some_and(|last| last.status != 0 && !last.abandoned);
    let requests = if works.is_empty() && !(is_late && is_answered) { asked.len() } else { works.len() };
    // Failed side requests count if there are no other requests.
    let counted = if works.is_empty() { asked } else { works };
    let answered = counted.iter().rfind(|exchange| exchange.status != 0);
    let last = match answered.filter(|exchange| !exchange.abandoned).map(|exchange| last_answer(exchange)) {
        Some(LastAnswer::Whole) if counted.last().is_some_and(|last| last.status == 0) => LastAnswer::Awaited,
        Some(last) => last,
        // The agent disconnected before the reply was complete.
        None => LastAnswer::Awaited,
    };
    let silent = assay_diagnostic::duration_of_seconds(ledger.silent_seconds.max(0.0));
    ProviderSide { requests, last, silent }
}

/// Classifies the answer to a request whose agent waited for it.
fn last_answer(exchange: &Exchange) -> LastAnswer {
    let Exchange { status, stream, complete, tokens, error, reply_bytes, .. } = exchange;
    if exchange.context_exceeded {
        return LastAnswer::ContextExceeded;
    }
    if exchange.misconfigured {
        return LastAnswer::Misconfigured(error.clone().unwrap_or_default());
    }
    match error {
        Some(error) if *status >= 400 => {
            LastAnswer::Broken(format!("the last request failed ({status}): {error}"))
        }
        Some(error) => LastAnswer::Broken(format!("the provider's last reply is broken: {error}")),
        None if *status >= 400 => LastAnswer::Broken(format!("the last request failed ({status})")),
        None if *stream && !complete && tokens.is_some() => LastAnswer::Broken(format!(
            "the provider's last reply is incomplete: it ended after {reply_bytes} bytes"
        )),
        None => LastAnswer::Whole,
    }
}

/// The proxy's counts, next to the agent's own.
pub(crate) fn metered(trajectory: &Trajectory, ledger: &Ledger, route: &ModelRoute) -> Metered {
    let own = trajectory.final_metrics.as_ref();
    let own = own.and_then(|own| Some(own.total_prompt_tokens? + own.total_completion_tokens?));
    let works = ledger.exchanges.iter().any(|exchange| exchange.tools > 0);
    let beside = ledger.exchanges.iter().filter(|exchange| works && exchange.tools == 0);
    Metered {
        side_request_tokens: beside
            .filter_map(|exchange| exchange.tokens.as_ref())
            .map(assay_trace::Usage::total)
            .sum(),
        requests: ledger.totals.requests,
        tokens: ledger.totals.tokens.total(),
        estimated_tokens: ledger.totals.estimated_tokens.total(),
        transcript_tokens: own,
        replayed: route.cli_agents.replay.is_some(),
    }
}

/// The text of the condition in the prompt; `None` if there is none that is the same for every agent.
fn condition_text(trial: &ResolvedTrial) -> Option<&str> {
    let preface = trial.provision.preface.as_str();
    (!preface.is_empty() && !trial.provision.writes_skills).then_some(preface)
}

/// Whether the condition's text was in what the model was sent: by the requests, or by the conversation of an agent that
/// makes them itself.
pub(crate) fn text_sent(trial: &ResolvedTrial, run: &AgentRun, ledger: Option<&Ledger>) -> Option<bool> {
    let mut text = SentText::new(condition_text(trial)?);
    if let Some(ledger) = ledger {
        return ledger.text_sent;
    }
    let prompts = run.trajectory.steps.iter().filter(|step| step.source != Source::Agent);
    prompts.for_each(|step| text.read(&step.message));
    text.is_sent()
}

/// The requests take precedence over the transcript.
pub(crate) fn correct_exposure(found: &mut [Exposure], trajectory: &Trajectory, ledger: &Ledger) {
    let turns: Vec<usize> = trajectory
        .steps
        .iter()
        .filter(|step| step.source == Source::Agent)
        .map(|step| step.step_id)
        .collect();
    // The content of a request precedes the step that answers it.
    let step = |ordinal: usize| turns.get(ordinal).map_or(trajectory.steps.len(), |turn| turn - 1).max(1);
    for own in found {
        if let Some(seen) = ledger.exposure.iter().find(|seen| seen.skill == own.skill) {
            own.advertised = seen.advertised.map(step);
            own.opened = seen.opened.map(step);
            own.body_lines_delivered = seen.body_lines_delivered;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// A request of an agent's work, answered as it should be.
    fn answer() -> Exchange {
        let tokens = Some(assay_trace::Usage::default());
        Exchange { status: 200, complete: true, tools: 9, tokens, ..Exchange::default() }
    }

    /// One that was answered with an error.
    fn error(status: u16, said: &str) -> Exchange {
        Exchange { status, error: Some(said.to_owned()), complete: false, tokens: None, ..answer() }
    }

    fn ledger(exchanges: &[Exchange], silent_seconds: f64) -> Ledger {
        Ledger {
            schema: Ledger::SCHEMA.to_owned(),
            trial: "t".to_owned(),
            attempt: 1,
            provider: "anthropic".to_owned(),
            model: None,
            totals: assay_gateway::Totals::default(),
            exchanges: exchanges.to_vec(),
            refused: Vec::new(),
            exposure: Vec::new(),
            text_sent: None,
            capped: None,
            paused_seconds: 0.0,
            silent_seconds,
            mismatch: None,
            cassette_error: None,
        }
    }

    fn settled(ended: &Ended, ledger: &Ledger) -> Value {
        let mut run = AgentRun::new(Trajectory::new(assay_trace::AgentInfo::default()), ended.clone());
        apply_ledger(&mut run, ledger, Duration::from_mins(1));
        serde_json::to_value(&run.ended).unwrap()
    }

    /// The proxy's counts become the run's, and its estimates are marked.
    #[test]
    fn estimates_and_reply_models_are_recorded() {
        let named = || Exchange { replied_model: Some("m-1".to_owned()), ..answer() };
        let mut ledger = ledger(&[answer(), named(), named()], 0.0);
        ledger.totals.tokens = assay_trace::Usage { input: 1_100, output: 50, ..Default::default() };
        ledger.totals.estimated = 1;
        ledger.totals.estimated_tokens = assay_trace::Usage { input: 100, output: 8, ..Default::default() };
        let mut run = AgentRun::new(Trajectory::new(assay_trace::AgentInfo::default()), Ended::Finished);
        apply_ledger(&mut run, &ledger, Duration::from_mins(1));
        assert_eq!(run.ended, Ended::Finished);
        assert_eq!(run.usage.map(|usage| (usage.input, usage.output)), Some((1_100, 50)));
        let Estimated { requests, usage } = run.estimated;
        assert_eq!((requests, usage.input, usage.output), (1, 100, 8));
        assert_eq!(run.replied_models.into_iter().collect::<Vec<_>>(), [("m-1".to_owned(), 2)]);
    }

    #[test]
    fn gateway_exchanges_explain_why_a_trial_ended() {
        let broken = |part: Part| Ended::Broken { part, message: "code 1: }".to_owned() };
        let died = || broken(Part::AgentSetup);
        let check = |ended: Ended, exchanges: &[Exchange], expected: &str| {
            let found = settled(&ended, &ledger(exchanges, 0.0));
            let part = found.get("part").and_then(Value::as_str);
            assert_eq!(part.or(found["kind"].as_str()), Some(expected), "{ended:?} {exchanges:#?}");
            found["message"].as_str().unwrap_or_default().to_owned()
        };
        let failed = || error(500, "overloaded");
        let gone = || Exchange { status: 0, abandoned: true, error: Some("away".to_owned()), ..error(0, "") };
        let cut = || Exchange { abandoned: true, ..error(200, "away") };
        let beside = |exchange: Exchange| Exchange { tools: 0, ..exchange };
        check(Ended::Finished, &[answer()], "finished");
        check(Ended::Finished, &[], "agent_setup");
        assert_eq!(
            check(Ended::Finished, &[answer(), failed()], "model_provider"),
            "the last request failed (500): overloaded"
        );
        // A side request, for a title or a count, decides nothing.
        check(Ended::Finished, &[answer(), beside(error(404, "no"))], "finished");
        let count = || Exchange { path: "/v1/messages/count_tokens".to_owned(), ..error(404, "no") };
        check(Ended::Finished, &[answer(), count()], "finished");
        check(Ended::Finished, &[beside(error(401, "no"))], "model_provider");
        check(Ended::Deadline, &[beside(answer())], "agent_setup");
        // Slow is not broken: its time was over while its model still spoke, or had not begun to.
        check(Ended::Deadline, &[answer(), cut()], "deadline");
        check(Ended::Deadline, &[answer(), gone()], "deadline");
        check(Ended::Deadline, &[failed(), failed(), gone()], "model_provider");
        check(died(), &[failed()], "model_provider");
        check(died(), &[answer(), cut()], "agent_setup");
        // The sandbox broke, whatever else failed because of that.
        check(broken(Part::Sandbox), &[failed()], "sandbox");
        // A reply that broke is the provider's fault, whatever the agent printed last.
        for ended in [died(), Ended::Finished, Ended::Deadline] {
            let said = check(
                ended.clone(),
                &[answer(), error(200, "the stream was interrupted: reset")],
                "model_provider",
            );
            assert_eq!(said, "the provider's last reply is broken: the stream was interrupted: reset");
            let short = Exchange { stream: true, complete: false, reply_bytes: 12, ..answer() };
            let said = check(ended.clone(), &[answer(), short], "model_provider");
            assert!(said.contains("it ended after 12 bytes"), "{said}");
            // Too long a conversation is the agent's.
            let long = Exchange { context_exceeded: true, ..error(400, "prompt is too long") };
            check(ended, &[answer(), long], "context_limit");
        }
        check(died(), &[failed(), answer()], "agent_setup");
    }

    #[test]
    fn silent_provider_is_not_an_agent_timeout() {
        let check = |ended: &Ended, exchanges: &[Exchange], silent: f64, expected: &str| {
            let found = settled(ended, &ledger(exchanges, silent));
            assert!(found.to_string().contains(expected), "{ended:?} {silent}: {found}");
        };
        let gone = || Exchange { status: 0, abandoned: true, ..error(0, "away") };
        let hanging = || Exchange { abandoned: true, ..error(200, "away") };
        for last in [gone(), hanging()] {
            check(&Ended::Deadline, &[answer(), last.clone()], 31.0, "sent nothing for 31 s");
            check(&Ended::Deadline, &[answer(), last.clone()], 29.0, "deadline");
            check(&Ended::Finished, &[answer(), last], 31.0, "sent nothing for 31 s");
        }
        check(&Ended::Finished, &[answer()], 31.0, "finished");
        // Also if the first request was a side request.
        check(&Ended::Deadline, &[Exchange { tools: 0, ..gone() }], 50.0, "sent nothing for 50 s");
    }

    #[test]
    fn preflight_timeout_follows_the_agent_timeout() {
        let check = |time: u64, expected: u64| {
            assert_eq!(patience(Duration::from_secs(time)), Duration::from_secs(expected));
        };
        check(10, 120);
        check(40, 120);
        check(600, 1_200);
    }
}
