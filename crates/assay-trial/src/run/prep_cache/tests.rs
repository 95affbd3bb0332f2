use std::os::unix::fs::symlink;

use super::*;
use crate::run::trial::ResolvedTrial;
use crate::testing::{Fixture, SKILL};

/// The fixture's baseline trial, which has no skill.
fn baseline(fixture: &Fixture) -> ResolvedTrial {
    let plan = fixture.plan();
    fixture.resolve(&plan, plan.trials.values().find(|trial| trial.provision.skills.is_empty()).unwrap())
}

#[test]
fn base_is_prepared_once() {
    let fixture = Fixture::new();
    let cache = PrepCache::new(&fixture.store).unwrap();
    let task = fixture.load_task("a");
    let base = cache.base(&task).unwrap();
    assert_eq!(fs::read_to_string(base.root.join("app/data/in.txt")).unwrap(), "1\n");
    let [(path, manifest)] = &base.writable[..] else { panic!("one writable folder") };
    assert_eq!(path, Path::new("/app"));
    let held: Vec<_> = manifest.entries.keys().map(|path| path.to_str().unwrap()).collect();
    assert_eq!(held, ["data", "data/in.txt"]);
    assert!(Arc::ptr_eq(&base, &cache.base(&task).unwrap()));
}

#[test]
fn cached_failure_is_reported_identically() {
    let fixture = Fixture::new();
    let cache = PrepCache::new(&fixture.store).unwrap();
    let task = fixture.load_task("a");
    fs::remove_dir_all(fixture.path("tasks/a/environment/data")).unwrap();
    let first = cache.base(&task).err().expect("what COPY names is gone").to_string();
    fixture.write("tasks/a/environment/data/in.txt", "1\n");
    assert_eq!(cache.base(&task).err().map(|error| error.to_string()), Some(first));
}

#[test]
fn cached_copies_are_separate_from_originals() {
    let fixture = Fixture::new();
    let cache = PrepCache::new(&fixture.store).unwrap();
    let skill = fixture.load_skill("one");
    let copy = cache.skill(&skill).unwrap();
    fixture.edit("skills/one/SKILL.md", "minor", "major");
    let again = cache.skill(&skill).unwrap();
    assert_eq!((fs::read_to_string(again.join("SKILL.md")).unwrap(), &copy), (SKILL.to_owned(), &again));
    assert!(copy.starts_with(fixture.store.work().unwrap()) && copy.ends_with("one"));
    // The edited one is another skill.
    let edited = cache.skill(&fixture.load_skill("one")).unwrap();
    assert!(edited != copy && fs::read_to_string(edited.join("SKILL.md")).unwrap().contains("major"));
    let solution = cache.solution(&fixture.load_task("a")).unwrap();
    assert!(solution.join("solve.sh").is_file());
}

#[test]
fn uncopyable_entries_are_reported() {
    let fixture = Fixture::new();
    let cache = PrepCache::new(&fixture.store).unwrap();
    symlink("/etc/hostname", fixture.path("skills/one/host")).unwrap();
    let copied = cache.skill(&fixture.load_skill("one"));
    match copied {
        // A link is either kept as one, and leads nowhere inside, or reported.
        Ok(copy) => assert!(copy.join("host").symlink_metadata().unwrap().is_symlink()),
        Err(message) => assert!(message.to_string().contains("host cannot be copied"), "{message}"),
    }
}

#[test]
fn skill_in_the_environment_is_found() {
    let check = |edit: &dyn Fn(&Fixture), expected: &[&str]| {
        let fixture = Fixture::new();
        edit(&fixture);
        let trial = baseline(&fixture);
        let cache = PrepCache::new(&fixture.store).unwrap();
        let root = Root::Dir(fixture.path("rootfs"));
        fs::create_dir_all(fixture.path("rootfs")).unwrap();
        let found = cache.contamination(&trial.task, &root, &trial.absent).unwrap();
        let shown: Vec<String> = found
            .iter()
            .map(|found| found.replace(&fixture.path("rootfs").display().to_string(), "ROOT"))
            .collect();
        assert_eq!(shown, expected);
        // If nothing is absent, nothing is searched for.
        assert!(cache.contamination(&trial.task, &root, &[]).unwrap().is_empty());
    };
    let body = SKILL.split_once("# One").unwrap().1;
    let data = "tasks/a/environment/data";
    check(&|_| {}, &[]);
    check(&|fixture| fixture.write(&format!("{data}/notes.md"), SKILL), &["one in /app/data/notes.md"]);
    // Its lines among others are it as well; two of three are not.
    let among = format!("Notes\n\n{body}\nmore notes\n");
    check(&|fixture| fixture.write(&format!("{data}/notes.md"), &among), &["one in /app/data/notes.md"]);
    let part: String = body.lines().take(3).map(|line| format!("{line}\n")).collect();
    check(&|fixture| fixture.write(&format!("{data}/notes.md"), &part), &[]);
    // A root filesystem is searched for skill files only.
    check(
        &|fixture| fixture.write("rootfs/root/.skills/x/SKILL.md", SKILL),
        &["one in ROOT/root/.skills/x/SKILL.md"],
    );
    check(&|fixture| fixture.write("rootfs/opt/notes.md", SKILL), &[]);
    // Another skill's file does not count.
    check(&|fixture| fixture.write("rootfs/opt/SKILL.md", "# Other\n"), &[]);
}
