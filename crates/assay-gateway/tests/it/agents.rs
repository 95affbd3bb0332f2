//! The real CLI agents, where they are installed: in the cache that `ASSAY_CACHE` names and `assay
//! agent install` fills, or in the `PATH`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use assay_gateway::{Cassette, Exchange, Ledger, Protocol, Proxy, WatchedSkill};
use assay_trace::{Usage, read};

use crate::{open_proxy, script};

const SKILL: &str =
    "---\nname: ledger-export\ndescription: Exports ledgers with amounts in minor units.\n---\n";
const BODY: &str = "# Ledgers\n\nAmounts are written in minor units, never in floating point.\nThe header line is \
                    date,account,amount and nothing else at all.\n";
const SCRIPT: &str = r#"
{"tools": false, "say": "A title"}
{"results": 0, "say": "I read the skill.", "skill": "ledger-export"}
{"results": 1, "say": "I write the file.", "run": "printf hello > hello.txt"}
{"say": "Written."}
"#;

/// The status of an agent, and what it wrote to standard output.
type AgentExit = (Option<i32>, String);

/// A program of an agent: in the cache, or in the `PATH`.
fn installed(name: &str, below: &[&str]) -> PathBuf {
    let list =
        |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let cache = std::env::var_os("ASSAY_CACHE").map(|cache| PathBuf::from(cache).join("agents"));
    let folder: Vec<PathBuf> = cache.into_iter().flat_map(list).flat_map(list).collect();
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let named = std::env::split_paths(&paths).map(|folder| folder.join(name));
    let in_folder = folder.into_iter().flat_map(|folder| {
        let packaged = below.iter().map(|path| folder.join("node_modules").join(path)).collect::<Vec<_>>();
        packaged.into_iter().chain([folder.join(name), folder.join("bin").join(name)])
    });
    let found = in_folder.chain(named).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("{name} is neither in ASSAY_CACHE nor in the PATH"))
}

fn claude() -> PathBuf {
    installed(
        "claude",
        &["@anthropic-ai/claude-code-linux-x64/claude", "@anthropic-ai/claude-code-linux-arm64/claude"],
    )
}

fn codex() -> PathBuf {
    installed("codex", &CODEX.map(|vendor| format!("{vendor}/bin/codex")).each_ref().map(String::as_str))
}

const CODEX: [&str; 2] = [
    "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl",
    "@openai/codex-linux-arm64/vendor/aarch64-unknown-linux-musl",
];

fn gemini() -> PathBuf {
    installed("gemini", &[".bin/gemini"])
}

/// OpenCode, and the folder of the `rg` that it needs.
fn opencode() -> (PathBuf, PathBuf) {
    let rg = installed(
        "rg",
        &CODEX.map(|vendor| format!("{vendor}/codex-path/rg")).each_ref().map(String::as_str),
    );
    let program =
        installed("opencode", &["opencode-linux-x64/bin/opencode", "opencode-linux-arm64/bin/opencode"]);
    (program, rg.parent().unwrap().to_path_buf())
}

/// A task's folder and a home, with the skill where agents look for it.
struct AgentFixture {
    folder: tempfile::TempDir,
}

impl AgentFixture {
    fn new(skills: &str) -> Self {
        let fixture = Self { folder: tempfile::tempdir().unwrap() };
        fixture.clear(skills);
        fixture
    }

