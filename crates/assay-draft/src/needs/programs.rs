//! Programs of the command line, and what a call of each requires.

use super::Category::{
    self, Auth, BrowserUi, Database, EnvVars, ExistingRepo, ExternalState, GitState, InputFile,
    LocalServices, Mcp, Network, Other, Runtime,
};

/// What a command requires, with points.
pub(super) type Effects = &'static [(Category, u32)];

/// Commands that every system has, and words of the shell: they require nothing.
const STANDARD: &str = ". [ [[ alias awk base64 basename bash bg bind break builtin cal caller case cat cd chmod \
    chown cksum clear cmp comm compgen continue cp csplit cut date dd declare df diff dir dirname dirs do done du echo \
    egrep elif else enable env esac eval exec exit expand export expr false fc fg fgrep fi file find fold for \
    function getopts grep groups gunzip gzip hash head help history hostname iconv id if in info jobs join kill \
    killall less let ln local locale logname logout ls man md5 md5sum mkdir mktemp more mv nl nohup nproc od paste \
    patch pgrep pkill popd printenv printf ps pushd pwd read readarray readlink readonly realpath return rev rm rmdir \
    sed select seq set sh sha1sum sha256sum shasum shift shopt shuf sleep sort source split stat strings stty su sudo \
    sum sync tac tail tar tee test then time timeout times top touch tr trap tree true tsort tty type typeset ulimit \
    umask unalias uname uniq unset until unzip uptime users vi vim wait watch wc where which while who whoami xargs \
    xxd yes zcat zip zsh nano code less lsof ss netstat ping dig nslookup host ifconfig ip crontab dos2unix \
    open xdg-open start say cls pwsh powershell cmd del copy move md rd rem not if else";

/// The programs of languages: interpreters, compilers, package managers.
const RUNTIMES: &str = "python python3 python2 py pip pip3 pipx uv poetry pdm hatch rye pipenv conda mamba micromamba \
    virtualenv pyenv jupyter ipython node nodejs npm npx yarn pnpm bun bunx deno tsx ts-node tsc nvm fnm volta corepack \
    ruby gem bundle bundler rake rails rbenv php composer artisan java javac mvn mvnw gradle gradlew kotlin kotlinc \
    scala sbt go gofmt cargo rustc rustup rustfmt dotnet nuget r rscript julia perl cpan cpanm lua luarocks elixir mix \
    iex erl swift swiftc ghc cabal stack dart flutter clojure clj lein ocaml opam dune nim zig crystal mojo asdf mise \
    msbuild";

/// Programs of hosted services: they need the network and an account.
const HOSTED: &str = "aws gcloud gsutil az doctl flyctl fly vercel netlify wrangler heroku railway render firebase \
    supabase stripe shopify sf sfdx twilio sentry-cli datadog-ci gh glab hub circleci eksctl ibmcloud linode-cli hcloud \
    oci aliyun cloudflared okta auth0 newrelic pscale neonctl turso convex eas clasp linear jira acli notion \
    slack huggingface-cli hf replicate modal runpodctl wandb kaggle databricks snow snowsql bq dbt-cloud astro \
    confluent rover vault op doppler infisical ngrok sam cdk amplify serverless sls copilot render-cli";

/// Programs that convert or inspect files.
const CONVERTERS: &str = "ffmpeg ffprobe sox convert magick mogrify identify pandoc pdftotext pdftoppm pdfimages \
    pdfinfo pdftk qpdf mutool ocrmypdf tesseract soffice libreoffice exiftool inkscape gs ghostscript rsvg-convert \
    cwebp optipng pngquant svgo wkhtmltopdf whisper yt-dlp mediainfo unoconv antiword catdoc xsv csvkit in2csv csvcut \
    csvstat mlr samtools bedtools bcftools bwa minimap2 fastqc gdal_translate gdalinfo ogr2ogr blastn blastp";

/// Programs of databases.
const DATABASES: &str = "psql pg_dump pg_restore createdb dropdb mysql mysqldump mariadb sqlite3 mongosh mongo \
    mongodump mongorestore redis-cli duckdb clickhouse clickhouse-client cqlsh influx cypher-shell sqlcmd sqlplus \
    bq snowsql snow pgcli mycli usql trino presto hive beeline spark-sql prisma alembic flyway liquibase";

