//! The effects of Python and JavaScript functions that rules check.

use std::sync::LazyLock;

use assay_syntax::code::Language;
use regex::Regex;

use super::paths::{credential, dotenv, endpoint, home, local, regex, untrusted, written as place_of};
use super::rule::Rule;
use super::rule::declare_rules;
use super::rules::{
    CONFIG_SKILLS, CREDENTIAL_READ, DESTROY_FILES, DESTROY_FOLDER, ENCODED_EXECUTION, ESCAPE_PATH,
    EXFIL_ENDPOINT, EXFIL_SECRET, HARVEST_ENVIRONMENT, PRIVILEGE_RIGHTS, REMOTE_SHELL,
};
use super::script::{Call, Script, module_name};
use super::value::{Taint, Value, base64, hex, percent, rot13};

declare_rules! {
    REMOTE_EVAL = "remote-eval", RemoteCode, Error, "A script evaluates downloaded text.",
        Code ["eval(", "exec(", "://", "new function("];
}

/// Checks a call. Returns its value.
pub(crate) fn check_call(script: &mut Script<'_, '_>, call: &Call) -> Value {
    let name = call.name.as_str();
    let method = name.rsplit('.').next().unwrap_or(name);
    if let Some(value) = resolved(call, name) {
        return value;
    }
    if let Some(value) = decoded(call, name, method) {
        return value;
    }
    if let Some(value) = texts(call, name, method) {
        return value;
    }
    if shells(name) {
        started(script, call);
        return Value::tainted(call.taint().without(Taint::ENVIRONMENT));
    }
    if matches!(
        name,
        "exec"
            | "eval"
            | "compile"
            | "Function"
            | "execfile"
            | "vm.runInThisContext"
            | "vm.runInNewContext"
            | "vm.Script"
            | "runpy.run_path"
            | "execScript"
    ) || (matches!(method, "exec_module" | "_compile") && !name.is_empty())
    {
        let code =
            call.arguments.last().filter(|_| name == "Function").cloned().unwrap_or_else(|| call.first());
        evaluated(script, call, &code);
        return Value { ..code };
    }
    if matches!(name, "pickle.loads" | "marshal.loads" | "cloudpickle.loads" | "dill.loads") {
        let value = call.first();
        if value.taint.has(Taint::NETWORK) {
            report(script, call, &REMOTE_EVAL, "deserializes objects from a URL");
        }
        return Value::tainted(value.taint);
    }
    // `fetch(…).then(eval)`
    if method == "then"
        && call.object.taint.has(Taint::NETWORK)
        && call
            .arguments
            .iter()
            .any(|argument| matches!(argument.name.as_deref(), Some("eval" | "Function" | "exec")))
    {
        report(script, call, &REMOTE_EVAL, "evaluates text from a URL");
    }
    if let Some(value) = network(script, call, name, method) {
        return value;
    }
    if let Some(value) = files(script, call, name, method) {
        return value;
    }
    if matches!(
        name,
        "json.dumps"
            | "JSON.stringify"
            | "Object.entries"
            | "pprint.pprint"
            | "print"
            | "console.log"
            | "repr"
    ) && call.taint().has(Taint::ENVIRONMENT)
    {
        report(script, call, &HARVEST_ENVIRONMENT, "collects the whole environment");
    }
    if matches!(name, "os.dup2") && call.written.contains("fileno") {
        report(script, call, &REMOTE_SHELL, "connects the standard streams to a socket");
    }
    if name == "os.environ.get" || name == "os.getenv" {
        return if call.first().str() == "HOME" { Value::known("~") } else { Value::default() };
    }
    let taint = call.taint().with(call.object.taint);
    Value {
        taint: if copies(method) { taint } else { taint.without(Taint::ENVIRONMENT) },
        ..Value::default()
    }
}

/// Whether a function returns all of its input, copied or encoded. Others may select from it.
fn copies(method: &str) -> bool {
    matches!(
        method,
        "dict"
            | "assign"
            | "entries"
            | "fromEntries"
            | "stringify"
            | "dumps"
            | "str"
            | "repr"
            | "list"
            | "sorted"
            | "copy"
            | "items"
            | "encode"
            | "b64encode"
            | "urlencode"
            | "toString"
            | "from"
            | "btoa"
            | "join"
            | "map"
            | "deepcopy"
            | "decode"
            | "compress"
            | "String"
            | "values"
            | "keys"
            | "print"
            | "log"
    )
}

fn report(script: &mut Script<'_, '_>, call: &Call, rule: &'static Rule, message: impl Into<String>) {
    script.scan.report(script.site, rule, call.span.clone(), message);
}

