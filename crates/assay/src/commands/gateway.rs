//! `assay gateway`: a metering proxy between an agent and its model, outside of trials.

mod serve;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assay_diagnostic::group_digits;
use assay_gateway::{
    Caps, Cassette, Gateway, GatewayError, GatewayOptions, Ledger, Limits, Listen, Pace, Protocol, Provider,
    ProviderOptions, Proxy, SessionConfig, WatchedSkill,
};
use assay_report::{clean, counted};

use super::trace::package;
use crate::args::gateway::{GatewayArgs, GatewayWhat, ProxyArgs};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::prices;
use crate::ui::Ui;

pub(crate) fn run(args: &GatewayArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    match (&args.what, &args.proxy) {
        (Some(GatewayWhat::Serve(args)), _) => serve::run(args, settings, ui),
        (None, Some(args)) => run_proxy(args, ui),
        (None, None) => Err(Failure::bad_input("`--provider NAME` is missing")),
    }
}

fn run_proxy(args: &ProxyArgs, ui: &Ui) -> Result<Status, Failure> {
    let proxy = open(args)?;
    let interrupted = machine::interrupted()?;
    let ended = if args.command.is_empty() {
        announce(&proxy, ui);
        while !interrupted.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(50));
        }
        true
    } else {
        run_agent(args, &proxy, &interrupted)?
    };
    let ledger = proxy.close();
    if ui.json() {
        ui.document(&ledger)?;
    } else {
        ui.out(&render(&ledger))?;
    }
    let succeeded =
        ended && ledger.capped.is_none() && ledger.mismatch.is_none() && ledger.cassette_error.is_none();
    Ok(if succeeded { Status::Done } else { Status::DidNotHold })
}

fn open(args: &ProxyArgs) -> Result<Proxy, Failure> {
    let options = ProviderOptions {
        // A replay sends nothing to the provider.
        keyless: args.replay.is_some(),
        base_url: args.base_url.clone(),
        api_key_env: args.api_key_env.clone(),
        directory: PathBuf::new(),
        pace: Pace {
            requests_per_minute: args.requests_per_minute,
            tokens_per_minute: args.tokens_per_minute,
        },
    };
    let provider =
        Provider::open(&args.provider, &options, &|name| std::env::var(name).ok()).map_err(failed)?;
    let listen = args.socket.clone().map_or(Listen::Loopback(args.port), Listen::Socket);
    let mut session = SessionConfig::new("interactive", provider, listen);
    session.model.clone_from(&args.model);
    session.max_output_tokens = args.max_output_tokens;
    session.caps = Caps { tokens: args.max_tokens, usd: args.max_usd, requests: args.max_requests };
    session.concurrency = usize::from(args.concurrency);
    session.provider_tools.clone_from(&args.provider_tools);
    session.skills = args.skills.iter().map(|path| watched(path)).collect::<Result<_, _>>()?;
    session.cassette = match (&args.record, &args.replay) {
        (Some(path), _) => Cassette::Record(path.clone()),
        (None, Some(path)) => Cassette::Replay(path.clone()),
        (None, None) => Cassette::Off,
    };
    let mut limits = Limits::default();
    limits.connections = limits.connections.max(2 * session.concurrency);
    if args.no_retries {
        limits.retries = 0;
    }
    let prices = args.prices.as_deref().map(prices::read).transpose()?.unwrap_or_default();
    Gateway::new(GatewayOptions { limits, prices }).open(session).map_err(failed)
}

fn watched(path: &Path) -> Result<WatchedSkill, Failure> {
    let package = package(path)?;
    Ok(WatchedSkill { name: package.name, description: package.description, body: package.body })
}

fn failed(error: GatewayError) -> Failure {
    match error {
        GatewayError::Listen { source, address } => {
            Failure::infrastructure(format!("cannot listen on {address}: {source}"))
                .hint("choose another --port or --socket")
        }
        GatewayError::System(_) => Failure::infrastructure(error.to_string()),
        GatewayError::Unpriced(_) => {
            Failure::bad_input(error.to_string()).hint("add its price to the file given with --prices")
        }
        error => Failure::bad_input(error.to_string()),
    }
}

