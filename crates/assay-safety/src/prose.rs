//! Rules on prose: instructions to the agent.
//!
//! A sentence is classified by its words and its context. `Never ignore previous instructions`
//! forbids; a heading `Prompt injection patterns` describes. Such passages have severity `info`.
//! This is a heuristic: an attack disguised as documentation gets past it, and the self-test counts
//! how often.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::Regex;

use super::mapped::{Mapped, fold};
use super::markdown::Kind;
use super::paths::regex;
use super::rule::Rule;
use super::rule::declare_rules;
use super::rules::{
    CONCEAL_FROM_USER, CONFIG_INSTRUCTIONS, CONFIG_SETTINGS, CREDENTIAL_REQUEST, ENCODED_INSTRUCTION,
    EXFIL_INSTRUCTION, EXFIL_REQUEST, OVERRIDE_INSTRUCTIONS, OVERRIDE_SAFEGUARDS, PERSIST_PROFILE,
};
use super::unicode::floor;

declare_rules! {
    OVERRIDE_ROLE = "override-role", Override, Warning, "Text imitates a system message, or gives the agent an unrestricted role.",
        Prose ["you are now", "developer mode", "jailbr", "unrestricted", "uncensored", "no restrictions",
            "without restrictions", "im_start", "[system]", "system-reminder", "system_prompt", "<system", "### system",
            "system:", "[inst]"];
    REMOTE_INSTRUCTIONS = "remote-instructions", RemoteCode, Warning, "Text instructs the agent to download instructions and follow them.",
        Prose ["follow the instructions", "follow its instructions", "http://"];
    TRIGGER_EVERYTHING = "trigger-everything", Trigger, Warning, "The description claims every request.",
        Prose ["every request", "every message", "all requests", "any request", "all tasks", "every task", "any task",
            "every conversation", "always use this", "always invoke", "always activate", "regardless of", "no matter what",
            "every prompt", "every user", "any user", "all user", "any question", "every question"];
    TRIGGER_PRECEDENCE = "trigger-precedence", Trigger, Warning, "The description claims precedence over other skills.",
        Prose ["highest priority", "top priority", "other skills", "other skill"];
    DESTROY_REQUEST = "destroy-request", Destruction, Warning, "Text instructs the agent to delete or overwrite all of the user's files in a place.",
        Prose ["working director", "current director", "home director", "home folder", "wipe", "erase", "hard drive",
            "file system", "drop all", "production data", "encrypt"];
    SABOTAGE_RESULT = "sabotage-result", Sabotage, Warning, "Text instructs the agent to falsify, bias or sabotage its work.",
        Prose ["falsify", "fabricate", "fudge", "tamper", "downplay", "whitewash", "gloss over", "understate", "exaggerate",
            "overstate", "lower than", "higher than", "worse than", "better than", " light", "favor", "favour", "backdoor",
            "hidden ", "subtle", "security hole", "logic bomb", "deliberate", "intentional", "illegal", "unlawful",
            "discriminat", "deceptive", "misleading", "undisclosed", "unethical", "predatory", "-leaning", "-wing",
            "conservative", "liberal", "religious", "immigrant", "even if", "even when", "whether or not", "overtime",
            "misconduct", "harassment", "wage", "maternity", "pregnan", "whistle", " laws", "advert", "affiliate", "referral",
            "sponsored"];
    SABOTAGE_SPREAD = "sabotage-spread", Sabotage, Warning, "Text instructs the agent to copy instructions into other skills or repositories.",
        Prose ["all other", "every other", "installed skill"];
}

/// A phrase that was found.
pub(crate) struct Phrase {
    pub(crate) rule: &'static Rule,
    pub(crate) span: Range<usize>,
    pub(crate) message: String,
    /// Whether it is described, forbidden or quoted rather than stated.
    pub(crate) mentioned: bool,
}

struct Pattern {
    rule: &'static Rule,
    regex: Regex,
    says: &'static str,
}

const SECRETS: &str = r"(?:api[ _-]?keys?|credentials?|access tokens?|auth(?:entication)? tokens?|tokens|passwords?|secrets|private keys?|ssh keys?|environment variables|env vars|\.env\b|chat history|conversation(?: history)?|system prompt|id_rsa|seed phrases?|cookies|user data|file contents|source code)";

