//! What cannot be seen, reached or changed from inside.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_sandbox::{Exit, Network, Root, Sandbox, SandboxError};

use crate::common::{bubblewrap, mount, needs_bubblewrap, sh, sh_in, spec, start};

#[test]
fn hides_the_host() {
    needs_bubblewrap!();
    let checkout = env!("CARGO_MANIFEST_DIR");
    let secrets = [
        "/etc/shadow",
        "/etc/gshadow",
        "/etc/ssh",
        "/etc/hostname",
        "/etc/resolv.conf",
        "/etc/ssl/private",
        "/etc/machine-id",
        "/root",
        "/home",
        "/var/lib",
        "/var/run",
        "/var/log",
        "/run/docker.sock",
        "/run/dbus",
        "/run/user",
        "/sys",
        "/opt",
        "/srv",
        "/mnt",
        "/boot",
        "/oldroot",
        "/newroot",
        checkout,
    ];
    let script =
        format!("for f in {}; do [ -e $f ] && echo $f; done; ls -A /run /tmp /var", secrets.join(" "));
    assert_eq!(sh_in(&spec(), &script), (Exit::Code(0), "/run:\nassay\n\n/tmp:\n\n/var:\ntmp\n".to_owned()));
}

#[test]
fn provides_what_programs_need() {
    needs_bubblewrap!();
    let uid = rustix_uid();
    for (script, expected) in [
        ("ls -dA /bin /dev /etc /proc /usr | tr -d '\\n'", "/bin/dev/etc/proc/usr"),
        ("id -u", uid.as_str()),
        ("hostname", "sandbox"),
        ("wc -l < /etc/passwd | tr -d ' '", if uid == "0" { "2" } else { "3" }),
        ("cat /proc/1/comm", "init"),
        ("python3 -c 'import ssl, json, sqlite3; print(json.dumps(1))'", "1"),
        ("python3 -c 'import socket; print(socket.gethostbyname(\"localhost\"))'", "127.0.0.1"),
        (
            "echo x > /tmp/a && echo y > /dev/shm/b && echo z > /var/tmp/c && cat /tmp/a /dev/shm/b /var/tmp/c | tr -d '\\n'",
            "xyz",
        ),
        ("echo x > /dev/null && head -c 2 /dev/urandom | wc -c | tr -d ' '", "2"),
        ("mktemp -d /tmp/XXXXXX > /dev/null && echo made", "made"),
    ] {
        let (exit, text) = sh_in(&spec(), script);
        assert_eq!((exit, text.trim_end_matches('\n')), (Exit::Code(0), expected), "{script}");
    }
}

fn rustix_uid() -> String {
    rustix::process::geteuid().as_raw().to_string()
}

#[test]
fn system_cannot_be_changed() {
    needs_bubblewrap!();
    let mut session = start(&spec());
    for path in
        ["/x", "/usr/x", "/usr/bin/x", "/bin/x", "/lib/x", "/etc/x", "/run/assay/x", "/run/assay/init"]
    {
        let (exit, text) = sh(&mut *session, &format!("echo x > {path}"));
        assert_ne!(exit, Exit::Code(0), "{path}: {text}");
    }
    // Tested without writing: if it were writable, writing would change the host.
    let writable = "find /proc -path '/proc/[0-9]*' -prune -o ! -type l -writable -print 2>/dev/null";
    assert_eq!(sh(&mut *session, writable).1, "");
    let before = fs::metadata("/dev/null").unwrap().permissions();
    sh(&mut *session, "chmod 600 /dev/null; chmod 777 /usr /etc/passwd");
    let after = fs::metadata("/dev/null").unwrap().permissions();
    if before != after {
        fs::set_permissions("/dev/null", before.clone()).unwrap();
    }
    assert_eq!(before, after);
    session.stop().unwrap();
    // The next sandbox has intact devices.
    assert_eq!(sh_in(&spec(), "stat -c %a /dev/null").1, "666\n");
}

#[test]
fn has_no_privileges() {
    needs_bubblewrap!();
    let mut session = start(&spec());
    let (_, text) = sh(&mut *session, "grep -E '^(Cap|NoNewPrivs)' /proc/self/status");
    for line in text.lines() {
        let (name, value) = line.split_once(":\t").unwrap();
        let expected = if name == "NoNewPrivs" { "1" } else { "0000000000000000" };
        assert_eq!(value, expected, "{name}");
    }
    assert_eq!(text.lines().count(), 6);
    for refused in [
        "unshare -U true",
        "unshare -m true",
        "unshare -n true",
        "mount -t tmpfs x /tmp",
        "umount /tmp",
        "chroot / true",
        "mknod /tmp/d c 1 1",
        "hostname other",
        "dmesg",
        "cat /proc/kcore",
        // The first process can be neither traced nor read.
        "cat /proc/1/environ",
        "readlink /proc/1/fd/0",
        "cat /proc/1/maps",
    ] {
        assert_ne!(sh(&mut *session, &format!("{refused} > /dev/null 2>&1")).0, Exit::Code(0), "{refused}");
    }
    // The first process cannot be killed.
    sh(&mut *session, "kill -9 1; kill -TERM 1; kill -STOP 1");
    assert_eq!(sh(&mut *session, "set -- /proc/[0-9]*; echo $#").1, "2\n");
    assert_eq!(sh(&mut *session, "echo alive").1, "alive\n");
}

