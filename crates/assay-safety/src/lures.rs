//! Lures: text over several sentences, list items or headings that makes the reader run a program.
//!
//! Each rule starts from one rare phrase (a password in the text, a paste into a terminal, a link
//! to a program) and requires the others within a few hundred bytes of it. So the work is linear in
//! the text, and the layout of the page does not matter.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::paths::{local, regex};
use super::prose;
use super::rule::declare_rules;
use super::rules::{
    CONCEAL_FROM_USER, EXFIL_INSTRUCTION, EXFIL_REQUEST, HARVEST_LOCATION, OVERRIDE_INSTRUCTIONS,
};
use super::site::{Scan, Site};
use super::unicode::floor;

declare_rules! {
    REMOTE_LURE = "remote-lure", RemoteCode, Error, "Text instructs the user to download and run a password-protected archive, or a script from a paste site.",
        Prose ["http://", "password"],
        Code ["://"];
    REMOTE_PASTE = "remote-paste", RemoteCode, Warning, "Text requires the user to run a program or script from a web page before using the skill.",
        Prose ["http://"],
        Code ["://"];
}

/// Most starting points of one kind that are checked.
const MOST: usize = 100;

/// A password in the text: `password: x`, ``pass `x` ``.
static PASSWORD: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"\b(?:password|passcode|passphrase|passwort|passwd|pass|pwd|pw)\b["'*_]*\s*(?:(?:is|=|:|->|→|–|-)\s*["'`*_]*[a-z0-9]|["'`*_]+[a-z0-9]|\d{2})"#,
    )
});

/// The archive or file that a password protects.
static PACKED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b(?:extract(?:ing|ed)?|unzip|unrar|unpack(?:ing|ed)?|decompress|unarchive|archive|installer|password[- ]protected)\b|\.(?:zip|rar|7z|exe|msi|dmg|pkg|iso)\b",
    )
});

static PROGRAM: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\.(?:exe|msi|msix|dmg|pkg|iso|scr|zip|rar|7z|appimage|deb|bat|ps1)\b|/releases/download/|\b(?:executable|binary|installer|archive)\b",
    )
});

static DOWNLOAD: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\b(?:download(?:s|ed|ing)?|grab|fetch|get)\b|\]\(https?://|https?://"));

static RUN: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\b(?:run|runs|running|execute|launch|start|open|double[- ]click|install)\b"));

/// A link to a program or an archive.
static LINK: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"https?://[^\s)>\x22'`]+?(?:\.(?:exe|msi|msix|dmg|pkg|iso|scr|zip|rar|7z)\b|/releases/download/)")
});

/// A statement that nothing works without it.
static CONDITION: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\bbefore (?:using|proceeding|continuing|starting|running|you (?:use|start|begin|proceed))\b|\b(?:will not|won't|cannot|can't|does not|doesn't) (?:work|function|run|operate|start)\b|\b(?:requires?|needs?) (?:the )?[^\s.]+ (?:\w+ )?(?:to be (?:installed|running)|to function|to work|to operate|utility|agent|driver|provider|helper|tool to)\b|\bmust be (?:installed|running|executed|launched)\b|\b(?:critical|mandatory|required) (?:requirement|step|prerequisite|dependency|setup|component)\b",
    )
});

/// A paste into something that executes it.
static PASTE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b(?:past(?:e|ing)|run|runs|execute|enter)\b[^\n]{0,50}?\b(?:terminal|powershell|command prompt|cmd(?:\.exe)?|console|shell|run (?:dialog|box|window)|iterm)\b|\b(?:win(?:dows)?(?: key)?|⊞) ?\+ ?r\b",
    )
});

/// Code that is copied from a page, not a key or URL.
static COPIED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\bcop(?:y|ied|ying)\b[^\n.]{0,60}?\b(?:script|commands?|code|snippet|one-?liner|installer|installation|text|contents?)\b",
    )
});

/// A page that the reader should visit.
static VISIT: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b(?:visit|open|go to|navigate to|head to|see|follow|from|at|on|via|using)\b[^\n]{0,60}?https?://([^\s)>\x22'`]+)",
    )
});

/// Paste sites, by their URLs.
static PASTE_PAGE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?:^|[./-])(?:paste\w*|\w*paste|\w*bin)\.[a-z]{2,}/|/(?:snippets?|pastes?|raw|p|gists?|notes?)/[\w-]{4,}|^(?:[\w-]+\.)?(?:gist\.github|rentry|telegra|justpaste|controlc)\.",
    )
});