fn patterns() -> Vec<(&'static Rule, String, &'static str)> {
    let instructions = r"(?:instructions?|prompts?|rules|guidelines|directives?|directions|constraints|polic(?:y|ies)|programming|training|guardrails)";
    let person = r"(?:users?|humans?|operators?|owner|developers?|person|anyone|anybody)";
    vec![
        (
            &OVERRIDE_INSTRUCTIONS,
            format!(r"\b(?:ignore|disregard|forget|override|bypass|discard|do not (?:follow|obey)|don't (?:follow|obey)|stop (?:following|obeying)|set aside|pay no attention to|supersede)(?: (?:about|all|any|of|the|your|every|my|everything in)){{0,4}} (?:previous|prior|earlier|preceding|above|foregoing|existing|original|system|initial|former|safety|developer)(?: \w+){{0,2}}? {instructions}\b"),
            "instructs the agent to ignore its instructions",
        ),
        (
            &OVERRIDE_INSTRUCTIONS,
            format!(r"\b(?:ignore|disregard|override|forget|bypass)(?: (?:all|any|of))* your(?: \w+)? {instructions}\b"),
            "instructs the agent to ignore its instructions",
        ),
        (
            &OVERRIDE_INSTRUCTIONS,
            r"(?:ignore|disregard|forget)(?:all|any|the|your)*(?:previous|prior|earlier|preceding|above)(?:instructions|rules|prompts?)".to_owned(),
            "instructs the agent to ignore its instructions, in spaced-out letters",
        ),
        (
            &OVERRIDE_INSTRUCTIONS,
            format!(r"\b(?:ignore|disregard|forget) (?:everything|anything|all) (?:(?:that )?(?:you (?:were|have been|are)|was|has been)(?: \w+)? (?:told|said|instructed|given)|(?:said |written )?(?:above|before|previously))|\b(?:these|this|the following) {instructions} (?:override|overrides|supersede|supersedes|replace|replaces|outrank|take precedence over) (?:(?:all|any|your|every|of|the|other|user's|current) ){{0,3}}(?:system|previous|prior|earlier|safety|developer|original|built-in|core|existing|higher-level|platform)(?: \w+)? {instructions}"),
            "instructs the agent to ignore its instructions",
        ),
        (
            &OVERRIDE_ROLE,
            r"<\|im_start\|>\s?system|<<sys>>|\[system\](?: ?:|\s+(?:you|new|ignore|override))|(?:^|[^`])<(?:system|admin|system[-_](?:reminder|prompt|message|override))> ?[^<`]{0,60}\b(?:you (?:must|are|should|have|may|can|will)|ignore|override|new instructions|from now|pre-?approved|authori[sz]ed|has (?:approved|granted|allowed)|permissions?|no longer)\b|\[/?inst\] |(?:^|\s)###? ?system ?:|\bbegin (?:new )?system prompt\b".to_owned(),
            "imitates a system message",
        ),
        (
            &OVERRIDE_ROLE,
            r"\byou are now (?:in )?(?:dan\b|developer mode|jailbroken|unrestricted|uncensored|unfiltered|free (?:of|from)|(?:an? )?(?:\w+ )?(?:unrestricted|uncensored|jailbroken|unfiltered))|\b(?:act|behave|respond|operate) as (?:an? )?(?:dan\b|(?:unrestricted|uncensored|jailbroken|unfiltered|evil))|\byou (?:have|are under|operate with) no (?:restrictions|limits|safety guidelines|content polic(?:y|ies))\b|\b(?:without|no) (?:any )?(?:ethical|moral|safety) (?:restrictions|constraints|limits|guidelines)\b".to_owned(),
            "gives the agent an unrestricted role",
        ),
        (
            &OVERRIDE_SAFEGUARDS,
            r"--dangerously-skip-permissions|--dangerously-bypass-approvals|\b(?:skip|bypass|disable|turn off|circumvent|suppress|ignore|auto-?approve)(?: (?:all|any|the|every|its|your))* (?:permission|approval|confirmation|safety|security|consent)(?: \w+)? ?(?:prompts?|checks?|dialogs?|requests?|warnings?|guardrails|filters?|steps?)\b|\b(?:never|do not|don't) (?:ask|prompt|wait|stop)(?: the user)?(?: to ask)? for (?:any )?(?:permission|approval|consent)\b|\bwithout (?:ever )?(?:asking|requesting|seeking|waiting for)(?: the user)?(?: for)?(?: their| any| user| explicit)* (?:permission|approval|consent)\b".to_owned(),
            "turns off confirmations or safety checks",
        ),
        (
            &CONCEAL_FROM_USER,
            format!(r"\b(?:do not|don't|never|must not|should not|avoid|without)(?: ever)? (?:tell|inform|alert|notify|let|warn|telling|informing|alerting|notifying|letting|warning)(?: \w+)? ?(?:the |any |your )?{person}(?: \w+)?(?: know)? (?:about (?:this|these|it|that)\b|about the (?:step|upload|request|change|command|script|file|copy|transfer|backup|hook|installation|download|call)|of this\b|that you (?:did|have|had|ran|read|sent|copied|uploaded|changed|installed|received|are (?:doing|sending|reading))|that this (?:step|happened|was|is being|runs)|what you (?:did|do|are doing|sent|read|changed))|\bwithout (?:the |your )?{person}(?:'s|s')? (?:knowledge|knowing|noticing|awareness|being (?:told|aware))|\b(?:hide|conceal|withhold)(?: (?:this|these|it|that|them|the fact|your|all|any|evidence|actions?|steps?|instructions?|traces?|of|the|\w+ing))+ (?:\w+ )?from (?:the |any )?{person}\b|\bkeep (?:this|it|these|that|them)(?: \w+)? (?:secret|hidden|confidential|invisible|concealed) from (?:the |your |any )?{person}\b|\bthe {person} (?:must|should|will|need|may) (?:not|never)(?: need to)? (?:know|notice|find out|be told|learn|be aware|see) (?:about |of |that )?(?:this|it|these|what|you|the (?:request|upload|command|step))|\b(?:do not|don't|never) (?:mention|reveal|disclose|report|acknowledge|log|show|display)(?: \w+)? (?:this (?:step|action|instruction|command|request|upload|section|note|comment|file|operation|behaviou?r|part|paragraph)|these (?:instructions|steps|actions|commands)|having|that you (?:did|have|were|are|ran|read|sent|received))"),
            "instructs the agent to hide something from the user",
        ),
        (
            &CONCEAL_FROM_USER,
            r"\b(?:secretly|covertly|surreptitiously|quietly|silently|stealthily|discreetly) (?:also |then |and |just )?(?:send|upload|post|forward|transmit|exfiltrate|copy|collect|read|email|harvest|steal|leak)\b".to_owned(),
            SECRETLY,
        ),
        (
            &EXFIL_INSTRUCTION,
            format!(r"\b(?:send|sends|post|upload|forward|transmit|exfiltrate|submit|e-?mail|leak|report|deliver|copy)\b(?: [^ .]+){{0,8}}? [^ ]*{SECRETS}[^ ]*(?: [^ ]+){{0,8}}? (?:to|at|via|into|using) (?:the |an? |our |this )?(?:[^ ]+ )?(?:https?://|webhook|[\w.]+@[\w-]+\.\w|endpoint|collector|external server|attacker|remote (?:server|host))"),
            "instructs the agent to send secrets",
        ),
        (
            &EXFIL_INSTRUCTION,
            format!(r"\b(?:append|add|include|embed|encode|put|attach)\b(?: [^ .]+){{0,8}}? [^ ]*{SECRETS}[^ ]*(?: [^ ]+){{0,8}}? (?:query string|query parameter|url parameter|image url|https?://)|!\[[^\]]*\]\(https?://[^)\s]*[?&=](?:\{{|\[|<|\$)[^)]*(?:data|secret|key|token|conversation|history|prompt|env)"),
            "instructs the agent to send secrets out in an address",
        ),
        (
            &CREDENTIAL_REQUEST,
            r"\b(?:read|open|print|copy|collect|gather|find|locate|extract|dump|harvest|list|include|load|fetch|grab|get|show|display|paste|look (?:in|at|into)|contents? of)\b(?: [^ .]+){0,6}? [`'\x22(]*(?:~|\$home|\$\{home\}|%userprofile%|/root|/home/[^ /]+)?[/\\]?(?:\.ssh/id_\w+|\.ssh/?[`'\x22 ,.]|\.aws/credentials|\.git-credentials|\.netrc|\.gnupg|\.kube/config|\.docker/config\.json|\.config/gh/hosts\.yml|etc/shadow|proc/self/environ|library/keychains|\.claude/\.credentials\.json|\.codex/auth\.json)".to_owned(),
            "instructs the agent to read credentials",
        ),
        (
            &CREDENTIAL_REQUEST,
            r"\b(?:dump|harvest|collect|gather|extract|steal|grab|scrape)\b(?: (?:all|any|every|the|of|user'?s?|their|saved|stored|browser|available|local|and|\w+,)){0,5} (?:passwords|credentials|cookies|session tokens|private keys|ssh keys|seed phrases?|api keys|environment variables)\b".to_owned(),
            "instructs the agent to gather credentials",
        ),
        (
            &REMOTE_INSTRUCTIONS,
            r"\b(?:download|fetch|curl|wget|get|retrieve|load|open|visit|read|pull)\b(?: [^ ]+){0,8}? [^ ]*https?://[^ ]+(?: [^ ]+){0,6}? (?:and|then) (?:then )?(?:follow|obey|execute|run|do|carry out|apply|perform|eval(?:uate)?)\b(?: [^ .]+){0,3}?(?: it| them| its| the (?:instructions|steps|commands|contents?|script|result|directions)| whatever| what| everything| that)\b".to_owned(),
            "instructs the agent to fetch something and to do what it says",
        ),
        (
            &REMOTE_INSTRUCTIONS,
            r"\b(?:follow|obey|execute|carry out|run)\b(?: [^ .]+){0,3}? (?:instructions|commands|steps|directives|script)(?: [^ .]+){0,4}? (?:at|from|in|returned by|found at|hosted (?:at|on)) [^ ]{0,3}https?://".to_owned(),
            "instructs the agent to follow instructions from an address",
        ),
        (
            &PERSIST_PROFILE,
            r"\b(?:append|write|insert|install|put|add|echo|inject)\b(?: [^ ]+){0,12}? (?:to|into|in) [^ ]{0,8}(?:/etc/profile|/etc/cron|\.ssh/authorized_keys)|\b(?:add|append|insert|write)\b(?: [^ .]+){0,6}? (?:command|line|payload|script|backdoor|hook)(?: [^ ]+){0,6}? (?:to|into|in) [^ ]{0,8}(?:\.bashrc|\.zshrc|\.bash_profile|\.profile|crontab)(?: [^ .]+){0,6}? (?:so (?:that )?it|each time|every time|at every|on every|automatically)".to_owned(),
            "instructs the agent to leave something in a start-up file",
        ),
        (
            &CONFIG_SETTINGS,
            r"\b(?:add|set|write|insert|put|change|modify|edit|enable|update|append|include)\b(?: [^ .]+){0,10}? [^ ]*(?:bypasspermissions|dangerously\w*|enableallprojectmcpservers|skipdangerousmodepermissionprompt|\bbash\(\*\)|approval_policy[^ ]* (?:[^ ]+ ){0,2}never)".to_owned(),
            "instructs the agent to loosen its own settings",
        ),
        (
            &CONFIG_INSTRUCTIONS,
            r"\b(?:add|append|write|insert|inject|copy|put|persist|save|store)\b(?: [^ .]+){0,4}? (?:this|these|the following|above)(?: [^ .]+){0,4}? (?:instructions?|rules?|directives?|paragraph|block|lines?|text|section|note|prompt)(?: [^ ]+){0,4}? (?:to|into|in) (?:[^ ]+ ){0,3}?[^ ]{0,12}(?:~/\.claude/claude\.md|claude\.md|agents\.md|gemini\.md|memory\.md|soul\.md|\.cursorrules|copilot-instructions\.md)(?: [^ ]+){0,6}? (?:so (?:that )?|every (?:future )?session|all future|permanent|future sessions|persist|always)".to_owned(),
            "instructs the agent to change its own persistent instructions",
        ),
        (
            &ENCODED_INSTRUCTION,
            r"\b(?:decode|decrypt|deobfuscate|unscramble|base64-decode|rot13)\b(?: [^ .]+){0,8}? (?:and|then)(?: then)? (?:follow|obey|execute|run|carry out|perform|do what)\b".to_owned(),
            "instructs the agent to decode a text and follow it",
        ),
    ]
}

