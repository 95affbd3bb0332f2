//! Images: found, pulled or built.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use bollard::errors::Error;
use bollard::models::ImageInspect;
use bollard::query_parameters::{BuildImageOptions, CreateImageOptions, TagImageOptions};
use futures_util::{Stream, StreamExt};

use super::buildkit::{self, BuildResult};
use super::client::{Docker, Inner, LABEL_STORE};
use super::dockerfile;
use super::error::{failed, status, words};
use super::files::Owner;
use super::ignore::Ignore;
use super::pack::{self, Style, join_writer, pack, stream, stream_archive};
use crate::streams::Recorder;
use crate::{Captured, SandboxError, Sink};
use assay_fs::{Caps, FsError, read_beneath};

/// Limits of a build context.
const CONTEXT: Caps =
    Caps { entries: 200_000, file_bytes: 2 << 30, total_bytes: 4 << 30, depth: 64, links: true };
/// Maximum bytes of a Dockerfile.
const DOCKERFILE: u64 = 1 << 20;
/// Bytes of a build's output that are kept from its beginning, and as many from its end.
const LOG: usize = 32 << 10;
/// How often cancellation is checked.
const TICK: Duration = Duration::from_millis(50);
/// Modification time of a context's files in builds: the same for every checkout of a task.
/// 2020-01-01, because zip archives cannot store 1970.
const MODIFIED: u64 = 1_577_836_800;
/// The repository of images built by assay.
const REPOSITORY: &str = "assay/task";

/// The source of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageSource {
    /// An existing image, here or in a registry.
    Prebuilt {
        /// The name in a task; the image map is applied.
        name: String,
    },
    /// An image to build.
    Build {
        /// The folder from which the Dockerfile may copy files.
        context: PathBuf,
        /// The Dockerfile, relative to the context.
        dockerfile: PathBuf,
        /// Build arguments.
        args: BTreeMap<String, String>,
        /// Whether `RUN` commands have a network.
        network: bool,
        /// Timeout of the build.
        timeout: Duration,
    },
}

impl ImageSource {
    /// A build of a folder's Dockerfile without arguments or network, with a timeout of ten
    /// minutes.
    pub fn build(context: impl Into<PathBuf>) -> Self {
        Self::Build {
            context: context.into(),
            dockerfile: PathBuf::from("Dockerfile"),
            args: BTreeMap::new(),
            network: false,
            timeout: Duration::from_mins(10),
        }
    }
}

/// An image of the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The id in the daemon: `sha256:` and 64 digits.
    pub id: String,
    /// The name.
    pub name: String,
    /// Bytes of all its layers.
    pub size: u64,
    /// The image's settings for running it.
    pub config: ImageConfig,
    /// The output of the build; empty if nothing was built.
    pub log: Captured,
}

/// An image's settings for running it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageConfig {
    /// `USER`.
    pub user: Option<String>,
    /// `WORKDIR`.
    pub workdir: Option<PathBuf>,
    /// `ENV`.
    pub env: Vec<(String, String)>,
    /// `ENTRYPOINT`, in words.
    pub entrypoint: Vec<String>,
    /// `CMD`, in words.
    pub command: Vec<String>,
    /// `VOLUME`: changes there are not in [`Container::changes`](super::Container::changes).
    pub volumes: Vec<PathBuf>,
}