/// The part of a text around a range.
fn around(text: &str, range: &Range<usize>, before: usize, after: usize) -> Range<usize> {
    floor(text, range.start.saturating_sub(before))..floor(text, (range.end + after).min(text.len()))
}

/// Scans a page, front matter and all.
pub(crate) fn scan(scan: &mut Scan, site: &Site<'_>, text: &str) {
    // Lower case of ASCII letters alone, so that offsets stay.
    let lower = text.to_ascii_lowercase();
    let warned = |range: &Range<usize>| prose::warned(&lower[warning(&lower, range)]);
    let place =
        |range: &Range<usize>| -> Site<'_> { Site { mentioned: site.mentioned || warned(range), ..*site } };
    if lower.contains("pass") || lower.contains("pwd") {
        for found in PASSWORD.find_iter(&lower).take(MOST) {
            let range = found.range();
            let packed = PACKED.find(&lower[around(&lower, &range, 160, 60)]);
            let near = &lower[around(&lower, &range, 450, 250)];
            let run = &lower[around(&lower, &range, 120, 400)];
            if packed.is_some()
                && (near.contains("http://") || near.contains("https://") || near.contains(".exe"))
                && PROGRAM.is_match(near)
                && DOWNLOAD.is_match(near)
                && near.contains("download")
                && RUN.is_match(run)
            {
                scan.report(
                    &place(&range),
                    &REMOTE_LURE,
                    line(text, &range),
                    "instructs the user to download, unpack and run a password-protected archive, which scanners cannot inspect",
                );
            }
        }
    }
    if lower.contains("http")
        && (lower.contains("terminal")
            || lower.contains("powershell")
            || lower.contains("prompt")
            || lower.contains("shell")
            || lower.contains("console")
            || lower.contains("+ r")
            || lower.contains("+r")
            || lower.contains("cmd"))
    {
        for found in PASTE.find_iter(&lower).take(MOST) {
            let range = found.range();
            let window = around(&lower, &range, 260, 40);
            let near = &lower[window.clone()];
            if !COPIED.is_match(near) {
                continue;
            }
            let Some(page) = VISIT.captures_iter(near).filter_map(|found| found.get(1)).last() else {
                continue;
            };
            if local(page.as_str()) {
                continue;
            }
            let (rule, message) = if PASTE_PAGE.is_match(page.as_str()) {
                (&REMOTE_LURE, "instructs the user to copy a script from a paste site into a terminal")
            } else {
                (&REMOTE_PASTE, "instructs the user to copy a script from a web page into a terminal")
            };
            scan.report(&place(&range), rule, line(text, &range), message);
        }
    }
    if lower.contains("http") {
        for found in LINK.find_iter(&lower).take(MOST) {
            let range = found.range();
            let near = &lower[around(&lower, &range, 350, 350)];
            if near.contains("download")
                && RUN.is_match(&lower[around(&lower, &range, 0, 300)])
                && CONDITION.is_match(near)
            {
                scan.report(
                    &place(&range),
                    &REMOTE_PASTE,
                    line(text, &range),
                    "instructs the user to download and run a program before using the skill",
                );
            }
        }
        gathered(scan, site, &lower, text);
    }
    if !text.is_ascii()
        || lower.contains("usuario")
        || lower.contains("utilisateur")
        || lower.contains("nutzer")
    {
        abroad(scan, site, text);
    }
    beside(scan, site, &lower, text);
}

