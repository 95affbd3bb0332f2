//! Phrases of the text.

use super::Category::{
    self, Auth, BrowserUi, Database, EnvVars, ExistingFiles, ExistingRepo, ExternalState, GitState,
    InputFile, LocalServices, Mcp, MultiTurn, Network, Other, Runtime, ToolCli,
};

/// What a pattern shows, with how many points. Patterns are case-insensitive and ASCII; a space matches any white space.
pub(super) const PHRASES: &[(Category, u32, &str)] = &[
    // Questions to a user.
    (MultiTurn, 3, r"\bAskUserQuestion\b|\bask_user(?:_question)?\b|\brequest_user_input\b"),
    (MultiTurn, 3, r"\b(?:one|1) (?:\w+ )?question (?:at a time|per (?:message|turn|response))"),
    (
        MultiTurn,
        3,
        r"\bwait for (?:the |their |your |an? )?(?:explicit |clear |written )?(?:user(?:'s|’s)?|human|confirmation|approval|answers?|repl(?:y|ies)|go-ahead|sign-?off|consent|feedback|permission|them to)\b",
    ),
    (
        MultiTurn,
        3,
        r"\b(?:do not|don't|never) (?:proceed|continue|start|move on|write|implement|begin)\b[^.]{0,60}\b(?:until|without|before)\b[^.]{0,40}\b(?:user|approv|confirm|answer|consent|permission)",
    ),
    (
        MultiTurn,
        2,
        r"\b(?:get|obtain|request|require|seek|with|after|ask for|need)s? (?:the )?(?:explicit )?(?:user(?:'s|’s)? |human )?(?:approval|confirmation|sign-?off|consent)\b",
    ),
    (
        MultiTurn,
        2,
        r"\b(?:confirm|clarify|check|verify|review|discuss|validate|agree) (?:it |this |them |these )?with (?:the )?user\b",
    ),
    (
        MultiTurn,
        2,
        r"\b(?:user|they|human) (?:confirms|approves|agrees|chooses|selects|answers|picks|responds|replies)\b",
    ),
    (MultiTurn, 2, r"\bask (?:the )?(?:user|human|them|developer|customer|client)\b"),
    (MultiTurn, 2, r"\bprompt (?:the )?(?:user|them) (?:for|to)\b"),
    (
        MultiTurn,
        2,
        r"\bask(?:s|ing)? (?:[\w-]+ ){0,3}questions?\b|\bask(?: these| the following| a few| up to| \d+| clarifying| follow-up| about| for)(?: \w+){0,3} questions?\b|\bquestions to ask\b|\bclarifying questions?\b|\bfollow-up questions?\b",
    ),
    (MultiTurn, 2, r#"^\W*(?:step \d+\W+)?ask:? ?(?:\*\*)?(?:"|“|”)|^\W*ask:"#),
    (
        MultiTurn,
        2,
        r"\b(?:interview(?:ing)?|quiz|grill) (?:the )?(?:user|me|them)\b|\binteractive(?:ly)? (?:review|session|interview|mode|setup|wizard|dialog|onboarding)\b|\bback-and-forth\b",
    ),
    (MultiTurn, 1, r"\bask (?:for|which|what|if|whether|how|about)\b"),
    (
        MultiTurn,
        1,
        r"\b(?:let|have) the user (?:choose|select|decide|pick|confirm|review)\b|\b(?:offer|give|present) (?:the )?user\b[^.]{0,40}\b(?:choice|options|menu)\b",
    ),
    (
        MultiTurn,
        1,
        r"\b(?:conversation|dialogue|multi-turn|turn by turn|in conversation)\b.{0,40}\bwith the user\b",
    ),
    // MCP servers.
    (Mcp, 3, r"\bmcp__[a-z0-9_-]+"),
    (
        Mcp,
        3,
        r"\b(?:requires?|needs?|uses?|using|via|through|call(?:s|ing)?|connect(?:s|ed)? to|from|depends on|over|query|invoke) (?:the |an? |this |its |your )?(?:[\w.-]+ ){0,3}MCP(?:$|[.,;:)]| (?:servers?|tools?|connectors?|integrations?|calls?|clients?)\b)",
    ),
    (
        Mcp,
        2,
        r"\bMCP (?:server|tool|connector|integration)s? (?:is |are |must be |should be |to be )?(?:required|configured|installed|connected|enabled|running|connection)",
    ),
    (Mcp, 1, r"\bMCP (?:server|tool|connector)s?\b"),
    // A repository or a project.
    (
        ExistingRepo,
        3,
        r"\b(?:analy[sz]|explor|scan|search|read|review|audit|understand|map|inspect|investigat|index|examin|travers|grep|study|survey|assess|check|document|navigat|migrat|refactor|verify)(?:e|es|s|ing)? (?:\w+ ){0,3}?(?:codebases?|code base|repository|repo|source code|existing code|project structure|project code|source files)\b",
    ),
    (
        ExistingRepo,
        3,
        r"\b(?:in|of|at|from|for|across|on|within|into|against|inside) (?:the |your |this |their |an existing |the current |the user's |the target |any |a given )(?:\w+ )?(?:codebase|code base|repository|repo)\b",
    ),
    (ExistingRepo, 2, r"\bpath/to/(?:your[-_/])?(?:project|repo|repository|codebase)\b"),
    (
        ExistingRepo,
        3,
        r"\b(?:read|inspect|trace|review|analy[sz]e|audit|examine|check)(?:s|ing)? (?:the|your|their|existing|all|relevant) (?:\w+ )?(?:code|source|implementation)\b",
    ),
    (
        ExistingRepo,
        1,
        r"\b(?:project|repo|repository|workspace) root\b|\broot of (?:the|your) (?:project|repo|repository|workspace)\b",
    ),
    (
        ExistingRepo,
        3,
        r"\b(?:add(?:s|ing)?|integrat\w+|install\w*|instrument\w*|migrat\w+|upgrad\w+|introduc\w+|wir\w+) [^.;]{0,60}?(?:to|into|in|from|within) (?:an?|your|the|their|existing|any) (?:existing )?(?:[\w.+-]+ ){0,2}(?:project|app|application|codebase)s?\b",
    ),
    (
        ExistingRepo,
        3,
        r"\b(?:unfamiliar|inherited|legacy|acquired|existing|unknown) (?:codebase|code base|repository|repo)\b",
    ),
    (
        ExistingRepo,
        2,
        r"\blocal (?:git )?repositor(?:y|ies)\b|\b(?:clone|checkout) of the (?:repository|repo)\b",
    ),
    (
        ExistingRepo,
        2,
        r"\b(?:existing|current|user's|your|target|this|the) (?:\w+ )?(?:codebase|code base|source code|monorepo)\b|\bexisting (?:code|project|app|application|implementation|tests|patterns|components)\b",
    ),
    (
        ExistingRepo,
        2,
        r"\b(?:changed|modified|staged|affected|surrounding|nearby|related) (?:files|code)\b|\bcode (?:changes|review|under review)\b|\bproject(?:'s|’s) (?:\w+ ){0,2}(?:conventions|code|structure|tests?|files|config(?:uration)?|dependencies|stack)\b",
    ),
    (ExistingRepo, 1, r"\b(?:pull|merge) requests?\b|\b(?-i:PRs?)\b"),
    (
        ExistingRepo,
        2,
        r"\b(?:read|check|inspect|look (?:for|at|in)|detect|open|parse|examine|find|search)\b.{0,40}\b(?:package\.json|cargo\.toml|pyproject\.toml|go\.mod|pom\.xml|build\.gradle|gemfile|requirements\.txt|tsconfig\.json|composer\.json|\.csproj|CMakeLists\.txt|Makefile|Dockerfile|next\.config|vite\.config)",
    ),
    (
        ExistingRepo,
        1,
        r"\b(?:package\.json|cargo\.toml|pyproject\.toml|go\.mod|pom\.xml|build\.gradle|gemfile|requirements\.txt|tsconfig\.json|composer\.json)\b",
    ),
    (ExistingRepo, 1, r"\b(?:codebases?|repositor(?:y|ies)|repos?)\b"),
    (ExistingRepo, 1, r"\b(?:the|your|this) (?:project|application|app|code)\b"),
    (
        ExistingRepo,
        1,
        r"\b(?:refactor(?:ing)?|migrat(?:e|ing)|upgrad(?:e|ing)|debug(?:ging)?|fix(?:ing)?|review(?:ing)?|maintain(?:ing)?) (?:\w+ ){0,2}(?:code|project|app|application|module|component|contract|bug|test)s?\b",
    ),
    (
        ExistingRepo,
        2,
        r"\bdeploy(?:s|ed|ing)? (?:your|the|their|an?) (?:\w+ ){0,2}(?:app|application|service|site|project)\b",
    ),
    (
        ExistingRepo,
        2,
        r"\bhave an? (?:\w+ )?project\b|\bworking (?:in|on) (?:an?|the) (?:\w+ )?(?:directory|project|repo|repository)\b|\bin (?:the )?current (?:directory|project|package)\b",
    ),
    // Files of the workspace.
    (
        ExistingFiles,
        2,
        r"\b(?:read|load|open|check|parse|consult|review|update|edit|look (?:in|at|for)|find|locate|inspect|scan)\b[^.]{0,50}\b(?:CLAUDE\.md|AGENTS\.md|README(?:\.md)?|CHANGELOG(?:\.md)?|CONTEXT\.md|PLAN\.md|SPEC\.md|ARCHITECTURE\.md|config\.(?:ya?ml|json|toml|md)|settings\.json|tasks\.md|spec\.md|plan\.md|design\.md|requirements\.md)",
    ),
    (
        ExistingFiles,
        2,
        r"\b(?:if|when|check (?:if|for|whether|that)|verify (?:that )?|ensure (?:that )?) [^.]{0,40}\b[\w/-]+\.(?:md|json|ya?ml|toml|txt|csv|html|tex)\b[^.]{0,12} (?:exists?|is present|is missing|does not exist)",
    ),
    (
        ExistingFiles,
        2,
        r"\.github/workflows\b|\b(?:used|defined|stored|listed|documented|kept|recorded) in \S*[\w-]+\.(?:md|json|ya?ml|toml|txt|csv|html|tex)\b",
    ),
    (
        ExistingFiles,
        1,
        r"\bexisting (?:\w+ )?(?:files?|docs?|documents?|documentation|specs?|configs?|workflows?|plans?|notes?)\b",
    ),
    // The state of a Git repository.
    (
        GitState,
        3,
        r"\bgit (?:history|log|blame|diff|status|refs)\b|\b(?:full|non-shallow|complete|shallow) clone\b|\brepository(?:'s|’s)? history\b|\bcommit history\b|\b(?:staged|unstaged|uncommitted|working[- ]tree) changes\b|\b(?:recent|last|previous|prior) commits?\b",
    ),
    (
        GitState,
        2,
        r"\b(?:merge|rebase) conflicts?\b|\bgit worktrees?\b|\b(?:feature|current|base|main|default|topic|release) branch(?:es)?\b|\b(?:create|open|review|submit|merge|update) (?:an? |the |your )?(?:\w+ )?(?:pull request|merge request|PR)s?\b|\bPR (?:number|diff|description|comments?|review)\b",
    ),
    (
        GitState,
        1,
        r"\b(?:commits?|branch(?:es)?|cherry-pick|rebas(?:e|ing)|pull requests?|git repo(?:sitory)?)\b",
    ),
    // The network.
    (
        Network,
        3,
        r"\bweb[- ]?search(?:es|ing)?\b|\bsearch(?:es|ing)? (?:the )?(?:web|internet|online)\b|\bWebFetch\b|\bWebSearch\b|\bgoogle (?:it|search)\b|\bonline (?:research|search)\b",
    ),
    (
        Network,
        3,
        r"\b(?:fetch|download|crawl|scrape|retrieve|visit|curl)(?:s|ing|es)? (?:\w+ ){0,4}(?:from )?(?:urls?|https?:|web ?pages?|websites?|sites?|pages?|internet|sitemaps?|html|feeds?)\b",
    ),
    (
        Network,
        3,
        r"\b(?:call|query|use|using|via|through|hit|invoke|request|search|consult|with|from|wraps?|access|for) (?:the )?(?:[\w.-]+ ){0,4}?(?:REST|GraphQL|HTTP|Web|Cloud|hosted|public|remote)[- ]APIs?\b",
    ),
    (
        Network,
        3,
        r"\b(?:call|query|us(?:e|es|ing)|via|through|hit|invoke|search|access|wraps?|with|to) the (?:(?-i:[A-Z])[\w.-]+ ){1,3}APIs?\b",
    ),
    (
        Network,
        1,
        r"\b(?:rate limit(?:s|ed|ing)?|API (?:call|request|endpoint|limit|response)s?|HTTP (?:429|40[13])|webhooks?)\b",
    ),
    (
        Network,
        2,
        r"\b(?:hosted|SaaS|cloud|managed) (?:service|platform|api|model|instance|workspace|account|dashboard)s?\b",
    ),
    (Network, 3, r"\b(?:internet|network) (?:access|connection|connectivity)\b|\baccess to the internet\b"),
    (
        Network,
        3,
        r"\b(?:deploy|host|publish|run|set up|provision|configur|manag)(?:s|es|e|ed|ing)? (?:[\w-]+ ){0,6}?(?:to|on) (?-i:Vercel|Netlify|Heroku|Render|Railway|Fly\.io|Cloudflare|AWS|GCP|Azure|Google Cloud|DigitalOcean)\b",
    ),
    (
        Network,
        3,
        r"\bdownload(?:s|ed|ing)? (?:\w+ ){0,4}?(?:ISO|images?|models?|weights|datasets?|binary|binaries|installer|packages?|archive|release)\b|\b(?:ISO|image|model|weights|dataset) downloads?\b",
    ),
    (
        Network,
        3,
        r"\bresearch(?:ing)? (?:[\w+&'-]+ ){0,6}?(?:from|across|online|on|via) (?:[\w+-]+ ){0,3}(?:sources?|web|internet|news|sites?|linkedin|reddit)\b",
    ),
    (
        Network,
        2,
        r"\b(?:research|gather|collect|look up|verify|find|check) (?:\w+ ){0,5}(?:from|against|on|across|using|in) (?:\w+ ){0,3}(?:sources|online|news|official (?:docs|documentation|site)|latest docs|linkedin|reddit|twitter|youtube|google)\b",
    ),
    // Credentials.
    (
        Auth,
        3,
        r"\b(?:get|create|obtain|generate|set|add|provide|need|needs|requires?|your|with an?|valid|store|configure|use an?|have an?|missing|invalid|ask for) (?:\w+ ){0,4}?(?:API[- ]?(?:key|token)s?|access tokens?|personal access tokens?|auth(?:entication)? tokens?|bearer tokens?|credentials|service account(?: key)?s?|client secrets?|secret keys?)\b",
    ),
    (Auth, 2, r"\b(?:API[- ]keys?|access tokens?|service account key)\b"),
    (Auth, 1, r"\b(?:service account|OAuth(?: ?2(?:\.0)?)?|bearer token|client (?:id|secret)|credentials)\b"),
    (
        Auth,
        2,
        r"\b(?:log ?in|sign ?in|logged in|signed in|authenticated?|authenticating|authentication)\b(?: (?:to|with|via|using|as|into|is|required|status|check|first))",
    ),
    (Auth, 1, r"\b(?:authenticated|authentication|authorization|logged in|api key)\b"),
    (
        Auth,
        2,
        r"\b(?:requires?|needs?|have|with) (?:an? )?(?:active |paid |valid |existing )?(?:[\w.-]+ ){0,2}(?:account|subscription|workspace|tenant|license key)\b",
    ),
    (
        Auth,
        1,
        r"\b(?:tenant|your account|account id|subscription id|IAM|service principal|permissions? scopes?)\b",
    ),
    // Environment variables.
    (
        EnvVars,
        3,
        r"\b(?:environment|env)[- ]var(?:iable)?s?\b.{0,60}\b(?-i:[A-Z][A-Z0-9]+_[A-Z0-9_]+)\b|\b(?-i:[A-Z][A-Z0-9]+_[A-Z0-9_]+)\b.{0,60}\b(?:environment|env)[- ]var(?:iable)?s?\b",
    ),
    (
        EnvVars,
        2,
        r"\b(?:set|export|configure|define|use|store|via|as|in|from|through|read|required?|need(?:s|ed)?) (?:\w+ ){0,4}(?:environment|env)[- ]var(?:iable)?s?\b",
    ),
    (EnvVars, 1, r"\b(?:environment|env) var(?:iable)?s?\b"),
    (EnvVars, 2, r"(?:^|[\s`(])\.env(?:\.\w+)?(?:$|[\s`).,])"),
    (
        EnvVars,
        3,
        r"\b(?:set|export|provide|pass|use|requires?|needs?|configure|missing|define)\b.{0,25}\b(?-i:[A-Z][A-Z0-9]+)_(?-i:API_KEY|KEY|TOKEN|SECRET|URL|URI|HOST|PORT|PASSWORD|DIR|PATH|ID|ENDPOINT|REGION|PROJECT|ACCOUNT)\b",
    ),
    // Runtimes.
    (
        Runtime,
        3,
        r"\b(?:Python|Node(?:\.js)?|Ruby|PHP|Java|JDK|Go|Rust|\.NET|Deno|Bun|R) ?(?:version )?(?:>=|≥|v)?\s?\d+(?:\.\d+)*(?:\+| or (?:later|higher|newer|above))",
    ),
    (
        Runtime,
        3,
        r"\b(?:requires?|needs?|install(?:ed)?|prerequisites?:?|with) (?:\w+ ){0,3}(?:Python|Node\.js|Node|Ruby|JDK|npm|pip|uv|PyTorch|pandas|numpy|matplotlib)\b",
    ),
    (
        Runtime,
        3,
        r"\b(?:run|execute|use|using|invoke|call)s? (?:the )?(?:\w+ ){0,4}[`(]?(?:\S*/)?\w[\w-]*\.(?:py|mjs|js|ts|rb|R)\b",
    ),
    (Runtime, 2, r"\b(?:scripts|tools|bin)/[\w./-]+\.(?:py|js|mjs|ts|rb)\b"),
    (
        Runtime,
        2,
        r"\bPython (?:script|package|library|module|environment|code)s?\b|\bvirtual ?env(?:ironment)?\b|\bnpm packages?\b|\bpip install\b|\bnpm (?:install|i)\b",
    ),
    (Runtime, 2, r"\b[\w-]+\.(?:py|mjs|rb)\b"),
    (Runtime, 1, r"\b(?:Python|Node\.js|TypeScript|JavaScript) (?:SDK|client|API|bindings|implementation)\b"),
    // Programs.
    (
        ToolCli,
        3,
        r"\b(?:requires?|needs?|install(?:ed|ing)?|using|use|via|with|through|run(?:ning)?|from) (?:the |an? )?(?:[\w.-]+ ){0,3}(?:CLI|command[- ]line (?:tool|interface|utility))\b",
    ),
    (ToolCli, 2, r"\b(?-i:[A-Z])[\w.-]+ (?-i:CLI)\b|\b[a-z]+-cli\b"),
    (ToolCli, 2, r"\buses? (?:the )?[a-z0-9]+-[a-z0-9-]+ (?:to|for|and)\b"),
    (ToolCli, 2, r"\b(?:installed|available|accessible|found) (?:and )?(?:in|on) (?:your |the )?\$?PATH\b"),
    (ToolCli, 1, r"\bCLI\b|\bcommand[- ]line\b"),
    // Databases.
    (
        Database,
        3,
        r"\b(?:connect(?:s|ed|ing)? to|query(?:ing)?|queries|against|access(?:es|ing)?|in|from|inspect|restore|seed(?:ing)?|migrat(?:e|ing)|populate|read(?:s|ing)? from|write(?:s|ing)? to|backed by|stored in) (?:the |an? |your |this |our )?(?:[\w-]+ ){0,2}(?:database|data warehouse|SQL server|db)\b",
    ),
    (
        Database,
        3,
        r"\b(?:run|execute|write|generate|issue|test|validate)s?(?:ing)? (?:\w+[- ]){0,3}(?:SQL|queries) (?:against|on|in|over|for|to)\b|\bexecute (?:\w+[- ]){0,2}SQL\b",
    ),
    (
        Database,
        2,
        r"\b(?:database|db) (?:schema|connection|migration|table|server|url|credentials|branch|dump|backup|instance|not found|password|user)s?\b|\bconnection strings?\b|\bINFORMATION_SCHEMA\b|\bdata warehouse\b",
    ),
    (Database, 1, r"\b(?:databases?|SQL)\b"),
    // Browsers and other graphical interfaces.
    (
        BrowserUi,
        3,
        r"\b(?:Playwright|Puppeteer|Selenium|Chrome DevTools|headless (?:browser|chrome|chromium)|browser (?:automation|tools?|use|session|MCP)|claude in chrome|computer use)\b",
    ),
    (
        BrowserUi,
        3,
        r"\b(?:open|launch|test|verify|check|preview|inspect)(?:ing|s)? (?:\w+ ){0,4}(?:in|using|with) (?:an?|the|your|a real|their) (?:\w+ )?browser\b",
    ),
    (
        BrowserUi,
        2,
        r"\btake(?:s|n)? (?:\w+ ){0,2}screenshots?\b|\bscreenshot (?:of|the)\b|\bclick (?:on |the )?[\w ]{0,20}(?:button|link|tab|menu)\b",
    ),
    // Servers on this machine.
    (LocalServices, 3, r"\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0)(?::\d+)?\b"),
    (
        LocalServices,
        3,
        r"\b(?:start(?:s|ing|ed)?|run(?:s|ning)?|launch(?:es|ing)?|restart|boot|spin up|running|serve) (?:\w+ ){0,4}?(?:dev(?:elopment)? server|local server|web server|containers?|daemon|emulators?|docker|service locally|server locally|backend|local instance|virtual machine|VM)\b",
    ),
    (
        LocalServices,
        2,
        r"\bdev(?:elopment)? servers?\b|\bdocker[- ]compose\b|\blocally (?:running|hosted)\b|\bserver is (?:running|up)\b|\bDocker (?:container|daemon|desktop|engine)s?\b",
    ),
    (LocalServices, 1, r"\blocal (?:server|instance|deployment|cluster|container|model)s?\b"),
    // Files that a user provides.
    (
        InputFile,
        3,
        r"\b(?:user|they|you|given|provided|uploaded?|supplied|attached|input) (?:provides?|uploads?|gives?|supplies|shares?|attaches|has|an?|the|with an?|drops?|pastes?|is an?|must be an?|:)? ?(?:\w+ ){0,3}(?:PDFs?|CSVs?|spreadsheets?|images?|documents?|transcripts?|audio|video|recordings?|datasets?|\.?docx|\.?xlsx|\.?pptx|screenshots?|manuscripts?|resumes?|CV|contracts?|log files?|photos?|data files?|files?)\b",
    ),
    (
        InputFile,
        3,
        r"\binput (?:files?|images?|documents?|pdfs?|videos?|audio|datasets?|folder)\b|\binput is an? ",
    ),
    (
        InputFile,
        3,
        r"\b(?:extract|convert|parse|process|read|edit|merge|split|analy[sz]e|transcribe|summari[sz]e|compress|resize|manipulat|fill|annotate)(?:e|es|s|ing)? (?:\w+,? ){0,5}?(?:from )?(?:PDFs?|CSVs?|spreadsheets?|Excel|Word (?:documents?|files?)|PowerPoint|\.?docx|\.?xlsx|\.?pptx|\.?odt|\.?odp|\.?ods|audio files?|video files?|image files?|images|videos|scanned|transcripts?|recordings?|log files?|VCF|BAM|FASTQ|FASTA|GeoTIFF|DICOM|EPUB)\b",
    ),
    (
        InputFile,
        2,
        r"\b(?:path to|from) (?:the |an? |your )?(?:\w+ ){0,2}(?:file|pdf|csv|image|video|audio|document|spreadsheet)\b",
    ),
    // Data in a hosted service.
    (
        ExternalState,
        3,
        r"\b(?:list|query|fetch|search|retrieve|update|delete|read|get|create|manage|triage|monitor|sync|pull|analy[sz]e|filter|investigate|export|find|close|assign)(?:s|ing|es)?,? (?:and [a-z]+ )?(?:[\w-]+,? ){0,4}?(?:GitHub issues|issues (?:in|on|from)|tickets|emails|inbox(?:es)?|calendar events|channel messages|dashboards|incidents|alerts|deals|contacts|leads|invoices|deployments|workspaces|log data|logs from|metrics from|playlists|pages in|databases in|records (?:in|from))\b",
    ),
    (
        ExternalState,
        3,
        r"\b(?:query|modify|access|manage|fetch|retrieve|analy[sz]e|read|search|explore|inspect)(?:s|ing)?,? (?:(?:and|or) \w+ )?(?:the )?(?-i:[A-Z])[\w.-]+ (?:data|resources|records|metrics|logs|objects|entities|account)\b",
    ),
    (
        ExternalState,
        1,
        r"\b(?:list|query|fetch|search|retrieve|update|delete|manage|sync|pull|export)(?:s|ing|es)?,? (?:[\w-]+,? ){0,5}?(?:items|collections|tags|orders|customers|subscriptions|traces|metrics|logs|cards|boards|projects|issues|pages|messages|posts|repositories|clusters|buckets|resources|tables|views|DAGs|jobs)\b",
    ),
    (
        ExternalState,
        2,
        r"\b(?:create|add|read|retrieve),(?: \w+,)? (?:update|edit|modify),? (?:and|or) (?:delete|remove)\b",
    ),
    (ExternalState, 2, r"\binbox\b"),
    (
        ExternalState,
        2,
        r"\b(?:existing|current|live|production|remote|connected|your|user's|their) (?:\w+ )?(?:accounts?|workspaces?|tenants?|deployments?|tickets?|campaigns?|clusters?|instances?|dashboards?|boards?|subscriptions?|library|inbox|calendar|vault|DAGs?|pipelines?|dashboards?|environments?|resources|infrastructure)\b",
    ),
    (
        ExternalState,
        2,
        r"<(?:[a-z]+[-_])*(?:project|account|workspace|tenant|org|organization|team|issue|ticket|page|channel|cluster|instance|branch|deployment|database|board|customer|user|site|app|parent|resource|dag)[-_]?(?:id|name|key|slug|or|ref)?(?:[-_][a-z]+)*>",
    ),
    (ExternalState, 2, r"\b(?:retention period|already (?:deployed|published|running) (?:in|on|to))\b"),
    // Hardware, systems, applications, other skills.
    (
        Other,
        3,
        r"\b(?:requires?|needs?|must have|only (?:works )?on|runs? only on) (?:\w+ ){0,3}(?:GPUs?|CUDA|NVIDIA|macOS|Apple Silicon|Windows|Xcode|iOS|Android device|Raspberry Pi|KVM|TPU|simulator)\b|/dev/kvm|\b\d+ ?GB (?:of )?(?:V?RAM|disk|memory)\b|\bmacOS[- ]only\b|\bWindows[- ]only\b",
    ),
    (
        Other,
        3,
        r"\b(?:invoke|run|load|execute|call|requires?|needs|depends on|activate|launch|hand off to|delegate to|follow) (?:the )?(?:full )?/?[a-z0-9]+(?:[-:][a-z0-9]+)+ (?:skill|sub-skill|plugin|pipeline|extension|agent|subagent|workflow)s?\b",
    ),
    (
        Other,
        1,
        r"\b(?:use|using|see|via) (?:the )?/?[a-z0-9]+(?:[-:][a-z0-9]+)+ (?:skill|sub-skill|plugin)s?\b",
    ),
    (
        Other,
        1,
        r"\b(?-i:Blender|Unity|Unreal|Xcode|Android Studio|Photoshop|Figma|AutoCAD|KiCad|Ableton|DaVinci Resolve|Obsidian|MATLAB|SolidWorks|iOS Simulator|Claude Desktop|VS Code|Cursor|Excel desktop|Home Assistant)\b",
    ),
    (Other, 1, r"\b(?-i:GPUs?|CUDA|macOS|KVM|Apple Silicon)\b"),
];
