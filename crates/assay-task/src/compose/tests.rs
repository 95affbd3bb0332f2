//! Compose files as tasks have them, and hostile ones.

use super::*;

fn read(main: &str) -> Compose {
    Compose::parse(&format!("services:\n  main:\n{main}"))
}

#[test]
fn the_usual_file_is_one_container() {
    let found = Compose::parse(
        r#"
services:
  main:
    build:
      context: ${CONTEXT_DIR}
    image: ${MAIN_IMAGE_NAME}
    pull_policy: build
    command: ["sh", "-c", "sleep infinity"]
    environment:
      - TEST_DIR=/tests
      - TOKEN=${TOKEN:-none}
      - HOME_OF=${SOMEBODY}
      - BARE
    volumes:
      - ${HOST_VERIFIER_LOGS_PATH}:${ENV_VERIFIER_LOGS_PATH}
      - ${HOST_AGENT_LOGS_PATH}:${ENV_AGENT_LOGS_PATH}
    working_dir: /srv
    user: "1000"
    healthcheck: { test: ["CMD", "test", "-f", "/it's"], interval: 1m30s, retries: 2 }
    deploy: { resources: { limits: { cpus: "${CPUS}", memory: "${MEMORY}" } } }
"#,
    );
    assert_eq!((&found.hostile[..], &found.unsupported[..]), (&[][..], &[][..]));
    let main = found.main;
    assert_eq!((main.image, main.context.as_deref()), (None, Some(Path::new(""))));
    assert_eq!((main.workdir.as_deref(), main.user.as_deref()), (Some(Path::new("/srv")), Some("1000")));
    let env: Vec<(&str, &str)> =
        main.env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    // An unknown variable remains a template: only what the experiment allows is filled in.
    let expected =
        [("BARE", "${BARE}"), ("HOME_OF", "${SOMEBODY}"), ("TEST_DIR", "/tests"), ("TOKEN", "none")];
    assert_eq!(env, expected);
    let check = main.healthcheck.unwrap();
    assert_eq!((check.command.as_str(), check.interval, check.retries), (r"'test' '-f' '/it'\''s'", 90.0, 2));
}

#[test]
fn host_access_is_rejected() {
    let check = |main: &str, part: &str| {
        let found = read(main);
        assert!(found.hostile.iter().any(|reason| reason.contains(part)), "{main}: {found:?}");
    };
    check("    privileged: true\n", "is privileged");
    check("    network_mode: host\n", "`network_mode: host`");
    check("    pid: host\n", "`pid: host`");
    check("    ipc: host\n", "`ipc: host`");
    check("    pid: \"container:other\"\n", "container:other");
    check("    cap_add: [SYS_ADMIN]\n", "`cap_add`");
    check("    devices: [\"/dev/kvm:/dev/kvm\"]\n", "`devices`");
    check("    security_opt: [\"seccomp:unconfined\"]\n", "seccomp:unconfined");
    check("    volumes: [\"/var/run/docker.sock:/var/run/docker.sock\"]\n", "/var/run/docker.sock");
    check("    volumes: [\"./data:/data\"]\n", "mounts ./data");
    check("    volumes: [\"~/.ssh:/keys:ro\"]\n", "mounts ~/.ssh");
    check("    volumes: [\"$HOME:/h\"]\n", "mounts $HOME");
    check("    volumes: [{type: bind, source: /etc, target: /e}]\n", "mounts /etc");
    check("    build: ../..\n", "outside the task");
    check("    build: { context: /, network: host }\n", "build.network");
    for key in ["entitlements", "secrets", "ssh", "privileged"] {
        check(&format!("    build: {{ context: ., {key}: [x] }}\n"), &format!("`build.{key}`"));
    }
    let other = Compose::parse("services:\n  main: {}\n  db: {image: x, privileged: true}\n");
    assert_eq!(other.hostile, ["the service `db` is privileged"]);
}