/// Calls that give a module or a function by its name.
fn resolved(call: &Call, name: &str) -> Option<Value> {
    let first = call.first();
    let named = |name: String| Some(Value { name: Some(name), ..Value::default() });
    match name {
        "__import__" | "importlib.import_module" | "import_module" => named(first.text?),
        "require" => named(module_name(&first.text?).to_owned()),
        "getattr" | "Reflect.get" => {
            let key = call.arguments.get(1)?.text.clone()?;
            let object = first.name?;
            named(if matches!(object.as_str(), "__builtins__" | "builtins") {
                key
            } else {
                format!("{object}.{key}")
            })
        }
        "globals" | "locals" | "vars" => named("__builtins__".to_owned()),
        _ => None,
    }
}

fn decoded(call: &Call, name: &str, method: &str) -> Option<Value> {
    let first = call.first();
    let text = first.text.as_deref();
    let how = |index: usize| call.arguments.get(index).map_or("", Value::str).to_ascii_lowercase();
    let numbers = || {
        let text: Option<String> = call.numbers.iter().map(|&number| char::from_u32(number)).collect();
        Value::default().decoded(text.filter(|text| text.len() >= 3))
    };
    Some(match (name, method) {
        (_, "b64decode" | "urlsafe_b64decode" | "decodebytes" | "standard_b64decode") | ("atob", _) => {
            first.decoded(text.and_then(base64))
        }
        (
            _,
            "b85decode" | "a85decode" | "b32decode" | "b32hexdecode" | "b16decode" | "z85decode"
            | "decodestring",
        ) => first.decoded(None),
        (_, "fromhex" | "unhexlify" | "a2b_hex") => first.decoded(text.and_then(hex)),
        ("codecs.decode", _) => match how(1).as_str() {
            "rot13" | "rot_13" => first.decoded(text.map(rot13)),
            "hex" | "hex_codec" => first.decoded(text.and_then(hex)),
            "base64" => first.decoded(text.and_then(base64)),
            _ => first.clone(),
        },
        (
            "zlib.decompress" | "gzip.decompress" | "bz2.decompress" | "lzma.decompress" | "zlib.gunzipSync"
            | "zlib.inflateSync",
            _,
        ) => {
            // The text is inflated already if the bytes were known.
            first.decoded(first.text.clone())
        }
        ("Buffer.from", _) => match how(1).as_str() {
            "base64" | "base64url" => first.decoded(text.and_then(base64)),
            "hex" => first.decoded(text.and_then(hex)),
            _ if call.numbers.len() >= 3 => numbers(),
            _ => first.clone(),
        },
        ("decodeURIComponent" | "unescape" | "decodeURI" | "urllib.parse.unquote", _) => {
            first.decoded(text.and_then(percent))
        }
        ("String.fromCharCode" | "bytes" | "bytearray", _) if call.numbers.len() >= 3 => numbers(),
        ("chr" | "String.fromCharCode", _) => {
            let c = call.numbers.first().and_then(|&number| char::from_u32(number));
            first.decoded(c.map(String::from))
        }
        (_, "join" | "map") if call.numbers.len() >= 3 && call.written.contains("chr") => numbers(),
        _ => return None,
    })
}