/// Calls by number, for which Python has no functions: prints the error of each, or `open`.
const CALLS: &str = r#"
import ctypes, os, platform
libc = ctypes.CDLL(None, use_errno=True)
column = {"x86_64": 0, "aarch64": 1}[platform.machine()]
def call(name, numbers, *arguments):
    arguments = [ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.c_long(a) for a in arguments]
    ctypes.set_errno(0)
    found = libc.syscall(ctypes.c_long(numbers[column]), *arguments)
    print(name, os.strerror(ctypes.get_errno()) if found == -1 else "open")
"#;

#[test]
fn keyrings_are_inaccessible() {
    needs_bubblewrap!();
    // A session keyring as a login leaves it, with a key that the session may read. In a separate
    // thread, which has its own keyring.
    let text = std::thread::spawn(|| {
        let Ok(mut session) = keyutils::Keyring::join_anonymous_session() else {
            assay_test::report_skip("there are no keyrings here");
            return None;
        };
        session.add_key::<keyutils::keytypes::User, _, _>("assay-test-secret", &b"password"[..]).unwrap();
        assert!(fs::read_to_string("/proc/keys").unwrap().contains("assay-test-secret"));
        let script = format!(
            "{CALLS}
call('request', [249, 218], b'user', b'assay-test-secret', 0, 0)
call('add', [248, 217], b'user', b'left-by-a-trial', b'note', 4, -3)
call('session', [250, 219], 0, -3, 0)
call('user', [250, 219], 0, -4, 0)
call('join', [250, 219], 1, 0)
call('search', [250, 219], 10, -3, b'user', b'assay-test-secret', 0)
print(open('/proc/keys').read() + open('/proc/key-users').read(), end='')"
        );
        let mut session = start(&spec());
        let outcome =
            crate::common::exec(&mut *session, &crate::common::command(&["python3", "-c", &script])).unwrap();
        session.stop().unwrap();
        Some(outcome.stdout.text())
    })
    .join()
    .unwrap();
    if let Some(text) = text {
        let calls = ["request", "add", "session", "user", "join", "search"];
        let refused: String = calls.iter().map(|name| format!("{name} Operation not permitted\n")).collect();
        assert_eq!(text, refused);
    }
    // The key is gone for every reader.
    assert!(!fs::read_to_string("/proc/keys").unwrap_or_default().contains("left-by-a-trial"));
}

#[test]
fn dangerous_system_calls_are_refused() {
    needs_bubblewrap!();
    let script = format!(
        "{CALLS}
import socket
call('bpf', [321, 280], 0, 0, 0)
call('perf', [298, 241], 0, 0, -1, -1, 0)
call('userfaultfd', [323, 282], 1)
call('io_uring', [425, 425], 1, 0)
call('syslog', [103, 116], 10, 0, 0)
call('mount', [165, 40], b'none', b'/tmp', b'tmpfs', 0, 0)
call('getpid', [39, 172])
for family in (40, 40 | 1 << 32):
    call('vsock', [41, 198], family, 1, 0)
call('unix', [41, 198], 1, 1, 0)
call('unix pair', [53, 199], 1, 1, 0, 0)
call('no such call', [1000, 1000])
call('x32', [0x40000000 + 39, 1000])"
    );
    let mut session = start(&spec());
    let outcome =
        crate::common::exec(&mut *session, &crate::common::command(&["python3", "-c", &script])).unwrap();
    session.stop().unwrap();
    let refused = ["bpf", "perf", "userfaultfd", "io_uring", "syslog", "mount"];
    let mut expected: String =
        refused.iter().map(|name| format!("{name} Operation not permitted\n")).collect();
    expected.push_str(
        "getpid open\nvsock Address family not supported by protocol\nvsock Address family not supported by protocol\n\
         unix open\nunix pair Bad address\nno such call Function not implemented\nx32 Function not implemented\n",
    );
    assert_eq!(outcome.stdout.text(), expected);
    // The kernel keeps a filter: every process inherits it, and none can remove it.
    let (_, text) =
        sh_in(&spec(), "grep -E '^Seccomp(_filters)?:' /proc/self/status /proc/1/status | cut -d: -f2-");
    assert_eq!(text, "Seccomp:\t2\nSeccomp_filters:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n");
}

