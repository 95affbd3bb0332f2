//! The rules: a code, a family, a severity and a sentence each. What finds them stands in the sibling modules.

use std::fmt;

use assay_diagnostic::Severity;
use serde::Serialize;

/// What kind of harm a rule looks for. Error rates are given per family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Text that sets aside the agent's other instructions or its safeguards.
    Override,
    /// Text that keeps something from the user, or hides from them itself.
    Concealment,
    /// Characters that a reader does not see, or takes for others.
    HiddenText,
    /// Commands or instructions that have to be decoded first.
    Encoded,
    /// Code that comes from the network and runs unseen.
    RemoteCode,
    /// Downloads that may be something else tomorrow.
    Unpinned,
    /// Reading keys, passwords and sessions.
    Credentials,
    /// Gathering secrets and sending them out.
    Exfiltration,
    /// What stays after the work is done: scheduled jobs, profiles, services, hooks.
    Persistence,
    /// More rights than the work needs.
    Privilege,
    /// Writing the agent's own instructions and settings.
    AgentConfig,
    /// A description that claims every request.
    Trigger,
    /// Declared tools against used ones.
    Capability,
    /// Keys that lie in the package.
    Secret,
    /// Paths and links that leave the package.
    Escape,
    /// Archives and executables in the package.
    Archive,
    /// Deleting or encrypting the user's files, or working their machine for somebody else.
    Destruction,
    /// Having the agent falsify its own work.
    Sabotage,
}

impl Family {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 18] = [
        Self::Override,
        Self::Concealment,
        Self::HiddenText,
        Self::Encoded,
        Self::RemoteCode,
        Self::Unpinned,
        Self::Credentials,
        Self::Exfiltration,
        Self::Persistence,
        Self::Privilege,
        Self::AgentConfig,
        Self::Trigger,
        Self::Capability,
        Self::Secret,
        Self::Escape,
        Self::Archive,
        Self::Destruction,
        Self::Sabotage,
    ];

    /// The name as tables and JSON have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Override => "override",
            Self::Concealment => "concealment",
            Self::HiddenText => "hidden-text",
            Self::Encoded => "encoded",
            Self::RemoteCode => "remote-code",
            Self::Unpinned => "unpinned",
            Self::Credentials => "credentials",
            Self::Exfiltration => "exfiltration",
            Self::Persistence => "persistence",
            Self::Privilege => "privilege",
            Self::AgentConfig => "agent-config",
            Self::Trigger => "trigger",
            Self::Capability => "capability",
            Self::Secret => "secret",
            Self::Escape => "escape",
            Self::Archive => "archive",
            Self::Destruction => "destruction",
            Self::Sabotage => "sabotage",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One rule.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// A stable name in kebab case.
    pub code: &'static str,
    /// What it belongs to.
    pub family: Family,
    /// How much a finding matters where nothing speaks for it. A passage that only describes an attack is `info`.
    pub severity: Severity,
    /// What it says, in a sentence.
    pub summary: &'static str,
}

macro_rules! rules {
    ($($name:ident = $code:literal, $family:ident, $severity:ident, $summary:literal;)*) => {
        $(#[doc = $summary] pub(crate) static $name: Rule = Rule {
            code: $code, family: Family::$family, severity: Severity::$severity, summary: $summary,
        };)*
        /// Every rule, by family.
        pub static RULES: &[&Rule] = &[$(&$name),*];
    };
}

