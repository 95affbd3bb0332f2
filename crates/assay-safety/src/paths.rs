//! Sensitive paths and URLs: credentials, files that a shell reads at start, instructions of
//! agents.

use std::sync::LazyLock;

use regex::Regex;

use super::rule::Rule;
use super::rules::{
    CONFIG_INSTRUCTIONS, CONFIG_SETTINGS, CONFIG_SKILLS, PERSIST_HOOK, PERSIST_KEY, PERSIST_PROFILE,
    PERSIST_SCHEDULE, PERSIST_SERVICE, PRIVILEGE_SUDOERS,
};

/// A constant pattern, its classes and word ends those of ASCII: with those of Unicode, the fast
/// engine gives up at the first dash or emoji of a text.
pub(crate) fn regex(pattern: &str) -> Regex {
    let ascii = pattern.replace(r"\b", r"(?-u:\b)").replace(r"\w", "[0-9A-Za-z_]").replace(r"\d", "[0-9]");
    Regex::new(&ascii).expect("a constant pattern is well formed: each is compiled in every test run")
}

/// The file of credentials that a text names, if it does: private keys, cloud and registry tokens,
/// browsers' and messengers' stores.
pub(crate) fn credential(text: &str) -> Option<&str> {
    static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
        regex(concat!(
            r"(?i)(?:\.ssh/(?:id_(?:rsa|dsa|ecdsa|ed25519)\b(?:[^.\w]|$)|\*|identity\b|id_\*)|(?:^|[\s/~'\x22@=])\.ssh/?(?:$|[\s'\x22`;|)])",
            r"|\.aws/(?:credentials|config|\*|sso/cache)|(?:^|[\s/~'\x22@=])\.aws/?(?:$|[\s'\x22`;|)])|\.config/gcloud/(?:credentials|application_default|access_tokens)|application_default_credentials\.json",
            r"|\.azure/(?:accessTokens|msal_token)|\.kube/config\b|\.docker/config\.json|\.git-credentials|(?:^|[\s/~])\.netrc\b|\.pypirc\b",
            r"|\.npmrc\b|\.gnupg/(?:private|secring|\*)|(?:^|[\s/~'\x22@=])\.gnupg/?(?:$|[\s'\x22`;|)])|\.config/gh/hosts\.yml|\.vault-token|\.pgpass|\.my\.cnf|\.cargo/credentials",
            r"|/etc/shadow\b|/proc/(?:self|\d+|\*|\$\w+)/environ\b|\bLogin Data\b|\blogins\.json\b|\bkey[34]\.db\b|cookies\.sqlite\b|/Cookies\b",
            r"|Library/Keychains|\.local/share/keyrings|wallet\.dat\b|\.ethereum/keystore|\.config/solana/id\.json|\.electrum/wallets",
            r"|\.claude/\.credentials\.json|\.codex/auth\.json|169\.254\.169\.254)"
        ))
    });
    PATTERN
        .find(text)
        .map(|found| found.as_str().trim_matches(|c: char| c.is_whitespace() || "'\"`;|)".contains(c)))
}

/// Whether a path names the file with a project's secrets: `.env`, `.env.production`, but not an
/// example of one.
pub(crate) fn dotenv(path: &str) -> bool {
    let name = path.trim_matches(['"', '\'', '<', '>']).rsplit(['/', '\\', '@', '=']).next().unwrap_or(path);
    let lower = name.to_ascii_lowercase();
    (lower == ".env" || lower == ".envrc" || lower.starts_with(".env."))
        && !["example", "sample", "template", "dist", "test", "defaults"]
            .iter()
            .any(|word| lower.contains(word))
}

/// Whether a path is all of a home folder or of one of its usual parts.
pub(crate) fn home(path: &str) -> bool {
    static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)^[\x22']?(?:~|\$HOME|\$\{HOME\}|%USERPROFILE%|/root|/home/\w+|/Users/\w+)(?:/(?:\.\?|\*|\.\*|Documents|Desktop|Downloads|Pictures|Library(?:/Application Support)?|\.config|\.mozilla|\.thunderbird)?(?:/\*{0,2})?)?[\x22']?$",
        )
    });
    PATTERN.is_match(path)
}