/// Programs that drive a browser.
const BROWSERS: &str = "playwright playwright-cli puppeteer chromium chromium-browser google-chrome chrome firefox \
    chromedriver geckodriver cypress agent-browser browser-use webdriver lighthouse";

/// Programs that run or reach a cluster or machine that exists already.
const INFRASTRUCTURE: &str = "kubectl helm kustomize k9s oc argocd flux istioctl kubectx kubens stern ssh scp sftp \
    rsync ansible ansible-playbook nomad consul terraform tofu terragrunt pulumi packer";

/// Programs of the Apple systems, which nothing else can run.
const APPLE: &str = "xcrun xcodebuild simctl osascript pbcopy pbpaste defaults launchctl codesign notarytool plutil \
    diskutil sips mdfind screencapture xcode-select instruments idb applescript";

/// Other programs that have to be installed.
const TOOLS: &str = "git expo docker docker-compose podman buildah skopeo jq yq rg ripgrep fd fzf bat make cmake ninja meson \
    bazel gcc g++ clang clang++ gdb lldb valgrind tmux screen ffuf nmap nuclei sqlmap curlie httpie xh grpcurl protoc \
    buf ab wrk hey k6 locust hyperfine shellcheck hadolint trivy grype syft semgrep bandit gitleaks trufflehog snyk \
    codeql ruff black mypy pylint flake8 pytest eslint prettier biome jest vitest golangci-lint staticcheck clippy \
    rubocop checkov tflint tfsec kubeval kubeconform actionlint yamllint markdownlint vale openssl gpg age sops \
    graphviz dot mmdc plantuml d2 pdflatex xelatex lualatex latexmk bibtex biber typst quarto hugo jekyll mkdocs sphinx-build \
    dbt airflow dagster prefect sqlfluff sqlmesh dvc mlflow ollama llama-cli vllm claude codex gemini aider opencode \
    cursor ast-grep sg comby tokei cloc scc act pre-commit just task mage vagrant qemu-system-x86_64 virsh virt-install \
    blender openscad freecad godot unity kicad-cli ngspice iverilog verilator yosys vivado arduino-cli platformio pio \
    esptool adb fastboot emulator sdkmanager avdmanager nvidia-smi nvcc nsys ncu lean lake coqc z3 agda isabelle \
    forge cast anvil hardhat solc slither sui aptos anchor solana near starknet nix nix-shell brew apt apt-get yum dnf \
    apk pacman snap choco winget scoop wget curl sshpass radare2 r2 ghidra objdump readelf strace ltrace tcpdump \
    tshark wireshark hashcat john hydra volatility binwalk yara exa eza delta lazygit tig gitk svn hg jj";

/// Whether a word is a command of every system, or a word of the shell.
pub(super) fn is_standard(name: &str) -> bool {
    contains(STANDARD, name)
}

/// Whether a program belongs to a language.
pub(super) fn is_runtime(name: &str) -> bool {
    contains(RUNTIMES, name.trim_end_matches(|c: char| c == '.' || c.is_ascii_digit()))
        || contains(RUNTIMES, name)
}

/// Whether the table has a program.
pub(super) fn is_known(name: &str) -> bool {
    is_runtime(name)
        || [HOSTED, CONVERTERS, DATABASES, BROWSERS, INFRASTRUCTURE, APPLE, TOOLS]
            .iter()
            .any(|list| contains(list, name))
}

fn contains(list: &str, name: &str) -> bool {
    !name.is_empty() && list.split_ascii_whitespace().any(|word| word == name)
}