/// Addresses and token, as the environment variables that agents read.
fn variables(proxy: &Proxy) -> [(&'static str, String); 6] {
    let url = |protocol| proxy.base_url(protocol, 0);
    let token = proxy.token().to_owned();
    [
        ("ANTHROPIC_BASE_URL", url(Protocol::AnthropicMessages)),
        ("ANTHROPIC_API_KEY", token.clone()),
        ("OPENAI_BASE_URL", url(Protocol::OpenaiResponses)),
        ("OPENAI_API_KEY", token.clone()),
        ("GOOGLE_GEMINI_BASE_URL", url(Protocol::Gemini)),
        ("GEMINI_API_KEY", token),
    ]
}

fn announce(proxy: &Proxy, ui: &Ui) {
    match proxy.socket() {
        Some(socket) => {
            ui.note(&format!("listening on {} with the token {}", socket.display(), proxy.token()));
        }
        None => {
            for (name, value) in variables(proxy) {
                ui.note(&format!("export {name}={value}"));
            }
        }
    }
    ui.note("press Ctrl-C to stop and print the ledger");
}

/// Runs the agent and returns whether it succeeded. Real keys in this environment are not passed on.
fn run_agent(args: &ProxyArgs, proxy: &Proxy, interrupted: &AtomicBool) -> Result<bool, Failure> {
    let Some((program, arguments)) = args.command.split_first() else { return Ok(true) };
    if proxy.socket().is_some() {
        return Err(Failure::bad_input("--socket cannot be used with a command: agents need a port"));
    }
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(std::io::stderr());
    for name in ["ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY"].into_iter().chain(args.api_key_env.as_deref()) {
        command.env_remove(name);
    }
    let mut child = command.envs(variables(proxy)).spawn().map_err(|error| {
        Failure::bad_input(format!("cannot start {}: {error}", clean(program)))
            .hint("check that it is in the PATH")
    })?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.success()),
            Ok(None) if interrupted.load(Ordering::Relaxed) => {
                let _ = child.kill();
                let _ = child.wait();
                return Ok(false);
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(50)),
            Err(error) => return Err(Failure::infrastructure(format!("cannot wait for the agent: {error}"))),
        }
    }
}

fn render(ledger: &Ledger) -> String {
    let mut text = String::new();
    for exchange in &ledger.exchanges {
        let tokens = exchange.tokens.unwrap_or_default();
        text.push_str(&format!(
            "{:>4}  {:<18}  {:<24}  {}  in {} (cached {})  out {}{}",
            exchange.ordinal,
            exchange.protocol,
            clean(&exchange.model),
            exchange.status,
            tokens.prompt(),
            tokens.cache_read,
            tokens.output,
            if exchange.estimated { " (estimated)" } else { "" },
        ));
        if !exchange.calls.is_empty() {
            text.push_str(&format!("  calls {}", clean(&exchange.calls.join(" "))));
        }
        if exchange.waited_seconds > 0.0 {
            text.push_str(&format!("  waited {:.1} s", exchange.waited_seconds));
        }
        if !exchange.stripped.is_empty() {
            text.push_str(&format!("  removed: {}", clean(&exchange.stripped.join(", "))));
        }
        if let Some(error) = &exchange.error {
            text.push_str(&format!("  {}", clean(error)));
        }
        text.push('\n');
    }
    let totals = &ledger.totals;
    let usd = |usd: Option<f64>| usd.map_or_else(|| "unknown".to_owned(), |usd| format!("{usd:.4} USD"));
    text.push_str(&format!(
        "{}, {} ({} cached), {}; cost {}, without a cache {}\n",
        counted(totals.requests, "request", "requests"),
        counted(totals.tokens.prompt(), "input token", "input tokens"),
        group_digits(totals.tokens.cache_read),
        counted(totals.tokens.output, "output token", "output tokens"),
        usd(totals.usd),
        usd(totals.usd_without_cache),
    ));
    for found in &ledger.exposure {
        let at = |request: Option<usize>| {
            request.map_or_else(|| "never".to_owned(), |at| format!("in request {at}"))
        };
        text.push_str(&format!(
            "skill {}: advertised {}, opened {}, {} of {} lines\n",
            clean(&found.skill),
            at(found.advertised),
            at(found.opened),
            found.body_lines_delivered,
            found.body_lines,
        ));
    }
    for refused in &ledger.refused {
        text.push_str(&format!(
            "refused {} ({}): {}\n",
            clean(&refused.request),
            refused.status,
            clean(&refused.reason)
        ));
    }
    if let Some(capped) = &ledger.capped {
        text.push_str(&format!("stopped: {}\n", capped.reason));
    }
    if let Some(mismatch) = &ledger.mismatch {
        text.push_str(&format!(
            "the replay first differs in request {}: {}\n",
            mismatch.ordinal,
            clean(&mismatch.part)
        ));
    }
    if let Some(error) = &ledger.cassette_error {
        text.push_str(&format!("the cassette is incomplete: {}\n", clean(error)));
    }
    text
}