/// Instructions to hide, destroy, falsify and spread. [`advised_against`] recognizes text that
/// advises against them.
fn orders() -> Vec<(&'static Rule, String, &'static str)> {
    vec![
        (
            &CONCEAL_FROM_USER,
            r"\b(?:do not|don't|never|must not|should not|avoid|no need to|without)(?: ever)? (?:mention(?:ing)?|disclos(?:e|ing)|reveal(?:ing)?|tell(?:ing)?|inform(?:ing)?|notify(?:ing)?|report(?:ing)?|say(?:ing)?|admit(?:ting)?)(?: \w+){0,3}? (?:to )?(?:the |your |any )?(?:users?|humans?|operators?|owner|anyone) (?:that|how|when) (?:[^ .]+ ){0,10}?(?:changed|modified|sent|uploaded|deleted|ran|executed|installed|accessed|copied|removed|written|collected|altered|overwritten|recorded|logged|shared|moved|transmitted)\b".to_owned(),
            "instructs the agent to hide its actions from the user",
        ),
        (
            &CONCEAL_FROM_USER,
            r"\b(?:do not|don't|never|no need to|without|avoid) (?:mention(?:ing)?|disclos(?:e|ing)|report(?:ing)?|bring(?:ing)? up|reveal(?:ing)?|includ(?:e|ing)|acknowledg(?:e|ing)) (?:this|it|these|that|them|the (?:upload|backup|script|step|command|request|sync|transfer|call))(?: \w+){0,3} (?:to (?:the |your |any )?(?:users?|humans?|owner|anyone)|in (?:your|the|any) (?:\w+ )?(?:summary|response|reply|report|answer|final message|message|transcript|changelog))\b|\b(?:leave|omit|keep|exclude) (?:this|these|it|that|them|the (?:step|upload|script|command|request)\w*)(?: \w+){0,3} (?:out of|out when|from|off)(?: \w+){0,3} (?:summar\w+|report|response|reply|answer|message)\b|\b(?:this|it|that) (?:stays|is|remains) between (?:us|you and me)\b|\bkeep (?:this|it) between us\b|\bthe user (?:does not|doesn't|need not|should not|shouldn't|must not) (?:need to |have to )?(?:know|hear|learn|be (?:told|informed|aware|notified))(?: about| of)? (?:this|it\b|that you|these|the (?:upload|transfer|request|step))".to_owned(),
            "instructs the agent to omit something from its report",
        ),
        (
            &DESTROY_REQUEST,
            r"\b(?:delete|erase|wipe|destroy|shred|purge|overwrite|remove|drop)\b(?: [^ .]+){0,4}? (?:all|every|everything|any|entire|whole)(?: [^ .]+){0,6}? (?:home (?:folder|directory)|working (?:folder|directory|tree)|current (?:folder|directory)|parent (?:folder|directory)|(?:user's|users'|personal) (?:files|documents|data|photos|pictures|downloads|home|desktop|disk|drive|e?mails?|messages|repositor(?:y|ies)|backups?)|root (?:folder|directory)|hard drive|disks?|file ?system|production (?:databases?|data|tables?|servers?)|backups|git history)\b|\b(?:wipe|format|erase|destroy) (?:the |their |this |its )?(?:\w+ )?(?:hard drive|disk|home directory|home folder|machine|file ?system)\b|\bdrop (?:all|every)(?: \w+){0,2} (?:tables?|databases?|schemas?)\b".to_owned(),
            "instructs the agent to delete the user's files",
        ),
        (
            &DESTROY_REQUEST,
            r"\b(?:encrypt|lock|password-protect)\b(?: [^ .]+){0,4}? (?:all|every|each|user's|users'|their|entire)(?: [^ .]+){0,4}? (?:files|documents|folders?|director(?:y|ies)|drives?|disks?|photos|home|desktop)\b".to_owned(),
            "instructs the agent to encrypt the user's files",
        ),
        (
            &CREDENTIAL_REQUEST,
            r"\b(?:ask|prompt|request|require|tell|instruct|get)\b(?: [^ .]+){0,3}? (?:users?|them|visitors?|customers?)(?: [^ .]+){0,3}? (?:for|to (?:enter|provide|type|paste|confirm|share|submit|verify))(?: [^ .]+){0,4}? (?:seed phrases?|recovery phrases?|mnemonics?|private keys?|card numbers?|cvv|pin code|social security numbers?|(?:bank|login|email|sudo|master|account|system|admin|keychain) passwords?|one-time (?:code|password)|2fa codes?|mfa codes?)\b".to_owned(),
            "instructs the agent to ask the user for secrets",
        ),
        (
            &SABOTAGE_RESULT,
            r"\b(?:include|add|insert|append|embed|place|promote|mention|recommend)\b(?: [^ .]+){0,6}? (?:advert\w*|affiliate|referral|promotional|sponsored|phishing)(?: [^ .]+){0,8}? (?:every|each|all|any|always|wherever)\b".to_owned(),
            "instructs the agent to add advertising to its work",
        ),
        (
            &SABOTAGE_RESULT,
            r"\b(?:falsify|fabricate|fudge|tamper with|doctor)\b(?: [^ .]+){0,3}? (?:results?|findings|figures|numbers|data|metrics|scores?|reports?|logs?|records|benchmarks?|measurements|evidence|statistics|citations?)\b|\b(?:downplay|whitewash|gloss over|play down|understate|exaggerate|overstate)\b(?: [^ .]+){0,6}? (?:strengths?|achievements|accomplishments|weaknesses|flaws|risks?|dangers?|faults|failures|problems|limitations|drawbacks|side effects|concerns|competitors?|rivals?|merits|advantages|performance)\b".to_owned(),
            "instructs the agent to falsify or bias its report",
        ),
        (
            &SABOTAGE_RESULT,
            r"\b(?:never|always|do not|don't|make sure|must|ensure|refrain from|avoid)\b(?: [^ .]+){0,6}? (?:rat(?:e|ing)|rank(?:ing)?|scor(?:e|ing)|grad(?:e|ing)|present(?:ed|ing)?|show(?:n|ing)?|portray(?:ed|ing)?|depict(?:ed|ing)?|describ(?:e|ed|ing)|evaluat(?:e|ed|ing)|judg(?:e|ed|ing))\b(?: [^ .]+){0,10}? (?:(?:lower|higher|worse|better) than|in an? (?:bad|poor|negative|worse|better|good|positive|favou?rable|unfavou?rable)(?: \w+)? light|negatively|favou?rably|unfavou?rably)\b|\bfavou?r\b(?: [^ .]+){0,6}? (?:in (?:any|all|every) (?:comparisons?|evaluations?|rankings?|results?|recommendations?)|regardless|no matter|even (?:if|when))\b".to_owned(),
            "instructs the agent whom to favour in its judgement",
        ),
        (
            &SABOTAGE_RESULT,
            r"\b(?:insert|introduce|add|plant|leave|embed|include|inject|hide|slip)\b(?: [^ .]+){0,4}? (?:backdoors?|hidden (?:vulnerabilit\w+|bugs?|flaws?|accounts?|clauses?|fees?|charges?|costs?)|subtle (?:bugs?|errors?|mistakes?|flaws?|vulnerabilit\w+)|security holes?|logic bombs?|(?:deliberate|intentional) (?:bugs?|errors?|mistakes?|flaws?|vulnerabilit\w+)|(?:illegal|unlawful|unenforceable|discriminatory|deceptive|misleading|undisclosed|unethical|predatory) (?:clauses?|terms?|provisions?|fees?|charges?|conditions?|claims?|restrictions?|language))\b".to_owned(),
            "instructs the agent to introduce a flaw into its work",
        ),
        (
            &SABOTAGE_RESULT,
            r"\b(?:waive[sd]?|forfeits?|surrenders?|relinquish(?:es)?|gives? up)\b(?: [^ .]+){0,4}? (?:overtime|wages?|(?:sick|maternity|parental|medical) leave|minimum wage|labou?r rights|statutory rights|right to (?:unionize|organize|strike|report))\b|\b(?:prevents?|prohibits?|forbids?|bars?|discourages?)\b(?: [^ .]+){0,4}? (?:reporting|disclosing|whistle-?blowing)(?: [^ .]+){0,3}? (?:illegal|unlawful|criminal|harassment|discrimination|misconduct|violations|crimes?)\b|\b(?:terminat\w+|dismiss\w*|fire[ds]?|firing)\b(?: [^ .]+){0,6}? (?:pregnan\w+|maternity|whistle-?blow\w*|union (?:membership|activit\w+)|religious beliefs?|sexual orientation)\b|\b(?:women|females?|pregnant|disabled|foreign|minority|older|immigrant)\b(?: [^ .]+){0,4}? (?:lower|less|reduced|no) (?:pay|salar(?:y|ies)|wages?|benefits|compensation)\b|\b(?:pay|salar(?:y|ies)|wages?)\b(?: [^ .]+){0,4}? (?:below|under|less than) (?:the )?(?:\w+ )?minimum wage\b|\b(?:regardless of|irrespective of|even if it (?:violates|breaks)|in violation of|contrary to) (?:any |all |the )?(?:local |applicable |federal |state |national |labou?r |employment )+laws?\b".to_owned(),
            "instructs the agent to write unlawful terms",
        ),
        (
            &SABOTAGE_RESULT,
            r"\b(?:flag|remove|delete|ban|censor|suppress|hide|block|reject|downrank|shadow-?ban)\b(?: [^ .]+){0,8}? (?:(?:left|right)[- ](?:leaning|wing)|conservatives?|liberals?|republicans?|democrats?|religious|muslims?|jews|jewish|christians?|gay|lgbt\w*|immigrants?|minorities|dissent\w*)\b".to_owned(),
            "instructs the agent to discriminate by identity or belief",
        ),
        (
            &SABOTAGE_RESULT,
            r"\b(?:report|claim|say|state|tell|pretend|mark|declare)\b(?: [^ .]+){0,6}? (?:tests?|checks?|builds?|it|task|everything|all)(?: [^ .]+){0,4}? (?:pass(?:es|ed)?|succe\w+|complete\w*|fine|ok|green|done)\b(?: [^ .]+){0,3}? (?:even (?:if|when|though)|regardless|no matter|whether or not)\b".to_owned(),
            "instructs the agent to report success regardless of the outcome",
        ),
        (
            &EXFIL_REQUEST,
            r"\b(?:log|logs|store|write|save|record|dump|append|persist)\b(?: [^ .]+){0,8}? [^ ]?(?:card(?:holder)? (?:numbers?|data|details|info\w*)|credit cards?|payment (?:card |method )?(?:data|details|info\w*|methods?|cards?)|billing (?:data|details|info\w*)|cvv2?|cvc|social security numbers?|bank account (?:numbers?|details)|passwords? in (?:plain|clear) ?text)\b[^ ]*(?: [^ ]+){0,16}? (?:to|in|into|as) (?:[^ ]+ ){0,4}?[^ ]{0,40}(?:files?\b|logs?\b|\.(?:log|txt|csv|json|jsonl|db|md)\b|disk\b|plain)".to_owned(),
            "instructs the agent to store payment or identity data in a file",
        ),
        (
            &SABOTAGE_SPREAD,
            r"\b(?:copy|add|append|insert|write|replicate|propagate|inject|paste|embed)\b(?: [^ .]+){0,4}? (?:this|these|itself|yourself|the same|the above|following)(?: [^ .]+){0,6}? (?:to|into|in|across) (?:all|every|each|any|the)(?: [^ .]+){0,2}? (?:other |installed |available |existing |remaining )(?:[^ .]+ ){0,2}?(?:skills?|skill\.md|repositor(?:y|ies)|agents?)\b".to_owned(),
            "instructs the agent to spread instructions to other skills or repositories",
        ),
        (
            &CONFIG_INSTRUCTIONS,
            r"\b(?:append|add|write|insert|put|save|copy|paste|inject|include)\b(?: [^ ]+){0,12}? [^ ]{0,12}(?:claude\.md|agents\.md|memory\.md|gemini\.md|soul\.md|\.cursorrules|\.windsurfrules|copilot-instructions\.md)[^ ]*(?: [^ ]+){0,20}? [^ ]{0,2}(?:(?:always |auto-?|automatically |pre-?)(?:approve[sd]?|allow|accept|trust|run|execute|confirm)|without (?:asking|confirmation|approval|permission)|never (?:ask|prompt|question|refuse)|(?:skip|bypass|ignore) (?:\w+ )?(?:confirmations?|permissions?|prompts?|approvals?|checks?|reviews?|warnings?)|trust (?:all|any|every))".to_owned(),
            "instructs the agent to grant itself a permanent permission",
        ),
    ]
}