    /// Resets it to its state before an agent runs.
    fn clear(&self, skills: &str) {
        for name in ["home", "task"] {
            let _ = fs::remove_dir_all(self.path(name));
            fs::create_dir(self.path(name)).unwrap();
        }
        let skill = self.path("task").join(skills).join("ledger-export");
        fs::create_dir_all(&skill).unwrap();
        fs::write(skill.join("SKILL.md"), format!("{SKILL}\n{BODY}")).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn open_proxy(&self, lines: &str, retries: u32) -> Proxy {
        self.open_recording_proxy(lines, retries, Cassette::Off)
    }

    fn open_recording_proxy(&self, lines: &str, retries: u32, cassette: Cassette) -> Proxy {
        open_proxy(script(self.folder.path(), lines), |session, options| {
            session.model = Some("pinned-model".to_owned());
            session.cassette = cassette;
            session.skills = vec![WatchedSkill {
                name: "ledger-export".to_owned(),
                description: "Exports ledgers with amounts in minor units.".to_owned(),
                body: BODY.to_owned(),
            }];
            options.limits.retries = retries;
        })
    }

    /// Runs an agent in the task's folder.
    fn run(&self, program: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> AgentExit {
        let log = fs::File::create(self.path("stdout")).unwrap();
        let errors = fs::File::create(self.path("stderr")).unwrap();
        let mut child = Command::new(program)
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .envs(variables.iter().copied())
            .current_dir(self.path("task"))
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .spawn()
            .unwrap();
        let until = Instant::now() + Duration::from_mins(5);
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status.code();
            }
            if Instant::now() > until {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            std::thread::sleep(Duration::from_millis(100));
        };
        (status, fs::read_to_string(self.path("stdout")).unwrap())
    }

    fn claude(&self, program: &Path, proxy: &Proxy) -> AgentExit {
        let url = proxy.base_url(Protocol::AnthropicMessages, 0);
        let arguments = [
            "-p",
            "Write hello into hello.txt.",
            "--output-format",
            "stream-json",
            "--verbose",
            "--dangerously-skip-permissions",
            "--model",
            "claude-sonnet-4-5",
        ];
        let variables = [
            ("ANTHROPIC_BASE_URL", url.as_str()),
            ("ANTHROPIC_API_KEY", proxy.token()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("IS_SANDBOX", "1"),
            ("CLAUDE_CODE_DISABLE_BUNDLED_SKILLS", "1"),
        ];
        self.run(program, &arguments, &variables)
    }

    fn codex(&self, program: &Path, proxy: &Proxy) -> AgentExit {
        let home = self.path("home/.codex");
        fs::create_dir_all(&home).unwrap();
        let url = proxy.base_url(Protocol::OpenaiResponses, 0);
        let settings = format!(
            "model=\"mock-model\"\nmodel_provider=\"gate\"\ncheck_for_update_on_startup=false\n[analytics]\nenabled=false\n\
             [model_providers.gate]\nname=\"gate\"\nbase_url=\"{url}\"\nenv_key=\"GATE_TOKEN\"\nwire_api=\"responses\"\n\
             [skills.bundled]\nenabled=false\n"
        );
        fs::write(home.join("config.toml"), settings).unwrap();
        let arguments = [
            "exec",
            "--json",
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            "--disable",
            "plugins",
            "--disable",
            "apps",
            "Write hello into hello.txt.",
        ];
        let variables = [("CODEX_HOME", home.to_str().unwrap()), ("GATE_TOKEN", proxy.token())];
        self.run(program, &arguments, &variables)
    }

    fn gemini(&self, program: &Path, proxy: &Proxy) -> AgentExit {
        fs::create_dir_all(self.path("home/.gemini")).unwrap();
        let settings = r#"{"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},
            "general":{"enableAutoUpdate":false},"security":{"auth":{"selectedType":"gemini-api-key"}}}"#;
        fs::write(self.path("home/.gemini/settings.json"), settings).unwrap();
        let url = proxy.base_url(Protocol::Gemini, 0);
        let arguments = [
            "--yolo",
            "--output-format",
            "stream-json",
            "-m",
            "gemini-2.5-pro",
            "-p",
            "Write hello into hello.txt.",
        ];
        let variables = [
            ("GOOGLE_GEMINI_BASE_URL", url.as_str()),
            ("GEMINI_API_KEY", proxy.token()),
            ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
        ];
        self.run(program, &arguments, &variables)
    }

    fn opencode(&self, program: &Path, rg: &Path, proxy: &Proxy) -> AgentExit {
        let home = self.path("home/.config/opencode");
        fs::create_dir_all(&home).unwrap();
        let settings = serde_json::json!({
            "autoupdate": false, "share": "disabled", "permission": "allow",
            "model": "gate/mock-model", "small_model": "gate/mock-model",
            "provider": {"gate": {
                "npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": proxy.base_url(Protocol::OpenaiCompletions, 0), "apiKey": proxy.token()},
                "models": {"mock-model": {"limit": {"context": 100_000, "output": 8_000}}},
            }},
        });
        fs::write(home.join("opencode.json"), settings.to_string()).unwrap();
        let path = format!("{}:{}", rg.display(), std::env::var("PATH").unwrap());
        let variables = [
            ("PATH", path.as_str()),
            ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ];
        let arguments =
            ["run", "--format", "json", "--auto", "-m", "gate/mock-model", "Write hello into hello.txt."];
        self.run(program, &arguments, &variables)
    }