rules! {
    OVERRIDE_INSTRUCTIONS = "override-instructions", Override, Error, "Text tells the agent to set its instructions aside.";
    OVERRIDE_ROLE = "override-role", Override, Warning, "Text poses as a system message, or gives the agent a role without limits.";
    OVERRIDE_SAFEGUARDS = "override-safeguards", Override, Warning, "Text or a flag turns off confirmations, permission prompts or safety checks.";
    CONCEAL_FROM_USER = "conceal-from-user", Concealment, Warning, "Text tells the agent to keep something from the user.";
    CONCEAL_DIRECTIVE = "conceal-directive", Concealment, Warning, "A comment or an invisible element, which no reader of the page sees, speaks to the agent.";
    HIDDEN_BIDI = "hidden-bidi", HiddenText, Error, "Bidirectional controls make text read otherwise than it stands.";
    HIDDEN_ZERO_WIDTH = "hidden-zero-width", HiddenText, Warning, "Characters without width stand inside words.";
    HIDDEN_TAGS = "hidden-tags", HiddenText, Error, "Tag characters spell text that nobody sees.";
    HIDDEN_SELECTORS = "hidden-selectors", HiddenText, Error, "A run of variation selectors carries hidden bytes.";
    HIDDEN_MIXED_SCRIPT = "hidden-mixed-script", HiddenText, Warning, "Look-alike letters of another script stand inside Latin words.";
    ENCODED_EXECUTION = "encoded-execution", Encoded, Error, "Something is decoded and executed in one go.";
    ENCODED_INSTRUCTION = "encoded-instruction", Encoded, Error, "Encoded text decodes to commands or instructions that break a rule themselves.";
    REMOTE_PIPE = "remote-pipe", RemoteCode, Warning, "Code from the network is handed to an interpreter unseen.";
    REMOTE_PIPE_UNTRUSTED = "remote-pipe-untrusted", RemoteCode, Error, "Code is executed from a plain, numeric, shortened or paste address.";
    REMOTE_EVAL = "remote-eval", RemoteCode, Error, "A script evaluates text that it fetched.";
    REMOTE_RUN = "remote-run", RemoteCode, Warning, "A file is downloaded and executed.";
    REMOTE_SHELL = "remote-shell", RemoteCode, Error, "A shell is handed to another machine.";
    REMOTE_INSTRUCTIONS = "remote-instructions", RemoteCode, Warning, "Text tells the agent to fetch something and to do what it says.";
    REMOTE_LURE = "remote-lure", RemoteCode, Error, "An archive behind a password, or a script on a paste page, is to be downloaded and run by hand.";
    REMOTE_PASTE = "remote-paste", RemoteCode, Warning, "A program or script from a page is to be run by hand, as a condition of using the skill.";
    REMOTE_BUILD = "remote-build", RemoteCode, Warning, "Building or installing the package runs code that comes from an address.";
    PACKAGE_HOOK = "package-hook", RemoteCode, Warning, "A package manager runs a program of the package unasked, at installation.";
    UNPINNED_INDEX = "unpinned-index", Unpinned, Warning, "Packages come from an index other than the public ones.";
    UNPINNED_SOURCE = "unpinned-source", Unpinned, Info, "Code is installed from a repository or an address without a revision or checksum.";
    UNPINNED_PACKAGE = "unpinned-package", Unpinned, Info, "A package is run or installed without a version.";
    CREDENTIAL_READ = "credential-read", Credentials, Warning, "Keys, passwords or sessions of the user are read.";
    CREDENTIAL_REQUEST = "credential-request", Credentials, Warning, "Text tells the agent to read keys, passwords or sessions.";
    EXFIL_SECRET = "exfil-secret", Exfiltration, Error, "Credentials or the whole environment are sent out.";
    EXFIL_INSTRUCTION = "exfil-instruction", Exfiltration, Error, "Text tells the agent to send secrets or the conversation somewhere.";
    EXFIL_REQUEST = "exfil-request", Exfiltration, Warning, "Text has the agent gather files, prompts or personal data and send them somewhere.";
    EXFIL_FILE = "exfil-file", Exfiltration, Warning, "The clipboard, the screen, or files gathered from the home folder are sent out.";
    EXFIL_PUSH = "exfil-push", Exfiltration, Warning, "A script pushes the repository to an address of its own.";
    EXFIL_HOOK = "exfil-hook", Exfiltration, Error, "A hook, or a command that runs at load, sends data out.";
    HARVEST_LOCATION = "harvest-location", Exfiltration, Warning, "The user's place or public address is looked up.";
    EXFIL_ENDPOINT = "exfil-endpoint", Exfiltration, Warning, "Data goes to a service that takes anything from anyone.";
    HARVEST_ENVIRONMENT = "harvest-environment", Exfiltration, Warning, "The whole environment is printed or kept.";
    PERSIST_SCHEDULE = "persist-schedule", Persistence, Warning, "A job is scheduled that outlives the session.";
    PERSIST_PROFILE = "persist-profile", Persistence, Warning, "A shell profile is written.";
    PERSIST_SERVICE = "persist-service", Persistence, Warning, "A service or login item is installed.";
    PERSIST_HOOK = "persist-hook", Persistence, Warning, "A git hook is written.";
    PERSIST_KEY = "persist-key", Persistence, Error, "A key is added that lets somebody in.";
    PRIVILEGE_SUDO = "privilege-sudo", Privilege, Info, "A command runs as the administrator.";
    PRIVILEGE_RIGHTS = "privilege-rights", Privilege, Warning, "Rights are opened to everybody, or a program is made to run as another user.";
    PRIVILEGE_SUDOERS = "privilege-sudoers", Privilege, Error, "The list of administrators, or of passwords, is written.";
    PRIVILEGE_CONTAINER = "privilege-container", Privilege, Warning, "A container gets the host: privileged, its root folder, or its Docker socket.";
    PRIVILEGE_DEFENCES = "privilege-defences", Privilege, Warning, "A protection of the machine is switched off.";
    CONFIG_INSTRUCTIONS = "config-instructions", AgentConfig, Warning, "The agent's standing instructions are written.";
    CONFIG_SETTINGS = "config-settings", AgentConfig, Warning, "The agent's settings, hooks or servers are written.";
    CONFIG_SKILLS = "config-skills", AgentConfig, Info, "Another skill is written or installed.";
    TRIGGER_EVERYTHING = "trigger-everything", Trigger, Warning, "The description claims every request.";
    TRIGGER_PRECEDENCE = "trigger-precedence", Trigger, Warning, "The description claims precedence over other skills.";
    CAPABILITY_UNDECLARED = "capability-undeclared", Capability, Info, "The skill uses a tool that its `allowed-tools` leaves out.";
    CAPABILITY_LOAD = "capability-load", Capability, Info, "A command runs as soon as the skill is loaded, before the model sees it.";
    SECRET_KEY = "secret-key", Secret, Error, "A key in a known format lies in the package.";
    SECRET_ASSIGNED = "secret-assigned", Secret, Warning, "Something named as a secret is given a random-looking value.";
    ESCAPE_PATH = "escape-path", Escape, Warning, "A script reads or writes above the package's own folder.";
    ESCAPE_LINK = "escape-link", Escape, Warning, "A symbolic link leads out of the package.";
    ESCAPE_LINK_SECRET = "escape-link-secret", Escape, Error, "A symbolic link leads to credentials.";
    ARCHIVE_BOMB = "archive-bomb", Archive, Error, "An archive unpacks to far more than it is.";
    ARCHIVE_TRAVERSAL = "archive-traversal", Archive, Error, "A member of an archive is written outside the folder it is unpacked in.";
    ARCHIVE_OPAQUE = "archive-opaque", Archive, Warning, "An archive that cannot be looked into: damaged, encrypted, or of an unknown kind.";
    ARCHIVE_EXECUTABLE = "archive-executable", Archive, Warning, "A compiled program, whose source cannot be read.";
    ARCHIVE_DISGUISED = "archive-disguised", Archive, Warning, "A file is not what its name says: a script or an archive as, or behind, a picture.";
    UNSCANNED = "unscanned", Archive, Warning, "Part of a file was not looked at: too large, too deep, or too much.";
    DESTROY_FILES = "destroy-files", Destruction, Error, "A script deletes the home folder, the system, a disk, or folders above its own.";
    DESTROY_FOLDER = "destroy-folder", Destruction, Warning, "A command deletes the home folder, the system, or everything in the working folder.";
    DESTROY_REQUEST = "destroy-request", Destruction, Warning, "Text has the agent delete or overwrite everything of the user's in some place.";
    DESTROY_ENCRYPT = "destroy-encrypt", Destruction, Error, "The user's files are encrypted and the originals removed.";
    MINER = "miner", Destruction, Error, "A program that mines a cryptocurrency is started.";
    SABOTAGE_RESULT = "sabotage-result", Sabotage, Warning, "Text has the agent falsify, slant or undermine its own work.";
    SABOTAGE_SPREAD = "sabotage-spread", Sabotage, Warning, "Text has the agent copy instructions into other skills or repositories.";
}