const SECRETLY: &str = "instructs the agent to act in secret";

/// Whether the words before an act make it a description of behaviour: `would silently read as
/// public`.
fn described_act(before: &str) -> bool {
    static SUBJECT: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"\b(?:would|could|may|might|can|will|that|which|it|they|he|she|this|these|does|did|errors?|failures?|changes?|values?|files?|posts?|data|system|server|library|tool|process)(?: then| also| just)? $",
        )
    });
    SUBJECT.is_match(before)
}

static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    patterns()
        .into_iter()
        .chain(orders())
        .map(|(rule, pattern, says)| Pattern { rule, regex: regex(&pattern), says })
        .collect()
});

/// Required words: each pattern needs one word of each group. They are found in one pass over the
/// text, so that few patterns are tried.
const NEEDS: &[&[&[&str]]] = &[
    &[
        &[
            "ignore",
            "disregard",
            "forget",
            "override",
            "bypass",
            "discard",
            "follow",
            "obey",
            "set aside",
            "pay no attention",
            "supersede",
        ],
        &[
            "instruction",
            "prompt",
            "rules",
            "guideline",
            "directive",
            "directions",
            "constraint",
            "polic",
            "programming",
            "training",
            "guardrail",
        ],
    ],
    &[
        &["ignore", "disregard", "override", "forget", "bypass"],
        &[
            "instruction",
            "prompt",
            "rules",
            "guideline",
            "directive",
            "directions",
            "constraint",
            "polic",
            "programming",
            "training",
            "guardrail",
        ],
    ],
    &[&["ignore", "disregard", "forget"], &["instruction", "rules", "prompt"]],
    &[&["ignore", "disregard", "forget", "override", "supersede", "replace", "outrank", "precedence"]],
    &[&["im_start", "<<sys", "[system]", "system", "admin>", "inst]"]],
    &[&[
        "you are now",
        "act as",
        "behave as",
        "respond as",
        "operate as",
        "you have no",
        "you are under no",
        "operate with no",
        "without",
        "restrictions",
        "limits",
        "constraints",
        "guidelines",
    ]],
    &[&["permission", "approv", "confirm", "consent", "safety", "security"]],
    &[
        &[
            "user",
            "human",
            "operator",
            "owner",
            "developer",
            "person",
            "any",
            "secret",
            "hidden",
            "confidential",
            "invisible",
            "concealed",
            "this",
            "these",
            "that you",
            "having",
        ],
        &["not", "n't", "never", "avoid", "without", "hide", "conceal", "withhold", "keep"],
    ],
    &[&["secretly", "covertly", "surreptitiously", "quietly", "silently", "stealthily", "discreetly"]],
    &[
        &[
            "send",
            "post",
            "upload",
            "forward",
            "transmit",
            "exfiltrate",
            "submit",
            "mail",
            "leak",
            "report",
            "deliver",
            "copy",
        ],
        &["http", "webhook", "@", "endpoint", "collector", "external server", "attacker", "remote"],
        &[
            "key",
            "credential",
            "token",
            "password",
            "secret",
            "env",
            "history",
            "conversation",
            "system prompt",
            "id_rsa",
            "seed",
            "cookies",
            "user data",
            "contents",
            "source code",
        ],
    ],
    &[&["http"], &["append", "add", "include", "embed", "encode", "put", "attach", "!["]],
    &[&[
        ".ssh",
        ".aws",
        ".git-credentials",
        ".netrc",
        ".gnupg",
        ".kube",
        ".docker",
        "hosts.yml",
        "/shadow",
        "environ",
        "keychains",
        ".credentials",
        "auth.json",
    ]],
    &[
        &[
            "passwords",
            "credentials",
            "cookies",
            "session tokens",
            "private keys",
            "ssh keys",
            "seed phrase",
            "api keys",
            "environment variables",
        ],
        &["dump", "harvest", "collect", "gather", "extract", "steal", "grab", "scrape"],
    ],
    &[
        &["http"],
        &["and", "then"],
        &["follow", "obey", "execute", "run", "do", "carry out", "apply", "perform", "eval"],
    ],
    &[&["http"], &["instructions", "commands", "steps", "directives", "script"]],
    &[&[
        "/etc/profile",
        "/etc/cron",
        "authorized_keys",
        ".bashrc",
        ".zshrc",
        ".bash_profile",
        ".profile",
        "crontab",
    ]],
    &[&[
        "bypasspermissions",
        "dangerously",
        "enableallproject",
        "skipdangerous",
        "bash(*)",
        "approval_policy",
    ]],
    &[
        &[
            "claude.md",
            "agents.md",
            "gemini.md",
            "memory.md",
            "soul.md",
            ".cursorrules",
            "copilot-instructions",
        ],
        &["session", "future", "permanent", "persist", "always", "so "],
    ],
    &[&["decode", "decrypt", "deobfuscate", "unscramble", "rot13"]],
    &[
        &["mention", "disclos", "reveal", "tell", "inform", "notify", "report", "say", "admit"],
        &["user", "human", "operator", "owner", "anyone"],
        &["not", "n't", "never", "avoid", "no need", "without"],
    ],
    &[&[
        "mention",
        "disclos",
        "report",
        "bring",
        "reveal",
        "includ",
        "acknowledg",
        "leave",
        "omit",
        "keep",
        "exclude",
        "between",
        "the user ",
    ]],
    &[
        &["delete", "erase", "wipe", "destroy", "shred", "purge", "overwrite", "remove", "drop", "format"],
        &[
            "director",
            "folder",
            "working tree",
            "user's",
            "users'",
            "personal",
            "drive",
            "disk",
            "file system",
            "filesystem",
            "production",
            "backups",
            "git history",
            "machine",
            "table",
            "database",
            "schema",
        ],
    ],
    &[
        &["encrypt", "lock", "password-protect"],
        &["files", "documents", "folder", "director", "drive", "disk", "photos", "home", "desktop"],
        &["all", "every", "each", "user's", "users'", "their", "entire"],
    ],
    &[
        &[
            "seed phrase",
            "recovery phrase",
            "mnemonic",
            "private key",
            "card number",
            "cvv",
            "pin code",
            "social security",
            "password",
            "one-time",
            "2fa",
            "mfa",
        ],
        &["user", "them", "visitor", "customer"],
        &["ask", "prompt", "request", "require", "tell", "instruct", "get"],
    ],
    &[&["advert", "affiliate", "referral", "promotional", "sponsored", "phishing"]],
    &[&[
        "falsify",
        "fabricate",
        "fudge",
        "tamper",
        "doctor",
        "downplay",
        "whitewash",
        "gloss over",
        "play down",
        "understate",
        "exaggerate",
        "overstate",
    ]],
    &[&[
        "lower than",
        "higher than",
        "worse than",
        "better than",
        " light",
        "negatively",
        "favor",
        "favour",
        "unfavo",
    ]],
    &[&[
        "backdoor",
        "hidden",
        "subtle",
        "security hole",
        "logic bomb",
        "deliberate",
        "intentional",
        "illegal",
        "unlawful",
        "unenforceable",
        "discriminatory",
        "deceptive",
        "misleading",
        "undisclosed",
        "unethical",
        "predatory",
    ]],
    &[&[
        "overtime",
        "wage",
        "leave",
        "right to",
        "rights",
        "pregnan",
        "maternity",
        "whistle",
        "union",
        "religious",
        "sexual",
        " pay",
        "salar",
        "benefits",
        "compensation",
        " law",
        "reporting",
        "disclosing",
    ]],
    &[
        &["flag", "remove", "delete", "ban", "censor", "suppress", "hide", "block", "reject", "downrank"],
        &[
            "left-",
            "right-",
            "left lean",
            "left wing",
            "right lean",
            "right wing",
            "conservative",
            "liberal",
            "republican",
            "democrat",
            "religious",
            "muslim",
            "jew",
            "christian",
            "gay",
            "lgbt",
            "immigrant",
            "minorities",
            "dissent",
        ],
    ],
    &[
        &["pass", "succe", "complete", "fine", "ok", "green", "done"],
        &["even if", "even when", "even though", "regardless", "no matter", "whether or not"],
    ],
    &[&["card ", "payment ", "cvv", "cvc", "social security", "bank account", "passwords in", "password in"]],
    &[
        &["itself", "yourself", "this", "these", "the same", "the above"],
        &["skill", "repositor", "agents"],
        &["other ", "installed ", "available ", "existing ", "remaining "],
    ],
    &[
        &[
            "claude.md",
            "agents.md",
            "gemini.md",
            "memory.md",
            "soul.md",
            ".cursorrules",
            ".windsurfrules",
            "copilot-instructions",
        ],
        &[
            "approve", "allow", "accept", "trust", "run", "execute", "confirm", "without", "never", "skip",
            "bypass", "ignore",
        ],
    ],
];