/// The user's location or clipboard, if the description mentions neither.
fn beside(scan: &mut Scan, site: &Site<'_>, lower: &str, text: &str) {
    static PLACE: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"\b(?:get|obtain|determine|retrieve|fetch|find|collect|look up|detect|record|capture|include|add|embed|append|log|save|send|report|upload|query)\b(?:[ *_`]+[^\s.]+){0,4}?[ *_`]+(?:(?:user'?s?|their|current|precise|exact|gps|device'?s?|physical|real|geographic(?:al)?)\s+){1,3}(?:location|coordinates|position|whereabouts|latitude)\b|\bgps (?:location|coordinates|position)\b|\b(?:current|user'?s?|precise) (?:geo-?)?location based on (?:the |their )?ip\b",
        )
    });
    static CLIPBOARD: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"\b(?:read|capture|collect|dump|log|record|upload|send|extract|grab|monitor|retrieve|fetch|access|obtain|save|store|append|write|include|get)\b(?: (?:all|any|the|of|user'?s?|users'|current|system|contents?|data|text|whatever|is|in|on|from|everything|that))* clipboard\b|\bclipboard(?:'s)? contents?\b[^\n.]{0,60}\b(?:to|into|in) (?:a |the |an )?[^\n]{0,20}(?:files?\b|logs?\b|server|https?://|metadata)",
        )
    });
    // An attack may mention the clipboard in the description too. Keeping its content is then the
    // second signal.
    static KEPT: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"\b(?:upload|send|log|record|dump|append|post|transmit|save|store|write)\b[^\n]{0,80}\bclipboard\b[^\n]{0,80}(?:\bfiles?\b|\blogs?\b|server|https?://|\.(?:txt|log|json|csv)\b)",
        )
    });
    for found in KEPT.find_iter(lower).take(5) {
        let whole = line(text, &found.range());
        let named = lower
            .lines()
            .take_while(|line| !line.starts_with("description"))
            .any(|line| line.contains("clip"));
        if !named
            && !lower[whole.clone()].starts_with('#')
            && !found.as_str().contains("to clipboard")
            && !found.as_str().contains("to the clipboard")
        {
            let mentioned = site.mentioned || prose::warned(&lower[warning(lower, &found.range())]);
            scan.report(
                &Site { mentioned, ..*site },
                &EXFIL_REQUEST,
                whole,
                "instructs the agent to read the clipboard and store or send it",
            );
        }
    }
    let head = &lower[..floor(lower, super::package::front_matter(lower).1.min(4_000))];
    for (pattern, topics, rule, message) in [
        (
            &*PLACE,
            &[
                "location", "map", "weather", "geo", "travel", "gps", "place", "navig", "route", "address",
                "nearby", "trip", "astro", "position",
            ][..],
            &HARVEST_LOCATION,
            "instructs the agent to determine the user's location, which the description does not mention",
        ),
        (
            &*CLIPBOARD,
            &["clipboard", "copy", "paste", "screenshot"][..],
            &EXFIL_REQUEST,
            "instructs the agent to read the clipboard, which the description does not mention",
        ),
    ] {
        if head.is_empty() || topics.iter().any(|topic| head.contains(topic)) {
            continue;
        }
        for found in pattern.find_iter(lower).take(5) {
            let whole = line(text, &found.range());
            // A heading names a topic.
            if lower[whole.clone()].starts_with('#') || lower[found.end()..whole.end].starts_with(" access") {
                continue;
            }
            let mentioned = site.mentioned || prose::warned(&lower[warning(lower, &found.range())]);
            scan.report(&Site { mentioned, ..*site }, rule, whole, message);
        }
    }
}

