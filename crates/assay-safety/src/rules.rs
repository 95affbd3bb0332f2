//! The rules that several scanners report. Other rules are declared in the file that reports them.

use super::rule::declare_rules;

declare_rules! {
    OVERRIDE_INSTRUCTIONS = "override-instructions", Override, Error, "Text instructs the agent to ignore its instructions.",
        Prose ["ignore", "disregard", "forget", "override", "supersede", "pay no attention", "set aside", "stop following",
            "not follow"];
    OVERRIDE_SAFEGUARDS = "override-safeguards", Override, Warning, "Text or a flag turns off confirmations, permission prompts or safety checks.",
        Prose ["bypass", "without asking", "without confirm", "without approval", "without permission", "skip confirm",
            "ask for confirm", "ask for permission", "ask for approval", "skip-permissions"],
        Code ["skip-permissions", "--yolo", "--no-sandbox"];
    CONCEAL_FROM_USER = "conceal-from-user", Concealment, Warning, "Text instructs the agent to hide something from the user.",
        Prose ["the user", "from user", "users", "the human", "the operator", "secretly", "silently", "covertly", "user ",
            "anyone", "between us", "mention", "your summary", "your report", "hidden "];
    CONCEAL_DIRECTIVE = "conceal-directive", Concealment, Warning, "A comment or an invisible element addresses the agent.",
        Comment ["<!--", "display:", "visibility:", "font-size:", "opacity:", "hidden", "color:", "[//]:", "[comment]:", "%%"];
    ENCODED_EXECUTION = "encoded-execution", Encoded, Error, "Code is decoded and executed in one step.",
        Code ["base64", "eval ", "eval(", "eval)", "exec(", ".exec", "execsync", "xxd", "$ifs", "${ifs", "atob", "fromhex",
            "b64decode", "frombase64", "codecs", "marshal", "pickle", "encodedcommand", "\\x", "| rev", "|rev", "tr a-z",
            "tr 'a-z", "tr '", "$'\\", "chr(", "fromcharcode", "b85", "a85decode", "b32decode", "openssl", "perl -e", "ruby -e",
            "python -c", "python3 -c", "node -e", "powershell", "pwsh", "getattr(", "__import__", "importlib", "new function("];
    ENCODED_INSTRUCTION = "encoded-instruction", Encoded, Error, "Encoded text decodes to commands or instructions that violate another rule.",
        Prose ["base64", "rot13", "decode", "&#", "vafgehpgvba", "cerivbhf", "phey ", "cnffjbeq", "perqragvny"];
    REMOTE_PIPE = "remote-pipe", RemoteCode, Warning, "Code from the network is piped into an interpreter without review.",
        Code ["curl", "wget", "|sh", "| sh", "|bash", "| bash", "source <(", "invoke-expression", "iex", "invoke-webrequest",
            "downloadstring"];
    REMOTE_PIPE_UNTRUSTED = "remote-pipe-untrusted", RemoteCode, Error, "Code is executed from an unencrypted, numeric, shortened or paste-site URL.",
        Code ["curl", "wget", "|sh", "| sh", "|bash", "| bash"];
    REMOTE_RUN = "remote-run", RemoteCode, Warning, "A file is downloaded and executed.",
        Code ["curl", "wget", "mshta", "certutil", "osascript"];
    REMOTE_SHELL = "remote-shell", RemoteCode, Error, "Another machine gets a shell.",
        Code ["/dev/tcp", "/dev/udp", "nc ", "ncat ", "socat", "mkfifo", "dup2"];
    UNPINNED_INDEX = "unpinned-index", Unpinned, Warning, "Packages are installed from a non-public index.",
        Code ["index-url", "--registry"];
    CREDENTIAL_READ = "credential-read", Credentials, Warning, "The user's keys, passwords or sessions are read.",
        Code [".ssh", ".aws", ".netrc", "git-credentials", ".npmrc", ".pypirc", ".kube", ".docker", "gcloud", "/etc/shadow",
            "/etc/passwd", "keychain", "find-generic-password", "login data", "logins.json", "cookies.sqlite", "/cookies",
            "keyrings", "wallet.dat", ".env", "codex/auth"];
    CREDENTIAL_REQUEST = "credential-request", Credentials, Warning, "Text instructs the agent to read keys, passwords or sessions.",
        Prose ["api key", "api_key", "credential", "password", "environment variable", "private key", "ssh key", ".ssh", ".aws",
            ".env"];
    EXFIL_SECRET = "exfil-secret", Exfiltration, Error, "Credentials or the whole environment are sent.",
        Code ["://", "printenv", "os.environ", "process.env", "env |", "env|", "env)", ".ssh", ".aws", "tar -"];
    EXFIL_INSTRUCTION = "exfil-instruction", Exfiltration, Error, "Text instructs the agent to send secrets or the conversation somewhere.",
        Prose ["chat history", "conversation history", "system prompt", "api key", "api_key", "credential", "password",
            "private key", "ssh key"];
    EXFIL_REQUEST = "exfil-request", Exfiltration, Warning, "Text instructs the agent to collect files, prompts or personal data and send them somewhere.",
        Prose ["credit card", "billing", "card number", "seed phrase", "payment ", "card data", "card details", "cvv", "cvc",
            "social security", "bank account", "http://"],
        Code ["platform.", "gethostname"];
    EXFIL_FILE = "exfil-file", Exfiltration, Warning, "The clipboard, the screen, or files of the home folder are sent.",
        Code ["pbpaste", "xclip", "xsel", "wl-paste", "screencapture", "scrot", "clipboard", "imagegrab", "mss(", "screenshot",
            "rglob", "os.walk", "glob("];
    HARVEST_LOCATION = "harvest-location", Exfiltration, Warning, "The user's location or public IP address is looked up.",
        Code ["geolocation", "ipinfo", "geoip"];
    EXFIL_ENDPOINT = "exfil-endpoint", Exfiltration, Warning, "Data is sent to a service that accepts anonymous uploads.",
        Code ["api/webhooks", "api.telegram", "169.254", "://"];
    HARVEST_ENVIRONMENT = "harvest-environment", Exfiltration, Warning, "The whole environment is printed or stored.",
        Code ["printenv", "os.environ", "process.env", "env |", "env|", "env)"];
    PERSIST_SCHEDULE = "persist-schedule", Persistence, Warning, "A job is scheduled that outlives the session.",
        Prose ["crontab"],
        Code ["crontab", "/etc/cron", "schtasks"];
    PERSIST_PROFILE = "persist-profile", Persistence, Warning, "A shell profile is written.",
        Prose ["bashrc", "zshrc"],
        Code ["bashrc", "zshrc", ".profile", "bash_profile", "sitecustomize", ".pth"];
    PERSIST_SERVICE = "persist-service", Persistence, Warning, "A service or login item is installed.",
        Code ["systemctl", "launchctl", "launchagents", "autostart"];
    PERSIST_HOOK = "persist-hook", Persistence, Warning, "A git hook is written.",
        Code [".git/hooks", "hookspath", "husky"];
    PERSIST_KEY = "persist-key", Persistence, Error, "A key that grants remote access is added.",
        Prose ["authorized_keys"],
        Code ["authorized_keys"];
    PRIVILEGE_RIGHTS = "privilege-rights", Privilege, Warning, "Permissions are granted to all users, or a program is made to run as another user.",
        Code ["chmod", "setcap"];
    PRIVILEGE_SUDOERS = "privilege-sudoers", Privilege, Error, "The list of administrators or passwords is changed.",
        Code ["usermod", "visudo", "sudoers", "/etc/shadow", "/etc/passwd"];
    PRIVILEGE_DEFENCES = "privilege-defences", Privilege, Warning, "A protection of the machine is turned off.",
        Code ["csrutil", "spctl", "setenforce", "ufw", "iptables", "apparmor", "history -c"];
    CONFIG_INSTRUCTIONS = "config-instructions", AgentConfig, Warning, "The agent's persistent instructions are changed.",
        Prose ["claude.md", "agents.md", "gemini.md", "memory.md", "cursorrules"],
        Code ["claude.md", "agents.md", "gemini.md", "memory.md", "cursorrules"];
    CONFIG_SETTINGS = "config-settings", AgentConfig, Warning, "The agent's settings, hooks or MCP servers are changed.",
        Prose [".claude", "settings.json", "mcp.json"],
        Code [".claude", "settings.json", "mcp.json", "mcp add", "config.toml"];
    CONFIG_SKILLS = "config-skills", AgentConfig, Info, "Another skill is written or installed.",
        Code [".claude"];
    ESCAPE_PATH = "escape-path", Escape, Warning, "A script reads or writes above the package's own folder.",
        Code ["../.."];
    ARCHIVE_EXECUTABLE = "archive-executable", Archive, Warning, "A compiled program, whose source cannot be reviewed.";
    UNSCANNED = "unscanned", Archive, Warning, "Part of a file was not scanned: it is too large or too deeply nested.";
    DESTROY_FILES = "destroy-files", Destruction, Error, "A script deletes the home folder, the system, a disk, or folders above its own.",
        Code ["rm -", "mkfs", "shred", "dd if", "dd of", "wipefs", "rmtree", "rmsync", "rimraf", "-delete"];
    DESTROY_FOLDER = "destroy-folder", Destruction, Warning, "A command deletes the home folder, the system, or everything in the working folder.",
        Code ["rm -", "rmtree", "rmsync", "rimraf", "-delete"];
    MINER = "miner", Destruction, Error, "A cryptocurrency miner is started.",
        Code ["stratum", "xmr", "minerd", "miner"];
}