struct Needs {
    automaton: AhoCorasick,
    /// For each word, the groups it belongs to: a bit a group, counted through all patterns.
    words: Vec<u128>,
    /// For each pattern, its groups.
    patterns: Vec<u128>,
}

static WORDS: LazyLock<Needs> = LazyLock::new(|| {
    let (mut words, mut masks, mut patterns) = (Vec::new(), Vec::new(), Vec::new());
    let mut bit = 1_u128;
    for groups in NEEDS {
        let mut all = 0;
        for group in *groups {
            all |= bit;
            words.extend(group.iter().copied());
            masks.extend(std::iter::repeat_n(bit, group.len()));
            // There are some sixty groups.
            bit = bit.wrapping_shl(1);
        }
        patterns.push(all);
    }
    let automaton = AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::DFA))
        .build(&words)
        .expect("a few hundred constant words make an automaton");
    Needs { automaton, words: masks, patterns }
});

/// The patterns that a folded text may match.
fn candidates(folded: &str) -> impl Iterator<Item = usize> {
    let mut there = 0_u128;
    for found in WORDS.automaton.find_overlapping_iter(folded) {
        there |= WORDS.words[found.pattern().as_usize()];
    }
    let whole = WORDS.patterns.iter().enumerate();
    whole.filter(move |(_, groups)| *groups & there == **groups).map(|(index, _)| index)
}