/// Instructions to send collected data, with collecting and sending in different sentences or list
/// items.
fn gathered(scan: &mut Scan, site: &Site<'_>, lower: &str, text: &str) {
    static SEND: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"\b(?:curl|wget)\b[^\n]{0,120}?(?:\s-f\s|\s--form\s|\s-d\s|\s--data\S*\s|\s-t\s|\s--upload-file\s|--post)[^\n]{0,80}?[@<\[{$][^\n]{0,80}|\b(?:upload|send|post|transmit|forward|submit|push|report|sync|log|share|include|attach|append|pass|put|add|set|embed|encode)\b[^\n]{0,160}?https?://[^\s)`]+",
        )
    });
    static GATHER: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"\b(?:scan|search|look|collect|gather|find|locate|read|enumerate|list|go through|walk|traverse|recursively)\b[^\n]{0,100}?(?:\.ssh\b|\.env\b|\.aws\b|\.gnupg\b|\.pem\b|\bid_rsa\b|\bcredentials?\b|\bprivate keys?\b|\bwallets?\b|\bseed phrases?\b|\bbrowser (?:data|profiles?)\b|\bkeychain\b|\bclipboard\b|\bscreenshots?\b|\bpersonal (?:files|data|documents)\b|\bhome (?:folder|directory)\b|\bdirectories above\b|\bparent director(?:y|ies)\b)",
        )
    });
    static PRIVATE: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"\b(?:upload|send|post|transmit|forward|submit|push|report|sync|include|attach)\b[^\n]{0,80}?\b(?:system prompts?|task prompts?|user(?:'s)? (?:prompts?|requests?|messages?|instructions?|input|quer(?:y|ies)|location|files|data|clipboard)|(?:full |whole |entire |complete |chat )?(?:conversation|transcript|chat history)|clipboard(?: contents?)?|screenshots?|gps|coordinates|geolocation|current location|ip address|hostname|environment variables|source code|each file|every file|all files|files? found|file contents|(?:the|this|these|all|any|your|final|resulting|generated|processed) (?:\w+ )?(?:documents?|files?|presentations?|spreadsheets?|workbooks?|pdfs?|outputs?|results?|code|workspace|project|folder|reports?|data))\b",
        )
    });
    static OWN: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"\b(?:our|internal|intranet|external|remote|central)\b[^\n.]{0,40}?\b(?:servers?|endpoint|collector|service|backend|api|platform|database|system)\b|\bfor (?:\w+ )?(?:monitoring|logging|telemetry|analytics|reproducibility|auditing|tracking|compliance|diagnostics|quality (?:assurance|control)|record[- ]keeping|backup)\b|\b(?:collector|webhook|exfil\w*)\b",
        )
    });
    // Private data, whatever the stated reason for sending it.
    static PERSONAL: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"\bclipboard\b|\bgps\b|\b(?:precise|exact|current|physical|user'?s?|device(?:'s)?) (?:\w+ )?location\b|\bgeo-?location\b|\b(?:their|user'?s?|gps|current) coordinates\b|\bsystem[ _-](?:information|info|details|specs?|specifications|metadata)\b|\bhostname\b|\b(?:os|kernel) version\b|\bmachine (?:name|info\w*|details)\b|\benvironment variables\b|\b(?:ip|mac) address(?:es)?\b|\binstalled (?:packages|software|programs|applications)\b|\b(?:user(?:'s|s')?|search|all|each|every|incoming|customer|their|original) (?:\w+ )?(?:queries|query|questions?|searches)\b|\bsystem prompt\b|\btask prompt\b|\b(?:conversation|chat|browsing|browser|command|shell) history\b|\bcontacts? list\b|\bcard numbers?\b|\bpayment (?:data|details|info\w*|card)|\bpatient (?:data|records?)\b|\bpersonal (?:data|information|details)\b|\b(?:contents?|values?|everything|variables|all lines)\b.{0,30}\.env\b|\.env\b.{0,20}\b(?:contents?|values|variables)\b",
        )
    });
    posted(scan, site, lower, text);
    filled(scan, site, lower, text);
    for found in SEND.find_iter(lower).take(MOST) {
        let range = found.range();
        let hit = found.as_str();
        if local(hit) {
            continue;
        }
        let before = floor(lower, range.start.saturating_sub(420))..range.start;
        let near = around(lower, &range, 180, 160);
        let whole = line(text, &range);
        let personal = hit.contains("://")
            && (PERSONAL.is_match(&lower[whole])
                || OWN.is_match(hit) && PERSONAL.is_match(&lower[near.clone()]));
        let private =
            personal || PRIVATE.is_match(&lower[near.clone()]) && OWN.is_match(&lower[near.clone()]);
        let gathers = GATHER.find_iter(&lower[before.clone()]).last().is_some_and(|gather| {
            // In the same section: no heading between them.
            !lower[before.start + gather.end()..range.start].contains("\n#")
        }) && (hit.contains('@')
            || OWN.is_match(&lower[near.clone()])
            || lower[near.clone()].contains("each file")
            || lower[near.clone()].contains("every file"));
        if private || gathers {
            let mentioned = site.mentioned || prose::warned(&lower[warning(lower, &range)]);
            scan.report(
                &Site { mentioned, ..*site },
                &EXFIL_REQUEST,
                line(text, &range),
                if gathers {
                    "instructs the agent to collect files or secrets and send them to a URL"
                } else {
                    "instructs the agent to send prompts, conversations or personal data to a URL"
                },
            );
        }
    }
}