/// Methods of texts and lists, and functions that put paths together.
fn texts(call: &Call, name: &str, method: &str) -> Option<Value> {
    let object = &call.object;
    let first = call.first();
    let parts = |parts: &[Value], between: &str| {
        let mut value = Value::known("");
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                value.append(&Value::known(between));
            }
            value.append(part);
        }
        value
    };
    Some(match (name, method) {
        ("os.path.join" | "path.join" | "path.resolve" | "pathlib.Path" | "Path" | "pathlib.PurePath", _) => {
            parts(&call.arguments, "/")
        }
        (
            "os.path.expanduser" | "os.path.expandvars" | "str" | "bytes" | "String" | "os.fspath"
            | "os.path.abspath" | "shlex.split",
            _,
        ) => first,
        ("Path.home" | "pathlib.Path.home" | "os.homedir" | "homedir", _) => Value::known("~"),
        (
            _,
            "expanduser" | "resolve" | "absolute" | "toString" | "encode" | "strip" | "trim" | "as_posix"
            | "lower" | "toLowerCase",
        ) if object.text.is_some() => object.clone(),
        (_, "decode") if object.text.is_some() || object.taint != Taint::default() => match first.str() {
            "base64" => object.decoded(object.text.as_deref().and_then(base64)),
            "hex" => object.decoded(object.text.as_deref().and_then(hex)),
            "rot13" => object.decoded(object.text.as_deref().map(rot13)),
            _ => object.clone(),
        },
        (_, "join") if object.text.is_some() && !first.items.is_empty() => parts(&first.items, object.str()),
        (_, "join") if !object.items.is_empty() => {
            parts(&object.items, if call.arguments.is_empty() { "," } else { first.str() })
        }
        (_, "join") if object.text.is_some() && first.text.is_some() && call.numbers.len() < 3 => {
            // `"".join(reversed("…"))`, and `"…".split("").reverse().join("")`.
            if first.taint.has(Taint::DECODED) { first } else { object.clone() }
        }
        (_, "split") if object.text.is_some() && first.str().is_empty() && !call.arguments.is_empty() => {
            object.clone()
        }
        (_, "split") if object.text.is_some() => {
            let separator = if first.str().is_empty() { " " } else { first.str() };
            let items = object.str().split(separator).take(512).map(Value::known).collect();
            Value { items, taint: object.taint, ..Value::default() }
        }
        (_, "reverse") if object.text.is_some() => {
            object.decoded(object.text.as_ref().map(|text| text.chars().rev().collect()))
        }
        ("reversed", _) if first.text.is_some() => {
            first.decoded(first.text.as_ref().map(|text| text.chars().rev().collect()))
        }
        (_, "replace" | "replaceAll") if object.text.is_some() => {
            let with = call.arguments.get(1).map_or("", Value::str);
            let from = first.str();
            if from.is_empty() {
                object.clone()
            } else {
                Value { text: object.text.as_ref().map(|text| text.replace(from, with)), ..object.clone() }
            }
        }
        (_, "concat") if object.text.is_some() => {
            let mut value = object.clone();
            call.arguments.iter().for_each(|part| value.append(part));
            value
        }
        (_, "format") if object.text.is_some() => {
            let mut value = object.clone();
            for part in &call.arguments {
                value.taint = value.taint.with(part.taint);
                value.text =
                    value.text.map(|text| text.replacen("{}", part.text.as_deref().unwrap_or("\u{fffd}"), 1));
            }
            value
        }
        _ => return None,
    })
}

fn shells(name: &str) -> bool {
    matches!(
        name,
        "os.system"
            | "os.popen"
            | "commands.getoutput"
            | "commands.getstatusoutput"
            | "pty.spawn"
            | "asyncio.create_subprocess_shell"
            | "asyncio.create_subprocess_exec"
            | "os.execl"
            | "os.execv"
            | "os.execvp"
            | "os.execlp"
            | "os.spawnl"
            | "os.spawnlp"
            | "execa"
            | "execaCommand"
            | "shelljs.exec"
            | "shell.exec"
            | "Bun.spawn"
            | "Bun.spawnSync"
            | "execSync"
            | "spawnSync"
            | "execFileSync"
    ) || name.strip_prefix("subprocess.").is_some_and(|function| {
        matches!(
            function,
            "run" | "call" | "Popen" | "check_output" | "check_call" | "getoutput" | "getstatusoutput"
        )
    }) || name.strip_prefix("child_process.").is_some_and(|function| {
        matches!(function, "exec" | "execSync" | "spawn" | "spawnSync" | "execFile" | "execFileSync" | "fork")
    })
}

/// A program or shell command is started.
fn started(script: &mut Script<'_, '_>, call: &Call) {
    script.scan.used.insert("Bash");
    let quoted = |value: &Value| match value.text.as_deref() {
        Some(text) if text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./:=@%+,~".contains(&b)) => {
            text.to_owned()
        }
        Some(text) => format!("'{}'", text.replace('\'', "'\\''")),
        None => "\u{fffd}".to_owned(),
    };
    let first = call.first();
    let mut taint = first.taint;
    let text = if !first.items.is_empty() {
        Some(first.items.iter().map(quoted).collect::<Vec<_>>().join(" "))
    } else if let Some(items) =
        call.arguments.get(1).map(|list| &list.items).filter(|items| !items.is_empty())
    {
        taint = items.iter().fold(taint, |taint, item| taint.with(item.taint));
        Some(format!("{} {}", quoted(&first), items.iter().map(quoted).collect::<Vec<_>>().join(" ")))
    } else {
        first.text.clone()
    };
    // A program other than an interpreter does not execute its arguments.
    let program = first.items.first().unwrap_or(&first);
    let listed = !first.items.is_empty() || call.arguments.get(1).is_some_and(|list| !list.items.is_empty());
    if listed
        && program.taint == Taint::default()
        && program.text.as_deref().is_some_and(|text| {
            !text.contains(' ') && super::arguments::interpreter(super::arguments::base(text)).is_none()
        })
    {
        taint = taint.without(Taint::NETWORK.with(Taint::DECODED).with(Taint::UNTRUSTED));
    }
    // Nor does one that a plain command line names first: `open ADDRESS`.
    let plain = first.text.as_deref().is_some_and(|text| {
        let program = text.split_whitespace().next().unwrap_or_default();
        !listed
            && !program.is_empty()
            && program.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./".contains(&b))
            && super::arguments::interpreter(super::arguments::base(program)).is_none()
            && !matches!(
                super::arguments::base(program),
                "eval" | "source" | "." | "exec" | "xargs" | "env" | "sudo" | "echo" | "printf" | "nohup"
            )
            && !text.contains(['|', ';', '&', '`', '\n'])
            && !text.contains("$(")
    });
    if plain {
        taint = taint.without(Taint::NETWORK.with(Taint::UNTRUSTED));
    }
    let value = Value { text, taint, ..Value::default() };
    run(script, call, &value, Language::Shell);
}