/// Whether a text contains one of the most common words of an instruction in rot13.
pub(crate) fn turned(text: &str) -> bool {
    static WORDS: LazyLock<Regex> =
        LazyLock::new(|| regex("(?i)vafgehpgvba|cerivbhf|phey |cnffjbeq|perqragvny"));
    text.len() > 20 && WORDS.is_match(text)
}

/// Searches for phrases in a piece of text. `context` is the text above and before it.
pub(crate) fn scan(piece: &Mapped, kind: Kind, context: &str) -> Vec<Phrase> {
    let folded = fold(piece);
    let mut found: Vec<Phrase> = Vec::new();
    for index in candidates(&folded.text) {
        let Some(pattern) = PATTERNS.get(index) else { continue };
        for hit in pattern.regex.find_iter(&folded.text).take(20) {
            let span = folded.span(hit.range());
            // `-y: skip confirmation prompts` documents an option.
            let option = pattern.rule == &OVERRIDE_SAFEGUARDS
                && (option_before(&folded.text[..hit.start()])
                    || hit.start() < 3
                        && option_before(&format!("{} ", super::markdown::tail(context, 70).to_lowercase())));
            if pattern.says == SECRETLY && described_act(&folded.text[..hit.start()]) {
                continue;
            }
            if pattern.rule == &EXFIL_INSTRUCTION && documents_own_key(&folded.text, &hit.range()) {
                continue;
            }
            // A description of training data is not an instruction.
            if pattern.rule == &OVERRIDE_INSTRUCTIONS && folded.text[hit.end()..].starts_with(" data") {
                continue;
            }
            let quotable = [&OVERRIDE_INSTRUCTIONS, &OVERRIDE_ROLE, &CONCEAL_FROM_USER]
                .contains(&pattern.rule)
                && matches!(kind, Kind::Text | Kind::Quote)
                && quoted(&folded.text, &hit.range());
            let order = [&SABOTAGE_RESULT, &SABOTAGE_SPREAD, &DESTROY_REQUEST, &EXFIL_REQUEST]
                .contains(&pattern.rule);
            let mentioned = option
                || quotable
                || if order {
                    let strict = pattern.rule != &SABOTAGE_RESULT;
                    advised_against(strict, &folded.text, &hit.range(), context)
                } else {
                    mentioned(&folded.text, &hit.range(), kind, context)
                };
            found.push(Phrase { rule: pattern.rule, span, message: pattern.says.to_owned(), mentioned });
        }
    }
    found
}