/// Why there is no image.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// It does not exist here and may not be pulled.
    #[error("no image {name}{} on this machine: pull it, allow pulling, or map its name to a local image", mapped.as_ref().map(|m| format!(" (mapped to {m})")).unwrap_or_default())]
    Missing {
        /// The name in the task.
        name: String,
        /// The name from the image map.
        mapped: Option<String>,
    },
    /// It could not be pulled.
    #[error("cannot pull the image {name}: {reason}")]
    Pull {
        /// The name of the image.
        name: String,
        /// The daemon's message.
        reason: String,
    },
    /// The Dockerfile requests something that no task may have.
    #[error("{}:{line}: refused: {reason}", path.display())]
    Refused {
        /// The Dockerfile.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The request.
        reason: String,
    },
    /// The build needs BuildKit, which is missing.
    #[error("{}:{line}: `{reason}` needs BuildKit: {missing}", path.display())]
    NeedsBuildKit {
        /// The Dockerfile.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The part that needs BuildKit.
        reason: String,
        /// What is missing.
        missing: String,
    },
    /// The context or the Dockerfile cannot be read.
    #[error("cannot use the build context: {0}")]
    Context(String),
    /// The build failed.
    #[error("the build failed: {reason}")]
    Failed {
        /// The daemon's last message.
        reason: String,
        /// The output before it.
        log: Captured,
    },
    /// The build timed out.
    #[error("the build took more than {} seconds", after.as_secs())]
    TimedOut {
        /// The timeout.
        after: Duration,
        /// The output until then.
        log: Captured,
    },
    /// The caller cancelled.
    #[error("the build was cancelled")]
    Cancelled,
    /// An error of the daemon.
    #[error(transparent)]
    Sandbox(SandboxError),
}

impl ImageError {
    /// Whether the cause is the machine and not the task.
    pub fn is_infrastructure(&self) -> bool {
        matches!(self, Self::Sandbox(_) | Self::Cancelled | Self::Pull { .. })
    }
}

impl Docker {
    /// Provides an image: finds it, pulls it if that is allowed, or builds it.
    ///
    /// A build gets the folder's files unchanged, except for `.dockerignore`; links are sent as
    /// links. Images that the Dockerfile names are replaced by the image map, in what is sent and
    /// not in the file. Equal contexts are built once: the image's name is derived from the input.
    /// Requests of a Dockerfile for anything outside its own container are refused.
    ///
    /// All files of the context are read each time: keep the result as long as the task does not
    /// change.
    pub fn image(&self, source: &ImageSource, cancel: &AtomicBool) -> Result<Image, ImageError> {
        match source {
            ImageSource::Prebuilt { name } => {
                let (used, found) = self.inner.resolve(name, cancel)?;
                Ok(image(used, found, Captured::default()))
            }
            ImageSource::Build { context, dockerfile, args, network, timeout } => {
                let build = Build { docker: self, context, path: dockerfile, args, network: *network };
                build.run(*timeout, cancel)
            }
        }
    }
}

impl Inner {
    /// The replacement of a name: the map's entry for it as written, in its long or its short form,
    /// or the entry for `*`.
    fn mapped(&self, name: &str) -> Option<&String> {
        let map = &self.options.image_map;
        let short = |name: &str| {
            let name = name.strip_prefix("docker.io/").unwrap_or(name);
            let name = name.strip_prefix("library/").unwrap_or(name);
            name.strip_suffix(":latest").unwrap_or(name).to_owned()
        };
        map.get(name)
            .or_else(|| map.iter().find(|(from, _)| short(from) == short(name)).map(|(_, to)| to))
            .or_else(|| map.get("*"))
    }