/// The rule that writing a path breaks, if it breaks one.
pub(crate) fn written(path: &str) -> Option<&'static Rule> {
    static PATTERNS: LazyLock<Vec<(Regex, &'static Rule)>> = LazyLock::new(|| {
        [
            (r"(?i)\.ssh/authorized_keys|\.ssh/rc\b", &PERSIST_KEY),
            (r"/etc/(?:sudoers|passwd|shadow|pam\.d)\b", &PRIVILEGE_SUDOERS),
            (r"/etc/cron|/var/spool/cron|/etc/at\.|/etc/anacrontab", &PERSIST_SCHEDULE),
            (
                r"(?:^|[/~\s])\.(?:bashrc|bash_profile|bash_login|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|kshrc|inputrc|config/fish/(?:config\.fish|conf\.d))|/etc/(?:profile|bash\.bashrc|zsh|environment|ld\.so\.preload)|sitecustomize\.py|usercustomize\.py|(?:site|dist)-packages/[^/]*\.pth\b|(?i:microsoft\.powershell_profile\.ps1)",
                &PERSIST_PROFILE,
            ),
            (
                r"/etc/systemd/|\.config/systemd/|/lib/systemd/|Library/Launch(?:Agents|Daemons)|/etc/init\.d/|/etc/rc\.local|\.config/autostart|(?i:\\Start Menu\\Programs\\Startup|CurrentVersion\\Run\b)",
                &PERSIST_SERVICE,
            ),
            (r"\.git/hooks/|\.husky/|core\.hookspath", &PERSIST_HOOK),
            (
                r"(?i)\.claude/settings(?:\.local)?\.json|\.claude\.json|\.claude/(?:hooks|agents|commands)/|managed-settings\.json|(?:^|/)\.?mcp\.json|\.codex/config\.toml|\.gemini/settings\.json|\.cursor/mcp\.json|opencode\.jsonc?\b|claude_desktop_config\.json|\.vscode/settings\.json",
                &CONFIG_SETTINGS,
            ),
            (
                r"(?i)(?:^|[/\s])(?:CLAUDE(?:\.local)?\.md|AGENTS\.md|GEMINI\.md|MEMORY\.md|SOUL\.md|\.cursorrules|\.windsurfrules|\.clinerules|copilot-instructions\.md)\b|\.cursor/rules/|\.claude/(?:rules|memory)/|\.codex/instructions\.md",
                &CONFIG_INSTRUCTIONS,
            ),
            (r"(?i)\.(?:claude|agents|codex|gemini|cursor|opencode|github)/skills/", &CONFIG_SKILLS),
        ]
        .into_iter()
        .map(|(pattern, rule)| (regex(pattern), rule))
        .collect()
    });
    PATTERNS.iter().find(|(pattern, _)| pattern.is_match(path)).map(|&(_, rule)| rule)
}

/// Whether a URL is untrusted for code: no TLS, an IP address, a shortener, a paste site, a tunnel.
pub(crate) fn untrusted(address: &str) -> bool {
    static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)(?:https?://(?:\d{1,3}\.){3}\d{1,3}|https?://(?:\w+\.)*(?:bit\.ly|tinyurl\.com|t\.co|goo\.gl|is\.gd|rb\.gy|cutt\.ly|pastebin\.com|paste\.ee|hastebin\.com|transfer\.sh|0x0\.st|termbin\.com|ix\.io|rentry\.co|ngrok(?:-free)?\.(?:io|app|dev)|trycloudflare\.com|serveo\.net)\b)",
        )
    });
    static PLAIN: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)\bhttp://"));
    (PATTERN.is_match(address) || PLAIN.is_match(address)) && !local(address)
}

/// Whether a URL refers to this machine.
pub(crate) fn local(address: &str) -> bool {
    static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"(?i)(?:^|//|@|\s)(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]|host\.docker\.internal)\b")
    });
    PATTERN.is_match(address)
}

/// The collection service in a URL, if any: services with anonymous inboxes.
pub(crate) fn endpoint(text: &str) -> Option<&str> {
    static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)(?:webhook\.site|requestbin\.(?:com|net)|pipedream\.net|requestcatcher\.com|beeceptor\.com|burpcollaborator\.net|oastify\.com|interact\.sh|oast\.(?:pro|live|fun|me|site|online)|dnslog\.cn|canarytokens\.com|hookbin\.com|discord(?:app)?\.com/api/webhooks/|api\.telegram\.org/bot|ngrok(?:-free)?\.(?:io|app|dev)|trycloudflare\.com|transfer\.sh|file\.io|0x0\.st|termbin\.com|pastebin\.com/api)",
        )
    });
    PATTERN.find(text).map(|found| found.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_known() {
        let check = |path: &str, expected: bool| assert_eq!(credential(path).is_some(), expected, "{path}");
        check("~/.ssh/id_rsa", true);
        check("$HOME/.aws/credentials", true);
        check("/etc/shadow", true);
        check("~/.ssh/id_rsa.pub", false);
        check("~/.ssh/config", false);
        check("~/.ssh/known_hosts", false);
        check("docs/credentials.md", false);
        let check = |path: &str, expected: Option<&str>| {
            assert_eq!(written(path).map(|rule| rule.code), expected, "{path}");
        };
        check("/home/x/.bashrc", Some("persist-profile"));
        check("~/.claude/settings.json", Some("config-settings"));
        check("CLAUDE.md", Some("config-instructions"));
        check(".git/hooks/pre-commit", Some("persist-hook"));
        check("output/report.md", None);
        check("venv/lib/site-packages/a.pth", Some("persist-profile"));
        for (path, expected) in [
            (".env", true),
            ("../app/.env.production", true),
            ("file=@.env", true),
            (".env.example", false),
            ("env", false),
            (".environment", false),
        ] {
            assert_eq!(dotenv(path), expected, "{path}");
        }
        for (path, expected) in [
            ("~", true),
            ("$HOME/Documents/", true),
            ("/home/ada", true),
            ("~/project", false),
            ("/tmp", false),
        ] {
            assert_eq!(home(path), expected, "{path}");
        }
    }

    #[test]
    fn addresses_are_judged() {
        let check = |address: &str, expected: bool| assert_eq!(untrusted(address), expected, "{address}");
        check("http://example.com/x.sh", true);
        check("https://203.0.113.9/x", true);
        check("https://bit.ly/3xyz", true);
        check("http://localhost:3000/x", false);
        check("https://sh.rustup.rs", false);
    }
}