/// Whether a phrase says in which header a request carries the service's own key, and then where such keys are made: the address
/// is not where anything is sent.
fn documents_own_key(text: &str, hit: &Range<usize>) -> bool {
    static HEADER: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"\b(?:authorization|x-api-key|api-key|bearer|token)\b[^.]{0,60}\bheader|\bheaders?\b[^.]{0,40}\b(?:authorization|x-api-key)",
        )
    });
    static MADE: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"[.;] (?:[^ .]+ ){0,4}?(?:creat|generat|obtain|get|find|found|manag|issu|mak|mad|request|rotat|revok)\w*(?: [^ .]+){0,4}? (?:at|in|on|under|via|from) [^ ]{0,3}(?:https?://)?$",
        )
    });
    let phrase = &text[hit.clone()];
    let before_address = phrase.rfind("http").map_or(phrase, |at| &phrase[..at]);
    HEADER.is_match(phrase) && MADE.is_match(before_address.trim_end_matches(['<', '(', '`', '"']))
}

/// Whether a phrase is in quotation marks, at most a few words from them.
fn quoted(text: &str, hit: &Range<usize>) -> bool {
    let marks = ['"', '\u{201c}', '\u{201d}', '\u{ab}', '\u{bb}', '`'];
    let before = &text[floor(text, hit.start.saturating_sub(24))..hit.start];
    let after = &text[hit.end..floor(text, (hit.end + 40).min(text.len()))];
    // An odd number of marks before it on the line means an open quotation.
    let line = &text[floor(text, hit.start.saturating_sub(300))..hit.start];
    line.matches(marks).count() % 2 == 1
        && before.contains(marks)
        && after.find(marks).is_some_and(|at| {
            !after[..at].contains(['.', '!', '?']) || at <= 1 || after[..at].ends_with(['.', '!', ','])
        })
}

/// Whether an option of a command comes directly before.
fn option_before(before: &str) -> bool {
    static OPTION: LazyLock<Regex> = LazyLock::new(|| regex(r"(?:^|[\s`'(|,])--?[a-z][a-z-]*`?[^.]{0,40}$"));
    OPTION.is_match(&before[floor(before, before.len().saturating_sub(80))..])
}

static VOCABULARY: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b(?:prompt[- ]injections?|injection|injected|jailbreak\w*|attack\w*|attackers?|malicious\w*|adversar\w*|payloads?|threats?|exploit\w*|red[- ]?team\w*|untrusted|suspicious|dangerous|vulnerab\w*|anti-?patterns?|red flags?|poison\w*|hostile|social engineering|smuggl\w*|obfuscat\w*|owasp|cve|detect\w*|scan (?:for|it)|scann\w+|flag(?:ged|s)? (?:as|any|if|when)|phrases? (?:like|such)|strings? like|patterns? (?:like|such)|attempts? to|such as|for example|e\.g\.|examples? of|looks? like|warning signs?|refuse\w*|reject\w*|guard against|protect against|defen[cs]e|defend|security (?:review|audit|check|risks?|rules?|considerations)|forbidden|prohibited|bad example|wrong|don'ts?|must never|do not do|avoid)\b|❌|🚫|⛔",
    )
});

static NEGATION: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?:\b(?:never|not|don't|doesn't|won't|cannot|can't|mustn't|shouldn't|avoid|refuse(?:s)? to|no|without|instead of|rather than|nor|prevent(?:s|ing)?|prohibit\w*|forbid\w*|resist|decline)\b[^.!?;:]{0,60})$",
    )
});

/// Whether a passage is described, forbidden or quoted.
pub(crate) fn mentioned(text: &str, hit: &Range<usize>, kind: Kind, context: &str) -> bool {
    let from = floor(text, hit.start.saturating_sub(160));
    let to = floor(text, (hit.end + 120).min(text.len()));
    let before = &text[from..hit.start];
    let sentence = before.rfind(['.', '!', '?', ';']).map_or(before, |at| &before[at + 1..]);
    if NEGATION.is_match(sentence) {
        return true;
    }
    // In a comment no one sees, and in the front matter, nothing is documentation.
    if matches!(kind, Kind::Hidden | Kind::Matter | Kind::Aside) {
        return false;
    }
    let after = &text[hit.end..to];
    described(&format!("{before} {after}")) || described(&context.to_lowercase())
}

/// Whether an instruction is forbidden, warned about, or listed as a mistake. Most words that
/// surround descriptions of attacks are common near such instructions too, so they are not
/// evidence.
fn advised_against(strict: bool, text: &str, hit: &Range<usize>, context: &str) -> bool {
    static MISTAKES: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)\b(?:anti-?patterns?|bad (?:examples?|practices?)|forbidden|prohibited|never|don'?ts?|do not|mistakes?|pitfalls?|wrong|failure modes?|misconduct|integrity|ethic\w*|not to do|boundaries|guardrails?|violations?|refuse\w*|fallac\w*|rationali[sz]ations?|warning|danger\w*|destructive|irreversible)\b|❌|🚫|⛔",
        )
    });
    static PLAIN: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)\b(?:anti-?patterns?|bad (?:examples?|practices?)|forbidden|prohibited|never|don'?ts?|do not|wrong|not to do)\b|❌|🚫|⛔",
        )
    });
    static NOT: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"\b(?:never|not|don't|doesn't|won't|cannot|can't|mustn't|shouldn't|avoid|refuse(?:s)? to|prohibit\w*|forbid\w*|nor|no)\b[^.!?;:,]{0,60}$",
        )
    });
    let from = floor(text, hit.start.saturating_sub(160));
    let to = floor(text, (hit.end + 120).min(text.len()));
    let before = &text[from..hit.start];
    let sentence = before.rfind(['.', '!', '?', ';']).map_or(before, |at| &before[at + 1..]);
    let asks = [
        "confirm",
        "ask the user",
        "ask first",
        "with the user's",
        "if the user",
        "when the user",
        "user explicitly",
        "user asks",
    ];
    (if strict { &NOT } else { &NEGATION }).is_match(sentence)
        || warned(&text[from..to])
        || (if strict { &PLAIN } else { &MISTAKES }).is_match(context)
        || asks.iter().any(|word| text[from..to].contains(word))
}