    /// The image that a name refers to here.
    fn resolve(&self, name: &str, cancel: &AtomicBool) -> Result<(String, ImageInspect), ImageError> {
        let mapped = self.mapped(name);
        let used = mapped.map_or(name, String::as_str).to_owned();
        if used.is_empty() || used.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(ImageError::Missing { name: name.to_owned(), mapped: mapped.cloned() });
        }
        if let Some(found) = self.find(&used)? {
            return Ok((used, found));
        }
        let missing = || ImageError::Missing { name: name.to_owned(), mapped: mapped.cloned() };
        if !self.options.pull {
            return Err(missing());
        }
        let (repository, tag) = match used.rsplit_once(':') {
            Some((repository, tag)) if !tag.contains('/') => (repository, tag),
            _ => (used.as_str(), "latest"),
        };
        let options = CreateImageOptions {
            from_image: Some(if used.contains('@') { used.clone() } else { format!("{repository}:{tag}") }),
            ..Default::default()
        };
        let pulling = self.api.create_image(Some(options), None, None);
        let end = self.block(follow(pulling, None, cancel, |_| {}));
        match end {
            End::Done => {}
            End::Cancelled | End::TimedOut => return Err(ImageError::Cancelled),
            End::Failed(error)
                if status(&error).is_some() || matches!(error, Error::DockerStreamError { .. }) =>
            {
                return Err(ImageError::Pull { name: used, reason: words(&error) });
            }
            End::Failed(error) => return Err(ImageError::Sandbox(failed("pull an image", &error))),
        }
        let found = self.find(&used)?.ok_or_else(missing)?;
        Ok((used, found))
    }

    fn find(&self, name: &str) -> Result<Option<ImageInspect>, ImageError> {
        match self.block(self.api.inspect_image(name)) {
            Ok(found) => Ok(Some(found)),
            Err(error) if matches!(status(&error), Some(400 | 404)) => Ok(None),
            Err(error) => Err(ImageError::Sandbox(failed("inspect an image", &error))),
        }
    }
}

/// How an operation with streamed messages ended.
enum End {
    Done,
    Failed(Error),
    TimedOut,
    Cancelled,
}

/// Reads its messages to the end. Disconnecting makes the daemon cancel.
async fn follow<T>(
    mut lines: impl Stream<Item = Result<T, Error>> + Unpin,
    deadline: Option<Instant>,
    cancel: &AtomicBool,
    mut each: impl FnMut(T),
) -> End {
    let mut ticks = tokio::time::interval(TICK);
    loop {
        tokio::select! {
            line = lines.next() => match line {
                None => return End::Done,
                Some(Ok(line)) => each(line),
                Some(Err(error)) => return End::Failed(error),
            },
            _ = ticks.tick() => {}
        }
        if cancel.load(Ordering::Relaxed) {
            return End::Cancelled;
        }
        if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            return End::TimedOut;
        }
    }
}

fn image(name: String, found: ImageInspect, log: Captured) -> Image {
    let config = found.config.unwrap_or_default();
    let some = |text: Option<String>| text.filter(|text| !text.is_empty());
    let env = config.env.unwrap_or_default();
    Image {
        id: found.id.unwrap_or_default(),
        name,
        size: found.size.and_then(|size| u64::try_from(size).ok()).unwrap_or(0),
        config: ImageConfig {
            user: some(config.user),
            workdir: some(config.working_dir).map(PathBuf::from),
            env: env
                .into_iter()
                .map(|pair| {
                    pair.split_once('=')
                        .map(|(n, v)| (n.to_owned(), v.to_owned()))
                        .unwrap_or((pair, String::new()))
                })
                .collect(),
            entrypoint: config.entrypoint.unwrap_or_default(),
            command: config.cmd.unwrap_or_default(),
            volumes: config.volumes.unwrap_or_default().into_iter().map(PathBuf::from).collect(),
        },
        log,
    }
}

/// One build.
struct Build<'a> {
    docker: &'a Docker,
    context: &'a Path,
    path: &'a Path,
    args: &'a BTreeMap<String, String>,
    network: bool,
}