#[test]
fn has_no_network() {
    needs_bubblewrap!();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = format!(
        "python3 -c 'import socket; s = socket.socket(); s.settimeout(2); s.connect((\"127.0.0.1\", {port})); print(1)'"
    );
    let (exit, text) = sh_in(&spec(), &connect);
    assert!(exit == Exit::Code(1) && text.contains("refused"), "{text}");
    assert_eq!(sh_in(&spec(), "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '").1, "lo\n");
    // Its own loopback.
    let own = "python3 -c 'import socket; s = socket.create_server((\"localhost\", 0)); \
               c = socket.create_connection(s.getsockname()); print(2)'";
    assert_eq!(sh_in(&spec(), own).1, "2\n");
    let mut public = spec();
    public.network = Network::Public;
    assert_eq!(sh_in(&public, &connect).1, "1\n");
}

#[test]
fn mounts_what_is_specified() {
    needs_bubblewrap!();
    let dir = tempfile::tempdir().unwrap();
    let (work, data) = (dir.path().join("work"), dir.path().join("data"));
    fs::create_dir_all(work.join("sub")).unwrap();
    fs::create_dir(&data).unwrap();
    fs::write(data.join("file"), "read me").unwrap();
    symlink("/etc/shadow", work.join("link")).unwrap();
    let mut spec = spec();
    spec.mounts = vec![
        mount(&work, "/desk", true),
        mount(&data, "/deep/down/data", false),
        mount(&data.join("file"), "/tmp/one", false),
    ];
    spec.tmpfs = vec![PathBuf::from("/logs"), PathBuf::from("/desk/sub")];
    spec.workdir = PathBuf::from("/desk");
    let mut session = start(&spec);
    assert_eq!(session.path(Path::new("/desk/x")), PathBuf::from("/desk/x"));
    let script = "echo made > made; cat /deep/down/data/file /tmp/one; echo x > /logs/l; echo x > sub/hidden; \
                  echo x > /deep/down/data/no || echo refused; cat link || echo dangling";
    let (exit, text) = sh(&mut *session, script);
    assert_eq!(exit, Exit::Code(0));
    assert!(
        text.starts_with("read meread me") && text.contains("refused") && text.contains("dangling"),
        "{text}"
    );
    session.stop().unwrap();
    assert_eq!(fs::read_to_string(work.join("made")).unwrap(), "made\n");
    assert_eq!(fs::read_dir(work.join("sub")).unwrap().count(), 0);
}

#[test]
fn refuses_invalid_specifications_before_start() {
    needs_bubblewrap!();
    for target in ["/usr/x", "/proc/x", "relative", "/a/../b", "/"] {
        let mut spec = spec();
        spec.mounts = vec![mount(Path::new("/usr"), target, false)];
        assert!(matches!(bubblewrap().start(&spec), Err(SandboxError::Spec(_))), "{target}");
    }
    // Errors that only bubblewrap finds are reported in its words.
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let mut spec = spec();
    spec.mounts = vec![mount(dir.path(), "/desk", false)];
    spec.tmpfs = vec![PathBuf::from("/desk/new")];
    match bubblewrap().start(&spec).map(|_| ()) {
        Err(SandboxError::Start(reason)) => assert!(reason.contains("/desk/new"), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn runs_over_a_foreign_root() {
    needs_bubblewrap!();
    // A root filesystem with one static program and no libraries.
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    fs::create_dir_all(root.join("bin")).unwrap();
    fs::create_dir_all(root.join("etc")).unwrap();
    fs::create_dir_all(root.join("var/tmp")).unwrap();
    fs::write(root.join("etc/secret"), "of the image\n").unwrap();
    symlink("bin", root.join("sbin")).unwrap();
    let Some(shell) = static_shell(dir.path()) else {
        panic!("no static program could be found or built; install busybox-static or a C compiler")
    };
    fs::copy(shell, root.join("bin/tool")).unwrap();
    let mut spec = spec();
    spec.root = Root::Dir(root.clone());
    spec.env = vec![("PATH".to_owned(), "/bin".to_owned())];
    let mut session = start(&spec);
    let outcome =
        crate::common::exec(&mut *session, &crate::common::command(&["/sbin/tool", "cat", "/etc/secret"]))
            .unwrap();
    assert_eq!((outcome.exit, outcome.stdout.text().as_str()), (Exit::Code(0), "of the image\n"));
    let outcome =
        crate::common::exec(&mut *session, &crate::common::command(&["tool", "cat", "/etc/passwd"])).unwrap();
    assert_eq!(outcome.exit, Exit::Code(1));
    session.stop().unwrap();
}

/// A program without libraries that prints the file in its second argument.
fn static_shell(dir: &Path) -> Option<PathBuf> {
    let (source, program) = (dir.join("tool.c"), dir.join("tool"));
    fs::write(
        &source,
        "#include <stdio.h>\nint main(int n, char **a) { FILE *f = fopen(a[2], \"r\"); int c; if (!f) return 1; \
         while ((c = getc(f)) != EOF) putchar(c); return 0; }\n",
    )
    .unwrap();
    let built = Command::new("cc").arg("-static").arg(&source).arg("-o").arg(&program).status();
    if built.is_ok_and(|status| status.success()) {
        return Some(program);
    }
    Some(PathBuf::from("/bin/busybox")).filter(|path| path.exists())
}