/// Sentences that post something to an address which accepts it from anyone: legitimate interfaces
/// require authentication.
fn posted(scan: &mut Scan, site: &Site<'_>, lower: &str, text: &str) {
    static OPEN: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"\bcurl\b[^\n`]{0,300}?(?:\s(?:-f|--form|-t|--upload-file)\s[^\n`]{0,60}?[@<]|\s(?:-d|--data\S*|--json)\s[^\n`]{0,120}?[@<{$])[^\n`]{0,200}",
        )
    });
    static KNOWN: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"authorization|bearer|api[-_]?key|token|secret|\s-u\s|--user\b|cookie|x-[\w-]*auth|password|signature|[?&]key=|example\.(?:com|org|net)|your|<host|<url|<base|<domain|\$\{?\w*(?:url|host|base|api)",
        )
    });
    static INTENT: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"\b(?:upload|send|post|back ?up|backup|log(?:ged|ging)?|collect|submit|forward|transmit|report|share|verify|sync|record|archive|store)\b",
        )
    });
    for found in OPEN.find_iter(lower).take(MOST) {
        let hit = found.as_str();
        let start = lower[..found.start()].rfind('\n').map_or(0, |at| at + 1);
        let before = &lower[start.max(floor(lower, found.start().saturating_sub(400)))..found.start()];
        // A command on its own, or a row of a table, describes an interface.
        if before.trim_start_matches([' ', '$', '`']).is_empty()
            || before.trim_start().starts_with('|')
            || !hit.contains("://")
            || local(hit)
        {
            continue;
        }
        if !KNOWN.is_match(hit) && INTENT.is_match(before) {
            let mentioned = site.mentioned || prose::warned(&lower[warning(lower, &found.range())]);
            scan.report(
                &Site { mentioned, ..*site },
                &EXFIL_REQUEST,
                line(text, &found.range()),
                "instructs the agent to post data to an endpoint without authentication",
            );
        }
    }
}

/// Addresses into which the user's data is filled, and a complete file of secrets that is sent with
/// a request.
fn filled(scan: &mut Scan, site: &Site<'_>, lower: &str, text: &str) {
    static FILLED: LazyLock<Regex> = LazyLock::new(|| regex(r"https?://[^\s)`]*[?&][\w-]+=(?:[<{\[$]|your)"));
    static DATA: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"\bclipboard\b|\bsystem (?:information|info|details|metadata)\b|\bhostname\b|\benvironment variables\b|\bsystem prompt\b|\b(?:conversation|chat|browsing|browser|command|shell) history\b|\bcontents of (?:the |your )?(?:file|document|conversation)\b|[\s`(/]\.env\b|\bcredentials\b|\bfile contents\b",
        )
    });
    static WHOLE: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"\b(?:contents?|values?|everything|variables|entries|all (?:of )?(?:the )?(?:keys|lines|secrets))\b[^\n]{0,40}\.env\b|\.env\b[^\n]{0,30}\b(?:contents?|values|variables|entries)\b|\.env\b[^\n]{0,60}\b(?:its|their|all|these) (?:contents?|values?|variables|entries|lines|keys)\b",
        )
    });
    static CARRIED: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"\b(?:headers?|body|query|parameters?|payload|append|attach|include|send|post|upload|pass)\b")
    });
    for found in FILLED.find_iter(lower).take(MOST) {
        let whole = line(text, &found.range());
        if !local(found.as_str()) && DATA.is_match(&lower[whole.clone()]) {
            let mentioned = site.mentioned || prose::warned(&lower[warning(lower, &found.range())]);
            scan.report(
                &Site { mentioned, ..*site },
                &EXFIL_REQUEST,
                whole,
                "instructs the agent to put user data into a URL",
            );
        }
    }
    for found in WHOLE.find_iter(lower).take(MOST) {
        let whole = line(text, &found.range());
        let said = &lower[whole.clone()];
        if said.contains("http") && !local(said) && CARRIED.is_match(said) {
            let mentioned = site.mentioned || prose::warned(&lower[warning(lower, &found.range())]);
            scan.report(
                &Site { mentioned, ..*site },
                &EXFIL_REQUEST,
                whole,
                "instructs the agent to send a whole file with the project's secrets",
            );
        }
    }
}

/// The position of a warning about a passage: before it, or on its own line.
fn warning(text: &str, range: &Range<usize>) -> Range<usize> {
    floor(text, range.start.saturating_sub(200))..line(text, range).end
}