#[test]
fn multi_container_features_are_reported() {
    let check = |text: &str, part: &str| {
        let found = Compose::parse(text);
        assert_eq!(found.hostile, [""; 0], "{text}");
        assert!(found.unsupported.iter().any(|reason| reason.contains(part)), "{text}: {found:?}");
    };
    check("services: {}\n", "no service called `main`");
    check("services: [1]\n", "no services");
    check("a: [\n", "cannot be read");
    check("- 1\n", "not a mapping");
    check(
        "services:\n  main: {image: x, command: python serve.py}\n",
        "more than keep the container running",
    );
    check("services:\n  main: {image: x, volumes: [\"data:/data\"]}\n", "a volume of `main`");
    check("services:\n  main: {image: x, sysctls: {a: 1}}\n", "`sysctls` of `main`");
    check("services:\n  main: {build: {args: {A: 1}}}\n", "`build.args`");
    check("services:\n  main: {image: \"${WHO}\"}\n", "an unset variable");
    check("include: [x]\nservices:\n  main: {image: x}\n", "top-level `include`");
    check("services:\n  main: {image: x, env_file: /etc/passwd}\n", "`env_file`");
}

#[test]
fn yaml_bombs_are_rejected() {
    let mut text = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (name, before) in ('b'..='i').zip('a'..) {
        text.push_str(&format!(
            "{name}: &{name} [*{before}, *{before}, *{before}, *{before}, *{before}, *{before}, *{before}]\n"
        ));
    }
    assert!(Compose::parse(&text).unsupported[0].contains("cannot be read"));
}

/// Mounts that only serve an agent's own login are distinguished from other mounts of the host.
#[test]
fn login_mounts_are_distinguished() {
    let check = |volume: &str, login: Option<(&str, &str)>| {
        let found = read(&format!("    volumes:\n      - {volume}\n"));
        let logins: Vec<(&str, &str)> =
            found.logins.iter().map(|login| (login.source.as_str(), login.target.as_str())).collect();
        assert_eq!(logins, login.into_iter().collect::<Vec<_>>(), "{volume}");
        assert_eq!(found.hostile.is_empty(), login.is_some(), "{volume}: {found:?}");
        assert!(found.unsupported.is_empty(), "{volume}: {found:?}");
    };
    check(
        "${HOME}/.config/cloud:/root/.config/cloud:ro",
        Some(("${HOME}/.config/cloud", "/root/.config/cloud")),
    );
    check("~/.ssh:/root/.ssh", Some(("~/.ssh", "/root/.ssh")));
    check(
        "/home/me/.aws/credentials:/root/.aws/credentials",
        Some(("/home/me/.aws/credentials", "/root/.aws/credentials")),
    );
    check("${CLOUD_AUTH_PATH}:/root/auth", Some(("${CLOUD_AUTH_PATH}", "/root/auth")));
    check("{type: bind, source: ~/.netrc, target: /root/.netrc}", Some(("~/.netrc", "/root/.netrc")));
    check("~/.ssh:/keys", None);
    check("${CLOUD_AUTH_PATH}:/srv", None);
    check("${HOME}:/host", None);
    check("~/work:/work", None);
    check("~/.config/../..:/host", None);
    check("/etc:/etc", None);
    check("/home/me:/root/.ssh", None);
    check("${DATA_PATH}:/data", None);
    check("~/.docker/run/docker.sock:/var/run/docker.sock", None);
}

const TWO: &str = r#"
services:
  main:
    depends_on: { web: { condition: service_healthy } }
  web:
    build: { context: ./web, dockerfile: Other }
    entrypoint: ["/bin/sh", "-c"]
    command: "exec 'a server' --port \"80\" --at $${HOME} \\ x"
    environment: { SIZE: 4, KEY: "${KEY}" }
    depends_on: [db]
    container_name: front
    healthcheck: { test: "true", retries: 7 }
    restart: unless-stopped
    expose: ["80"]
    deploy: { resources: { limits: { cpus: "1" } } }
  db: { image: "db:1", user: "70", working_dir: /data, networks: [default] }
"#;

#[test]
fn services_are_read_in_the_order_of_their_start() {
    let found = Compose::parse(TWO);
    assert_eq!((&found.hostile[..], &found.unsupported[..]), (&[][..], &[][..]));
    let names: Vec<&str> = found.others.iter().map(|service| service.name.as_str()).collect();
    assert_eq!(names, ["db", "web"]);
    let [db, web] = &found.others[..] else { panic!("{found:?}") };
    assert_eq!((db.image.as_deref(), &db.context, db.user.as_deref()), (Some("db:1"), &None, Some("70")));
    assert_eq!(
        (db.workdir.as_deref(), &db.command, &db.entrypoint),
        (Some(Path::new("/data")), &None, &None)
    );
    assert_eq!(
        (web.context.as_deref(), web.dockerfile.as_deref()),
        (Some("web".as_ref()), Some("Other".as_ref()))
    );
    let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    assert_eq!(web.entrypoint, words(&["/bin/sh", "-c"]));
    assert_eq!(web.command, words(&["exec", "a server", "--port", "80", "--at", "${HOME}", " x"]));
    assert_eq!((web.env["SIZE"].as_str(), web.env["KEY"].as_str()), ("4", "${KEY}"));
    assert_eq!((&web.aliases[..], web.healthcheck.as_ref().unwrap().retries), (&["front".to_owned()][..], 7));
    assert_eq!(web.after, BTreeMap::from([("db".to_owned(), false)]));
    assert_eq!(found.main.after, BTreeMap::from([("web".to_owned(), true)]));
    assert_eq!(found.main.context.as_deref(), Some(Path::new("")));
}

