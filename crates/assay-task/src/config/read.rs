//! From the text of `task.toml` to [`TaskConfig`].

use std::path::{Path, PathBuf};

use assay_fs::tree;
use assay_skill::{Diagnostic, Severity, position};
use toml::de::DeTable;

use super::environment::DEFAULT_SECONDS;
use super::phases::{environment, phase, verifier};
use super::section::{Section, Source};
use super::{TaskConfig, grading, steps};
use crate::TaskError;

/// Places that belong to the verifier and the oracle.
const RESERVED: [&str; 3] = ["/tests", "/solution", "/logs"];

/// The content of `task.toml`, with assay's own table apart.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) config: TaskConfig,
    pub(crate) required_skills: Vec<String>,
    /// `[metadata.assay] writable`: absolute, or relative to the work folder.
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) expected: Vec<String>,
    pub(crate) keep: Vec<PathBuf>,
    pub(crate) cluster: Option<String>,
    pub(crate) negative_control: bool,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Reads the text of a `task.toml`. `file` is only named.
pub(crate) fn parse(text: &str, file: &Path) -> Result<Parsed, TaskError> {
    let broken = |error: &toml::de::Error| {
        let (line, column) = position(text, error.span().map_or(0, |span| span.start));
        let hint = "the file is not valid TOML: fix the line".to_owned();
        let message = error.message().lines().next().unwrap_or("not valid TOML").to_owned();
        TaskError::Line { path: file.to_path_buf(), line, column, message, hint }
    };
    let raw: toml::Table = toml::from_str(text).map_err(|error| broken(&error))?;
    let document = DeTable::parse(text).map_err(|error| broken(&error))?;
    let mut source = Source { file, text, diagnostics: Vec::new(), unknown: Vec::new() };
    let mut root = Section::root(document);
    let s = &mut source;

    let schema_version = schema_version(s, &mut root)?;
    root.string(s, "source")?;
    let reward_strategy = steps::strategy(s, &mut root)?;
    let artifacts = grading::artifacts(s, &mut root)?;
    let steps = steps::steps(s, &mut root)?;
    let name = task_table(s, &mut root)?;
    let agent = phase(s, &mut root, "agent")?;
    let verifier = verifier(s, &mut root)?;
    let assay = assay_table(s, &mut root)?;
    let environment = environment(s, &mut root, assay.pids)?;
    let solution_env = match root.section(s, "solution")? {
        Some(mut solution) => {
            let env = solution.string_map(s, "env")?;
            solution.finish(s);
            env
        }
        None => std::collections::BTreeMap::new(),
    };
    root.finish(s);

    let table = |key: &str| raw.get(key).and_then(toml::Value::as_table).cloned().unwrap_or_default();
    source.unknown.sort();
    let config = TaskConfig {
        schema_version,
        name,
        agent_timeout: agent.timeout,
        agent_user: agent.user,
        agent_network: agent.network,
        verifier_timeout: verifier.phase.timeout.unwrap_or(DEFAULT_SECONDS),
        verifier_env: verifier.env,
        verifier_user: verifier.phase.user,
        verifier_network: verifier.phase.network,
        verifier_mode: verifier.mode.unwrap_or_default(),
        environment,
        solution_env,
        metadata: table("metadata"),
        steps,
        reward_strategy,
        artifacts,
        collect: verifier.collect,
        verifier_environment: verifier.environment,
        unknown: source.unknown,
        raw,
    };
    Ok(Parsed {
        config,
        required_skills: assay.required_skills,
        writable: assay.writable,
        expected: assay.expected,
        keep: assay.keep,
        cluster: assay.cluster,
        negative_control: assay.negative_control,
        diagnostics: source.diagnostics,
    })
}

fn schema_version(source: &mut Source<'_>, root: &mut Section<'_>) -> Result<Option<String>, TaskError> {
    if let Some(version) = root.text(source, "schema_version")? {
        root.text(source, "version")?;
        return Ok(Some(version));
    }
    let version = root.text(source, "version")?;
    let (message, hint) = match version {
        Some(_) => ("`version` is the old name of `schema_version`", "rename it to `schema_version`"),
        None => ("no `schema_version`; assuming the newest known", "add `schema_version = \"1.4\"`"),
    };
    source.note(Severity::Info, "schema-version", &(0..0), message, hint);
    Ok(version)
}