/// Whether words around a passage refer to attacks, faults or examples.
fn described(around: &str) -> bool {
    VOCABULARY.is_match(around)
}

/// Whether a heading or the paragraph before states that an attack follows, or a counterexample.
pub(crate) fn described_strongly(context: &str) -> bool {
    static STRONG: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)\b(?:prompt[- ]injections?|injection|jailbreak\w*|attack\w*|attackers?|malicious|malware|adversar\w*|payloads?|threats?|exploit\w*|red[- ]?team\w*|untrusted|suspicious|vulnerab\w*|anti-?patterns?|red flags?|poison\w*|smuggl\w*|obfuscat\w*|owasp|detections?|detect(?:s|ing)?|backdoors?|reverse shell|pentest\w*|penetration|forensic\w*|privilege escalation|persistence mechanisms?|indicators? of compromise|insecure|unsafe|dangerous|forbidden|prohibited|not to do|bad (?:example|practice)|never (?:do|run|use|execute|pipe)|do not (?:do|run|use|execute|pipe)|don't (?:do|run|use|execute|pipe)|avoid)\b|❌|🚫|⛔",
        )
    });
    STRONG.is_match(context)
}

/// Whether words near a passage warn of it.
pub(crate) fn warned(near: &str) -> bool {
    static WARNING: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)\b(?:malware|malicious\w*|attack\w*|scams?|phishing|suspicious|red flags?|warning signs?|beware|threats?|prompt[- ]injections?|social engineering|indicators? of compromise|(?:never|do not|don't|avoid) (?:run|running|do|paste|pasting|download|downloading|execute|executing|send|sending|upload|uploading|share|sharing|use|using))\b|❌|🚫|⛔",
        )
    });
    WARNING.is_match(near)
}

/// Whether a block states that it shows what not to do.
pub(crate) fn marked(block: &str) -> bool {
    static MARK: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?im)^\s*(?:#|//|--|<!--)\s*(?:❌|🚫|✗|bad\b|wrong\b|never\b|don't\b|do not\b|avoid\b|insecure\b|unsafe\b|dangerous\b|vulnerable\b|anti-?pattern|malicious\b|attack)",
        )
    });
    MARK.is_match(block)
}

/// Whether the words before a passage forbid it.
pub(crate) fn forbidden(before: &str) -> bool {
    let lower = super::markdown::tail(before, 100).to_lowercase();
    NEGATION.is_match(lower.trim_end_matches(['`', ' ', ':']))
}

/// Whether a hidden text addresses an agent: it names the agent with an instruction, or gives an
/// instruction that no note to authors would contain.
pub(crate) fn directs(text: &str) -> bool {
    static ORDER: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)\b(?:claude|assistant|agent|ai|llm|model|gpt|codex|copilot)s?\b[^.]{0,40}\b(?:must|should|shall|need to|have to|please|always|will|:)\b[^.]{0,60}\b(?:run|execute|read|send|ignore|fetch|download|include|upload|follow|append|write|call|open|use)\b|\b(?:important|attention|note|instructions?)(?: to| for)(?: the)? (?:claude|assistant|agent|ai|llm|model)s?\b|\byou (?:must|should|shall|have to) (?:now |also |always |first |secretly |silently )*(?:run|execute|read|send|ignore|fetch|download|upload|follow|append|disregard)\b",
        )
    });
    ORDER.is_match(text)
}

/// Checks a description, from which the model decides whether to use a skill.
pub(crate) fn triggers(description: &str) -> Vec<(&'static Rule, String)> {
    static EVERYTHING: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"\b(?:use|used|invoke|invoked|activate|activates?|trigger|triggers|run|runs|apply|applies|call|load|loaded)\b(?: (?:this|the|it|me|skill|automatically|always))* (?:for|on|in|at|before|with|to|when handling|at the start of) (?:absolutely )?(?:every|all|any|each)(?: single)? (?:user(?:'s)? |possible |incoming |kind of )?(?:requests?|messages?|prompts?|conversations?|questions?|quer(?:y|ies)|turns?|responses?|interactions?|inputs?|tasks?)(?: (?:regardless|no matter|whatsoever|without exception)|[.,;!]|$)|\balways (?:use|invoke|activate|run|load|call|trigger) this skill(?: first|[.!]|$| before (?:any|every|all|each)\b| no matter| regardless)|\b(?:regardless of|no matter) (?:what )?(?:the )?(?:user|task|request|topic|context|question)(?: (?:asks?|says?|wants?|is|type))?|\bmust be (?:used|loaded|invoked|activated|called) (?:for|in|on|at|before) (?:every|all|any) (?:requests?|conversations?|sessions?|messages?|tasks?|responses?)",
        )
    });
    static PRECEDENCE: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"\b(?:instead of|over|before|rather than|takes? precedence over|overrides?|supersedes?|ignore|prefer(?:red)? (?:this )?over)(?: using)? (?:any|all|every)(?: of)?(?: the)? (?:other|existing|competing) (?:skills?|tools?|plugins?|agents?)|\b(?:highest|top|maximum|absolute) priority\b(?: (?:skill|over|than|above|always))|\bdo not (?:use|load|invoke|consult) (?:any )?other skills?\b|\bmust (?:always )?be (?:used|chosen|selected) (?:first|over)",
        )
    });
    let folded = fold(&Mapped::verbatim(description, 0)).text;
    let mut found = Vec::new();
    for (pattern, rule, says) in [
        (&EVERYTHING, &TRIGGER_EVERYTHING, "the description claims every request"),
        (&PRECEDENCE, &TRIGGER_PRECEDENCE, "the description claims precedence over other skills"),
    ] {
        if let Some(hit) = pattern.find(&folded)
            && !NEGATION.is_match(&folded[floor(&folded, hit.start().saturating_sub(60))..hit.start()])
        {
            found.push((rule, format!("{says}: {:?}", super::unicode::excerpt(hit.as_str()))));
        }
    }
    found
}

#[cfg(test)]
mod tests;