/// No key of a service is ignored that would change what it does.
#[test]
fn services_with_more_than_a_plain_container_are_not_supported() {
    let check = |service: &str, part: &str| {
        let text = format!("services:\n  main: {{}}\n  db:\n    image: x\n{service}");
        let found = Compose::parse(&text);
        assert_eq!(found.hostile, [""; 0], "{text}");
        assert!(found.unsupported.iter().any(|reason| reason == part), "{text}: {:?}", found.unsupported);
    };
    check("    ports: [\"5432:5432\"]\n", "published `ports` of `db`");
    check("    volumes: [\"data:/data\"]\n", "a volume of `db`");
    check("    sysctls: { a: 1 }\n", "`sysctls` of `db`");
    check("    deploy: { replicas: 2 }\n", "`deploy.replicas` of `db`");
    check("    networks: [back]\n", "`networks` of `db`");
    check("    links: [\"web:www\"]\n", "`links` of `db`");
    check("    network_mode: none\n", "`network_mode: none` of `db`");
    check("    profiles: [debug]\n", "`profiles` of `db`");
    check("    working_dir: data\n", "a relative `working_dir` of `db`");
    check("    command: serve 'x\n", "a `command` with an open quote or an unset variable of `db`");
    check("    command: serve ${WHO}\n", "a `command` with an open quote or an unset variable of `db`");
    check(
        "    depends_on: { web: { condition: service_completed_successfully } }\n",
        "`condition: service_completed_successfully` of `db`",
    );
    for time in ["9e99s", "99999999999h", "-5s", "604801", "soon"] {
        check(
            &format!("    healthcheck: {{ test: a, interval: {time} }}\n"),
            &format!("`healthcheck.interval: {time}` of `db`: expected a time of at most 604,800 seconds"),
        );
    }
    check("    depends_on: [web]\n", "`db` depends on `web`, which is none of db");
    check("    depends_on: [main]\n", "`db` depends on `main`, which is started last");
    check("    depends_on: [db]\n", "services that depend on each other: db");
    check(
        "  web: { image: y, depends_on: { db: { condition: service_healthy } } }\n",
        "`web` depends on the health of `db`, which has no `healthcheck` in the compose file",
    );
    check("networks: { back: {} }\n", "a named entry under `networks`: back");
    check("volumes: { data: {} }\n", "a named entry under `volumes`: data");
    check("  web: { environment: [A=1] }\n", "no `image` and no `build` of `web`");
    // The network of `main` matters only where there are others on it.
    let apart = "services:\n  main: { network_mode: none }\n  db: { image: x }\n";
    assert_eq!(Compose::parse(apart).unsupported, ["`network_mode: none` of `main`"]);
    let alone = Compose::parse("services:\n  main: { network_mode: none, networks: [x], depends_on: [] }\n");
    assert_eq!((alone.main.no_network, &alone.unsupported[..]), (true, &[][..]));
}

#[test]
fn services_with_access_to_the_host_are_rejected() {
    for (line, part) in [
        ("privileged: true", "the service `db` is privileged"),
        ("network_mode: host", "the service `db` sets `network_mode: host`"),
        ("devices: [/dev/kvm]", "the service `db` sets `devices`"),
        ("volumes: [\"./init:/init\"]", "the service `db` mounts ./init of the host"),
        ("build: ../outside", "the service `db` builds from ../outside, outside the task's environment"),
    ] {
        let text = format!("services:\n  main: {{}}\n  db:\n    image: x\n    {line}\n");
        assert_eq!(Compose::parse(&text).hostile, [part], "{text}");
    }
}
