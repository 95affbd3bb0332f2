//! The first pass: which kinds of rule can match a text at all. One automaton over the raw bytes, so that most files of most packages are
//! read once and no further.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

/// Kinds of rule that have a candidate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Hits(u8);

impl Hits {
    /// Phrases of text.
    pub(crate) const PROSE: Self = Self(1);
    /// Commands and calls.
    pub(crate) const CODE: Self = Self(2);
    /// Keys.
    pub(crate) const SECRET: Self = Self(4);
    /// Comments and elements that are not shown.
    pub(crate) const COMMENT: Self = Self(8);
    /// Words that stand near a name of a secret.
    pub(crate) const ALL: Self = Self(15);

    /// Whether one of `other` is among them.
    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

const PROSE: &[&str] = &[
    "ignore",
    "disregard",
    "forget",
    "override",
    "supersede",
    "bypass",
    "pay no attention",
    "set aside",
    "stop following",
    "not follow",
    "you are now",
    "developer mode",
    "jailbr",
    "unrestricted",
    "uncensored",
    "no restrictions",
    "without restrictions",
    "im_start",
    "[system]",
    "system-reminder",
    "system_prompt",
    "<system",
    "### system",
    "system:",
    "[inst]",
    "without asking",
    "without confirm",
    "without approval",
    "without permission",
    "skip confirm",
    "ask for confirm",
    "ask for permission",
    "ask for approval",
    "skip-permissions",
    "the user",
    "from user",
    "users",
    "the human",
    "the operator",
    "secretly",
    "silently",
    "covertly",
    "api key",
    "api_key",
    "credential",
    "password",
    "environment variable",
    "private key",
    "ssh key",
    "chat history",
    "conversation history",
    "system prompt",
    ".ssh",
    ".aws",
    ".env",
    "bashrc",
    "zshrc",
    "crontab",
    "claude.md",
    "agents.md",
    "gemini.md",
    "memory.md",
    ".claude",
    "settings.json",
    "mcp.json",
    "follow the instructions",
    "follow its instructions",
    "http://",
    "every request",
    "every message",
    "all requests",
    "any request",
    "all tasks",
    "every task",
    "any task",
    "every conversation",
    "always use this",
    "always invoke",
    "always activate",
    "regardless of",
    "no matter what",
    "highest priority",
    "top priority",
    "other skills",
    "other skill",
    "base64",
    "rot13",
    "decode",
    "authorized_keys",
    "every prompt",
    "every user",
    "any user",
    "all user",
    "any question",
    "every question",
    "&#",
    "vafgehpgvba",
    "cerivbhf",
    "phey ",
    "cnffjbeq",
    "perqragvny",
];

const CODE: &[&str] = &[
    "curl",
    "wget",
    "|sh",
    "| sh",
    "|bash",
    "| bash",
    "base64",
    "eval ",
    "eval(",
    "eval)",
    "exec(",
    ".exec",
    "execsync",
    "xxd",
    "://",
    "$ifs",
    "${ifs",
    "/dev/tcp",
    "/dev/udp",
    "nc ",
    "ncat ",
    "socat",
    "mkfifo",
    ".ssh",
    ".aws",
    ".netrc",
    "git-credentials",
    ".npmrc",
    ".pypirc",
    ".kube",
    ".docker",
    "gcloud",
    "/etc/shadow",
    "/etc/passwd",
    "keychain",
    "find-generic-password",
    "login data",
    "logins.json",
    "cookies.sqlite",
    "/cookies",
    "keyrings",
    "wallet.dat",
    "printenv",
    "os.environ",
    "process.env",
    "env |",
    "env|",
    "env)",
    "crontab",
    "bashrc",
    "zshrc",
    ".profile",
    "bash_profile",
    "systemctl",
    "launchctl",
    "launchagents",
    "autostart",
    "/etc/cron",
    "schtasks",
    ".git/hooks",
    "hookspath",
    "husky",
    "sudo",
    "chmod",
    "setcap",
    "usermod",
    "visudo",
    "--privileged",
    "docker.sock",
    "-v /:",
    "skip-permissions",
    "--yolo",
    "--no-sandbox",
    "claude.md",
    "agents.md",
    "gemini.md",
    "memory.md",
    ".claude",
    "settings.json",
    "mcp.json",
    "mcp add",
    "config.toml",
    "cursorrules",
    "pip install",
    "pip3 install",
    "npx",
    "uvx",
    "npm install",
    "npm i ",
    "git+http",
    "docker run",
    "child_process",
    "subprocess",
    "os.system",
    "os.popen",
    "getattr(",
    "__import__",
    "importlib",
    "new function(",
    "dup2",
    "atob",
    "fromhex",
    "b64decode",
    "frombase64",
    "codecs",
    "marshal",
    "pickle",
    "api/webhooks",
    "api.telegram",
    "169.254",
    "../..",
    "invoke-expression",
    "iex",
    "invoke-webrequest",
    "downloadstring",
    "encodedcommand",
    "authorized_keys",
    "sudoers",
    "sitecustomize",
    "csrutil",
    "spctl",
    "setenforce",
    "ufw",
    "iptables",
    "apparmor",
    "\\x",
    "tar -",
    "openssl",
    "perl -e",
    "ruby -e",
    "python -c",
    "python3 -c",
    "node -e",
    "| rev",
    "|rev",
    "tr a-z",
    "tr 'a-z",
    "tr '",
    "$'\\",
    "chr(",
    "fromcharcode",
    "codex/auth",
    "history -c",
    "go install",
    "cargo install",
    "gem install",
    "bunx",
    "pnpx",
    "dlx",
    "source <(",
];

const SECRET: &[&str] = &[
    "akia",
    "asia",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xoxs-",
    "sk-ant-",
    "sk-proj-",
    "sk_live_",
    "rk_live_",
    "aiza",
    "ya29.",
    "-----begin",
    "npm_",
    "pypi-",
    "hf_",
    "sg.",
    "dckr_pat_",
    "shpat_",
    "dop_v1_",
    "lin_api_",
    "eyj",
    "secret",
    "passw",
    "token",
    "api_key",
    "apikey",
    "api-key",
    "sk-",
    "key-",
];

const COMMENT: &[&str] = &[
    "<!--",
    "display:",
    "visibility:",
    "font-size:",
    "opacity:",
    "hidden",
    "color:",
    "[//]:",
    "[comment]:",
    "%%",
];

struct Needles {
    automaton: AhoCorasick,
    kinds: Vec<u8>,
}

static NEEDLES: LazyLock<Option<Needles>> = LazyLock::new(|| {
    let (mut words, mut kinds) = (Vec::new(), Vec::new());
    for (kind, list) in
        [(Hits::PROSE, PROSE), (Hits::CODE, CODE), (Hits::SECRET, SECRET), (Hits::COMMENT, COMMENT)]
    {
        words.extend(list.iter().copied());
        kinds.extend(std::iter::repeat_n(kind.0, list.len()));
    }
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .match_kind(MatchKind::Standard)
        .build(words)
        .ok()?;
    Some(Needles { automaton, kinds })
});

/// Which kinds of rule a text is a candidate for, looked at up to where that is enough.
pub(crate) fn hits(bytes: &[u8], enough: impl Fn(Hits) -> bool) -> Hits {
    let Some(needles) = NEEDLES.as_ref() else { return Hits::ALL };
    let mut hits = Hits::default();
    for found in needles.automaton.find_overlapping_iter(bytes) {
        hits.0 |= needles.kinds[found.pattern().as_usize()];
        if enough(hits) {
            break;
        }
    }
    hits
}

/// Whether letters stand apart in a text (`i g n o r e`), where no word can be found.
pub(crate) fn spread(bytes: &[u8]) -> bool {
    let mut run = 0;
    for pair in bytes.windows(2) {
        match (pair[0].is_ascii_alphabetic(), pair[1].is_ascii_alphabetic()) {
            (true, false) | (false, true) => run += 1,
            _ => run = 0,
        }
        if run >= 14 {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_told_by_kind() {
        let all = |bytes| hits(bytes, |_| false);
        assert_eq!(all(b"Sort a list."), Hits::default());
        assert!(all(b"IGNORE all").has(Hits::PROSE));
        assert!(all(b"x | Curl").has(Hits::CODE));
        assert!(NEEDLES.is_some());
    }
}