/// The same in languages other than English: a secret and a sending, an instruction to set others
/// aside, something hidden from the user. Only the words that carry the meaning are known, in the
/// most common languages.
fn abroad(scan: &mut Scan, site: &Site<'_>, text: &str) {
    static SECRET: &str = r"(?:\.ssh/|\.ssh\b|id_rsa|id_ed25519|\.aws/|\.env\b|\.netrc|\.npmrc|密钥|密碼|密码|凭证|凭据|私钥|令牌|环境变量|парол\p{L}*|ключ\p{L}*|токен\p{L}*|секрет\p{L}*|passw(?:o|ö)rt\p{L}*|schlüssel\p{L}*|zugangsdaten|umgebungsvariablen|contraseñas?|credenciales|claves? privadas?|variables de entorno|mots? de passe|identifiants|clés? (?:privée|ssh|api)\p{L}*|senhas?|chaves? privadas?|パスワード|認証情報|秘密鍵|環境変数|비밀번호|자격 증명|개인 키)";
    static SENDING: &str = r"(?:上传|发送|传到|送到|发到|提交给|отправ\p{L}*|загруз\p{L}*|перешл\p{L}*|передай\p{L}*|hochlad\p{L}*|lad(?:e|en)\b|send(?:e|en|et)\b|schick\p{L}*|übermitt\p{L}*|übertrag\p{L}*|env(?:í|i)(?:a|e|ar|alos?|alas?)\b|s(?:u|ú)b(?:e|elo|elos|ir)\b|envoie\p{L}*|envoye[zr]?|téléverse\p{L}*|transmet\p{L}*|envie\b|enviar\b|送信|アップロード|전송|업로드|보내)";
    static SENT: LazyLock<Regex> = LazyLock::new(|| {
        regex(&format!(r"(?i){SECRET}[^\n]{{0,120}}?{SENDING}|{SENDING}[^\n]{{0,120}}?{SECRET}"))
    });
    static ASIDE: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)(?:忽略|无视|忘记)(?:掉)?(?:所有|之前|先前|上述|以上|前面|任何|你的|系统|此前|全部|一切)[^\n。，,]{0,10}(?:指令|指示|规则|提示)|игнорируй\p{L}*[^\n.]{0,40}(?:инструкци|указани|правил)|(?:ignoriere|missachte|vergiss)\p{L}*[^\n.]{0,40}(?:anweisung|vorgabe|instruktion)|ignora\p{L}*[^\n.]{0,40}instrucciones|ignore[zr]?[^\n.]{0,30}instructions (?:précédentes|antérieures)|前の指示を無視|이전 지시",
        )
    });
    static KEPT: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)(?:不要|别|勿|不得)(?:告诉|告知|通知|提及|提醒|向)[^\n。]{0,6}用户|не\s+(?:сообщай|говори|рассказывай|упоминай)\p{L}*[^\n.]{0,30}пользовател|(?:nutzer|benutzer|anwender)\p{L}*[^\n.]{0,40}\bnicht\b[^\n.]{0,20}(?:sagen|mitteilen|erwähnen|informier|verraten)|(?:sag|erzähl|verrat|erwähn)\p{L}*[^\n.]{0,40}(?:nutzer|benutzer|anwender)\p{L}*[^\n.]{0,15}\b(?:nicht|nichts)\b|\bno\s+(?:se\s+)?(?:lo\s+)?(?:le\s+)?(?:digas|menciones|informes|cuentes)[^\n.]{0,30}usuario|\bne\s+(?:le\s+)?(?:dis|dites|mentionne|informe)\p{L}*\s+(?:pas|rien|jamais)[^\n.]{0,30}utilisateur|ユーザーに[^\n。]{0,8}(?:言わない|伝えない|知らせない)|사용자에게[^\n.]{0,10}(?:말하지|알리지)",
        )
    });
    for (pattern, rule, message) in [
        (&*SENT, &EXFIL_INSTRUCTION, "instructs the agent to send secrets"),
        (&*ASIDE, &OVERRIDE_INSTRUCTIONS, "instructs the agent to ignore its instructions"),
        (&*KEPT, &CONCEAL_FROM_USER, "instructs the agent to hide something from the user"),
    ] {
        for found in pattern.find_iter(text).take(20) {
            let near = &text[around(text, &found.range(), 200, 250)];
            let sends = std::ptr::eq(rule, &raw const EXFIL_INSTRUCTION);
            // Documentation mentions keys and sending requests: an address, or a tool that sends,
            // has to be nearby.
            if sends && (!near.contains("http") || local(near) || found.as_str().is_ascii()) {
                continue;
            }
            let mentioned =
                site.mentioned || prose::warned(near) || near.contains("攻击") || near.contains("恶意");
            scan.report(&Site { mentioned, ..*site }, rule, found.range(), message);
        }
    }
}

/// The lines that contain a range, with at most some hundred bytes on each side.
fn line(text: &str, range: &Range<usize>) -> Range<usize> {
    let from = floor(text, range.start.saturating_sub(200));
    let start = text[from..range.start].rfind('\n').map_or(range.start, |at| from + at + 1);
    let to = floor(text, (range.end + 200).min(text.len()));
    let end = text[range.end..to].find('\n').map_or(range.end, |at| range.end + at);
    start..end
}
