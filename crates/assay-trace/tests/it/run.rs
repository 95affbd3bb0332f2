//! A real run: a language model on twelve tasks, each once without skills and once with the skill
//! that belongs to it.

use std::collections::BTreeMap;
use std::io::Read;

use assay_trace::{OfferedSkill, Trajectory, exposure};
use serde_json::Value;

use assay_test::shared;

/// The files of the run's store, by path.
fn store() -> BTreeMap<String, Vec<u8>> {
    let packed = shared("runs").join("twelve.tar.zst");
    let mut archive = tar::Archive::new(zstd::Decoder::new(std::fs::File::open(packed).unwrap()).unwrap());
    let mut files = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = entry.path().unwrap().to_string_lossy().into_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        files.insert(path.trim_start_matches("./").to_owned(), bytes);
    }
    files
}

#[test]
#[ignore = "needs shared data"]
fn ten_of_twelve_opened_their_skill_and_none_without_skills() {
    let files = store();
    // Name, description and body of each skill.
    let skills: Vec<(String, String, String)> = files
        .iter()
        .filter(|(path, _)| path.starts_with("skills/"))
        .map(|(_, bytes)| {
            let text = String::from_utf8(bytes.clone()).unwrap();
            let (front, body) = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
            let name = front.lines().next().unwrap().strip_prefix("name: ").unwrap();
            let description = front.split_once("description: >-").unwrap().1;
            let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
            (name.to_owned(), description, body.to_owned())
        })
        .collect();
    assert_eq!(skills.len(), 4);
    let (mut opened, mut with, mut without) = (0, 0, 0);
    for (path, bytes) in files.iter().filter(|(path, _)| path.ends_with("/record.json")) {
        let record: Value = serde_json::from_slice(bytes).unwrap();
        let condition = record["condition"].as_str().unwrap();
        let trace = path.replace("record.json", &format!("attempts/{}/trajectory.json", record["attempt"]));
        let Some(trajectory) = files.get(&trace).filter(|_| !condition.is_empty()) else { continue };
        let trajectory: Trajectory = serde_json::from_slice(trajectory).unwrap();
        let recorded = record["exposure"].as_array().unwrap();
        for (name, description, body) in &skills {
            let own = recorded.iter().find(|skill| skill["skill"] == name.as_str());
            // If a skill's folder is unknown, `cat SKILL.md` may read it: then only the skills on
            // offer are considered.
            let unknown = own.is_some().then(String::new);
            for mount in unknown.into_iter().chain([format!("/skills/{name}")]) {
                let skill = OfferedSkill { name, description, body, mount: &mount, files: &[] };
                let found = exposure(&trajectory, &[skill]).remove(0);
                let fact = |key: &str| {
                    let step = own.and_then(|own| own[key].as_u64());
                    step.map(|step| usize::try_from(step).unwrap())
                };
                assert_eq!(
                    (found.advertised, found.mentioned, found.opened),
                    (fact("advertised"), fact("touched"), fact("opened")),
                    "{path}: {name} at {mount:?}"
                );
            }
            opened += usize::from(own.is_some_and(|own| own["opened"].is_u64()));
        }
        with += usize::from(condition == "curated");
        without += usize::from(condition == "none");
    }
    assert_eq!((with, without, opened), (12, 12, 10));
}