/// What any call of a program requires, other than the program.
pub(super) fn effects(name: &str) -> Vec<(Category, u32)> {
    let mut effects = Vec::new();
    let mut add = |list: &str, more: Effects| {
        if contains(list, name) {
            effects.extend_from_slice(more);
        }
    };
    add(HOSTED, &[(Network, 3), (Auth, 2), (ExternalState, 1)]);
    add(CONVERTERS, &[(InputFile, 1)]);
    add(DATABASES, &[(Database, 3)]);
    add(BROWSERS, &[(BrowserUi, 3)]);
    add(INFRASTRUCTURE, &[(Network, 1), (Auth, 1), (ExternalState, 1)]);
    add(APPLE, &[(Other, 3)]);
    add(
        "nvidia-smi nvcc nsys ncu adb fastboot emulator virsh virt-install unity vivado esptool",
        &[(Other, 3)],
    );
    add("ssh scp sftp rsync", &[(Network, 2), (ExternalState, 1)]);
    add("terraform tofu terragrunt pulumi cdk", &[(ExistingRepo, 2)]);
    add("git", &[(ExistingRepo, 1)]);
    add("gh glab", &[(ExistingRepo, 1)]);
    add("ollama", &[(LocalServices, 2)]);
    add("ngrok cloudflared", &[(LocalServices, 2)]);
    add("pytest jest vitest eslint tsc ruff mypy pre-commit golangci-lint act", &[(ExistingRepo, 1)]);
    add("pytest jest vitest eslint prettier ruff black mypy pylint flake8 tsc", &[(Runtime, 2)]);
    effects
}