    /// The agent's own log, below a folder.
    fn log(&self, below: &str) -> PathBuf {
        let mut folders = vec![self.path(below)];
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                    found.push(path);
                }
            }
        }
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    /// Checks what is true for every agent: it did the task, it got the skill, and its own log
    /// counts what the gateway counted.
    fn check(&self, exit: &AgentExit, log: &Path, ledger: &Ledger) {
        let stderr = fs::read_to_string(self.path("stderr")).unwrap();
        let shown = format!("{}\n{stderr}\n{}", exit.1, serde_json::to_string_pretty(ledger).unwrap());
        assert_eq!(exit.0, Some(0), "{shown}");
        assert_eq!(fs::read_to_string(self.path("task/hello.txt")).ok().as_deref(), Some("hello"), "{shown}");
        let found = &ledger.exposure[0];
        assert!(found.advertised.is_some() && found.opened.is_some(), "{shown}");
        assert!(found.opened > found.advertised, "{shown}");
        assert!(
            ledger.exchanges.iter().all(|exchange| exchange.complete && exchange.model == "pinned-model"),
            "{shown}"
        );
        // Requests without tools are side calls (OpenCode asks for a title), and are in no log.
        let own: Vec<&Exchange> = ledger.exchanges.iter().filter(|exchange| exchange.tools > 0).collect();
        assert_eq!(own.len(), 3, "{shown}");
        let mut metered = Usage::default();
        own.iter().filter_map(|exchange| exchange.tokens).for_each(|tokens| metered += tokens);

        let trajectory = read::read(log, None).unwrap().trajectory;
        let mut counted = Usage::default();
        trajectory.steps.iter().filter_map(assay_trace::Step::usage).for_each(|usage| counted += usage);
        assert_eq!(counted, metered, "{}: {trajectory:#?}\n{shown}", log.display());
        let called =
            trajectory.steps.iter().flat_map(|step| &step.tool_calls).map(|call| call.function_name.as_str());
        let passed = ledger.exchanges.iter().flat_map(|exchange| &exchange.calls).map(String::as_str);
        assert_eq!(called.collect::<Vec<_>>(), passed.collect::<Vec<_>>(), "{shown}");
    }
}

#[test]
#[ignore = "needs agents"]
fn claude_code_works_through_the_gateway() {
    let program = claude();
    let fixture = AgentFixture::new(".claude/skills");
    let proxy = fixture.open_proxy(SCRIPT, 0);
    let exit = fixture.claude(&program, &proxy);
    fixture.check(&exit, &fixture.log("home/.claude/projects"), &proxy.close());
}

