//! Whether programs and modules are there where trials run, before any trial misses them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use assay_sandbox::{Exec, Exit, Limits, Network, SandboxError, Sink, Spec};

use crate::Plan;
use crate::run::backend::{Backend, BackendKind};
use crate::run::environment::folders::PATH;
use crate::run::resolve::{ResolveError, Resolver};

/// The longest that the search may take.
const LONGEST: Duration = Duration::from_mins(1);

/// Most bytes of its answer.
const ANSWER: usize = 1 << 20;

/// Only looks names up: runs no program that it finds, and no code of a module.
const SEARCH: &str = r#"
for name in $COMMANDS; do command -v -- "$name" > /dev/null || echo "command $name"; done
[ -z "$PYTHON" ] || ! command -v python3 > /dev/null || python3 -I -c '
import importlib.util, sys
for name in sys.argv[1:]:
    try:
        found = importlib.util.find_spec(name) is not None
    except Exception:
        found = True
    if not found:
        print("python", name)
' $PYTHON
[ -z "$NODE" ] || ! command -v node > /dev/null || node -e '
for (const name of process.argv.slice(1)) {
    try { require.resolve(name) } catch { console.log("node " + name) }
}' $NODE
exit 0
"#;

/// Names of programs and modules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// Programs in the `PATH`.
    pub commands: BTreeSet<String>,
    /// Modules of Python, without their parts.
    pub python: BTreeSet<String>,
    /// Packages of Node.
    pub node: BTreeSet<String>,
}

impl Dependencies {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.python.is_empty() && self.node.is_empty()
    }
}

/// A place where trials run, and the skills that some of them get there, by name.
pub struct SkillPlace {
    /// The place.
    backend: Arc<Backend>,
    /// The digests of the skills.
    pub skills: BTreeSet<assay_skill::Digest>,
}

impl SkillPlace {
    /// The kind of sandbox.
    pub fn kind(&self) -> &'static str {
        self.backend.kind()
    }

    /// Which of some programs and modules are missing. `None` for images, which are not built yet.
    ///
    /// # Errors
    /// A sandbox that does not start.
    pub fn missing(&self, required: &Dependencies) -> Result<Option<Dependencies>, SandboxError> {
        let BackendKind::Folders { sandbox, root } = &self.backend.inner else { return Ok(None) };
        let list = |names: &BTreeSet<String>| {
            let plain =
                |name: &&String| name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.+@/".contains(c));
            names.iter().filter(plain).cloned().collect::<Vec<_>>().join(" ")
        };
        let env = [
            ("PATH", PATH.to_owned()),
            ("COMMANDS", list(&required.commands)),
            ("PYTHON", list(&required.python)),
            ("NODE", list(&required.node)),
        ];
        let mut session = sandbox.start(&Spec {
            root: root.clone(),
            mounts: Vec::new(),
            tmpfs: Vec::new(),
            workdir: PathBuf::from("/tmp"),
            env: env.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            network: Network::None,
            limits: Limits::default(),
            label: "dependencies".to_owned(),
        })?;
        let outcome = session.exec(
            &Exec {
                argv: ["bash", "-c", SEARCH].map(str::to_owned).to_vec(),
                env: Vec::new(),
                cwd: None,
                deadline: Some(Instant::now() + LONGEST),
                stdout: Sink { file: None, cap: 0, keep: ANSWER },
                stderr: Some(Sink::default()),
            },
            &AtomicBool::new(false),
        )?;
        session.stop()?;
        // Without a normal end the answer is not complete.
        if outcome.exit != Exit::Code(0) {
            return Ok(None);
        }
        let mut missing = Dependencies::default();
        for line in outcome.stdout.text().lines() {
            match line.split_once(' ') {
                Some(("command", name)) => _ = missing.commands.insert(name.to_owned()),
                Some(("python", name)) => _ = missing.python.insert(name.to_owned()),
                Some(("node", name)) => _ = missing.node.insert(name.to_owned()),
                _ => {}
            }
        }
        Ok(Some(missing))
    }
}

impl Plan {
    /// The distinct places of this plan's trials, with the skills that agents get in each.
    ///
    /// # Errors
    /// A trial that cannot be executed here.
    pub fn skill_places(&self, resolver: &Resolver<'_>) -> Result<Vec<SkillPlace>, ResolveError> {
        let mut places: BTreeMap<(&str, String), SkillPlace> = BTreeMap::new();
        for spec in self.trials.values() {
            let skills = &spec.provision.skills;
            if skills.is_empty() {
                continue;
            }
            // For images it is enough to know that they are images.
            let base = match spec.sandbox_kind() {
                "docker" => String::new(),
                _ => spec.specification["environment"]["base"].to_string(),
            };
            let entry = match places.entry((spec.sandbox_kind(), base)) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    let backend = resolver.resolve(spec)?.backend;
                    entry.insert(SkillPlace { backend, skills: BTreeSet::new() })
                }
            };
            entry.skills.extend(skills.iter().map(|skill| skill.digest));
        }
        Ok(places.into_values().collect())
    }
}