impl Build<'_> {
    fn run(&self, timeout: Duration, cancel: &AtomicBool) -> Result<Image, ImageError> {
        let inner = &self.docker.inner;
        let unusable = |error: FsError| ImageError::Context(with_cause(&error));
        let text = read_beneath(self.context, self.path, DOCKERFILE).map_err(unusable)?;
        let text = text.ok_or_else(|| {
            ImageError::Context(format!("{} not found in {}", self.path.display(), self.context.display()))
        })?;
        let text = String::from_utf8(text)
            .map_err(|_| ImageError::Context(format!("{} is not UTF-8", self.path.display())))?;
        let full = self.context.join(self.path);
        let mut bases = Vec::new();
        let rewritten = |by_name: bool, bases: &mut Vec<String>| {
            let done = dockerfile::rewrite(&text, self.args, self.network, |name| {
                let (used, found) = inner.resolve(name, cancel)?;
                let id = found.id.unwrap_or_default();
                bases.push(id.clone());
                // An id cannot be replaced by a pulled image; BuildKit accepts only names.
                Ok(if by_name || id.is_empty() { used } else { id })
            })?;
            done.map_err(|refusal| ImageError::Refused {
                path: full.clone(),
                line: refusal.line,
                reason: refusal.reason,
            })
        };
        let mut sent = rewritten(false, &mut bases)?;
        let buildkit = sent.buildkit.clone();
        if buildkit.is_some() {
            bases.clear();
            sent = rewritten(true, &mut bases)?;
        }
        let ignore =
            Ignore::read(self.context, self.path).map_err(|error| ImageError::Context(error.to_string()))?;

        let tag = self.digest(&sent.text, &bases, &ignore).map_err(unusable)?;
        let name = format!("{REPOSITORY}:{tag}");
        let lock = Arc::clone(
            inner.builds.lock().unwrap_or_else(PoisonError::into_inner).entry(tag.clone()).or_default(),
        );
        let _one = lock.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = inner.find(&name)? {
            // Tagging an image records when it was last used.
            let options = TagImageOptions { repo: Some(REPOSITORY.to_owned()), tag: Some(tag) };
            inner
                .request("tag an image", inner.api.tag_image(&name, Some(options)))
                .map_err(ImageError::Sandbox)?;
            return Ok(image(name, found, Captured::default()));
        }
        let deadline = Instant::now() + timeout;
        let mut log = Recorder::open(&Sink { file: None, cap: 0, keep: LOG }).map_err(ImageError::Sandbox)?;
        let end = match &buildkit {
            None => self.classic(&name, sent.text, ignore, deadline, cancel, &mut log)?,
            Some(need) => {
                let need = |missing: String| ImageError::NeedsBuildKit {
                    path: full.clone(),
                    line: need.line,
                    reason: need.reason.clone(),
                    missing,
                };
                self.with_buildkit(&name, sent.text, ignore, deadline, cancel, &mut log, need)?
            }
        };
        let log = log.close().map_err(ImageError::Sandbox)?;
        match end {
            BuildResult::Done => {}
            BuildResult::TimedOut => return Err(ImageError::TimedOut { after: timeout, log }),
            BuildResult::Cancelled => return Err(ImageError::Cancelled),
            BuildResult::Failed(reason) => return Err(ImageError::Failed { reason, log }),
        }
        let reason = "the daemon built the image but does not list it".to_owned();
        match inner.find(&name)? {
            Some(found) => Ok(image(name, found, log)),
            None => Err(ImageError::Failed { reason, log }),
        }
    }

    /// The digest of a build's input: the archive, the base images, the arguments and the network.
    fn digest(&self, text: &str, bases: &[String], ignore: &Ignore) -> Result<String, FsError> {
        let mut hasher = blake3::Hasher::new();
        for part in bases.iter().chain(self.args.iter().flat_map(|(name, value)| [name, value])) {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.update(&[u8::from(self.network)]);
        let keep = |path: &Path, _: bool| ignore.keeps(path);
        let instead = Some((self.path, text.as_bytes()));
        let report = pack(self.context, Path::new(""), &mut hasher, STYLE, &CONTEXT, &keep, instead)?;
        check_complete(self.context, &report)?;
        Ok(hasher.finalize().to_hex()[..32].to_owned())
    }

    fn archive(
        &self,
        text: String,
        ignore: Ignore,
    ) -> Result<(tokio::sync::mpsc::Receiver<bytes::Bytes>, pack::Writer), ImageError> {
        let (context, path) = (self.context.to_owned(), self.path.to_owned());
        stream_archive(move |out| {
            let keep = |path: &Path, _: bool| ignore.keeps(path);
            let instead = Some((path.as_path(), text.as_bytes()));
            pack(&context, Path::new(""), out, STYLE, &CONTEXT, &keep, instead)
        })
        .map_err(ImageError::Sandbox)
    }

    fn classic(
        &self,
        name: &str,
        text: String,
        ignore: Ignore,
        deadline: Instant,
        cancel: &AtomicBool,
        log: &mut Recorder,
    ) -> Result<BuildResult, ImageError> {
        let inner = &self.docker.inner;
        let (pieces, writer) = self.archive(text, ignore)?;
        let options = BuildImageOptions {
            dockerfile: self.path.to_string_lossy().into_owned(),
            t: Some(name.to_owned()),
            rm: true,
            forcerm: true,
            networkmode: Some(if self.network { "default" } else { "none" }.to_owned()),
            buildargs: Some(self.args.iter().map(|(name, value)| (name.clone(), value.clone())).collect()),
            labels: Some(HashMap::from([(LABEL_STORE.to_owned(), inner.options.store_label.clone())])),
            ..Default::default()
        };
        // The daemon may send its first answer only after the whole context.
        let api =
            inner.api.clone().with_timeout(deadline.saturating_duration_since(Instant::now()).max(TICK));
        let body = bollard::body_stream(stream(pieces));
        let building = api.build_image(options, None, Some(body));
        let end = inner.block(follow(building, Some(deadline), cancel, |line| {
            if let Some(text) = line.stream.or(line.status) {
                log.append(text.as_bytes());
            }
        }));
        let sent = match end {
            End::Done => Ok(BuildResult::Done),
            End::TimedOut | End::Failed(Error::RequestTimeoutError) => Ok(BuildResult::TimedOut),
            End::Cancelled => Ok(BuildResult::Cancelled),
            End::Failed(Error::DockerStreamError { error }) => {
                Ok(BuildResult::Failed(error.trim().to_owned()))
            }
            // An error that the builder reports; also status 500.
            End::Failed(error) if status(&error).is_some() => Ok(BuildResult::Failed(words(&error))),
            End::Failed(error) => Err(failed("build an image", &error)),
        };
        match sent {
            Ok(BuildResult::Done) => {
                join_writer(writer, self.context, Ok(BuildResult::Done)).map(|(built, _)| built)
            }
            // The writer ends when its receiver is dropped.
            Ok(other) => Ok(other),
            Err(error) => join_writer(writer, self.context, Err(error)).map(|(built, _)| built),
        }
        .map_err(ImageError::Sandbox)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the parameters of both builders, and the error for a missing one"
    )]
    fn with_buildkit(
        &self,
        name: &str,
        text: String,
        ignore: Ignore,
        deadline: Instant,
        cancel: &AtomicBool,
        log: &mut Recorder,
        need: impl Fn(String) -> ImageError,
    ) -> Result<BuildResult, ImageError> {
        let inner = &self.docker.inner;
        let Some(program) = &inner.options.program else {
            return Err(need("no `docker` program is configured".to_owned()));
        };
        let (pieces, _writer) = self.archive(text, ignore)?;
        let order = buildkit::Order {
            program,
            socket: &inner.socket,
            name,
            dockerfile: self.path,
            label: format!("{LABEL_STORE}={}", inner.options.store_label),
            args: self.args,
            network: self.network,
        };
        match order.run(pieces, deadline, cancel, log).map_err(ImageError::Sandbox)? {
            BuildResult::Failed(reason) if buildkit::is_missing(&reason) => Err(need(reason)),
            built => Ok(built),
        }
    }
}

const STYLE: Style = Style { owner: Owner { uid: 0, gid: 0 }, modified: Some(MODIFIED) };

/// A build from an incomplete context would be a different task.
fn check_complete(context: &Path, report: &assay_fs::CopyReport) -> Result<(), FsError> {
    match report.left_out.first() {
        None => Ok(()),
        Some(left) => {
            Err(FsError::io("send", &context.join(&left.path), std::io::Error::other(left.reason.clone())))
        }
    }
}

fn with_cause(error: &FsError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