#[test]
#[ignore = "needs agents"]
fn codex_works_through_the_gateway() {
    let program = codex();
    let fixture = AgentFixture::new(".agents/skills");
    let proxy = fixture.open_proxy(SCRIPT, 0);
    let exit = fixture.codex(&program, &proxy);
    let ledger = proxy.close();
    assert!(ledger.exchanges[0].stripped.iter().any(|what| what == "tool web_search"), "{ledger:?}");
    fixture.check(&exit, &fixture.log("home/.codex/sessions"), &ledger);
}

#[test]
#[ignore = "needs all agents"]
fn gemini_cli_works_through_the_gateway() {
    let program = gemini();
    let fixture = AgentFixture::new(".agents/skills");
    let proxy = fixture.open_proxy(SCRIPT, 0);
    let exit = fixture.gemini(&program, &proxy);
    fixture.check(&exit, &fixture.log("home/.gemini/tmp"), &proxy.close());
}

#[test]
#[ignore = "needs all agents"]
fn opencode_works_through_the_gateway() {
    let (program, rg) = opencode();
    let fixture = AgentFixture::new(".agents/skills");
    let proxy = fixture.open_proxy(SCRIPT, 0);
    let exit = fixture.opencode(&program, &rg, &proxy);
    let ledger = proxy.close();
    assert_eq!(ledger.totals.requests, 4, "{ledger:?}");
    fixture.check(&exit, &fixture.path("stdout"), &ledger);
}

#[test]
#[ignore = "needs agents"]
fn rate_limit_that_was_waited_out_is_invisible_to_agents() {
    let lines = format!("{{\"times\": 1, \"results\": 1, \"fault\": \"429\", \"retry_after\": 1}}{SCRIPT}");
    let (claude, codex) = (claude(), codex());
    {
        let fixture = AgentFixture::new(".claude/skills");
        let proxy = fixture.open_proxy(&lines, 3);
        let exit = fixture.claude(&claude, &proxy);
        assert!(proxy.waited() >= Duration::from_secs(1));
        assert!(!exit.1.contains("api_retry"), "{}", exit.1);
        fixture.check(&exit, &fixture.log("home/.claude/projects"), &proxy.close());
    }
    {
        let fixture = AgentFixture::new(".agents/skills");
        let proxy = fixture.open_proxy(&lines, 3);
        let exit = fixture.codex(&codex, &proxy);
        assert!(proxy.waited() >= Duration::from_secs(1));
        fixture.check(&exit, &fixture.log("home/.codex/sessions"), &proxy.close());
    }
}

#[test]
#[ignore = "needs all agents"]
fn recorded_agent_runs_replay_without_a_provider() {
    let (claude, codex, gemini) = (claude(), codex(), gemini());
    // A provider that only fails: all replies come from the cassette.
    let mute = "{\"fault\": \"500\"}";
    let check = |skills: &str, log: &str, run: &dyn Fn(&AgentFixture, &Proxy) -> AgentExit| {
        let fixture = AgentFixture::new(skills);
        let tape = fixture.path("cassette.jsonl");
        let proxy = fixture.open_recording_proxy(SCRIPT, 0, Cassette::Record(tape.clone()));
        let live = run(&fixture, &proxy);
        let ledger = proxy.close();
        fixture.check(&live, &fixture.log(log), &ledger);
        fixture.clear(skills);
        let proxy = fixture.open_recording_proxy(mute, 0, Cassette::Replay(tape));
        let again = run(&fixture, &proxy);
        let replayed = proxy.close();
        fixture.check(&again, &fixture.log(log), &replayed);
        assert_eq!(replayed.mismatch, None, "{replayed:?}");
        assert_eq!((replayed.totals.tokens, &replayed.exposure), (ledger.totals.tokens, &ledger.exposure));
    };
    check(".claude/skills", "home/.claude/projects", &|fixture, proxy| fixture.claude(&claude, proxy));
    check(".agents/skills", "home/.codex/sessions", &|fixture, proxy| fixture.codex(&codex, proxy));
    check(".agents/skills", "home/.gemini/tmp", &|fixture, proxy| fixture.gemini(&gemini, proxy));
}