fn task_table(source: &mut Source<'_>, root: &mut Section<'_>) -> Result<Option<String>, TaskError> {
    let hint = "add `[task]` with `name = \"group/name\"`";
    let Some(mut task) = root.section(source, "task")? else {
        source.note(
            Severity::Info,
            "task-table",
            &(0..0),
            "no `[task]`; using the folder name as title",
            hint,
        );
        return Ok(None);
    };
    let name = task.string(source, "name")?;
    let span = task.span().clone();
    match &name {
        None => source.note(
            Severity::Warning,
            "task-name",
            &span,
            "`[task]` has no `name`; using the folder name as title",
            hint,
        ),
        Some(name) if !is_registry_name(name) => source.note(
            Severity::Warning,
            "task-name",
            &span,
            "the task name is not of the form `group/name`: other runners reject the task",
            hint,
        ),
        Some(_) => {}
    }
    task.ignore_keys(&["version", "description", "authors", "keywords"]);
    task.finish(source);
    Ok(name)
}

/// `group/name`, of letters, digits, `.`, `_` and `-`, each part beginning with a letter or a
/// digit.
fn is_registry_name(name: &str) -> bool {
    let part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
    };
    name.split_once('/').is_some_and(|(group, name)| part(group) && part(name))
}

#[derive(Default)]
struct Assay {
    required_skills: Vec<String>,
    writable: Vec<PathBuf>,
    expected: Vec<String>,
    keep: Vec<PathBuf>,
    cluster: Option<String>,
    negative_control: bool,
    pids: Option<u64>,
}

/// `[metadata] required_skills` and `[metadata.assay]`. Other keys of `[metadata]` are the
/// author's.
fn assay_table(source: &mut Source<'_>, root: &mut Section<'_>) -> Result<Assay, TaskError> {
    let Some(mut metadata) = root.section(source, "metadata")? else { return Ok(Assay::default()) };
    let texts = |list: Vec<(String, _)>| list.into_iter().map(|(text, _)| text).collect::<Vec<String>>();
    let required_skills = texts(metadata.strings(source, "required_skills")?);
    let Some(mut own) = metadata.section(source, "assay")? else {
        return Ok(Assay { required_skills, ..Assay::default() });
    };
    let mut writable = Vec::new();
    for (text, span) in own.strings(source, "writable")? {
        let path = Path::new(&text);
        let Some(path) = tree::normalize(path).filter(|path| !path.as_os_str().is_empty()) else {
            let message = "a writable path is empty or outside the work folder";
            return Err(source.error(&span, message, "use an absolute path or one in the work folder"));
        };
        if let Some(reserved) = RESERVED.iter().find(|reserved| path.starts_with(reserved)) {
            let message = format!("the agent cannot write to {reserved}: it is reserved for the verifier");
            return Err(source.error(&span, message, "choose another path"));
        }
        if path == Path::new("/") {
            return Err(source.error(
                &span,
                "the agent cannot write everywhere",
                "list the folders it needs",
            ));
        }
        writable.push(path);
    }
    let expected = texts(own.strings(source, "expected")?);
    let keep = kept(source, &mut own)?;
    let cluster = own.string(source, "cluster")?;
    // `check` reads it from `[metadata]` as written.
    own.string(source, "few_tests")?;
    own.string(source, "many_tests")?;
    let negative_control = own.boolean(source, "negative_control")?.is_some_and(|(flag, _)| flag);
    let pids = own.count(source, "pids")?.filter(|&count| count > 0);
    own.finish(source);
    Ok(Assay { required_skills, writable, expected, keep, cluster, negative_control, pids })
}

/// `keep`: files and folders of the system that are not put back before grading.
fn kept(source: &mut Source<'_>, section: &mut Section<'_>) -> Result<Vec<PathBuf>, TaskError> {
    let mut kept = Vec::new();
    for (text, span) in section.strings(source, "keep")? {
        let path = tree::normalize(Path::new(&text));
        let Some(path) = path.filter(|path| path.is_absolute() && path != Path::new("/")) else {
            let message = "a kept path is not absolute, or is the root";
            return Err(source.error(&span, message, "list files or folders such as /etc/nginx"));
        };
        kept.push(path);
    }
    Ok(kept)
}