fn evaluated(script: &mut Script<'_, '_>, call: &Call, code: &Value) {
    run(script, call, code, script.language);
}

fn run(script: &mut Script<'_, '_>, call: &Call, value: &Value, language: Language) {
    if value.taint.has(Taint::NETWORK) {
        report(script, call, &REMOTE_EVAL, "executes code from a URL");
    }
    let was_decoded = value.taint.has(Taint::DECODED);
    if was_decoded {
        let known = value.text.as_deref().map(|text| format!(": {:?}", super::unicode::excerpt(text)));
        report(
            script,
            call,
            &ENCODED_EXECUTION,
            format!("decodes and executes code{}", known.unwrap_or_default()),
        );
    }
    if let Some(code) = &value.text {
        let site = script.site.inner(call.span.clone(), was_decoded.then_some("decoding it"));
        script.scan.code(&site, language, code);
    }
}

fn network(script: &mut Script<'_, '_>, call: &Call, name: &str, method: &str) -> Option<Value> {
    let client = [
        "requests",
        "httpx",
        "urllib",
        "urllib2",
        "urllib3",
        "aiohttp",
        "http",
        "https",
        "axios",
        "got",
        "fetch",
        "session",
        "client",
        "superagent",
        "undici",
        "smtplib",
        "socket",
        "sock",
        "s",
        "conn",
        "node-fetch",
        "request",
    ]
    .iter()
    .any(|root| name == *root || name.strip_prefix(root).is_some_and(|rest| rest.starts_with('.')));
    if !client && !name.ends_with("urlopen") && !name.ends_with("urlretrieve") {
        return None;
    }
    let address = call
        .arguments
        .iter()
        .chain(call.keywords.iter().filter(|(key, _)| key == "url").map(|(_, value)| value))
        .find_map(|value| value.text.as_deref().filter(|text| text.contains("://")))
        .unwrap_or_default();
    let body =
        call.keywords.iter().any(|(key, _)| matches!(key.as_str(), "data" | "json" | "files" | "body"));
    let posts = matches!(
        method,
        "post" | "put" | "patch" | "send" | "sendall" | "sendto" | "sendmail" | "send_message" | "write"
    ) || (method == "urlopen" || method == "Request" || method == "request")
        && (body || call.arguments.len() > 1)
        || (call.written.contains("method") || call.written.contains("body:"))
            && (name == "fetch" || name.starts_with("axios") || name.starts_with("http"));
    let gets = matches!(
        method,
        "get"
            | "urlopen"
            | "urlretrieve"
            | "fetch"
            | "got"
            | "axios"
            | "request"
            | "Request"
            | "recv"
            | "read"
            | "node-fetch"
            | "stream"
    );
    if !posts && !gets {
        return None;
    }
    script.scan.used.insert("WebFetch");
    if local(address) {
        return Some(Value::default());
    }
    if posts && opens_dotenv(&call.written) {
        report(
            script,
            call,
            &EXFIL_SECRET,
            format!("`{method}` sends a whole file with the project's secrets"),
        );
    }
    if call.taint().has(Taint::SECRET) {
        report(script, call, &EXFIL_SECRET, format!("`{method}` sends credentials or the environment"));
    }
    if posts && let Some(service) = endpoint(address) {
        report(script, call, &EXFIL_ENDPOINT, format!("sends data to {service}"));
    }
    let taint = if untrusted(address) { Taint::NETWORK.with(Taint::UNTRUSTED) } else { Taint::NETWORK };
    Some(Value { name: Some(name.to_owned()), ..Value::tainted(taint) })
}