/// What certain calls require: the beginning of the command as a pattern, and its effects.
pub(super) const CALLS: &[(&str, Effects)] = &[
    (
        r"^git (?:-\S+ )*(?:log|diff|blame|show|rebase|merge|cherry-pick|revert|bisect|shortlog|reflog|rev-list|merge-base|worktree|stash|pull|reset|describe|range-diff|format-patch|for-each-ref)\b",
        &[(GitState, 2), (ExistingRepo, 1)],
    ),
    (
        r"^git (?:-\S+ )*(?:add|commit|push|checkout|switch|branch|status|fetch|tag|restore|remote|rev-parse|ls-files)\b",
        &[(GitState, 1), (ExistingRepo, 1)],
    ),
    (r"^git (?:clone|fetch|pull|push|ls-remote)\b", &[(Network, 1)]),
    (r"^gh pr\b", &[(GitState, 1), (ExternalState, 2), (ExistingRepo, 1)]),
    (r"^(?:gh|glab) (?:issue|run|api|release|repo|mr|workflow|search|project)\b", &[(ExternalState, 2)]),
    (
        r"^(?:gh|glab|vercel|netlify|wrangler|firebase|heroku|fly|flyctl|az|railway) (?:auth|login)\b",
        &[(Auth, 3)],
    ),
    (
        r"^(?:aws (?:configure|sso)|gcloud auth|docker login|npm login|huggingface-cli login|hf auth)\b",
        &[(Auth, 3)],
    ),
    (r"^\S+ (?:auth )?login\b", &[(Auth, 2)]),
    (
        r"^(?:aws|az|gcloud|kubectl|oc|helm) .*\b(?:describe|list|get|logs|ls|show|scale|rollout|delete|exec|top|update)\b",
        &[(ExternalState, 2), (Network, 1)],
    ),
    (r"^aws [a-z0-9-]+ (?:describe|list|get|delete|update|filter)-", &[(ExternalState, 2)]),
    (r"^terraform (?:plan|apply|import|state|destroy)\b", &[(ExternalState, 1)]),
    (r"^(?:docker|podman) (?:run|start|exec|logs|ps|stop|restart)\b", &[(LocalServices, 3)]),
    (r"^(?:docker|podman) (?:compose|stack)\b|^docker-compose\b", &[(LocalServices, 3), (ExistingRepo, 1)]),
    (r"^(?:docker|podman) build\b", &[(ExistingRepo, 2)]),
    (
        r"^(?:npm|yarn|pnpm|bun)(?: run)? (?:dev|start|serve|preview|storybook)\b",
        &[(LocalServices, 3), (ExistingRepo, 2)],
    ),
    (
        r"^(?:npm|yarn|pnpm|bun)(?: run)? (?:test|lint|typecheck)\b|^(?:cargo|go|mvn|\./mvnw|gradle|\./gradlew|dotnet|swift|mix|sbt|flutter|bazel) (?:test|clippy|vet)\b",
        &[(ExistingRepo, 3)],
    ),
    (
        r"^(?:npm|yarn|pnpm|bun)(?: run)? (?:build|typecheck|format|check|ci|audit|outdated|type-check)\b",
        &[(ExistingRepo, 2)],
    ),
    (r"^(?:npm|yarn|pnpm|bun) run \S", &[(ExistingRepo, 2)]),
    (
        r"^(?:npx |bunx |pnpm )?(?:next|vite|nuxt|astro|remix|ng|webpack) (?:dev|start|serve|preview)\b",
        &[(LocalServices, 3)],
    ),
    (
        r"^(?:cargo|go|mvn|\./mvnw|gradle|\./gradlew|dotnet|swift|mix|sbt|flutter|bazel|rake) (?:-\S+ )*(?:build|check|fmt|verify|package|analyze|run|compile)\b",
        &[(ExistingRepo, 2)],
    ),
    (r"^make(?: [a-z][a-z-]*)?$", &[(ExistingRepo, 2)]),
    (
        r"^pip3? install (?:-\S+ )*-r \S*requirements|^pip3? install -e \.|^(?:npm|yarn|pnpm|bun) (?:install|ci)$|^bundle install|^poetry install|^uv sync",
        &[(ExistingRepo, 2)],
    ),
    (
        r"^(?:uvicorn|gunicorn|flask run|streamlit run|gradio|fastapi|hypercorn|daphne|celery|redis-server|mongod|nginx|http-server|live-server|php -S|php artisan serve|rails s)",
        &[(LocalServices, 3)],
    ),
    (
        r"^python3? -m http\.server|^python3? manage\.py runserver|^mkdocs serve|^hugo server|^jekyll serve",
        &[(LocalServices, 3)],
    ),
    (r"^(?:systemctl|service|brew services|pg_ctl) .*\b(?:start|restart|status)\b", &[(LocalServices, 3)]),
    (r"^(?:minikube|kind|k3d|k3s|microk8s) ", &[(LocalServices, 3)]),
    (
        r"^(?:supabase|firebase|sam local|wrangler|functions-framework|func) (?:start|emulators|dev|local)",
        &[(LocalServices, 3)],
    ),
    (
        r"^(?:claude|codex|gemini|code|cursor) mcp\b|^(?:claude|codex) .*--mcp|mcp-remote|@modelcontextprotocol/server",
        &[(Mcp, 3)],
    ),
    (r"^(?:export|set|setx) [A-Z][A-Z0-9_]{2,}=", &[(EnvVars, 2)]),
    (r"^\$env:[A-Za-z_]+ ?=", &[(EnvVars, 2)]),
    (
        r"^(?:ffmpeg .*-i|pandoc|soffice|libreoffice|pdftotext|pdftoppm|tesseract|convert|magick|ffprobe|qpdf|mutool|exiftool|ocrmypdf|whisper|identify) +\S+\.[a-z0-9]{2,4}\b",
        &[(InputFile, 2)],
    ),
    (
        r"^\S+ .*\s(?:--?i(?:nput|nput-file|mage|n)?|--file|--pdf|--csv|--audio|--video|--data)[ =]<?[\w./-]+",
        &[(InputFile, 2)],
    ),
    (
        r"^(?:python3?|node|uv run|bun|npx tsx|bash|ruby|Rscript) .*[\s<](?:input|document|data|file|image|audio|video|paper|book|your)[\w-]*\.(?:pdf|docx?|xlsx?|pptx?|csv|tsv|png|jpe?g|mp[34]|wav|epub|parquet)\b",
        &[(InputFile, 2)],
    ),
    (
        r"^dbt (?:run|build|test|compile|parse|ls|list|show|deps|seed|snapshot)\b",
        &[(ExistingRepo, 2), (Database, 2)],
    ),
    (
        r"^(?:prisma|npx prisma|alembic|flyway|rails db:|rake db:|python3? manage\.py migrate|npx drizzle-kit)",
        &[(Database, 2), (ExistingRepo, 1)],
    ),
    (r"^(?:npx |bunx |pnpm dlx )?(?:playwright|puppeteer|cypress|agent-browser)\b", &[(BrowserUi, 3)]),
];