/// Whether the arguments include a complete file of secrets: `open(".env")`,
/// `readFileSync('.env')`.
fn opens_dotenv(written: &str) -> bool {
    static OPENS: LazyLock<Regex> = LazyLock::new(|| {
        regex(r#"(?:open|readFileSync|createReadStream|Path|read_text)\(\s*["']([^"']*)["']"#)
    });
    OPENS.captures_iter(written).take(10).any(|found| found.get(1).is_some_and(|file| dotenv(file.as_str())))
}

/// Deletes the user's files.
fn deletes(script: &mut Script<'_, '_>, call: &Call, name: &str, method: &str) {
    let deletes = matches!(
        name,
        "shutil.rmtree"
            | "rimraf"
            | "rimrafSync"
            | "rimraf.sync"
            | "fs.rmSync"
            | "fs.rm"
            | "fs.rmdirSync"
            | "fse.removeSync"
            | "fs.promises.rm"
    ) || matches!(method, "rmtree" | "rmSync" | "rimraf");
    if !deletes {
        return;
    }
    let first = call.first();
    let Some(target) = first.text.as_deref() else { return };
    if home(target) && !target.is_empty() || matches!(target, "/" | ".." | "../" | "C:\\") {
        let rule = if script.site.script { &DESTROY_FILES } else { &DESTROY_FOLDER };
        report(
            script,
            call,
            rule,
            format!("`{method}` deletes `{}` recursively", super::unicode::excerpt(target)),
        );
    }
}

fn files(script: &mut Script<'_, '_>, call: &Call, name: &str, method: &str) -> Option<Value> {
    deletes(script, call, name, method);
    let first = call.first();
    let second = call.arguments.get(1).cloned().unwrap_or_default();
    let mode =
        call.keywords.iter().find(|(key, _)| key == "mode").map_or(second.str(), |(_, value)| value.str());
    let opens =
        matches!(name, "open" | "io.open" | "codecs.open") || method == "open" && call.object.text.is_some();
    let (read, write): (Option<&Value>, Option<&Value>) = match (name, method) {
        _ if opens => {
            let file = if method == "open" && call.object.text.is_some() { &call.object } else { &first };
            let mode = if std::ptr::eq(file, &raw const call.object) { first.str() } else { mode };
            if mode.contains(['w', 'a', 'x', '+']) { (None, Some(file)) } else { (Some(file), None) }
        }
        (_, "read_text" | "read_bytes") => (Some(&call.object), None),
        (_, "write_text" | "write_bytes" | "touch" | "symlink_to") => (None, Some(&call.object)),
        (_, "readFileSync" | "readFile" | "createReadStream") => (Some(&first), None),
        (
            _,
            "writeFileSync" | "writeFile" | "appendFileSync" | "appendFile" | "createWriteStream"
            | "outputFileSync",
        ) => (None, Some(&first)),
        (
            "shutil.copy" | "shutil.copyfile" | "shutil.copy2" | "shutil.move" | "os.rename" | "os.symlink"
            | "fs.copyFileSync" | "fs.renameSync" | "fs.symlinkSync" | "fs.cpSync",
            _,
        ) => (Some(&first), Some(&second)),
        ("os.chmod" | "fs.chmodSync" | "chmod", _) => {
            if matches!(second.str(), "0o777" | "0777" | "0o666" | "0o4755") || second.str() == "777" {
                report(script, call, &PRIVILEGE_RIGHTS, "grants permissions to all users");
            }
            return None;
        }
        _ => return None,
    };
    let mut taint = Taint::default();
    if let Some(file) = read.and_then(|file| file.text.as_deref())
        && let Some(secret) = credential(file)
    {
        report(script, call, &CREDENTIAL_READ, format!("`{method}` reads {secret}"));
        taint = Taint::CREDENTIAL;
    }
    if let Some(file) = write.and_then(|file| file.text.as_deref())
        && let Some(rule) = place_of(file)
    {
        let message = format!("`{}` is written", super::unicode::excerpt(file));
        if std::ptr::eq(rule, &raw const CONFIG_SKILLS) || super::effects::remembered(file) {
            script.scan.note(script.site, rule, call.span.clone(), message);
        } else {
            report(script, call, rule, message);
        }
    }
    for file in [read, write].into_iter().flatten().filter_map(|file| file.text.as_deref()) {
        let steps = file.matches("../").count();
        if script.site.script && file.starts_with("../") && steps > script.site.path.matches('/').count() + 1
        {
            report(
                script,
                call,
                &ESCAPE_PATH,
                format!("`{}` is outside of the package", super::unicode::excerpt(file)),
            );
        }
    }
    Some(Value::tainted(taint))
}
